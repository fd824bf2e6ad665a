// The settings of a run: each control says what it changed.
import { chapterLink } from "../kit/chapters.js";
import { button, check, h, oneOf, put, select, showAll, uid } from "../kit/kit.js";
import { html } from "../kit/vendor/lit.js";
import { settingsOf } from "../training/settings.js";
import { TASKS } from "../training/tasks.js";
import { SWITCHES } from "./words.js";

export const OPEN_TASKS = TASKS.filter(({ hidden }) => !hidden);
const SHAPES = {
  "encoder-decoder": "encoder–decoder",
  decoder: "decoder only",
  encoder: "encoder only",
};
const NORMS = { pre: "before each part", post: "after it" };
/** @type {Record<string, [string, number[]]>} */
const LISTS = {
  layers: ["layers", [1, 2, 3, 4]],
  heads: ["heads", [1, 2, 4, 8]],
  width: ["width", [16, 32, 64]],
  rate: ["learning rate", [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1]],
  warmup: ["warm-up, steps", [0, 50, 200]],
  batch: ["batch, sequences", [8, 32, 64]],
  smoothing: ["label smoothing", [0, 0.1, 0.3]],
};

// In what a run differs from its task's own settings: "Reverse, heads 1, seed 2".
export function inShort(settings) {
  const { title } = TASKS.find(({ key }) => key === settings.task);
  const own = settingsOf(settings.task);
  const said = Object.entries(settings)
    .filter(([name, x]) => x !== own[name] && name !== "lines")
    .map(([name, x]) => {
      if (name in SWITCHES) return `${SWITCHES[name][0]} ${x ? "on" : "off"}`;
      return name === "shape"
        ? SHAPES[x]
        : `${(LISTS[name]?.[0] ?? name).split(",")[0]} ${x}`;
    });
  return [title, ...said].join(", ");
}

function list(name, onChange) {
  const [label, values] = LISTS[name];
  const chosen = select(name, values.map(String), (i) =>
    onChange({ [name]: values[i] }),
  );
  const show = (x) => {
    const at = values.indexOf(x);
    chosen.value = at < 0 ? "" : String(at);
  };
  const node = html`<label class="tfpg-list"><span>${label}</span>${chosen}</label>`;
  return { node, show };
}

function switchOf(name, onChange) {
  const [text, watch, chapter] = SWITCHES[name];
  const told = (on) => onChange({ [name]: on });
  const { box, input, show } = check(`switch-${name}`, text, true, told);
  const node = html`<div class="tfpg-switch">${box}<details class="tfpg-watch">
    <summary aria-label="Why? ${text}: what happens without it">Why?</summary>${watch} (${chapterLink(chapter)}).</details></div>`;
  return { node, input, show };
}

// What the task "own lines" learns.
function linesOf(onChange) {
  const id = uid();
  const typed = h("textarea", { id, rows: 4, "data-control": "lines" });
  put(typed, { spellcheck: "false", placeholder: "a b c\tc b a" });
  const told = () => onChange({ lines: typed.value });
  typed.addEventListener("change", told);
  const take = button("take-lines", "Learn these lines", told);
  let isOpen = false;
  const show = (settings) => {
    isOpen = settings.task === "lines";
    if (isOpen && !typed.value) typed.value = settings.lines;
  };
  const view = () => html`<div class="tfpg-lines" ?hidden=${!isOpen}>
    <label for=${id}>Lines: a source, a tab, a target</label>${typed}${take}
  </div>`;
  return { view, show };
}

// onChange hears { name: value } of a change; onTask the key of a task.
// -> { task, lines, model, training, broken: templates, show(settings) }
export function controls(onChange, onTask) {
  const titles = OPEN_TASKS.map(({ title }) => title);
  const task = select("task", titles, (i) => onTask(OPEN_TASKS[i].key));
  const named = (name, legend, texts) => {
    const told = (x) => onChange({ [name]: x });
    return oneOf(name, legend, Object.keys(texts), told, Object.values(texts));
  };
  const all = (names, make) =>
    Object.fromEntries(Object.keys(names).map((name) => [name, make(name, onChange)]));
  const shape = named("shape", "Shape", SHAPES);
  const norm = named("norm", "Norm", NORMS);
  const lists = all(LISTS, list);
  const switches = all(SWITCHES, switchOf);
  const lines = linesOf(onChange);
  let asked = "";
  const nodes = (made) => Object.values(made).map(({ node }) => node);
  const row = (...range) =>
    html`<div class="tfpg-row">${nodes(lists).slice(...range)}</div>`;

  function show(settings) {
    const known = OPEN_TASKS.findIndex(({ key }) => key === settings.task);
    if (known >= 0) task.value = String(known);
    asked = TASKS.find(({ key }) => key === settings.task).line;
    showAll({ shape, norm, ...lists, ...switches }, settings);
    lines.show(settings);
    for (const { input } of [switches.causal, switches.shift]) // of decoders
      input.disabled = settings.shape === "encoder";
  }
  return {
    task: () =>
      html`<label class="tfpg-task"><strong>Task </strong>${task} <span class="tfpg-asked">${asked}</span></label>`,
    lines: lines.view,
    model: [shape.set, row(0, 3), norm.set],
    training: row(3),
    broken: nodes(switches),
    show,
  };
}
