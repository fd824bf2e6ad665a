// Sentence pairs packed into batches: what padding costs, by order and by cut.
import {
  bind,
  figure,
  liveRegion,
  oneOf,
  onWidth,
  slider,
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
  const { read, commit, stop } = bind(model, NAMES, () => update());
  let width = 700;
  /** @returns {Record<string, any>} */
  function state() {
    const now = read();
    const longest = Math.max(...now.lengths.map(([s, t]) => s + t));
    const sentences = Math.max(1, now.sentences);
    return { ...now, sentences, tokens: Math.max(longest, now.tokens), longest, width };
  }
  const parts = partsOf(commit);

  function update(speak = true) {
    const s = state();
    const found = pack(s);
    parts.show(s);
    parts.behind.show(...tableOf(found));
    draw(page(s, found, parts), root);
    if (speak) parts.live.announce(explain(s, found));
  }

  update(false);
  const unwatch = onWidth(root, (now) => {
    width = Math.max(LEAST, now);
    update(false);
  });
  return () => {
    unwatch();
    parts.live.stop();
    stop();
  };
}

function partsOf(commit) {
  const whole = { min: 1, step: 1, digits: 0 };
  const orders = oneOf("order", "Order", ORDERS, (order) => commit({ order }));
  const cuts = oneOf("cut", "Cut", CUTS, (cut) => commit({ cut }));
  const sentences = slider("sentences", "pairs", { ...whole, max: 24 }, (x) =>
    commit({ sentences: x }),
  );
  const tokens = slider("tokens", "tokens", { ...whole, max: 640 }, (x) =>
    commit({ tokens: x }),
  );
  const behind = textTable("The batches as a table", "batch");
  function show(s) {
    orders.show(s.order);
    cuts.show(s.cut);
    tokens.input.min = s.longest;
    sentences.show(s.sentences);
    tokens.show(s.tokens);
    sentences.box.classList.toggle("tfbp-idle", s.cut === CUTS[1]);
    tokens.box.classList.toggle("tfbp-idle", s.cut === CUTS[0]);
  }
  const [live, hatch] = [liveRegion(), uid()];
  return { orders, cuts, sentences, tokens, behind, show, live, hatch };
}

export default { render };
