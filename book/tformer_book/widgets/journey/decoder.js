// How the German comes about, in pictures.
import { headMap } from "../heads/weights.js";
import { DOWN, within } from "../kit/arrows.js";
import { grid } from "../kit/grid.js";
import { put, slider } from "../kit/kit.js";
import { chance, commas, format, percent } from "../kit/numbers.js";
import { shown } from "../kit/pieces.js";
import { player } from "../kit/player.js";
import { html, nothing, svg } from "../kit/vendor/lit.js";
import { arrow } from "./chips.js";
import { numberChoice } from "./encoder.js";
import { across, predicted, vector } from "./facts.js";
import { chosen, strip, TALL, walkTo } from "./strips.js";

const BEAT = 1100; // ms a piece, when it plays
const ROWS = { large: 34, small: 28, most: 12 }; // px; large ones up to so many

// What is written after so many pieces, as chips; the newest stands out.
const writtenChips = ({ targetPieces }, step) => html`
  <p class="tfj-chips tfj-german" lang="de">${targetPieces
    .slice(0, step + 1)
    .map(
      (piece, i) =>
        html`<span class="tfj-chip" data-newest=${i > 0 && i === step ? "" : nothing}>${shown(piece)}</span>`,
    )}</p>`;

// How many pieces are written, to be set, and those pieces.
function writtenSoFar(change) {
  const range = { min: 0, max: 1, step: 1, text: (x) => format(x, 0) };
  const steps = slider("step", "Pieces written", range, (step) => change({ step }));
  return (journey, step) => {
    put(steps.input, { max: journey.next.length - 1 });
    steps.show(step);
    return html`${steps.box}${writtenChips(journey, step)}`;
  };
}

// The German so far looks at itself; what comes later is hidden.
export function lookBackPicture({ change }) {
  const sofar = writtenSoFar(change);
  const axes = { rowAxis: "query", columnAxis: "key" };
  const map = grid("What each German piece looks at", axes);
  return (journey, { step }) => {
    const pieces = journey.targetPieces.slice(0, step + 1).map(shown);
    const weights = headMap(journey, "decoder", 0, null);
    map.show({
      rows: pieces,
      columns: pieces,
      cell: (i, j) => {
        const w = weights[i][j];
        const off = j > i;
        const what = off ? "hidden, it comes later" : `weight ${format(w)}`;
        return {
          text: off ? "" : format(w).replace(/^0/, ""),
          label: `${pieces[i]} to ${pieces[j]}: ${what}`,
          share: off ? 0 : w,
          exact: w,
          off,
        };
      },
    });
    return html`<div>${sofar(journey, step)}${map.node}</div>`;
  };
}

// Two columns of pieces, and a line for each weight between them, the thicker the larger;
// those of the piece on the left that is number `at` stand out. rise: how many rows the
// left one begins further down.
function linesBetween(label, { left, right, weights, at, rise = 0, onPick }) {
  const rows = Math.max(left.length + rise, right.length);
  const size = rows > ROWS.most ? ROWS.small : ROWS.large;
  const start = (name, i) =>
    chosen({ i, at, name: `german-${i}`, lang: "de", onPick }, name);
  const end = (name, j) => {
    const w = weights[at]?.[j] ?? 0;
    return html`
      <span data-weight=${w} style="--share: ${Math.round(45 * w)}%">${name}<small>${w < 0.005 ? "" : ` ${format(w)}`}</small></span>`;
  };
  return html`
    <div class="tfj-lines" style="--row: ${size}px">
      <div class="tfj-column" role="group" aria-label=${label} style="padding-top: ${size * rise}px"
        @keydown=${walkTo(DOWN, at, onPick)}>${left.map(start)}</div>
      <svg aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 100 ${rows}" style="height: ${size * rows}px">${weights.map(
        (row, i) => row.map((w, j) => lineOf(w, i + rise, j, i === at)),
      )}</svg>
      <div class="tfj-column" lang="en">${right.map(end)}</div>
    </div>`;
}

