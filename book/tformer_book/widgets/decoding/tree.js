// The picture of a search: one column for each step, a node for each piece it looked at.
import { arrowKeys, GRID } from "../kit/arrows.js";
import { h, put, say } from "../kit/kit.js";
import { format } from "../kit/numbers.js";
import { shown, spoken, written } from "../kit/pieces.js";

const MARKS = { live: "●", finished: "✓", dropped: "✗" };
const WORDS = { live: "goes on", finished: "finished", dropped: "dropped" };

const WIDTH = 84; // of a node, and its height, in CSS pixels; then the space between
const HEIGHT = 36;
const ACROSS = 20;
const DOWN = 5;
const left = ({ column }) => (column + 1) * (WIDTH + ACROSS) + 4;
const top = ({ rank }) => rank * (HEIGHT + DOWN) + 4;

// onPick(i) hears which node is clicked, onKey(key) which key walks.
// -> { node,
//      build(nodes, columns): the elements of these nodes, as `treeOf` makes them,
//      show(status, here, winner): what became of each (`statusAt`), the node we are at,
//        and the ids of the best finished translation, joined, if one is to stand out,
//      focus(i), lookAt(column): scroll to it in the next frame, stop() }
export function treePicture({ onPick, onKey }) {
  const lines = h("svg", { "aria-hidden": "true", class: "tfd-lines" });
  const tree = h("div", {
    class: "tfd-tree",
    role: "tree",
    "aria-label":
      "What the search looked at: one column for each step; arrow keys move, and show the next pieces",
  });
  const node = h("div", { class: "tfd-scroll" }, tree);
  let nodes = [];
  let items = []; // the elements of the nodes
  let curves = []; // the lines that lead to them; bos has none
  let sight = 0;
  arrowKeys(tree, GRID, (_, { key }) => onKey(key));

  function build(given, columns) {
    nodes = given;
    const width = left({ column: columns });
    const height = top({ rank: Math.max(...nodes.map((each) => each.rank)) + 1 }) + 4;
    tree.style.width = `${width}px`;
    tree.style.height = `${height}px`;
    put(lines, { width, height });
    items = nodes.map((each, i) => {
      const item = itemOf(each, i);
      item.addEventListener("click", () => onPick(i));
      return item;
    });
    curves = nodes.map((each) =>
      each.parent < 0 ? null : curveOf(nodes[each.parent], each),
    );
    lines.replaceChildren(...curves.filter(Boolean));
    tree.replaceChildren(lines, ...depthFirst(nodes).map((i) => items[i]));
  }

  function show(status, here, winner) {
    const parents = new Set(
      nodes.filter((_, i) => status[i] !== null).map(({ parent }) => parent),
    );
    nodes.forEach((each, i) => {
      const state = status[i];
      const hidden = state === null;
      put(items[i], {
        hidden,
        tabindex: i === here ? 0 : -1,
        "aria-selected": String(i === here),
        "aria-expanded": parents.has(i) ? "true" : null,
        "data-status": state,
      });
      if (curves[i]) put(curves[i], { class: hidden ? "tfd-hidden" : `tfd-${state}` });
      if (hidden) return;
      const best =
        each.fate === "finished" && each.ids.slice(0, -1).join(" ") === winner;
      items[i].className = `tfd-node tfd-${state}${i === here ? " tfd-here" : ""}`;
      name(items[i], each, state, best);
    });
  }

  function focus(i) {
    items[i].focus({ preventScroll: true });
    reveal(node, items[i]);
  }
  // By the next frame the host has put us on the page.
  function lookAt(column) {
    cancelAnimationFrame(sight);
    sight = requestAnimationFrame(() =>
      reveal(node, items[nodes.findIndex((each) => each.column === column)]),
    );
  }
  const stop = () => cancelAnimationFrame(sight);
  return { node, build, show, focus, lookAt, stop };
}

function itemOf(each, i) {
  const item = h(
    "div",
    {
      class: "tfd-node",
      role: "treeitem",
      "aria-level": each.column + 2,
      tabindex: -1,
      "data-node": i,
    },
    h("span", { class: "tfd-piece" }),
    h("span", { class: "tfd-sum" }, format(each.logProbability)),
  );
  item.style.left = `${left(each)}px`;
  item.style.top = `${top(each)}px`;
  return item;
}

function curveOf(from, to) {
  const [x0, y0] = [left(from) + WIDTH, top(from) + HEIGHT / 2];
  const [x1, y1] = [left(to), top(to) + HEIGHT / 2];
  return h("path", {
    d: `M${x0} ${y0} C${x0 + 10} ${y0} ${x1 - 10} ${y1} ${x1} ${y1}`,
  });
}

// A screen reader hears children after their parents.
function depthFirst(nodes) {
  const order = [];
  const children = nodes.map(() => []);
  nodes.forEach((each, i) => each.parent >= 0 && children[each.parent].push(i));
  const visit = (i) => {
    order.push(i);
    children[i].forEach(visit);
  };
  visit(0);
  return order;
}

function name(item, { piece, logProbability }, state, best) {
  say(item.firstChild, `${best ? "★" : MARKS[state]} ${shown(piece)}`);
  put(item, {
    "aria-label": `${spoken(piece)}, log p ${format(logProbability)}, ${best ? "finished, the best" : WORDS[state]}`,
    title: shown(piece),
  });
}

// Scroll the tree, not the page, to a node.
function reveal(scroller, item) {
  const [x, y] = [item.offsetLeft, item.offsetTop];
  const { clientWidth, clientHeight, scrollLeft, scrollTop } = scroller;
  if (x < scrollLeft) scroller.scrollLeft = x - ACROSS;
  else if (x + WIDTH > scrollLeft + clientWidth)
    scroller.scrollLeft = x + WIDTH + ACROSS - clientWidth;
  if (y < scrollTop) scroller.scrollTop = y - DOWN;
  else if (y + HEIGHT > scrollTop + clientHeight)
    scroller.scrollTop = y + HEIGHT + DOWN - clientHeight;
}

// The same for a table: what had been written, the next piece, its step, log p, and what
// has become of it.
export const treeRows = (nodes, status) =>
  nodes
    .map((each, i) => [
      written(each.pieces.slice(0, -1)) || "(nothing)",
      shown(each.piece),
      String(each.column + 1),
      format(each.logProbability, 3),
      WORDS[status[i]],
    ])
    .filter((_, i) => i > 0 && status[i] !== null);
