// A translation that appears word by word. Chapter: the book's first page.
import { isInTheBook } from "../kit/chapters.js";
import { figure, h, radios, say, stopping, wantsStillness } from "../kit/kit.js";
import { askBar, atFirst, engineOf } from "../kit/model.js";
import { doubtful, foreign } from "../live_lab/remarks.js";
import { pairView } from "./view.js";
import { ofAttention } from "./words.js";

const AT_ONCE = 3; // words that stand there when the page opens
const OPENING = 1600; // ms in which its first lines are read before it goes on
const RECORDED = "The examples are recorded; yours runs live.";

function render({ model, el }) {
  const root = figure(el, "tff", "An English sentence and its German translation");
  const engine = engineOf(model);
  const { sentences } = model.get("example");
  const view = pairView();
  const remark = h("p", { class: "tff-remark", role: "status" });
  const further = h("a", { class: "tff-further" }, "See inside the model");
  const lead = (text) => {
    further.href = `lab.html#${new URLSearchParams({ text, view: "heads" })}`;
  };
  const texts = sentences.map(({ text }) => text);
  const choice = radios("sentence", "Examples", texts, 0, (i) => {
    inSight(choice.set.querySelectorAll("label")[i]);
    ask.show("");
    if (engine) ask.tell(RECORDED);
    say(remark, "");
    lead(texts[i]);
    view.show(sentences[i]);
    view.reveal();
  });
  const ask = askBar(engine, model, {
    label: "An English sentence of your own",
    hint: "Or your own, in English",
    async onAsk(text, tools) {
      const attention = await engine.attention(text, null, tools);
      const scored = await engine.score(text, attention.translation, tools);
      const found = { ...scored, pieces: scored.positions.length };
      say(remark, foreign(text) || doubtful(found, model.get("doubt")));
      choice.pick(texts.indexOf(text));
      lead(text);
      view.show(ofAttention(text, attention), { isOwn: true });
      view.reveal();
    },
  });
  // What asking costs is said to whoever is about to ask.
  const costs = () => ask.tell(atFirst(engine, model));
  if (engine) {
    ask.tell(RECORDED);
    ask.input.addEventListener("focus", costs, { once: true });
  }
  root.append(view.node, remark, choice.set, ask.node);
  if (isInTheBook()) view.beside.append(further);
  // A row that is wider than the page shows what was chosen in its middle, and fades
  // where it goes on.
  function inSight(chip) {
    const [is, frame] = [chip, set].map((box) => box.getBoundingClientRect());
    const left = is.left + is.width / 2 - frame.left - frame.width / 2;
    set.scrollBy({ left, behavior: wantsStillness() ? "instant" : "smooth" });
  }
  const { set } = choice;
  function fade() {
    set.toggleAttribute("data-from", set.scrollLeft > 4);
    set.toggleAttribute(
      "data-on",
      set.scrollLeft < set.scrollWidth - set.clientWidth - 4,
    );
  }
  const resized = new ResizeObserver(fade);
  resized.observe(set);
  set.addEventListener("scroll", fade, { passive: true });
  lead(texts[0]);
  view.show(sentences[0], { known: AT_ONCE, after: OPENING });
  return stopping(ask, view, () => resized.disconnect());
}

export default { render };
