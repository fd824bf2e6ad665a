// Vectors as strips: a cell for each number, blue above zero, orange below, the stronger
// the larger.
import { arrowKeys, DOWN, within } from "../kit/arrows.js";
import { button, h, put, say } from "../kit/kit.js";
import { format } from "../kit/numbers.js";
import { shown } from "../kit/pieces.js";
import { lengthOf } from "./facts.js";

const CELLS = 8; // numbers that are written out
const STRONGEST = 2.5; // in units of what is usual: full colour

// The number that gets full colour where these vectors are drawn side by side.
export function scaleOf(vectors) {
  const usual = vectors.map((each) => lengthOf(each) / Math.sqrt(each.length));
  return STRONGEST * Math.max(...usual, 1e-6);
}

// Paint numbers into a canvas, `columns` in a row.
export function paint(canvas, numbers, scale, columns = numbers.length) {
  const height = Math.ceil(numbers.length / columns);
  [canvas.width, canvas.height] = [columns, height]; // this empties it
  const style = getComputedStyle(canvas);
  const ink = (name, usual) => style.getPropertyValue(name).trim() || usual;
  const [above, below] = [ink("--tf-key", "#005ea8"), ink("--tf-query", "#b34700")];
  const pen = canvas.getContext("2d");
  numbers.forEach((x, i) => {
    pen.fillStyle = x < 0 ? below : above;
    pen.globalAlpha = Math.min(1, Math.abs(x) / scale);
    pen.fillRect(i % columns, Math.floor(i / columns), 1, 1);
  });
}

export const strip = (name = "") =>
  h("canvas", { class: `tfj-strip ${name}`, "aria-hidden": "true" });

// A list of pieces with a strip each; one is followed. beside(i): a word at its end.
// -> { node, show({ pieces, vectors, at, scale, beside }) }
export function stripList(label, onPick) {
  const node = h("div", { class: "tfj-list", role: "group", "aria-label": label });
  let at = 0;
  arrowKeys(node, DOWN, (by) => {
    onPick(within(at + by, node.children.length));
    /** @type {HTMLElement} */ (node.children[at]).focus();
  });
  function show({
    pieces,
    vectors,
    at: followed,
    scale = scaleOf(vectors),
    beside = null,
  }) {
    at = followed;
    if (node.dataset.pieces !== JSON.stringify(pieces)) {
      node.dataset.pieces = JSON.stringify(pieces);
      node.replaceChildren(
        ...pieces.map((piece, i) => {
          const row = button(`piece-${i}`, "", () => onPick(i));
          row.append(
            h("span", { class: "tfj-name" }, shown(piece)),
            strip(),
            h("small"),
          );
          return row;
        }),
      );
    }
    [...node.children].forEach((row, i) => {
      put(row, {
        tabindex: i === at ? 0 : -1,
        "aria-pressed": String(i === at),
        class: beside ? "tfj-row tfj-beside" : "tfj-row",
      });
      paint(row.querySelector("canvas"), vectors[i], scale);
      say(row.lastChild, beside ? beside(i) : "");
    });
  }
  return { node, show };
}

// A sum in lines: each with its sign, its name, its strip and its first numbers.
// -> { node, show([{ sign, name, numbers }], note) }
export function sumTable(label) {
  const body = h("tbody");
  const caption = h("caption");
  const node = h("table", { class: "tfj-sum", "aria-label": label }, caption, body);
  function show(lines, about) {
    const scale = scaleOf(lines.map(({ numbers }) => numbers));
    say(caption, about);
    if (body.children.length !== 2 * lines.length)
      body.replaceChildren(...lines.flatMap(() => lineOf()));
    lines.forEach(({ sign, name, numbers }, k) => {
      const [above, line] = [body.children[2 * k], body.children[2 * k + 1]];
      for (const row of [above, line])
        put(row, { class: sign === "=" ? "tfj-result" : "" });
      say(above.querySelector("th"), `${sign} ${name}`.trim());
      paint(above.querySelector("canvas"), numbers, scale);
      [...line.querySelectorAll("[data-cell]")].forEach((cell, i) => {
        const x = numbers[i];
        say(cell, x === undefined ? "" : format(x));
        put(cell, { "data-exact": x, "data-sign": x < 0 ? "below" : "above" });
        cell.style.setProperty(
          "--share",
          `${(45 * Math.min(1, Math.abs(x) / scale)).toFixed(0)}%`,
        );
      });
    });
  }
  return { node, show };
}

function lineOf() {
  const cells = Array.from({ length: CELLS }, (_, i) => h("td", { "data-cell": i }));
  return [
    h(
      "tr",
      {},
      h("th", { scope: "row", rowspan: 2 }),
      h("td", { colspan: CELLS, class: "tfj-whole" }, strip()),
    ),
    h("tr", {}, ...cells),
  ];
}
