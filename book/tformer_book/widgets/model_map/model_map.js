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
  stopping,
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
function controlsOf(model, { read, commit, set }) {
  const all = model.get("presets").map(({ name, sizes }) => [name, sizes]);
  const preset = presets("preset", "Model", all, (sizes) => commit({ ...sizes }));
  const norm = oneOf("norm", "Norm", ["post", "pre"], set("norm"));
  const tied = check("tied", "one tied table", true, set("tie_embeddings"));
  function pick(name, index) {
    const value = steps(name, read())[index];
    const { n_heads } = read();
    if (name !== "d_model") commit({ [name]: value });
    else commit({ d_model: value, n_heads: nearestDivisor(value, n_heads) });
  }
  const sliders = SIZES.map(([name, label]) => {
    const text = (i) => commas(steps(name, read())[i] ?? 0);
    return slider(name, label, { min: 0, max: 1, step: 1, text }, (i) => pick(name, i));
  });
  function show(c) {
    preset.show(c);
    norm.show(c.norm);
    tied.show(c.tie_embeddings);
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

function renderLarge(root, model) {
  const live = liveRegion({ isShown: true });
  const table = textTable("All parts as a table", "part");
  const state = bind(model, [...FIELDS, "selected"], () => update());
  const controls = controlsOf(model, state);
  const inTheBook = isInTheBook();
  let ids = []; // of the boxes on the map
  let chosen;

  function onChoose(id) {
    state.commit({ selected: id });
    root.querySelector(`[data-part="${id}"]`)?.focus();
  }
  const idAt = (i) => ids[within(i, ids.length)];
  const walker = player({
    words: ["To the first part", "One part back", "One part on", "To the last part"],
    at: () => ids.indexOf(chosen.id),
    last: () => ids.length - 1,
    to: (i) => state.commit({ selected: idAt(i) }),
  });
  const moves = inTheBook ? { ...UPWARDS, Enter: 0 } : UPWARDS;
  const keys = onArrows(moves, (by, { key }) => {
    if (key === "Enter") root.querySelector(".tfm-chapter").click();
    else onChoose(idAt(ids.indexOf(chosen.id) + by));
  });
  const below = [live.node, table.node];
  const tools = { ...controls, steps: walker.nodes, below, inTheBook, keys, onChoose };

  function update(speak = true) {
    const { selected, ...c } = state.read();
    if (c.d_model % c.n_heads) return; // a kernel sends its numbers one by one
    const all = parts(c);
    const placed = layout(all, false);
    ids = placed.boxes.map(({ part }) => part.id);
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
  return stopping(live, state);
}

function render({ model, el }) {
  if (!model.get("compact")) {
    const root = figure(el, "tfm", "Map of the model: shapes and parameters");
    return renderLarge(root, model);
  }
  const root = figure(el, "tfm tfm-compact", "Where we are in the model");
  const c = Object.fromEntries(FIELDS.map((name) => [name, model.get(name)]));
  return drawCompact(root, parts(c), model.get("highlight"));
}

export default { render };
