// The journey of a sentence through the whole trained Transformer. Page: the journey.
import { addressOf, keep } from "../kit/address.js";
import { isInTheBook } from "../kit/chapters.js";
import { bind, figure, stopping } from "../kit/kit.js";
import { engineOf, textBar } from "../kit/model.js";
import { ofHash, STATE, toHash } from "./address.js";
import { unpack } from "./facts.js";
import { STOPS } from "./stops.js";
import { journeyView } from "./view.js";

const MOST = 24; // pieces of a sentence: more would not fit into the pictures
const LONGEST = 40; // pieces of its translation

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
  const onPage = isInTheBook();
  const first = model.get("text");
  const state = bind(model, Object.keys(STATE), () => view.set(state.read()));
  let place = null; // where a link leads in a sentence that is still to come
  function remember() {
    if (onPage) keep(addressOf(toHash({ ...state.read(), text: bar.text() }, first)));
  }
  const view = journeyView({
    initial: state.read(),
    linked: onPage,
    onState(changes) {
      state.commit(changes);
      remember();
    },
  });
  const bar = textBar(engine, model, {
    label: "An English sentence",
    action: "Follow it",
    ask: (text, tools) => travel(engine, text, tools),
    show(journey, text) {
      view.show(journey, text);
      state.commit({ piece: STATE.piece, step: STATE.step, ...place });
      place = null;
      remember();
    },
  });

  // Show what the address says; it may name a place of the page instead.
  function follow() {
    const found = onPage && ofHash(location.hash, STOPS.length);
    if (!found) return;
    const { text, ...wanted } = found;
    state.commit(wanted);
    if ((text || first) !== bar.text())
      place = { piece: wanted.piece, step: wanted.step };
    bar.follow(text || first);
  }
  root.append(bar.node, view.node);
  view.show(unpack(model.get("example")), first);
  follow();
  addEventListener("hashchange", follow);
  return stopping(bar, view, state, () => {
    removeEventListener("hashchange", follow);
  });
}

export default { render };
