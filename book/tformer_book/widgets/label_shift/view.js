// Each sentence as two ribbons of pieces, the labels under the input. A cut that takes the
// first piece away moves its ribbon one place to the left.
import { html, nothing } from "../kit/vendor/lit.js";
import { begin, CUTS, rectangle } from "./maths.js";

export const SIGNS = {
  next: "✓ next",
  copy: "✗ copy",
  before: "✗ before",
  "left out": "– left out",
  padding: "✗ padding",
};

const line = (name, track) =>
  html`<div class="tfls-line"><span class="tfls-what">${name}</span>
    <div class="tfls-track">${track}</div></div>`;

// kindOf(i): what the i-th tile is taught.
function ribbon(name, whole, cut, kindOf = (_) => nothing) {
  const first = begin(cut);
  const end = cut === CUTS[0] ? whole.length - 1 : whole.length;
  return html`<div class="tfls-ribbon tfls-${name}" style="--begin: ${first}">${whole.map(
    (piece, i) =>
      html`<span class="tfls-tile" ?data-gone=${i < first || i >= end} data-kind=${kindOf(i)}>${piece}</span>`,
  )}</div>`;
}

const lessonText = ({ reads, says, kind }) =>
  `Reads ${reads}, must say ${says}: ${kind}`;

// row: what the places of the k-th sentence are taught; undefined where the widths differ.
function ribbons(whole, k, { rows, inputs, labels }, row) {
  const words = rows[k].join(" ");
  const kindOf = (t) => (row ? (row[t]?.kind ?? nothing) : "error");
  const kindOfTile = (i) => row?.[i - begin(labels)]?.kind ?? nothing;
  const text = row
    ? row.map(lessonText).join(". ")
    : "Input and labels differ in width: an error";
  return html`<div data-row=${k}>
    <p class="tfls-name">${`row ${k}: ${words}`}</p>
    <div class="tfls-picture" role="img" aria-label="${words}. ${text}."
        style="--slots: ${whole.length + 1}; --pieces: ${whole.length}">
      ${line(
        "place",
        html`<div class="tfls-ribbon tfls-places">${whole.map(
          (_, t) => html`<span ?data-gone=${row && t >= row.length}>${t}</span>`,
        )}</div>`,
      )}
      ${line("reads", ribbon("reads", whole, inputs))}
      ${line("must say", ribbon("says", whole, labels, kindOfTile))}
      ${line(
        "teaches",
        html`<div class="tfls-ribbon tfls-kind">${whole.map(
          (_, t) =>
            html`<span data-kind=${kindOf(t)}>${row ? (SIGNS[kindOf(t)] ?? "") : "error"}</span>`,
        )}</div>`,
      )}
    </div></div>`;
}

export const picture = (state, found) =>
  html`<div class="tfls-ribbons">${rectangle(state.rows).map((whole, k) =>
    ribbons(whole, k, state, found?.[k]),
  )}</div>`;
