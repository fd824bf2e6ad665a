// What a model costs: four prices as bars, and what doubling each size does to them.
// `prices` is the whole arithmetic and runs in Node; the tests hold it to `tformer.analysis.cost`.
import {
  bind,
  figure,
  h,
  liveRegion,
  put,
  radios,
  say,
  slider,
  textTable,
} from "../kit/kit.js";
import { commas, format, percent } from "../kit/numbers.js";

export const WIDTHS = [64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048];
export const LAYERS = [1, 2, 3, 4, 6, 8, 12, 16, 24];
export const LENGTHS = [1, 2, 4, 8, 16, 25, 32, 64, 128, 256, 512, 1024, 2048, 4096];
export const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 2048];
const FLOAT = 4; // bytes of a number

// Each price as parts [name, amount]: numbers, operations, bytes, bytes.
/** @param {Record<string, any>} c @returns {Record<string, [string, number][]>} */
export function prices(c) {
  const { vocab_size: V, d_model: d, n_layers: N, length: T, batch: B } = c;
  const pre = c.norm === "pre";
  const f = 4 * d;
  const heads = d / c.d_head;
  const attentions = 3 * N; // one in an encoder layer, two in a decoder layer
  const norms = 5 * N + (pre ? 2 : 0);
  /** @type {[string, number][]} */
  const parameters = [
    ["embedding table", V * d],
    ["attention", attentions * 4 * (d * d + d)],
    ["feed-forward", 2 * N * (2 * d * f + f + d)],
    ["norms", norms * 2 * d],
  ];
  const weights = FLOAT * parameters.reduce((sum, [, n]) => sum + n, 0);
  const places = B * T;
  const ends = (pre ? 3 : 2) * d;
  const ofSource = N * (10 * d + f + heads + 4) + N * 2 * d + ends;
  const ofTarget = N * (15 * d + f + 2 * heads + 6 + T) + ends;
  return {
    parameters,
    operations: [
      ["vocabulary", 3 * places * 2 * d * V],
      ["projections", 3 * places * attentions * 8 * d * d],
      ["feed-forward", 3 * places * 2 * N * 4 * d * f],
      ["word against word", 3 * places * attentions * 4 * T * d],
    ],
    training: [
      ["weights", weights],
      ["gradients", weights],
      ["Adam’s averages", 2 * weights],
      ["activations", FLOAT * (places * (ofSource + ofTarget) + 8 * N * d * d)],
    ],
    cache: [
      ["source", FLOAT * 2 * N * d * places],
      ["target so far", FLOAT * 2 * N * d * places],
    ],
  };
}

/** @param {[string, number][]} parts */
export const total = (parts) => parts.reduce((sum, [, amount]) => sum + amount, 0);

// How many times as much each price becomes when one size doubles.
/** @type {string[]} */
export const SIZES = ["d_model", "n_layers", "length", "batch"];
/** @param {Record<string, any>} c @returns {Record<string, number[]>} */
export function growth(c) {
  const now = prices(c);
  return Object.fromEntries(
    Object.keys(now).map((name) => [
      name,
      SIZES.map(
        (size) => total(prices({ ...c, [size]: 2 * c[size] })[name]) / total(now[name]),
      ),
    ]),
  );
}

const UNITS = {
  count: ["", " thousand", " million", " billion", " trillion", " quadrillion"],
  bytes: [" bytes", " kB", " MB", " GB", " TB", " PB"],
};
export function large(x, kind = "count") {
  const units = UNITS[kind];
  const power = Math.min(
    units.length - 1,
    Math.max(0, Math.floor(Math.log10(Math.max(1, x)) / 3 + 1e-12)),
  );
  const shown = x / 1000 ** power;
  const digits = power === 0 || shown >= 100 ? 0 : shown >= 10 ? 1 : 2;
  return `${shown >= 1e4 ? commas(Math.round(shown)) : format(shown, digits)}${units[power]}`;
}

const share = (x) => (x > 0 && x < 0.005 ? "<1\u00a0%" : percent(x, 0));

const ROWS = [
  ["parameters", "Parameters", "count"],
  ["operations", "Operations of a training step", "count"],
  ["training", "Memory of training", "bytes"],
  ["cache", "Key/value cache, once the target is written", "bytes"],
];
const COLOURS = ["query", "key", "value", "output"];
const LETTERS = ["d", "N", "T", "B"];

