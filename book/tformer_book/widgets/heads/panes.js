// A map in large, as a matrix or as lines.
import { arrowKeys, DOWN, within } from "../kit/arrows.js";
import { grid } from "../kit/grid.js";
import { button, h, put, say } from "../kit/kit.js";
import { format } from "../kit/numbers.js";
import { strongest } from "./maps.js";

const FAINTEST = 0.01; // a weight below it gets no line
const ROW = 26; // px between pieces where lines are drawn

// The largest weight that colours and lines are measured by.
const largestOf = (map, signed) =>
  signed ? Math.max(...map.flat().map(Math.abs), 1e-9) : 1;

export function paneOf(name, { onHover, onPick }) {
  const caption = h("p", { class: "tfh-caption" });
  const map = grid("Weights", {
    rowAxis: "query",
    columnAxis: "key",
    onPick: (i) => onPick(i),
    onMove: (i) => onHover(i),
  });
  const lines = linesOf({ onHover, onPick });
  const node = h(
    "div",
    { class: "tfh-pane", "data-pane": name },
    caption,
    map.node,
    lines.node,
  );
  const rowOf = (event) =>
    [...(map.table.tBodies[0]?.rows ?? [])].indexOf(event.target.closest("tbody tr"));
  map.table.addEventListener(
    "pointerover",
    (event) => rowOf(event) >= 0 && onHover(rowOf(event)),
  );
  map.table.addEventListener(
    "click",
    (event) =>
      event.target.closest("th, .tfk-extra") &&
      rowOf(event) >= 0 &&
      onPick(rowOf(event)),
  );

  // What `matrixOf` takes, and { name, caption: whether it shows, form }.
  function show(given) {
    const { name, caption: named, form, signed } = given;
    say(
      caption,
      signed
        ? "Blue: the first gives more. Orange: the second does."
        : named
          ? name
          : "",
    );
    put(map.node, { hidden: form !== "matrix" });
    put(lines.node, { hidden: form !== "lines" });
    put(map.table, { "aria-label": `${name}: queries by keys` });
    if (form === "lines") lines.show(given);
    else map.show(matrixOf(given));
  }
  function highlight(active, locked) {
    [...(map.table.tBodies[0]?.rows ?? [])].forEach((row, i) => {
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
    const what = off
      ? "in the future"
      : `${signed ? "difference" : "weight"} ${format(w, 3)}`;
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
  const left = h("div", {
    class: "tfh-queries",
    role: "group",
    "aria-label": "Queries: the arrow keys walk, Enter keeps one",
  });
  const right = h("div", { class: "tfh-keys" });
  const svg = h("svg", { "aria-hidden": "true", preserveAspectRatio: "none" });
  const queryName = h("p", { class: "tfk-query" });
  const node = h(
    "div",
    { class: "tfh-lines" },
    queryName,
    h("span"),
    h("p", { class: "tfk-key" }, "key"),
    left,
    svg,
    right,
  );
  let map = null; // what is shown
  let at = 0;
  const go = (i) => {
    put(left.children[at], { tabindex: -1 });
    at = within(i, left.children.length);
    put(left.children[at], { tabindex: 0 });
    return left.children[at];
  };
  arrowKeys(left, DOWN, (by) => go(at + by).focus());
  node.addEventListener(
    "pointerleave",
    () => left.contains(document.activeElement) || onHover(-1),
  );

  function show({ map: weights, rows, columns, predicted, signed }) {
    map = weights;
    const height = ROW * Math.max(rows.length, columns.length);
    put(svg, { viewBox: `0 0 100 ${height}` });
    svg.style.height = `${height}px`;
    say(queryName, predicted.length ? "predicts ← query" : "query");
    svg.replaceChildren(...weightLines(map, largestOf(map, signed)));
    if (left.dataset.names !== JSON.stringify([rows, predicted])) {
      left.dataset.names = JSON.stringify([rows, predicted]);
      at = 0;
      left.replaceChildren(
        ...rows.map((name, i) => queryButton(i, name, predicted[i])),
      );
    }
    right.replaceChildren(
      ...columns.map((name) => h("span", {}, h("span", {}, name), h("small"))),
    );
    [...left.children].forEach((node, i) =>
      put(node, {
        "aria-label": `query ${rows[i]}: ${strongest(map[i])
          .map(([j, w]) => `${columns[j]} ${format(w)}`)
          .join(", ")}`,
      }),
    );
  }
  function queryButton(i, name, predicted) {
    const node = button(`query-${i}`, name, () => onPick(i));
    if (predicted !== undefined) node.prepend(h("small", {}, `${predicted} ← `));
    put(node, { tabindex: i ? -1 : 0 });
    node.addEventListener("focus", () => {
      go(i);
      onHover(i);
    });
    node.addEventListener("pointerenter", () => onHover(i));
    return node;
  }
  function highlight(active, locked) {
    if (!map) return;
    [...svg.children].forEach((group, i) =>
      put(group, { class: active < 0 || i === active ? "" : "tfh-dim" }),
    );
    [...left.children].forEach((node, i) =>
      put(node, {
        class: i === active ? "tfh-on" : "",
        "aria-pressed": String(i === locked),
      }),
    );
    [...right.children].forEach((node, j) => {
      const w = active < 0 || active >= map.length ? null : map[active][j];
      say(node.lastChild, w === null || Math.abs(w) < 0.005 ? "" : ` ${format(w)}`);
      put(node, { "data-exact": w });
      node.style.setProperty(
        "--share",
        `${w === null ? 0 : Math.round(60 * Math.abs(w))}%`,
      );
    });
  }
  return { node, show, highlight };
}

// A group of lines for each row of the map.
function weightLines(map, largest) {
  const middle = (i) => ROW * (i + 0.5);
  const line = (i, j, w) =>
    h("line", {
      x1: 0,
      y1: middle(i),
      x2: 100,
      y2: middle(j),
      class: w < 0 ? "tfh-less" : "",
      "stroke-opacity": (Math.abs(w) / largest).toFixed(3),
      "stroke-width": (0.5 + (4 * Math.abs(w)) / largest).toFixed(2),
      "vector-effect": "non-scaling-stroke",
    });
  return map.map((row, i) =>
    h(
      "g",
      {},
      ...row.flatMap((w, j) =>
        Math.abs(w) / largest < FAINTEST ? [] : [line(i, j, w)],
      ),
    ),
  );
}
