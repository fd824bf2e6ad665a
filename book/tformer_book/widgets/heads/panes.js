// One or two maps in large, as a matrix or as lines, and as tables.
import { DOWN, onArrows, within } from "../kit/arrows.js";
import { grid } from "../kit/grid.js";
import { h, put, say, textTable } from "../kit/kit.js";
import { brief, format } from "../kit/numbers.js";
import { html, nothing, render, svg } from "../kit/vendor/lit.js";
import { axes, mapsOf, nameOf, strongest, titleOf } from "./weights.js";

const FAINTEST = 0.01; // a weight below it gets no line
const MANY = 16; // columns, from which on numbers have no room
const MOST = 0.9; // the share of the scale below zero above which a cell is dark
const ROW = 26; // px between pieces where lines are drawn

// The largest weight that colours and lines are measured by.
const largestOf = (map, signed) =>
  signed ? Math.max(...map.flat().map(Math.abs), 1e-9) : 1;

// One or two large pictures, and the same as tables.
export function picturesOf(tools) {
  const panes = [
    paneOf("first", "The same as a table", tools),
    paneOf("second", "The second head as a table", tools),
  ];
  const node = h("div", { class: "tfh-pictures" }, ...panes.map((each) => each.node));
  function show(attention, state) {
    const { site, layer, head, form, compare } = state;
    const signed = compare === "difference";
    const maps = mapsOf(attention, state);
    const first = signed ? titleOf(state) : nameOf(layer, head);
    const names = [first, nameOf(...state.other)];
    const isPair = maps.length === 2;
    const about = {
      ...axes(attention, site),
      form,
      signed,
      future: site === "decoder",
    };
    node.classList.toggle("tfh-two", isPair);
    node.classList.toggle("tfh-many", about.columns.length > MANY);
    panes.forEach((pane, k) => {
      pane.show(maps[k] && { ...about, map: maps[k], name: names[k], isPair });
    });
  }
  function highlight(active, locked, kept) {
    for (const pane of panes) pane.highlight(active, locked, kept);
  }
  return { node, tables: panes.map(({ table }) => table), show, highlight };
}

// -> { node, table, show(given): what `matrixOf` takes, and { name, form, isPair: whether it
//      needs its name }, or undefined, highlight(active, locked: rows, or -1, kept: the
//      cell of the row that is kept, or null) }
function paneOf(pane, title, { onHover, onPick }) {
  const caption = h("p", { class: "tfh-caption" });
  const map = grid("Weights", {
    rowAxis: "query",
    columnAxis: "key",
    onPick,
    onMove: (i) => onHover(i),
  });
  const lines = linesOf({ onHover, onPick });
  const table = textTable(title, "query");
  const node = h("div", { class: "tfh-pane", "data-pane": pane });
  node.append(caption, map.node, lines.node);
  const rows = () => [...(map.table.tBodies[0]?.rows ?? [])];
  // Names and predictions stand for their row, too.
  const hear = (name, part, does) =>
    map.table.addEventListener(name, ({ target }) => {
      const cell = /** @type {Element} */ (target).closest(part);
      const i = cell ? rows().indexOf(cell.closest("tbody tr")) : -1;
      if (i >= 0) does(i);
    });
  hear("pointerover", "th, td", onHover);
  hear("click", "th, .tfk-extra", (i) => onPick(i));

  function show(given) {
    for (const each of [node, table.node]) put(each, { hidden: !given });
    if (!given) return;
    const { name, isPair, form, map: weights, columns, predicted } = given;
    say(caption, isPair ? name : "");
    put(map.node, { hidden: form !== "matrix" });
    put(lines.node, { hidden: form !== "lines" });
    put(map.table, { "aria-label": `${name}: queries by keys` });
    if (form === "lines") lines.show(given);
    else map.show(matrixOf(given));
    table.show(
      [...columns, ...(predicted.length ? ["predicts"] : [])],
      given.rows.map((row, i) => [
        row,
        ...weights[i].map((w) => format(w, 3)),
        ...predicted.slice(i, i + 1),
      ]),
    );
  }
  function highlight(active, locked, kept) {
    rows().forEach((row, i) => {
      row.classList.toggle("tfh-on", i === active);
      row.classList.toggle("tfh-locked", i === locked);
    });
    for (const cell of map.table.querySelectorAll("[data-cell]"))
      cell.classList.toggle("tfh-kept", cell.dataset.cell === kept?.join("-"));
    lines.highlight(active, locked);
  }
  return { node, table: table.node, show, highlight };
}

