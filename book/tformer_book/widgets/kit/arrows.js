// The keys that walk: along a row, down a list, through rows and columns.
const ENDS = { Home: -Infinity, End: Infinity };
export const ALONG = { ArrowLeft: -1, ArrowRight: 1, ...ENDS };
export const DOWN = { ArrowUp: -1, ArrowDown: 1, ...ENDS };
export const AROUND = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};
export const GRID = { ...AROUND, Home: [0, -Infinity], End: [0, Infinity] };

// What hears the keys of a node and lets a key of `moves` go its way: `go` gets the move
// and the event. With Ctrl, Alt or Meta a key is the browser's, and so is one for which
// `go` returns false.
export const onArrows = (moves, go) => (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (!Object.hasOwn(moves, event.key)) return;
  if (go(moves[event.key], event) !== false) event.preventDefault();
};
export const arrowKeys = (node, moves, go) =>
  node.addEventListener("keydown", onArrows(moves, go));

// A place of a list, however far a move went.
export const within = (i, length) => Math.max(0, Math.min(length - 1, i));