const middle = (i) => i + 0.5; // of a row
const lineOf = (w, from, to, isChosen) =>
  w < 0.02
    ? nothing
    : svg`<line x1="0" y1=${middle(from)} x2="100" y2=${middle(to)} class=${isChosen ? "tfj-chosen" : ""}
        stroke-width=${(0.5 + 6 * w).toFixed(2)} stroke-opacity=${Math.min(1, 0.15 + w).toFixed(2)} />`;

// What the decoder looks at in the English, before it says the next piece.
export function acrossPicture({ change }) {
  const layers = numberChoice("across", "Layer", (across) => change({ across }));
  const sofar = writtenSoFar(change);
  return (journey, { step, across: layer }) => {
    const right = journey.sourcePieces.map(shown);
    const lines = linesBetween("The newest German piece", {
      left: [shown(journey.targetPieces[step])],
      right,
      weights: [across(journey, layer)[step]],
      at: 0,
      rise: Math.floor((right.length - 1) / 2),
      onPick: () => {},
    });
    return html`
      <div>
        <div class="tfj-choices">${layers(journey.config.n_decoder_layers, layer)}</div>
        ${sofar(journey, step)}${lines}
      </div>`;
  };
}

// The best next pieces, with score, probability, and a bar.
function bestTable({ next, config }, step) {
  const rest = 1 - next[step].reduce((sum, each) => sum + each.probability, 0);
  const row = ({ piece, logit, probability }, i) => html`
    <tr class=${i ? "" : "tfj-chosen"} data-piece=${piece}>
      <th scope="row" lang="de">${shown(piece)}</th>
      <td class="tfj-bars"><span class="tfj-bar" aria-hidden="true" style="width: ${100 * probability}%"></span></td>
      <td data-exact=${probability}>${chance(probability)}</td>
      <td data-logit=${logit}>${format(logit)}</td>
    </tr>`;
  const names = ["next piece", "", "probability", "score"];
  return html`
    <div class="tfj-best">
      <table>
        <thead><tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
        <tbody>${next[step].map(row)}</tbody>
      </table>
      <p class="tfj-label">The other ${commas(config.vocab_size - next[step].length)} pieces share ${percent(Math.max(0, rest))}.</p>
    </div>`;
}

// The decoder's last vector, and the pieces whose rows are most like it.
export function scoresPicture({ change }) {
  const sofar = writtenSoFar(change);
  return (journey, { step }) => html`
    <div>
      ${sofar(journey, step)}${strip(vector(journey.said, step), undefined, TALL)}${arrow}
      ${bestTable(journey, step)}
    </div>`;
}

// The loop: the best piece is appended, and again.
export function loopPicture({ change }) {
  let steps = 1;
  let at = 0;
  const walk = player({
    words: ["To the start", "One piece back", "One piece on", "To the end"],
    at: () => at,
    last: () => steps - 1,
    to: (step) => change({ step: within(step, steps) }),
    beat: BEAT,
  });
  const show = (journey, { step }) => {
    steps = journey.next.length;
    at = step;
    walk.show();
    return html`
      <div><div class="tfj-player">${walk.nodes}</div>${writtenChips(journey, step)}${bestTable(journey, step)}</div>`;
  };
  return Object.assign(show, { leave: walk.stop });
}

// The German with the English that was looked at for each of its pieces.
export const joinedPicture =
  ({ change }) =>
  (journey, { step, across: layer }) =>
    html`
    <div>
      <p class="tfj-whole-english" lang="en">${journey.text}</p>
      <p class="tfj-whole-german" lang="de" data-german>${journey.translation || "(nothing)"}</p>
      ${linesBetween("The German pieces: choose one", {
        left: predicted(journey).map(shown),
        right: journey.sourcePieces.map(shown),
        weights: across(journey, layer),
        at: step,
        onPick: (step) => change({ step }),
      })}
    </div>`;