// A weight in three characters, so that cells are of one width.
const inCell = (w) =>
  Math.abs(w) < 0.005 ? "0" : w >= 0.995 ? "1" : w <= -0.995 ? "−1" : brief(w);

// What the grid shows. signed: weights are differences; future: keys after their query
// cannot be seen.
function matrixOf({ map, rows, columns, predicted, signed, future }) {
  const largest = largestOf(map, signed);
  const cell = (i, j) => {
    const w = map[i][j];
    const off = future && j > i;
    const kind = signed ? "difference" : "weight";
    const what = off ? "in the future" : `${kind} ${format(w, 3)}`;
    return {
      text: off ? "" : inCell(w),
      exact: w,
      off,
      share: Math.abs(w) / largest,
      label: `query ${rows[i]}, key ${columns[j]}, ${what}`,
      mark: w < 0 ? `tfh-less ${w < -MOST * largest ? "tfh-most" : ""}` : "",
    };
  };
  return {
    rows,
    columns,
    extra: predicted.length ? ["predicts"] : [],
    beside: (i) => predicted.slice(i, i + 1),
    cell,
  };
}

// Queries left, keys right, a line for each weight: the thicker, the larger.
function linesOf({ onHover, onPick }) {
  const node = h("div", { class: "tfh-lines" });
  let now = null; // what is shown
  let marked = { active: -1, locked: -1 };
  let at = 0; // the query that Tab reaches
  const draw = () =>
    now &&
    render(
      linesPicture(now, { ...marked, at }, { onKey, onFocus, onHover, onPick }),
      node,
    );
  const queries = () => node.querySelector(".tfh-queries");
  function onFocus(i) {
    at = i;
    onHover(i); // which draws
  }
  const onKey = onArrows(DOWN, (by) =>
    queries().children[within(at + by, now.rows.length)].focus(),
  );
  node.addEventListener("pointerleave", () => {
    if (!queries()?.contains(document.activeElement)) onHover(-1);
  });
  return {
    node,
    show(given) {
      if (JSON.stringify(given.rows) !== JSON.stringify(now?.rows)) at = 0;
      now = given;
      draw();
    },
    highlight(active, locked) {
      marked = { active, locked };
      draw();
    },
  };
}

function linesPicture(
  { map, rows, columns, predicted, signed },
  { active, locked, at },
  tools,
) {
  const height = ROW * Math.max(rows.length, columns.length);
  const largest = largestOf(map, signed);
  const labelOf = (i) =>
    strongest(map[i])
      .map(([j, w]) => `${columns[j]} ${format(w)}`)
      .join(", ");
  const query = (name, i) => html`
    <button type="button" data-control="query-${i}" class=${i === active ? "tfh-on" : ""} tabindex=${i === at ? 0 : -1}
      aria-pressed=${String(i === locked)} aria-label="query ${name}: ${labelOf(i)}"
      @click=${() => tools.onPick(i)} @focus=${() => tools.onFocus(i)} @pointerenter=${() => tools.onHover(i)}
    >${predicted[i] === undefined ? nothing : html`<small>${predicted[i]} ← </small>`}${name}</button>`;
  const key = (name, j) => {
    const w = map[active]?.[j] ?? null;
    const share = w === null ? 0 : Math.round(60 * Math.abs(w));
    return html`
      <span data-exact=${w ?? nothing} style="--share: ${share}%"><span>${name}</span><small>${w === null || Math.abs(w) < 0.005 ? "" : ` ${format(w)}`}</small></span>`;
  };
  return html`
    <p class="tfk-query">${predicted.length ? "predicts ← query" : "query"}</p><span></span><p class="tfk-key">key</p>
    <div class="tfh-queries" role="group" aria-label="Queries: the arrow keys walk, Enter keeps one" @keydown=${tools.onKey}>${rows.map(query)}</div>
    <svg aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 100 ${height}" style="height: ${height}px">${map.map(
      (row, i) =>
        svg`<g class=${active < 0 || i === active ? "" : "tfh-dim"}>${weightLines(row, i, largest)}</g>`,
    )}</svg>
    <div class="tfh-keys">${columns.map(key)}</div>`;
}

const middle = (i) => ROW * (i + 0.5);
const weightLines = (row, i, largest) =>
  row.map((w, j) => {
    const share = Math.abs(w) / largest;
    if (share < FAINTEST) return nothing;
    return svg`<line x1="0" y1=${middle(i)} x2="100" y2=${middle(j)} class=${w < 0 ? "tfh-less" : ""}
      stroke-opacity=${share.toFixed(3)} stroke-width=${(0.5 + 4 * share).toFixed(2)} vector-effect="non-scaling-stroke" />`;
  });
