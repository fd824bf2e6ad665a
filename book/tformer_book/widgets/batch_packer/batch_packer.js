// Sentence pairs packed into batches: what padding costs, by order and by cut.
import {
  bind,
  figure,
  liveRegion,
  oneOf,
  onWidth,
  showAll,
  slider,
  stopping,
  textTable,
  uid,
} from "../kit/kit.js";
import { render as draw } from "../kit/vendor/lit.js";
import { CUTS, explain, ORDERS, pack } from "./maths.js";
import { page, tableOf } from "./view.js";

const NAMES = ["lengths", "order", "cut", "sentences", "tokens"];
const LEAST = 260; // width of the drawing

function render({ model, el }) {
  const root = figure(el, "tfbp", "Sentence pairs packed into batches");
  const { read, set, stop } = bind(model, NAMES, () => update());
  let width = 700;
  /** @returns {Record<string, any>} */
  function state() {
    const now = read();
    const longest = Math.max(...now.lengths.map(([s, t]) => s + t));
    const sentences = Math.max(1, now.sentences);
    return { ...now, sentences, tokens: Math.max(longest, now.tokens), longest, width };
  }
  const whole = { min: 1, step: 1, digits: 0 };
  const controls = {
    order: oneOf("order", "Order", ORDERS, set("order")),
    cut: oneOf("cut", "Cut", CUTS, set("cut")),
    sentences: slider("sentences", "pairs", { ...whole, max: 24 }, set("sentences")),
    tokens: slider("tokens", "tokens", { ...whole, max: 640 }, set("tokens")),
  };
  const behind = textTable("The batches as a table", "batch");
  const live = liveRegion();
  const parts = { ...controls, behind, live, hatch: uid() };

  function update(speak = true) {
    const s = state();
    const found = pack(s);
    controls.tokens.input.min = s.longest;
    showAll(controls, s);
    controls.sentences.box.classList.toggle("tfbp-idle", s.cut === CUTS[1]);
    controls.tokens.box.classList.toggle("tfbp-idle", s.cut === CUTS[0]);
    behind.show(...tableOf(found));
    draw(page(s, found, parts), root);
    if (speak) live.announce(explain(s, found));
  }

  update(false);
  const unwatch = onWidth(root, (now) => {
    width = Math.max(LEAST, now);
    update(false);
  });
  return stopping(unwatch, live, stop);
}

export default { render };
