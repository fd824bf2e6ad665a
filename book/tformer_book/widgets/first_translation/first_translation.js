// A translation that appears word by word. Chapter: the book's first page.
import { isInTheBook } from "../kit/chapters.js";
import { figure, h, radios, say, stopping, wantsStillness } from "../kit/kit.js";
import { askBar, atFirst, COMPUTED, engineOf } from "../kit/model.js";
import { html } from "../kit/vendor/lit.js";
import { doubtful, foreign } from "../live_lab/remarks.js";
import { pairView } from "./view.js";
import { answer, waysOf } from "./ways.js";

const AT_ONCE = 2; // words that stand there when the page opens
const OPENING = 2000; // ms in which its first lines are read before it goes on
const MEANINGS = "In grey: what the German words usually mean.";
const KNOWS =
  "The model has read only captions of photographs and short everyday sentences. It makes mistakes, and on other subjects it is often wrong, even where it sounds fluent.";

function render({ model, el }) {
  const root = figure(el, "tff", "An English sentence and its German translation");
  const engine = engineOf(model);
  const isReleased = Boolean(model.get("model_key"));
  const { sentences, ...example } = model.get("example");
  const view = pairView(
    (other) => ways.writeOther(other),
    () => ways.undo(),
  );
  const remark = h("p", { class: "tff-remark", role: "status" });
  const further = h("a", { class: "tff-further" }, "See inside the model");
  const lead = (text) => {
    further.href = `lab.html#${new URLSearchParams({ text, view: "heads" })}`;
  };
  const texts = sentences.map(({ text }) => text);
  const choice = radios("sentence", "Examples", texts, 0, (i) => {
    ask.show("");
    if (engine) ask.tell("");
    say(remark, "");
    lead(texts[i]);
    ways.begin(sentences[i]);
    view.reveal();
    inMiddle(choice.set);
  });
  const ask = askBar(engine, model, {
    label: "An English sentence of your own",
    hint: "Or your own, in English",
    async onAsk(text, tools) {
      const { way, ...found } = await answer(engine, text, null, tools);
      say(remark, foreign(text) || doubtful(found, model.get("doubt")));
      choice.pick(texts.indexOf(text));
      lead(text);
      ways.begin({ text, ways: [way], isComputed: true });
      view.reveal();
      return html`${COMPUTED} ${MEANINGS} ${isReleased ? KNOWS : ""}`;
    },
  });
  const ways = waysOf(engine, example, view, ask.run);
  // What asking costs is said to whoever is about to ask.
  const costs = () => ask.tell(atFirst(engine, model));
  if (engine) {
    ask.tell("");
    ask.input.addEventListener("focus", costs, { once: true });
  }
  choice.set.classList.add("tfk-how"); // on paper its sentence stands in the figure
  const foot = h("div", { class: "tff-foot" }, choice.set, ask.node);
  root.append(view.node, remark, foot);
  if (isInTheBook()) view.beside.append(further);
  lead(texts[0]);
  ways.begin(sentences[0], { known: AT_ONCE, after: OPENING });
  return stopping(ask, view, ways);
}

// Where the examples go on beyond the edge, the one that was chosen stands clear of it.
function inMiddle(set) {
  const chip = set.querySelector(":checked").parentElement;
  const left =
    chip.offsetLeft - set.offsetLeft - (set.clientWidth - chip.offsetWidth) / 2;
  set.scrollTo({ left, behavior: wantsStillness() ? "instant" : "smooth" });
}

export default { render };
