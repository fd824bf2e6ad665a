// The product of two small matrices, one entry at a time: a row runs along a column.
import { bind, button, figure, liveRegion, put, select, stopping } from "../kit/kit.js";
import { travel } from "../kit/motion.js";
import { player } from "../kit/player.js";
import { render as draw } from "../kit/vendor/lit.js";
import { multiply, resized, short, transpose } from "./maths.js";
import { page } from "./view.js";

const BEAT = 2600; // ms from entry to entry, in which a row slides and may be read
const SIZES = ["Rows of A", "Columns of A", "Rows of B", "Columns of B"];
const LENGTHS = ["1", "2", "3", "4"];

function render({ model, el }) {
  const root = figure(el, "tfmx", "The product of two matrices, one entry at a time");
  const { read, commit, stop } = bind(model, ["a", "b", "row", "column"], () =>
    update(),
  );
  // The chosen entry stays inside the product.
  const kept = ({ a, b, row, column }) => {
    const [i, j] = [Math.min(row, a.length - 1), Math.min(column, b[0].length - 1)];
    return { a, b, row: i, column: j };
  };
  const state = () => kept(read());
  function set(changes) {
    commit(kept({ ...state(), ...changes }));
  }
  const parts = partsOf(state, set);
  const { moves, live } = parts;
  const nodeOf = (...place) =>
    root.querySelector(`[data-control="${place.join("-")}"]`);
  const on = {
    onEntry: (name, i, j, x) => set({ [name]: replaced(state()[name], i, j, x) }),
    onLeave: () => fill(),
    onChoose(row, column) {
      moves.stop();
      set({ row, column });
    },
    onArrow([down, right]) {
      const { a, b, row, column } = state();
      const { m, n } = multiply(a, b);
      const [i, j] = [(row + down + m) % m, (column + right + n) % n];
      on.onChoose(i, j);
      nodeOf("c", i, j).focus();
    },
  };

  // A row and a column that are chosen anew come from where they stand.
  let seen = "";
  function slide({ a, b, row, column }) {
    const before = seen;
    seen = [row, column].join();
    if (before === "" || before === seen) return;
    const run = root.querySelector(".tfmx-run");
    const { left, top } = run.getBoundingClientRect();
    const from = (name, c, node) => {
      const box = node.parentElement.getBoundingClientRect();
      return [`${name}${c}`, [box.left - left, box.top - top]];
    };
    const starts = [
      ...a[row].map((_, c) => from("a", c, nodeOf("a", row, c))),
      ...b.map((_, c) => from("b", c, nodeOf("b", c, column))),
    ];
    travel(run, new Map(starts));
  }

  // A number that is being typed stays as it is.
  function fill() {
    for (const field of root.querySelectorAll("td input")) {
      const [name, i, j] = field.dataset.control.split("-");
      const x = state()[name][i][j];
      if (field.valueAsNumber !== x && field !== document.activeElement)
        field.value = x;
    }
  }

  function update() {
    const s = state();
    const { m, k, k2, n, product } = multiply(s.a, s.b);
    parts.sizes.forEach((list, i) => {
      list.value = String([m, k, k2, n][i] - 1);
    });
    draw(page(s, on, parts), root);
    fill();
    slide(s);
    moves.show();
    if (!product) moves.stop();
    moves.play.disabled = !product;
    if (!product) for (const node of moves.nodes) node.disabled = true;
    const text = product
      ? `Entry ${s.row + 1}, ${s.column + 1} is ${short(product[s.row][s.column])}.`
      : `No product: ${k} is not ${k2}.`;
    if (!moves.playing()) live.announce(text);
  }
  update();
  live.stop(); // nothing to announce before the reader has done something
  return stopping(moves, live, stop);
}

const replaced = (rows, i, j, x) =>
  rows.map((row, r) => row.map((old, c) => (r === i && c === j ? x : old)));

function partsOf(state, set) {
  const start = state();
  const sizes = SIZES.map((name, which) => {
    const list = select(`size-${which}`, LENGTHS, (i) => {
      const matrix = which < 2 ? "a" : "b";
      const rows = state()[matrix];
      const shape = [rows.length, rows[0].length].with(which % 2, i + 1);
      set({ [matrix]: resized(rows, shape[0], shape[1]) });
    });
    put(list, { "aria-label": name });
    return list;
  });
  const moves = player({
    words: ["the first entry", "one entry back", "one entry on", "the last entry"],
    at: () => state().row * state().b[0].length + state().column,
    last: () => state().a.length * state().b[0].length - 1,
    to: (i) => {
      const n = state().b[0].length;
      set({ row: Math.floor(i / n), column: i % n });
    },
    beat: BEAT,
  });
  const buttons = [
    button("swap", "Swap A and B", () => set({ a: state().b, b: state().a })),
    button("transpose", "Transpose B", () => set({ b: transpose(state().b) })),
    button("reset", "Start again", () => set(start)),
  ];
  return { sizes, moves, buttons, live: liveRegion() };
}

export default { render };
