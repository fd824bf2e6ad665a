// The settings of a run: each control says what it changed.
import { button, check, h, radios, say, select, uid } from "../kit/kit.js";
import { isInTheBook } from "../model_map/chapters.js";
import { DEFAULTS, settingsOf } from "../training/settings.js";
import { TASKS } from "../training/tasks.js";
import { SWITCHES } from "./words.js";

export const OPEN_TASKS = TASKS.filter(({ hidden }) => !hidden);
const SHAPES = {
  "encoder-decoder": "encoder–decoder",
  decoder: "decoder only",
  encoder: "encoder only",
};
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

// A link to a chapter, where there is one beside this page.
/** @param {string[]} chapter */
export function chapterLink([page, title]) {
  if (!isInTheBook()) return h("em", {}, title);
  return h("a", { href: `${page}.html` }, title);
}

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

// onChange hears { name: value } of a change; onTask the key of a task.
// -> { task, model, training, broken: boxes, lines, show(settings) }
export function controls(onChange, onTask) {
  const task = select(
    "task",
    OPEN_TASKS.map(({ title }) => title),
    (i) => onTask(OPEN_TASKS[i].key),
  );
  const asked = h("span", { class: "tfpg-asked" });
  const shapes = Object.keys(SHAPES);
  const shape = radios("shape", "Shape", Object.values(SHAPES), 0, (i) =>
    onChange({ shape: shapes[i] }),
  );
  const norms = ["pre", "post"];
  const norm = radios("norm", "Norm", ["before each part", "after it"], 0, (i) =>
    onChange({ norm: norms[i] }),
  );
  const lists = Object.fromEntries(
    Object.entries(LISTS).map(([name, [label, values]]) => {
      const node = select(name, values.map(String), (i) =>
        onChange({ [name]: values[i] }),
      );
      const box = h("label", { class: "tfpg-list" }, h("span", {}, label), node);
      return [name, { node, box, values }];
    }),
  );
  const pick = (...names) => names.map((name) => lists[name].box);
  const switches = Object.entries(SWITCHES).map(([name, [text, watch, chapter]]) => {
    const one = check(`switch-${name}`, text, true, (on) => onChange({ [name]: on }));
    const about = h(
      "details",
      { class: "tfpg-watch" },
      h("summary", {}, "Off: what happens?"),
      `${watch} (`,
      chapterLink(chapter),
      ").",
    );
    return { name, one, row: h("div", { class: "tfpg-switch" }, one.box, about) };
  });

  const id = uid();
  const typed = h("textarea", {
    id,
    rows: 4,
    "data-control": "lines",
    spellcheck: "false",
    placeholder: "a b c\tc b a",
  });
  typed.addEventListener("change", () => onChange({ lines: typed.value }));
  const take = button("take-lines", "Learn these lines", () =>
    onChange({ lines: typed.value }),
  );
  const lines = h(
    "div",
    { class: "tfpg-lines", hidden: true },
    h("label", { for: id }, "Lines: a source, a tab, a target"),
    typed,
    take,
  );

  function show(settings) {
    const known = OPEN_TASKS.findIndex(({ key }) => key === settings.task);
    if (known >= 0) task.value = String(known);
    say(asked, TASKS.find(({ key }) => key === settings.task).line);
    shape.pick(shapes.indexOf(settings.shape));
    norm.pick(norms.indexOf(settings.norm));
    for (const [name, { node, values }] of Object.entries(lists)) {
      const at = values.indexOf(settings[name]);
      node.value = at < 0 ? "" : String(at);
    }
    for (const { name, one } of switches) {
      one.input.checked = settings[name];
      const isDecoders = name === "causal" || name === "shift";
      one.input.disabled = isDecoders && settings.shape === "encoder";
    }
    lines.hidden = settings.task !== "lines";
    if (lines.hidden === false && !typed.value) typed.value = settings.lines;
  }
  show(DEFAULTS);
  return {
    task: h(
      "label",
      { class: "tfpg-task" },
      h("strong", {}, "Task "),
      task,
      " ",
      asked,
    ),
    lines,
    model: [
      shape.set,
      h("div", { class: "tfpg-row" }, ...pick("layers", "heads", "width")),
      norm.set,
    ],
    training: [
      h("div", { class: "tfpg-row" }, ...pick("rate", "warmup", "batch", "smoothing")),
    ],
    broken: switches.map(({ row }) => row),
    show,
  };
}
