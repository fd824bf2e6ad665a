// The one map of the model: every part with its shape and its number of parameters.
import { onArrows, within } from "../kit/arrows.js";
import { isInTheBook } from "../kit/chapters.js";
import {
  bind,
  check,
  figure,
  liveRegion,
  oneOf,
  presets,
  put,
  slider,
  textTable,
} from "../kit/kit.js";
import { commas } from "../kit/numbers.js";
import { player } from "../kit/player.js";
import { render as draw } from "../kit/vendor/lit.js";
import { drawCompact } from "./compact.js";
import { UPWARDS } from "./drawing.js";
import { layout } from "./layout.js";
import { FIELDS, nearestDivisor, parts, SIZES, steps, total } from "./maths.js";
import { template } from "./view.js";

// What changes the sizes; `show` follows them.
function controlsOf(model, state, commit) {
  const all = model.get("presets").map(({ name, sizes }) => [name, sizes]);
  const preset = presets("preset", "Model", all, (sizes) => commit({ ...sizes }));
  const norm = oneOf("norm", "Norm", ["post", "pre"], (each) => commit({ norm: each }));
  const tied = check("tied", "one tied table", true, (on) =>
    commit({ tie_embeddings: on }),
  );
  function set(name, index) {
    const value = steps(name, state())[index];
    const { n_heads } = state();
    if (name !== "d_model") commit({ [name]: value });
    else commit({ d_model: value, n_heads: nearestDivisor(value, n_heads) });
  }
  const sliders = SIZES.map(([name, label]) => {
    const text = (i) => commas(steps(name, state())[i] ?? 0);
    return slider(name, label, { min: 0, max: 1, step: 1, text }, (i) => set(name, i));
  });
  function show(c) {
    preset.show(c);
    norm.show(c.norm);
    tied.input.checked = c.tie_embeddings;
    SIZES.forEach(([name], i) => {
      const list = steps(name, c);
      put(sliders[i].input, { max: list.length - 1 });
      sliders[i].show(list.indexOf(c[name]));
    });
  }
  const top = [preset.set, norm.set, tied.box];
  return { top, sliders: sliders.map(({ box }) => box), show };
}

const rowsOf = (all) =>
  all.map((part) => [
    `${part.side}: ${part.name}`,
    part.letters,
    part.numbers,
    commas(part.each),
    String(part.times),
    commas(part.total),
  ]);
const COLUMNS = ["shape", "numbers", "parameters", "how many", "together"];

function renderLarge(root, model, state) {
  const live = liveRegion({ isShown: true });
  const table = textTable("All parts as a table", "part");
  const { commit, stop } = bind(model, [...FIELDS, "selected"], () => update());
  const controls = controlsOf(model, state, commit);
  const inTheBook = isInTheBook();
  let ids = []; // of the boxes on the map
  let chosen;

  function choose(id, focus = true) {
    commit({ selected: id });
    if (focus) root.querySelector(`[data-part="${id}"]`)?.focus();
  }
  const walker = player({
    words: ["To the first part", "One part back", "One part on", "To the last part"],
    at: () => ids.indexOf(chosen.id),
    last: () => ids.length - 1,
    to: (i) => choose(ids[within(i, ids.length)], false),
  });
  const moves = inTheBook ? { ...UPWARDS, Enter: 0 } : UPWARDS;
  const keys = onArrows(moves, (by, { key }) => {
    if (key === "Enter") root.querySelector(".tfm-chapter").click();
    else choose(ids[within(ids.indexOf(chosen.id) + by, ids.length)]);
  });
  const tools = {
    ...controls,
    steps: walker.nodes,
    below: [live.node, table.node],
    inTheBook,
    keys,
    onChoose: choose,
  };

  function update(speak = true) {
    const c = state();
    if (c.d_model % c.n_heads) return; // a kernel sends its numbers one by one
    const all = parts(c);
    const placed = layout(all, false);
    ids = placed.boxes.map(({ part }) => part.id);
    const selected = model.get("selected");
    const shown = ids.includes(selected) ? selected : "decoder.cross_attention";
    chosen = all.find(({ id }) => id === shown);
    draw(template(c, placed, chosen, tools), root);
    controls.show(c);
    walker.show();
    table.show(COLUMNS, rowsOf(all));
    if (speak)
      live.announce(
        `${chosen.name}: out ${chosen.numbers}, ${commas(chosen.each)} parameters. All together ${commas(total(c))}.`,
      );
  }
  update(false);
  return () => {
    live.stop();
    stop();
  };
}

function render({ model, el }) {
  const state = () => Object.fromEntries(FIELDS.map((name) => [name, model.get(name)]));
  if (model.get("compact")) {
    const root = figure(el, "tfm tfm-compact", "Where we are in the model");
    return drawCompact(root, parts(state()), model.get("highlight"));
  }
  const root = figure(el, "tfm", "Map of the model: shapes and parameters");
  return renderLarge(root, model, state);
}

export default { render };
