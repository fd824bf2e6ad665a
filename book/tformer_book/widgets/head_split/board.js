// One side's blocks of numbers, which travel from where they were to where they are.
import { grid } from "../kit/grid.js";
import { h, put } from "../kit/kit.js";
import { placesOf, travel } from "../kit/motion.js";
import { format } from "../kit/numbers.js";
import { WORDS } from "./maths.js";
import { counting, tellOfCell } from "./words.js";

// A number's colours: a stripe for each head, as wide as its share.
function paint(shares) {
  const colours = counting(shares);
  if (colours.length === 1) return `var(--tfhs-${colours[0]})`;
  const upTo = (k) =>
    Math.round(100 * shares.slice(0, k).reduce((all, share) => all + share, 0));
  const stops = colours.map((k) => `var(--tfhs-${k}) ${upTo(k)}% ${upTo(k + 1)}%`);
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}

function cellOf(block, i, j, { stage, word }) {
  const x = block.cells[i][j];
  const label = tellOfCell(block, i, j);
  if (block.kind === "weights") return { text: format(x), label, share: x, exact: x };
  return {
    text: stage <= 3 ? `${WORDS[x.at[0]][0]}${x.at[1]}` : format(x.value, 1),
    label,
    exact: x.value,
    mark: word >= 0 && x.askers[word] > 0.0005 ? "tfhs-word" : "",
  };
}

// One block on the board; `tell` hears where the number comes from that a reader is at.
function placeOf({ kind, caption, rowAxis }, index, title, tell) {
  let shown;
  const say = (i, j) => tell(tellOfCell(shown, i, j));
  const map = grid(`${title}, ${caption || "all numbers"}`, {
    rowAxis,
    columnAxis: kind === "weights" ? "key" : "number",
    onMove: say,
    onHover: say,
  });
  const node = h("div", { class: `tfhs-block tfhs-${kind}`, "data-block": index });
  node.append(h("p", { class: "tfhs-caption" }, caption), map.node);
  function show(block, state) {
    shown = block;
    const { rows, columns, cells } = block;
    map.show({ rows, columns, cell: (i, j) => cellOf(block, i, j, state) });
    if (kind === "weights") return;
    for (const td of map.table.querySelectorAll("[data-cell]")) {
      const [i, j] = td.dataset.cell.split("-");
      const { heads, id, wave } = cells[i][j];
      td.style.setProperty("--tfhs-paint", paint(heads));
      put(td, {
        "data-heads": heads.map((share) => share.toFixed(4)).join(" "),
        "data-id": id,
        "data-wave": wave,
      });
    }
  }
  return { node, show };
}

// show(blocks, title, { stage, word }): numbers travel when the stage has changed.
export function board(tell) {
  const node = h("div", { class: "tfhs-board" });
  let places = [];
  let built = "";
  let shownStage = 0;
  function build(blocks, title) {
    const names = JSON.stringify(blocks.map(({ cells, ...name }) => name));
    if (built === names) return;
    built = names;
    places = blocks.map((block, i) => placeOf(block, i, title, tell));
    node.replaceChildren(...places.map((place) => place.node));
    node.classList.toggle(
      "tfhs-pairs",
      blocks.some(({ kind }) => kind === "weights"),
    );
    node.classList.toggle("tfhs-whole", blocks.length === 1);
    node.style.setProperty("--columns", String(blocks[0].columns.length));
  }
  function show(blocks, title, state) {
    const before = placesOf(node);
    build(blocks, title);
    blocks.forEach((block, i) => places[i].show(block, state));
    if (state.stage !== shownStage) travel(node, before);
    shownStage = state.stage;
  }
  return { node, show };
}
