// The journey of a sentence through the whole trained Transformer. Page: the journey.
import { addressOf, keep } from "../kit/address.js";
import { bind, figure } from "../kit/kit.js";
import { askBar, engineOf, PAGE } from "../kit/model.js";
import { ofHash, STATE, toHash } from "./address.js";
import { unpack } from "./facts.js";
import { STOPS } from "./stops.js";
import { journeyView } from "./view.js";

const NAMES = Object.keys(STATE);
const MOST = 24; // pieces of a sentence: more would not fit into the pictures
const LONGEST = 40; // pieces of its translation
const PAUSE = 300; // ms after a change before the address has it

// The journey of a text; what cannot be shown is said kindly.
async function travel(engine, text, tools) {
  if (!text.trim())
    throw new Error("Type an English sentence first, and the journey can begin.");
  const pieces = await engine.pieces(text, tools);
  if (pieces.length >= MOST)
    throw new Error(
      `This sentence has ${pieces.length} pieces, and the pictures have room for ${MOST - 1}: try a shorter one.`,
    );
  if (!pieces.length)
    throw new Error("There is nothing in this text that the model can read.");
  return engine.journey(text, { maxLen: LONGEST, ...tools });
}

function render({ model, el }) {
  const root = figure(el, "tfj", "The journey of a sentence through the Transformer");
  const engine = engineOf(model);
  const onPage = Boolean(globalThis[PAGE]);
  const first = model.get("text");
  let shown = first;
  const read = () => Object.fromEntries(NAMES.map((name) => [name, model.get(name)]));
  const state = bind(model, NAMES, () => view.set(read()));
  let timer = 0;
  let place = null; // where a link leads in a sentence that is still to come
  function remember() {
    clearTimeout(timer);
    if (onPage) keep(addressOf(toHash({ ...read(), text: shown }, first)));
  }
  const view = journeyView({
    initial: read(),
    linked: onPage,
    onState(changes) {
      state.commit(changes);
      clearTimeout(timer);
      if (changes.stop) remember();
      else timer = setTimeout(remember, PAUSE); // a slider may be on its way
    },
  });
  const ask = askBar(engine, model, {
    label: "An English sentence",
    action: "Follow it",
    async onAsk(text, tools) {
      const journey = await travel(engine, text, tools);
      shown = text;
      view.show(journey, text);
      texts.commit({ text, piece: STATE.piece, step: STATE.step, ...place });
      place = null;
      view.set(read());
      remember();
    },
  });
  const texts = bind(model, ["text"], () => {
    if (model.get("text") === shown) return;
    ask.show(model.get("text"));
    if (engine) ask.ask();
  });

  // Show what the address says; it may name a place of the page instead.
  function follow() {
    const found = onPage && ofHash(location.hash, STOPS.length);
    if (!found) return;
    const { text: named, ...wanted } = found;
    const text = named || first;
    state.commit(wanted);
    if (text === shown) return;
    place = { piece: wanted.piece, step: wanted.step };
    ask.show(text);
    if (engine) ask.ask();
  }
  root.append(ask.node, view.node);
  view.show(unpack(model.get("example")), shown);
  follow();
  addEventListener("hashchange", follow);
  return () => {
    clearTimeout(timer);
    ask.stop();
    view.stop();
    state.stop();
    texts.stop();
    removeEventListener("hashchange", follow);
  };
}

export default { render };
