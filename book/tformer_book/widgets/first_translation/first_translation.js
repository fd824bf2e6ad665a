// A translation that appears word by word. Chapter: the book's first page.
import { isInTheBook } from "../kit/chapters.js";
import { figure, h, radios, say, stopping } from "../kit/kit.js";
import { askBar, atFirst, COMPUTED, engineOf } from "../kit/model.js";
import { percent } from "../kit/numbers.js";
import { html } from "../kit/vendor/lit.js";
import { doubtful, foreign } from "../live_lab/remarks.js";
import { pairView } from "./view.js";
import {
  beginning,
  glossed,
  LEAST,
  linked,
  named,
  ofAnswers,
  wordsOf,
} from "./words.js";

const AT_ONCE = 3; // words that stand there when the page opens
const OPENING = 2400; // ms in which its first lines are read before it goes on
const OTHER = 900; // … and in which another word is seen in its place
const KNOWS =
  "The model has read only captions of photographs and short everyday sentences; on anything else it may be confidently wrong.";
const LINES = `The lines show attention of ${percent(LEAST, 0)} or more, averaged over the last layer’s heads.`;
const RECORDED = html`The examples are recorded; yours is translated here. <span class="tff-lines-are">${LINES}</span>`;

function render({ model, el }) {
  const root = figure(el, "tff", "An English sentence and its German translation");
  const engine = engineOf(model);
  const isReleased = Boolean(model.get("model_key"));
  const { sentences, close } = model.get("example");
  let [shown] = sentences; // { text, meanings, ways: translations of it that are there }
  let current = null; // the way that stands there: { way, how }
  let past = []; // … and those before it, of the same sentence
  const view = pairView(writeOther, undo);
  const remark = h("p", { class: "tff-remark", role: "status" });
  const further = h("a", { class: "tff-further" }, "See inside the model");
  const lead = (text) => {
    further.href = `lab.html#${new URLSearchParams({ text, view: "heads" })}`;
  };
  const texts = sentences.map(({ text }) => text);
  const choice = radios("sentence", "Examples", texts, 0, (i) => {
    ask.show("");
    if (engine) ask.tell(RECORDED);
    say(remark, "");
    lead(texts[i]);
    begin(sentences[i]);
    view.reveal();
  });
  const ask = askBar(engine, model, {
    label: "An English sentence of your own",
    hint: "Or your own, in English",
    async onAsk(text, tools) {
      const { way, ...found } = await answer(engine, text, null, tools);
      say(remark, foreign(text) || doubtful(found, model.get("doubt")));
      choice.pick(texts.indexOf(text));
      lead(text);
      begin({ text, ways: [way] });
      view.reveal();
      return [COMPUTED, ...(isReleased ? [KNOWS] : []), LINES].join(" ");
    },
  });
  function begin(sentence, how) {
    shown = sentence;
    past = [];
    show(shown.ways[0], how);
  }
  // A page without an engine offers the words that were recorded.
  /** @param {any} way @param {any} how */
  function show(way, how = {}) {
    current = { way, how };
    const pair = linked(way, close);
    const isThere = ({ prefix }) => engine || beginning(shown.ways, prefix);
    pair.others = pair.others.map((others) =>
      others.filter(isThere).map((each) => named(each, shown.ways, shown.meanings)),
    );
    pair.glosses = glossed(pair.german, shown.meanings);
    view.show(pair, how);
  }
  // A word that came close is written instead, and what would have followed it.
  function writeOther({ prefix }) {
    const { text, ways } = shown;
    const known = wordsOf(prefix).length;
    const before = wordsOf(current.way.predictedPieces).map((each) => each.text);
    const how = { known, after: OTHER, chosen: known - 1, before };
    const there = beginning(ways, prefix);
    if (there === ways[0]) return begin(shown, { known, after: OTHER });
    if (there) return change(there, how);
    return ask.run(async (tools) => {
      const options = { search: "greedy", prefix, ...tools };
      const { hypotheses } = await engine.translate(text, options);
      const { way } = await answer(engine, text, hypotheses[0].pieces, tools);
      ways.push(way);
      if (shown.ways === ways) change(way, how); // else an example was chosen meanwhile
    });
  }
  function change(way, how) {
    past.push(current);
    show(way, how);
  }
  function undo() {
    const { way, how } = past.pop();
    show(way, { ...how, known: wordsOf(way.predictedPieces).length });
  }
  // What asking costs is said to whoever is about to ask.
  const costs = () => ask.tell(atFirst(engine, model));
  if (engine) {
    ask.tell(RECORDED);
    ask.input.addEventListener("focus", costs, { once: true });
  }
  choice.set.classList.add("tfk-how"); // on paper its sentence stands in the figure
  root.append(view.node, remark, choice.set, ask.node);
  if (isInTheBook()) view.beside.append(further);
  lead(texts[0]);
  begin(shown, { known: AT_ONCE, after: OPENING });
  return stopping(ask, view);
}

async function answer(engine, text, translation, tools) {
  const attention = await engine.attention(text, translation, tools);
  const pieces = attention.predictedPieces.slice(0, -1);
  const scored = await engine.score(text, pieces, tools);
  return {
    way: ofAnswers(attention, scored),
    logProbability: scored.logProbability,
    pieces: scored.positions.length,
  };
}

export default { render };
