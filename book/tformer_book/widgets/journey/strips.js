// Vectors as strips: a cell for each number, in one hue above zero and another below, the
// stronger the larger. And lists of which the reader chooses one.
import { DOWN, onArrows, within } from "../kit/arrows.js";
import { scaleAt } from "../kit/colours.js";
import { format } from "../kit/numbers.js";
import { shown } from "../kit/pieces.js";
import { html, nothing } from "../kit/vendor/lit.js";
import { lengthOf } from "./facts.js";

const CELLS = 8; // numbers that are written out
const [COMES, LEAVES] = ["comes", "leaves"]; // the first line of a sum, and its last
const STRONGEST = 2.5; // in units of what is usual: full colour

// The number that gets full colour where these vectors are drawn side by side.
export function scaleOf(vectors) {
  const usual = vectors.map((each) => lengthOf(each) / Math.sqrt(each.length));
  return STRONGEST * Math.max(...usual, 1e-6);
}

// A strip of numbers, `columns` in a row; `paint` gives it its colours once it is in the
// page. One with an id travels to where the next stop has the same.
export const strip = (
  numbers,
  scale = scaleOf([numbers]),
  { look = "tfj-strip", columns = numbers.length, id = "" } = {},
) => html`
  <canvas class=${look} aria-hidden="true" data-id=${id || nothing} .strip=${{ numbers, scale, columns }}></canvas>`;
export const TALL = { look: "tfj-strip tfj-tall" };

// Paint all strips in a part of the page.
export function paint(node) {
  const colour = scaleAt(node);
  for (const canvas of node.querySelectorAll("canvas")) {
    const { numbers, scale, columns } = canvas.strip;
    canvas.width = columns; // this empties it
    canvas.height = Math.ceil(numbers.length / columns);
    const pen = canvas.getContext("2d");
    numbers.forEach((x, i) => {
      pen.fillStyle = colour(x / scale);
      pen.fillRect(i % columns, Math.floor(i / columns), 1, 1);
    });
  }
}

// Where the strips of the next stop come from: what left the last one comes to this one,
// and the other way round on the way back.
export function flow(before, isForward) {
  const [from, to] = isForward ? [LEAVES, COMES] : [COMES, LEAVES];
  const places = new Map([...before].filter(([id]) => id !== COMES && id !== LEAVES));
  if (before.has(from)) places.set(to, before.get(from));
  return places;
}

// A button of those of which one is chosen, number `at`; `walkTo` walks along them.
/** @param {any} options @param {any} inside */
export const chosen = (
  { i, at, name, look = "", label = nothing, lang = nothing, style = nothing, onPick },
  inside,
) => html`
  <button type="button" data-control=${name} class=${look} lang=${lang} style=${style} aria-label=${label}
    aria-pressed=${String(i === at)} tabindex=${i === at ? 0 : -1} @click=${() => onPick(i)}>${inside}</button>`;
export const walkTo = (moves, at, onPick) =>
  onArrows(moves, (by, { currentTarget }) => {
    const buttons = currentTarget.querySelectorAll("button");
    const to = within(at + by, buttons.length);
    onPick(to);
    buttons[to].focus();
  });

// A list of pieces with a strip each; one is followed.
export function stripList(label, { pieces, vectors, at, onPick }) {
  const scale = scaleOf(vectors);
  const row = (piece, i) =>
    chosen(
      { i, at, name: `piece-${i}`, look: "tfj-row", onPick },
      html`<span class="tfj-name">${shown(piece)}</span>${strip(vectors[i], scale, { id: `piece-${i}` })}`,
    );
  return html`
    <div class="tfj-list" role="group" aria-label=${label} @keydown=${walkTo(DOWN, at, onPick)}>${pieces.map(row)}</div>`;
}

// A sum in lines, [sign, name, numbers][]: each with its strip and its first numbers.
export function sumTable(label, lines, about) {
  const scale = scaleOf(lines.map(([, , numbers]) => numbers));
  const cell = (x, i) => {
    const share = (45 * Math.min(1, Math.abs(x) / scale)).toFixed(0);
    return html`<td data-cell=${i} data-exact=${x} data-sign=${x < 0 ? "below" : "above"} style="--share: ${share}%">${format(x)}</td>`;
  };
  const ends = new Map([
    [0, COMES],
    [lines.length - 1, LEAVES],
  ]);
  const line = ([sign, name, numbers], i) => {
    const look = sign === "=" ? "tfj-result" : "";
    return html`
      <tr class=${look}>
        <th scope="row" rowspan="2">${`${sign} ${name}`.trim()}</th>
        <td colspan=${CELLS} class="tfj-whole">${strip(numbers, scale, { id: ends.get(i) })}</td>
      </tr>
      <tr class=${look}>${Array.from(numbers.subarray(0, CELLS), cell)}</tr>`;
  };
  return html`
    <table class="tfj-sum" aria-label=${label}><caption>${about}</caption><tbody>${lines.map(line)}</tbody></table>`;
}
