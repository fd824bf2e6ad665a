// Falk's scheme: B above, A beside, so that row and column meet in their entry.
import { AROUND, onArrows } from "../kit/arrows.js";
import { html, nothing } from "../kit/vendor/lit.js";
import { explain, multiply, pairs, short } from "./maths.js";

const LIMIT = 99; // entries run from -LIMIT to LIMIT

// s: { a, b, row, column }; on: what hears the reader.
export function page(s, on, parts) {
  const { a, b, row, column } = s;
  const { m, k, k2, n, product } = multiply(a, b);
  const lack = html`<span class="tfmx-bad">✗ ${k} ≠ ${k2}</span>`;
  const inA = (i, j) => marks(i === row, j >= k2);
  const inB = (i, j) => marks(j === column, i >= k);
  return html`
    <div class="tfmx-sizes">
      ${sizes("A", parts.sizes.slice(0, 2))} ${sizes("B", parts.sizes.slice(2))}
    </div>
    <div class="tfk-scroll"><div class="tfmx-stage">
      <div class="tfmx-falk">
        <p class="tfmx-shapes">(${m}, <b>${k}</b>) @ (<b>${k2}</b>, ${n}) ${
          product ? `→ (${m}, ${n})` : lack
        }</p>
        <div class="tfmx-box tfmx-b">${entries("b", b, `B (${k2}, ${n})`, inB, on)}</div>
        <div class="tfmx-box tfmx-a">${entries("a", a, `A (${m}, ${k})`, inA, on)}</div>
        <div class="tfmx-box tfmx-c">${
          product
            ? results(product, `A @ B (${m}, ${n})`, s, on)
            : html`<p class="tfmx-none">no product</p>`
        }</div>
      </div>
      ${run(a, b, row, column, product)}
    </div></div>
    <p class="tfmx-worked ${product ? "" : "tfmx-bad"}">${explain(a, b, row, column)}</p>
    <div class="tfmx-actions">${parts.moves.nodes}${parts.buttons}</div>
    ${parts.live.node}`;
}

const marks = (isOn, isAlone) =>
  `${isOn ? "tfmx-on" : ""} ${isOn && isAlone ? "tfmx-alone" : ""}`;

// A matrix to type into; `look(i, j)` names what its cells look like.
function entries(name, rows, title, look, { onEntry, onLeave }) {
  const entry = (_x, i, j) => html`<td class=${look(i, j)}><input
    type="number" step="any" min=${-LIMIT} max=${LIMIT} data-control="${name}-${i}-${j}"
    aria-label="${name.toUpperCase()}, row ${i + 1}, column ${j + 1}" @blur=${onLeave}
    @input=${({ target: { valueAsNumber } }) => {
      // Empty or half typed: wait.
      if (Math.abs(valueAsNumber) <= LIMIT) onEntry(name, i, j, valueAsNumber);
    }}></td>`;
  return table(title, rows, entry);
}

function results(product, title, { row, column }, { onChoose, onArrow }) {
  const onKey = onArrows(AROUND, onArrow);
  const result = (x, i, j) => {
    const isOn = i === row && j === column;
    return html`<td class=${isOn ? "tfmx-on" : ""}><button type="button"
      data-control="c-${i}-${j}" data-exact=${x} aria-pressed=${String(isOn)}
      tabindex=${isOn ? 0 : -1}
      aria-label="${short(x)}: entry in row ${i + 1}, column ${j + 1}"
      @click=${() => onChoose(i, j)} @keydown=${onKey}>${short(x)}</button></td>`;
  };
  return table(title, product, result);
}

const sizes = (name, lists) => html`<fieldset class="tfmx-pair">
  <legend>${name}</legend>
  ${["rows", "columns"].map(
    (what, i) => html`<label class="tfmx-size"><span>${what}</span>${lists[i]}</label>`,
  )}
</fieldset>`;

const table = (title, rows, cell) => html`<table>
  <caption>${title}</caption>
  <tbody>${rows.map(
    (values, i) => html`<tr>${values.map((x, j) => cell(x, i, j))}</tr>`,
  )}</tbody>
</table>`;

// Row i slid onto column j, number by number: the line below says the same in words.
function run(a, b, i, j, product) {
  const chip = (name, c, x) => html`<span data-wave=${c}
    class="tfmx-chip tfmx-chip-${x === null ? "none" : name}"
    data-id=${x === null ? nothing : `${name}${c}`}>${x === null ? "?" : short(x)}</span>`;
  const sign = (text) => html`<span class="tfmx-sign">${text}</span>`;
  /** @param {number[]} pair @param {number} c */
  const term = ([x, y], c) =>
    html`${sign(c ? "+" : "")}${chip("a", c, x)}${sign("×")}${chip("b", c, y)}${sign("=")}
      <span class="tfmx-term">${x === null || y === null ? "✗" : short(x * y)}</span>`;
  return html`<div class="tfmx-run" aria-hidden="true">
    ${pairs(a, b, i, j).map(term)}
    <span class="tfmx-total">row ${i + 1} · column ${j + 1} =</span>
    <span class="tfmx-chip tfmx-chip-${product ? "c" : "none"}">${product ? short(product[i][j]) : "?"}</span>
  </div>`;
}
