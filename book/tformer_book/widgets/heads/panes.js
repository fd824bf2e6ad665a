// One or two maps in large, as a matrix or as lines, and as tables.
import { DOWN, onArrows, within } from "../kit/arrows.js";
import { grid } from "../kit/grid.js";
import { h, put, say, textTable } from "../kit/kit.js";
import { format } from "../kit/numbers.js";
import { html, nothing, render, svg } from "../kit/vendor/lit.js";
import { axes, mapsOf, nameOf, strongest, titleOf } from "./weights.js";

const FAINTEST = 0.01; // a weight below it gets no line
const ROW = 26; // px between pieces where lines are drawn

// The largest weight that colours and lines are measured by.
const largestOf = (map, signed) =>
  signed ? Math.max(...map.flat().map(Math.abs), 1e-9) : 1;

// The large pictures, and the same as tables.
export function picturesOf(tools) {
  const panes = [paneOf("first", tools), paneOf("second", tools)];
  const tables = [
    textTable("The same as a table", "query"),
    textTable("The second head as a table", "query"),
  ];
  const node = h("div", { class: "tfh-pictures" }, panes[0].node, panes[1].node);
  function show(attention, state) {
    const { rows, columns, predicted } = axes(attention, state.site);
    const maps = mapsOf(attention, state);
    const signed = state.compare === "difference";
    const names = [
      signed ? titleOf(state) : nameOf(state.layer, state.head),
      nameOf(...state.other),
    ];
    node.classList.toggle("tfh-two", maps.length === 2);
    for (const k of [0, 1]) {
      put(panes[k].node, { hidden: k >= maps.length });
      put(tables[k].node, { hidden: k >= maps.length });
      if (k >= maps.length) continue;
      panes[k].show({
        name: names[k],
        caption: maps.length === 2,
        form: state.form,
        map: maps[k],
        rows,
        columns,
        predicted,
        signed,
        future: state.site === "decoder",
      });
      tables[k].show(
        [...columns, ...(predicted.length ? ["predicts"] : [])],
        rows.map((row, i) => [
          row,
          ...maps[k][i].map((w) => format(w, 3)),
          ...predicted.slice(i, i + 1),
        ]),
      );
    }
  }
  function highlight(active, locked) {
    for (const pane of panes) pane.highlight(active, locked);
  }
  return { node, tables: tables.map((each) => each.node), show, highlight };
}

// -> { node, show(given): what `matrixOf` takes, and { name, caption: whether it shows,
//      form }, highlight(active, locked): rows, or -1 }
function paneOf(name, { onHover, onPick }) {
  const caption = h("p", { class: "tfh-caption" });
  const map = grid("Weights", {
    rowAxis: "query",
    columnAxis: "key",
    onPick: (i) => onPick(i),
    onMove: (i) => onHover(i),
  });
  const lines = linesOf({ onHover, onPick });
  const node = h("div", { class: "tfh-pane", "data-pane": name });
  node.append(caption, map.node, lines.node);
  const rows = () => [...(map.table.tBodies[0]?.rows ?? [])];
  const rowOf = ({ target }) => rows().indexOf(target.closest("tbody tr"));
  map.table.addEventListener("pointerover", (event) => {
    if (rowOf(event) >= 0) onHover(rowOf(event));
  });
  map.table.addEventListener("click", (event) => {
    if (event.target.closest("th, .tfk-extra") && rowOf(event) >= 0)
      onPick(rowOf(event));
  });

  function show(given) {
    const { name, caption: isNamed, form, signed } = given;
    const scale = "Blue: the first gives more. Orange: the second does.";
    say(caption, signed ? scale : isNamed ? name : "");
    put(map.node, { hidden: form !== "matrix" });
    put(lines.node, { hidden: form !== "lines" });
    put(map.table, { "aria-label": `${name}: queries by keys` });
    if (form === "lines") lines.show(given);
    else map.show(matrixOf(given));
  }
  function highlight(active, locked) {
    rows().forEach((row, i) => {
      row.classList.toggle("tfh-on", i === active);
      row.classList.toggle("tfh-locked", i === locked);
    });
    lines.highlight(active, locked);
  }
  return { node, show, highlight };
}

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
      text: off ? "" : Math.abs(w) < 0.005 ? "0" : format(w),
      exact: w,
      off,
      share: Math.abs(w) / largest,
      label: `query ${rows[i]}, key ${columns[j]}, ${what}`,
      mark: w < 0 ? "tfh-less" : "",
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
