// The picture of a search: one column for each step, a node for each piece it looked at.
import { format } from "../kit/numbers.js";
import { shown, spoken, written } from "../kit/pieces.js";
import { html, nothing, svg } from "../kit/vendor/lit.js";

const MARKS = { live: "●", finished: "✓", dropped: "✗" };
const WORDS = { live: "goes on", finished: "finished", dropped: "dropped" };

const WIDTH = 84; // of a node, and its height, in CSS pixels; then the space between
const HEIGHT = 36;
const ACROSS = 20;
const DOWN = 5;
const left = ({ column }) => (column + 1) * (WIDTH + ACROSS) + 4;
const top = ({ rank }) => rank * (HEIGHT + DOWN) + 4;

// nodes: as `treeOf` makes them; columns: how many steps; status: what became of each node
// (`statusAt`); here: the node we are at; winner: the ids of the best finished translation,
// joined, if one is to stand out. onPick(i) hears which node is clicked, onKey the keys.
export function treePicture(
  { nodes, columns, status, here, winner },
  { onPick, onKey },
) {
  const width = left({ column: columns });
  const height = top({ rank: Math.max(...nodes.map((each) => each.rank)) + 1 }) + 4;
  const parents = new Set(
    nodes.filter((_, i) => status[i] !== null).map(({ parent }) => parent),
  );
  const item = (i) => {
    const { column, piece, ids, fate, logProbability } = nodes[i];
    const state = status[i];
    const isBest = fate === "finished" && ids.slice(0, -1).join(" ") === winner;
    const became = isBest ? "finished, the best" : WORDS[state];
    return html`
      <div class="tfd-node tfd-${state} ${i === here ? "tfd-here" : ""}" role="treeitem"
        style="left: ${left(nodes[i])}px; top: ${top(nodes[i])}px" title=${shown(piece)}
        tabindex=${i === here ? 0 : -1} aria-level=${column + 2} aria-selected=${String(i === here)}
        aria-expanded=${parents.has(i) ? "true" : nothing}
        aria-label="${spoken(piece)}, log p ${format(logProbability)}, ${became}"
        data-node=${i} data-status=${state ?? nothing} ?hidden=${state === null} @click=${() => onPick(i)}>
        <span class="tfd-piece">${isBest ? "★" : MARKS[state]} ${shown(piece)}</span>
        <span class="tfd-sum">${format(logProbability)}</span>
      </div>`;
  };
  const curve = (each, i) =>
    each.parent < 0
      ? nothing
      : svg`<path class="tfd-${status[i] ?? "hidden"}" d=${pathOf(nodes[each.parent], each)} />`;
  return html`
    <div class="tfd-scroll">
      <div class="tfd-tree" role="tree" style="width: ${width}px; height: ${height}px" @keydown=${onKey}
        aria-label="What the search looked at: one column for each step; arrow keys move, and show the next pieces">
        <svg class="tfd-lines" aria-hidden="true" width=${width} height=${height}>${nodes.map(curve)}</svg>
        ${depthFirst(nodes).map(item)}
      </div>
    </div>`;
}

function pathOf(from, to) {
  const [x0, y0] = [left(from) + WIDTH, top(from) + HEIGHT / 2];
  const [x1, y1] = [left(to), top(to) + HEIGHT / 2];
  return `M${x0} ${y0} C${x0 + 10} ${y0} ${x1 - 10} ${y1} ${x1} ${y1}`;
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

// Scroll the tree, not the page, to a node.
export function reveal(item) {
  const scroller = item.closest(".tfd-scroll");
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
export const treeRows = ({ nodes, status }) =>
  nodes
    .map((each, i) => [
      written(each.pieces.slice(0, -1)) || "(nothing)",
      shown(each.piece),
      String(each.column + 1),
      format(each.logProbability, 3),
      WORDS[status[i]],
    ])
    .filter((_, i) => i > 0 && status[i] !== null);
