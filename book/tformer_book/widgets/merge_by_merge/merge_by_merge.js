// Byte-pair encoding to step through: the pieces of a text after each merge.

import {
  bind,
  button,
  figure,
  liveRegion,
  onWidth,
  radios,
  slider,
  stopping,
  textTable,
} from "../kit/kit.js";
import { plural } from "../kit/numbers.js";
import { player } from "../kit/player.js";
import { remembered } from "../kit/remembered.js";
import { render as draw } from "../kit/vendor/lit.js";
import { sizeScale, tableOf } from "./curve.js";
import { after, cutting } from "./maths.js";
import { cost, next, page } from "./view.js";

const BEAT = 1100; // ms from merge to merge
const NOTCHES = 200; // of the slider
const GIVEN = ["merges", "counts", "alphabet", "curves"];
const NAMES = ["text", "n_merges", "learned_here", ...GIVEN, "corpus"];

const notches = (s) => sizeScale(s).range([0, NOTCHES]);

function render({ model, el }) {
  const root = figure(el, "tfmm", "Byte-pair encoding, merge by merge");
  const get = (name) => model.get(name);
  const announcer = liveRegion();
  const { commit, stop } = bind(model, NAMES, () => update());
  let width = 600; // of the curve

  const cut = remembered(cutting);
  function state() {
    const isOwn = get("learned_here") || !get("merges").length;
    return after(cut(get("text"), isOwn, ...GIVEN.map(get)), get("n_merges"));
  }
  function set(changes) {
    moves.stop();
    commit(changes);
  }
  function goTo(size) {
    const { base, total } = state();
    const n = Math.round(size) - base;
    set({ n_merges: Math.max(0, Math.min(total, n)) });
  }

  const controls = controlsOf(get, state, { set, goTo, commit });
  const { from, moves, size, behind } = controls;
  const tabled = remembered(() => behind.show(...tableOf(state())));
  const parts = {
    ...controls,
    announcer,
    hasOthers: get("merges").length > 0,
    onText: (text) => set({ text }),
    goTo,
  };

  let before = { text: null, n: 0 }; // what was shown: what merges now, flashes
  function update(speak = true) {
    const s = state();
    from.pick(s.isOwn ? 1 : 0);
    moves.show();
    size.show(Math.round(notches(s)(s.base + s.n)));
    size.input.disabled = !s.total;
    tabled(s.steps);
    const flashes = s.text === before.text && s.n > before.n;
    draw(page({ ...s, flashes, width }, parts), root);
    before = s;
    const counted = [s.words.length, s.pieces.length, s.base + s.n, s.unknown];
    root.dataset.cost = JSON.stringify(counted);
    if (speak && !moves.playing()) announcer.announce(`${cost(s)} ${next(s)}`);
  }

  update(false);
  const unwatch = onWidth(root.querySelector(".tfmm-curve"), (now) => {
    width = Math.max(260, now);
    update(false);
  });
  return stopping(moves, unwatch, announcer, stop);
}

// set(changes) and goTo(size) end the playing, commit(changes) does not.
function controlsOf(get, state, { set, goTo, commit }) {
  const sources = [get("corpus"), "your text"];
  const from = radios("from", "Merges learned from", sources, 0, (i) =>
    set({ learned_here: i === 1, n_merges: i === 1 ? 0 : get("n_merges") }),
  );
  const examples = get("examples").map(([name, text, isOwn], i) =>
    button(`example-${i}`, name, () => {
      const n_merges = isOwn ? 0 : get("n_merges");
      set({ text, learned_here: isOwn || !get("merges").length, n_merges });
    }),
  );
  const moves = player({
    words: ["characters only", "one merge back", "the next merge", "all merges"],
    at: () => state().index,
    last: () => state().steps.length - 1,
    to: (i) => {
      const { steps, total } = state();
      commit({ n_merges: i === steps.length - 1 ? total : steps[i].rank + 1 });
    },
    beat: BEAT,
    paper: () => Math.floor(state().steps.length / 2), // with something left to merge
  });
  const text = () => plural(state().n, "merge");
  const size = slider(
    "size",
    "merges",
    { min: 0, max: NOTCHES, step: 1, text },
    (notch) => goTo(notches(state()).invert(notch)),
  );
  const behind = textTable("The curve as a table: pieces per word", "vocabulary");
  return { from, examples, moves, size, behind };
}

export default { render };
