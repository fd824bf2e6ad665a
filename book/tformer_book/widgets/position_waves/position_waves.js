// Sinusoids in three steps: one pair as a hand and its wave, the table of all pairs, and
// the same beside what goes wrong.
import { onColours } from "../kit/colours.js";
import {
  bind,
  figure,
  listSlider,
  liveRegion,
  oneOf,
  radios,
  showAll,
  slider,
  stopping,
  textTable,
} from "../kit/kit.js";
import { player } from "../kit/player.js";
import { remembered } from "../kit/remembered.js";
import { render as draw } from "../kit/vendor/lit.js";
import { painted } from "./maps.js";
import { columnsOf, pairAt, REACH, similarity, tableOf, VARIANTS } from "./maths.js";
import { heard, numbersOf, page } from "./view.js";

const STEPS = ["one wave", "all waves", "a wrong table beside it"];
const LABEL = "Sinusoidal positions, beside a wrong variant of them";
const BEAT = 350; // ms from one position to the next
const BASES = [
  2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000,
];
const NAMES = ["d_model", "base", "position", "offset", "pair", "variant", "step"];

const clamp = (x, end) => Math.max(0, Math.min(end - 1, Math.round(x)));

function render({ model, el }) {
  const root = figure(el, "tfp", LABEL);
  const bound = bind(model, NAMES, () => update());
  function state() {
    const { d_model, base, position, offset, pair, variant, step } = bound.read();
    const d = Math.max(2, Math.min(128, 2 * Math.round(d_model / 2)));
    const [p, k] = [position, offset].map((each) => clamp(each, REACH));
    const isNarrow = root.clientWidth > 0 && root.clientWidth < 544;
    const i = clamp(pair, d / 2);
    return { d, base, p, k, i, variant, step: clamp(step, STEPS.length), isNarrow };
  }
  const parts = partsOf(state, bound);
  const on = {
    onPosition: (p) => parts.moves.go(clamp(p, REACH)),
    onOffset: (k) => bound.commit({ offset: clamp(k, REACH) }),
    onPick(variant, column, row) {
      const { d } = state();
      parts.moves.stop();
      const pair = pairAt(variant, d, clamp(column, d));
      bound.commit({ position: clamp(row, REACH), pair });
    },
  };
  let looks = 0; // counts changes of the page's colours: tables are painted again
  // Tables do not depend on p, k and i.
  const tablesOf = () =>
    remembered((variant, d, base, _looks) => {
      const columns = columnsOf(variant, d, base);
      const table = tableOf(columns);
      return { columns, table, paint: painted(table) };
    });
  const [right, wrong] = [tablesOf(), tablesOf()];

  function update(speak = true) {
    const s = state();
    const both = [right("", s.d, s.base, looks), wrong(s.variant, s.d, s.base, looks)];
    const products = both.map(({ table }) => similarity(table, s.p));
    parts.show(s);
    parts.behind.show(...numbersOf(s, both));
    draw(page(s, both, products, on, parts), root);
    root.dataset.step = String(s.step);
    if (speak && !parts.moves.playing())
      parts.live.announce(heard(s, both[0], products));
  }

  update(false);
  const unwatch = onColours(root, () => {
    looks += 1;
    update(false);
  });
  return stopping(unwatch, parts.moves, parts.live, bound);
}

function partsOf(state, { commit, set }) {
  const whole = { min: 0, step: 1, digits: 0 };
  const reach = { ...whole, max: REACH - 1 };
  const widths = { ...whole, min: 4, max: 128, step: 2 };
  // By the names of what they show.
  const controls = {
    step: radios("step", "Show", STEPS, 0, set("step")),
    variant: oneOf("variant", "Beside it", VARIANTS, set("variant")),
    d: slider("d", "width d", widths, (d) =>
      commit({ d_model: d, pair: Math.min(state().i, d / 2 - 1) }),
    ),
    base: listSlider("base", "base", BASES, set("base")),
    p: slider("position", "position p", reach, (p) => moves.go(p)),
    k: slider("offset", "offset k", reach, set("offset")),
    i: slider("pair", "pair i", { ...whole, max: 1 }, set("pair")),
  };
  const moves = player({
    words: [
      "position 0",
      "one position back",
      "one position on",
      `position ${REACH - 1}`,
    ],
    at: () => state().p,
    last: () => REACH - 1,
    to: set("position"),
    beat: BEAT,
  });
  const title = "The same as a table: both rows, dimension by dimension";
  const behind = textTable(title, "dimension");
  function show(s) {
    for (const { box } of [controls.k, controls.d, controls.base])
      box.hidden = s.step < 1;
    behind.node.hidden = s.step < 1;
    controls.variant.set.hidden = s.step < 2;
    controls.i.input.max = s.d / 2 - 1;
    moves.show();
    showAll(controls, s);
  }
  return { ...controls, moves, behind, live: liveRegion(), show };
}

export default { render };
