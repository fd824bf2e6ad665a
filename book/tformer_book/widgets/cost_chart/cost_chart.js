// What a model costs: four prices as bars, and what doubling each size does to them.
import {
  bind,
  figure,
  listSlider,
  liveRegion,
  presets,
  showAll,
  stopping,
  textTable,
} from "../kit/kit.js";
import { commas, format, percent } from "../kit/numbers.js";
import { heads } from "../kit/table.js";
import { render as draw, html } from "../kit/vendor/lit.js";
import {
  BATCHES,
  growth,
  LAYERS,
  LENGTHS,
  large,
  prices,
  SIZES,
  total,
  WIDTHS,
} from "./maths.js";

const CACHE = "Key/value cache, once the target is written";
const ROWS = [
  { name: "parameters", title: "Parameters", kind: "count" },
  { name: "operations", title: "Operations of a training step", kind: "count" },
  { name: "training", title: "Memory of training", kind: "bytes", short: "memory" },
  { name: "cache", title: CACHE, kind: "bytes" },
];
const COLOURS = ["query", "key", "value", "output"];
const LETTERS = ["d", "N", "T", "B"];
/** @type {[string, string, number[]][]} */
const SLIDERS = [
  ["d_model", "width d", WIDTHS],
  ["n_layers", "layers N", LAYERS],
  ["length", "length T", LENGTHS],
  ["batch", "batch B", BATCHES],
];

function bar({ name, title, kind }, parts) {
  const sum = total(parts);
  const label = parts.map(([part, x]) => `${part} ${percent(x / sum)}`).join(", ");
  return html`<section class="tfco-price" aria-label=${title}>
    <p class="tfco-title"><span>${title}</span><strong data-total=${name} data-exact=${sum}>${large(sum, kind)}</strong></p>
    <div class="tfco-bar" role="img" aria-label=${label}>${parts.map(
      ([, x], i) =>
        html`<span class="tfco-${COLOURS[i]}" style="width: ${((100 * x) / sum).toFixed(3)}%"></span>`,
    )}</div>
    <p class="tfco-legend" aria-hidden="true">${parts.map(
      ([part, x], i) =>
        html`<span><i class="tfco-${COLOURS[i]}"></i>${part} ${percent(x / sum, 0)}</span>`,
    )}</p>
  </section>`;
}

function growing(times) {
  const cell = (x, place) =>
    html`<td data-growth=${place} class=${x > 2.005 ? "tfco-more" : ""}>× ${format(x, 2)}</td>`;
  return html`<table class="tfco-growing">
    <caption>What each price is multiplied by if one size doubles (bold: more than 2)</caption>
    ${heads(["", ...LETTERS.map((letter) => `2 ${letter}`)])}
    <tbody>${ROWS.map(
      ({ name, short = name }, i) =>
        html`<tr><th scope="row">${short}</th>${times[name].map((x, j) => cell(x, `${i}-${j}`))}</tr>`,
    )}</tbody>
  </table>`;
}

function render({ model, el }) {
  const root = figure(el, "tfco", "What a model costs");
  const names = ["vocab_size", "d_head", "norm", ...SIZES];
  const live = liveRegion();
  const { read, commit, set, stop } = bind(model, names, () => update());
  const all = model.get("presets").map((each) => [each.name, each.sizes]);
  const ready = presets("preset", "Model:", all, commit);
  const sliders = Object.fromEntries(
    SLIDERS.map(([name, ...of]) => [name, listSlider(name, ...of, set(name))]),
  );
  const behind = textTable("All amounts as a table", "part");

  function update(speak = true) {
    const c = read();
    const found = prices(c);
    ready.show(c);
    showAll(sliders, c);
    behind.show(
      ["amount"],
      ROWS.flatMap(({ name, title }) =>
        found[name].map(([part, x]) => [`${title}: ${part}`, commas(Math.round(x))]),
      ),
    );
    draw(
      html`${ready.set}
        <div class="tfco-sliders">${Object.values(sliders).map(({ box }) => box)}</div>
        <div class="tfco-bars">${ROWS.map((row) => bar(row, found[row.name]))}</div>
        ${growing(growth(c))}${behind.node}${live.node}`,
      root,
    );
    const sums = ROWS.map(
      ({ name, title, kind }) => `${title}: ${large(total(found[name]), kind)}`,
    );
    if (speak) live.announce(`${sums.join(". ")}.`);
  }

  update(false);
  return stopping(live, stop);
}

export default { render };