function bar(name, title, kind) {
  const amount = h("strong", { "data-total": name });
  const pieces = h("div", { class: "tfco-bar", role: "img" });
  const legend = h("p", { class: "tfco-legend", "aria-hidden": "true" });
  const node = h(
    "section",
    { class: "tfco-price", "aria-label": title },
    h("p", { class: "tfco-title" }, h("span", {}, title), amount),
    pieces,
    legend,
  );
  const show = (parts) => {
    const sum = total(parts);
    say(amount, large(sum, kind));
    amount.dataset.exact = String(sum);
    pieces.replaceChildren(
      ...parts.map(([, x], i) =>
        h("span", {
          class: `tfco-${COLOURS[i]}`,
          style: `width:${((100 * x) / sum).toFixed(3)}%`,
        }),
      ),
    );
    put(pieces, {
      "aria-label": parts.map(([part, x]) => `${part} ${percent(x / sum)}`).join(", "),
    });
    legend.replaceChildren(
      ...parts.map(([part, x], i) =>
        h(
          "span",
          {},
          h("i", { class: `tfco-${COLOURS[i]}` }),
          `${part} ${share(x / sum)}`,
        ),
      ),
    );
  };
  return { node, show };
}

function render({ model, el }) {
  const root = figure(el, "tfco", "What a model costs");
  const names = ["vocab_size", "d_head", "norm", ...SIZES];
  const state = () => Object.fromEntries(names.map((name) => [name, model.get(name)]));
  const live = liveRegion();
  const { commit, stop } = bind(model, names, () => update());

  const presets = model.get("presets");
  const choose = radios(
    "preset",
    "Model:",
    presets.map((each) => each.name),
    -1,
    (i) => commit(presets[i].sizes),
  );
  /** @type {[string, string, number[]][]} */
  const sizes = [
    ["d_model", "width d", WIDTHS],
    ["n_layers", "layers N", LAYERS],
    ["length", "length T", LENGTHS],
    ["batch", "batch B", BATCHES],
  ];
  const sliders = sizes.map(([name, label, values]) => {
    const made = slider(
      name,
      label,
      {
        min: 0,
        max: values.length - 1,
        step: 1,
        text: () => commas(model.get(name)),
      },
      (i) => commit({ [name]: values[i] }),
    );
    return { made, show: () => made.show(values.indexOf(model.get(name))) };
  });
  const bars = ROWS.map(([name, title, kind]) => bar(name, title, kind));
  const cells = new Map();
  const growing = h(
    "table",
    { class: "tfco-growing" },
    h(
      "caption",
      {},
      "What each price is multiplied by if one size doubles (bold: more than 2)",
    ),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, ""),
        ...LETTERS.map((letter) => h("th", { scope: "col" }, `2 ${letter}`)),
      ),
    ),
    h(
      "tbody",
      {},
      ...["parameters", "operations", "memory", "cache"].map((short, i) => {
        const row = LETTERS.map((_, j) => h("td", { "data-growth": `${i}-${j}` }));
        cells.set(ROWS[i][0], row);
        return h("tr", {}, h("th", { scope: "row" }, short), ...row);
      }),
    ),
  );
  const behind = textTable("All amounts as a table", "part");
  root.append(
    choose.set,
    h("div", { class: "tfco-sliders" }, ...sliders.map((each) => each.made.box)),
    h("div", { class: "tfco-bars" }, ...bars.map((each) => each.node)),
    growing,
    behind.node,
    live.node,
  );

  function update(speak = true) {
    const c = state();
    const found = prices(c);
    choose.pick(
      presets.findIndex((each) => names.every((name) => each.sizes[name] === c[name])),
    );
    for (const each of sliders) each.show();
    ROWS.forEach(([name], i) => bars[i].show(found[name]));
    const times = growth(c);
    for (const [name, row] of cells) {
      row.forEach((cell, j) => {
        say(cell, `× ${format(times[name][j], 2)}`);
        cell.classList.toggle("tfco-more", times[name][j] > 2.005);
      });
    }
    behind.show(
      ["amount"],
      ROWS.flatMap(([name, title]) =>
        found[name].map(([part, x]) => [`${title}: ${part}`, commas(Math.round(x))]),
      ),
    );
    if (speak) {
      const sums = ROWS.map(
        ([name, title, kind]) => `${title}: ${large(total(found[name]), kind)}`,
      );
      live.announce(`${sums.join(". ")}.`);
    }
  }

  update(false);
  return () => {
    live.stop();
    stop();
  };
}

export default { render };
