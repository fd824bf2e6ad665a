// Sinusoids in three steps: one pair as a hand and its wave, the table of all pairs, and
// the same beside what goes wrong.
import {
  bind,
  figure,
  listSlider,
  liveRegion,
  oneOf,
  onWidth,
  radios,
  slider,
  textTable,
} from "../kit/kit.js";
import { player } from "../kit/player.js";
import { remembered } from "../kit/remembered.js";
import { render as draw } from "../kit/vendor/lit.js";
import { painted } from "./maps.js";
import { columnsOf, pairAt, REACH, similarity, tableOf, VARIANTS } from "./maths.js";
import { heard, numbersOf, page } from "./view.js";

const STEPS = ["one wave", "all waves", "a wrong table beside it"];
const BEAT = 350; // ms from one position to the next
const BASES = [
  2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000,
];
const NAMES = ["d_model", "base", "position", "offset", "pair", "variant", "step"];

const clamp = (x, end) => Math.max(0, Math.min(end - 1, Math.round(x)));

function render({ model, el }) {
  const root = figure(
    el,
    "tfp",
    "Sinusoidal positions, beside a wrong variant of them",
  );
  const { commit, stop } = bind(model, NAMES, () => update());
  function state() {
    const d = Math.max(2, Math.min(128, 2 * Math.round(model.get("d_model") / 2)));
    return {
      d,
      base: model.get("base"),
      p: clamp(model.get("position"), REACH),
      k: clamp(model.get("offset"), REACH),
      i: clamp(model.get("pair"), d / 2),
      variant: model.get("variant"),
      step: clamp(model.get("step"), STEPS.length),
      isNarrow: root.clientWidth > 0 && root.clientWidth < 544,
    };
  }
  const parts = partsOf(state, commit);
  const on = {
    onPosition: (p) => parts.moves.go(clamp(p, REACH)),
    onOffset: (k) => commit({ offset: clamp(k, REACH) }),
    onPick(variant, column, row) {
      const { d } = state();
      parts.moves.stop();
      const pair = pairAt(variant, d, clamp(column, d));
      commit({ position: clamp(row, REACH), pair });
    },
  };
  // Tables do not depend on p, k and i.
  const tablesOf = () =>
    remembered((variant, d, base) => {
      const columns = columnsOf(variant, d, base);
      const table = tableOf(columns);
      return { columns, table, paint: painted(table) };
    });
  const [right, wrong] = [tablesOf(), tablesOf()];

  function update(speak = true) {
    const s = state();
    const both = [right("", s.d, s.base), wrong(s.variant, s.d, s.base)];
    const products = both.map(({ table }) => similarity(table, s.p));
    parts.show(s);
    parts.behind.show(...numbersOf(s, both));
    draw(page(s, both, products, on, parts), root);
    root.dataset.step = String(s.step);
    if (speak && !parts.moves.playing())
      parts.live.announce(heard(s, both[0], products));
  }

  update(false);
  const unwatch = onWidth(root, () => update(false));
  return () => {
    unwatch();
    parts.moves.stop();
    parts.live.stop();
    stop();
  };
}

function partsOf(state, commit) {
  const whole = { min: 0, step: 1, digits: 0 };
  const reach = { ...whole, max: REACH - 1 };
  const steps = radios("step", "Show", STEPS, 0, (step) => commit({ step }));
  const variants = oneOf("variant", "Beside it", VARIANTS, (variant) =>
    commit({ variant }),
  );
  const d = slider("d", "width d", { ...whole, min: 4, max: 128, step: 2 }, (x) =>
    commit({ d_model: x, pair: Math.min(state().i, x / 2 - 1) }),
  );
  const base = listSlider("base", "base", BASES, (x) => commit({ base: x }));
  const position = slider("position", "position p", reach, (p) => moves.go(p));
  const offset = slider("offset", "offset k", reach, (k) => commit({ offset: k }));
  const pair = slider("pair", "pair i", { ...whole, max: 1 }, (i) =>
    commit({ pair: i }),
  );
  const moves = player({
    words: [
      "position 0",
      "one position back",
      "one position on",
      `position ${REACH - 1}`,
    ],
    at: () => state().p,
    last: () => REACH - 1,
    to: (p) => commit({ position: p }),
    beat: BEAT,
  });
  const behind = textTable(
    "The same as a table: both rows, dimension by dimension",
    "dimension",
  );
  function show(s) {
    for (const { box } of [offset, d, base]) box.hidden = s.step < 1;
    behind.node.hidden = s.step < 1;
    variants.set.hidden = s.step < 2;
    steps.pick(s.step);
    variants.show(s.variant);
    moves.show();
    d.show(s.d);
    base.show(s.base);
    position.show(s.p);
    offset.show(s.k);
    pair.input.max = s.d / 2 - 1;
    pair.show(s.i);
  }
  const live = liveRegion();
  return {
    steps,
    variants,
    d,
    base,
    position,
    offset,
    pair,
    moves,
    behind,
    live,
    show,
  };
}

export default { render };
