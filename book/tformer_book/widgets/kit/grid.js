import { arrowKeys, GRID, within } from "./arrows.js";
import { h, put, say } from "./kit.js";

// A heat map whose cells the keyboard reaches: Tab enters it, arrows, Home and End move,
// Space and Enter pick. `show` takes row and column names and, for each cell, its text,
// what a screen reader says, its share of the colour scale (0 to 1) and whether it is off.
/**
 * @param {string} label
 * @param {object} options
 * @param {string} options.rowAxis
 * @param {string} options.columnAxis
 * @param {(i: number, j: number) => void} [options.onPick]
 * @param {(i: number, j: number) => void} [options.onMove]
 */
export function grid(
  label,
  { rowAxis, columnAxis, onPick = () => {}, onMove = () => {} },
) {
  const table = h("table", { class: "tfk-grid", role: "grid", "aria-label": label });
  const node = h("div", { class: "tfk-scroll" }, table);
  let cells = [];
  /** @type {[number, number]} */
  let at = [0, 0];
  const go = (i, j) => {
    cells[at[0]]?.[at[1]]?.setAttribute("tabindex", -1);
    at = [within(i, cells.length), within(j, cells[0].length)];
    cells[at[0]][at[1]].setAttribute("tabindex", 0);
    return cells[at[0]][at[1]];
  };
  arrowKeys(table, GRID, ([down, right]) => go(at[0] + down, at[1] + right).focus());
  table.addEventListener("keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    onPick(...at);
  });
  const build = (rows, columns, extra) => {
    const corner = h(
      "td",
      { class: "tfk-axes" },
      h("span", { class: "tfk-query" }, rowAxis),
      " \\ ",
      h("span", { class: "tfk-key" }, columnAxis),
    );
    const head = h(
      "tr",
      { role: "row" },
      corner,
      ...columns.map((name) =>
        h("th", { scope: "col", role: "columnheader" }, h("span", {}, name)),
      ),
      ...extra.map((name) =>
        h(
          "th",
          { scope: "col", role: "columnheader", class: "tfk-extra" },
          h("span", {}, name),
        ),
      ),
    );
    cells = rows.map((_, i) =>
      columns.map((__, j) => {
        const cell = h("td", {
          role: "gridcell",
          tabindex: -1,
          "data-cell": `${i}-${j}`,
        });
        cell.addEventListener("click", () => {
          go(i, j).focus();
          onPick(i, j);
        });
        cell.addEventListener("focus", () => {
          go(i, j);
          onMove(i, j);
        });
        return cell;
      }),
    );
    table.replaceChildren(
      h("thead", { role: "rowgroup" }, head),
      h(
        "tbody",
        { role: "rowgroup" },
        ...rows.map((name, i) =>
          h(
            "tr",
            { role: "row" },
            h("th", { scope: "row", role: "rowheader" }, name),
            ...cells[i],
            ...extra.map(() => h("td", { role: "gridcell", class: "tfk-extra" })),
          ),
        ),
      ),
    );
    go(Math.min(at[0], rows.length - 1), Math.min(at[1], columns.length - 1));
    table.dataset.names = JSON.stringify([rows, columns, extra]);
  };
  /**
   * @param {object} contents
   * @param {string[]} contents.rows
   * @param {string[]} contents.columns
   * @param {(i: number, j: number) => any} contents.cell
   * @param {string[]} [contents.extra]
   * @param {(i: number) => any[]} [contents.beside]
   */
  const show = ({ rows, columns, cell, extra = [], beside = () => [] }) => {
    if (table.dataset.names !== JSON.stringify([rows, columns, extra]))
      build(rows, columns, extra);
    cells.forEach((row, i) => {
      row.forEach((td, j) => {
        const {
          text,
          label: spoken,
          share = 0,
          off = false,
          mark = "",
          exact,
        } = cell(i, j);
        say(td, text);
        // A name begins with what is seen: whoever says "click .35" means this cell.
        const name = text ? `${text}: ${spoken}` : spoken;
        put(td, { "aria-label": name, "data-exact": exact });
        td.className = `tfk-cell${off ? " tfk-off" : ""}${share > 0.5 ? " tfk-strong" : ""}${mark ? ` ${mark}` : ""}`;
        // No colour in the middle of the scale, where neither ink would be read well.
        td.style.setProperty(
          "--share",
          `${(share > 0.5 ? 75 + 50 * (share - 0.5) : 80 * share).toFixed(1)}%`,
        );
      });
      const more = [...row[0].parentElement.querySelectorAll(".tfk-extra")];
      beside(i).forEach((text, k) => say(more[k], text));
    });
  };
  return { node, table, show, at: () => at };
}
