import { arrowKeys, GRID, within } from "./arrows.js";
import { h } from "./kit.js";
import { html, nothing, render } from "./vendor/lit.js";

const TURN = 0.55; // the share of the scale above which a cell needs the other ink
const tone = (share) => `--share: ${(100 * share).toFixed(1)}%`;

// A name begins with what is seen: whoever says "click .35" means this cell.
function cellOf(place, isEntry, { text, label, share = 0, off, mark, exact }) {
  const looks = ["tfk-cell", off && "tfk-off", share > TURN && "tfk-strong", mark];
  return html`<td role="gridcell" tabindex=${isEntry ? 0 : -1} data-cell=${place}
    class=${looks.filter(Boolean).join(" ")} style=${tone(share)}
    aria-label=${text ? `${text}: ${label}` : label} data-exact=${exact ?? nothing}
    >${text}</td>`;
}

const heading = (name, more = "") =>
  html`<th scope="col" role="columnheader" class=${more || nothing}><span>${name}</span></th>`;

function rowsOf([down, right], shown) {
  const { columns, extra = [] } = shown;
  return shown.rows.map((name, i) => {
    const beside = shown.beside?.(i) ?? [];
    return html`<tr role="row" class=${shown.rowMark?.(i) || nothing}>
      <th scope="row" role="rowheader">${name}</th>
      ${columns.map((_, j) => cellOf(`${i}-${j}`, i === down && j === right, shown.cell(i, j)))}
      ${extra.map((_, k) => html`<td role="gridcell" class="tfk-extra">${beside[k]}</td>`)}
    </tr>`;
  });
}

// A heat map whose cells the keyboard reaches: Tab enters it, arrows, Home and End move,
// Space and Enter pick. `show` takes row and column names and, for each cell, its text,
// what a screen reader says, its share of the colour scale (0 to 1) and whether it is off.
/**
 * @param {string} label
 * @param {object} options
 * @param {string} options.rowAxis
 * @param {string} options.columnAxis
 * @param {(i: number, j: number) => void} [options.onPick]
 * @param {(i: number, j: number) => void} [options.onMove] of the focus
 * @param {(i: number, j: number) => void} [options.onHover] of the pointer, as it comes in
 */
export function grid(
  label,
  { rowAxis, columnAxis, onPick = () => {}, onMove = () => {}, onHover = () => {} },
) {
  const table = h("table", { class: "tfk-grid", role: "grid", "aria-label": label });
  const node = h("div", { class: "tfk-scroll" }, table);
  /** @type {[number, number]} */
  let at = [0, 0];
  /** @type {Record<string, any>} */
  let shown = { rows: [], columns: [] };
  const draw = () => {
    at = [within(at[0], shown.rows.length), within(at[1], shown.columns.length)];
    const axes = html`<td class="tfk-axes"><span class="tfk-query">${rowAxis}</span> \\ <span class="tfk-key">${columnAxis}</span></td>`;
    const more = shown.extra?.map((name) => heading(name, "tfk-extra"));
    render(
      html`<thead role="rowgroup">
          <tr role="row">${axes}${shown.columns.map((name) => heading(name))}${more}</tr>
        </thead>
        <tbody role="rowgroup">${rowsOf(at, shown)}</tbody>`,
      table,
    );
  };
  const go = (i, j) => {
    at = [i, j];
    draw();
    /** @type {HTMLElement} */
    const cell = table.querySelector('[data-cell][tabindex="0"]');
    cell.focus();
  };
  const hear = (name, does) =>
    table.addEventListener(name, ({ target }) => {
      const cell = /** @type {Element} */ (target).closest("[data-cell]");
      if (cell instanceof HTMLElement)
        does(...cell.dataset.cell.split("-").map(Number));
    });
  arrowKeys(table, GRID, ([down, right]) => go(at[0] + down, at[1] + right));
  table.addEventListener("keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    onPick(...at);
  });
  hear("click", (i, j) => {
    go(i, j);
    onPick(i, j);
  });
  hear("focusin", (i, j) => {
    at = [i, j];
    draw();
    onMove(i, j);
  });
  hear("pointerover", onHover);
  /**
   * @param {object} contents
   * @param {string[]} contents.rows
   * @param {any[]} contents.columns texts or templates
   * @param {(i: number, j: number) => any} contents.cell
   * @param {string[]} [contents.extra]
   * @param {(i: number) => any[]} [contents.beside]
   * @param {(i: number) => string} [contents.rowMark]
   */
  const show = (contents) => {
    shown = contents;
    draw();
  };
  return { node, table, show, at: () => at };
}
