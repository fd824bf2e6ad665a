// What happens to the vectors in the encoder, in pictures.

import { grid } from "../kit/grid.js";
import { oneOf, radios } from "../kit/kit.js";
import { upTo } from "../kit/lists.js";
import { format, percent } from "../kit/numbers.js";
import { shown } from "../kit/pieces.js";
import { html } from "../kit/vendor/lit.js";
import * as facts from "./facts.js";
import { scaleOf, strip, stripList, sumTable, TALL } from "./strips.js";

// Pieces as strips, with a sum for the one that is followed below them.
// parts(journey, state) -> { vectors (a tensor), lines: [sign, name, numbers][] }
export const vectorsPicture =
  ({ change }, parts) =>
  (journey, state) => {
    const { sourcePieces: pieces, config } = journey;
    const { vectors, lines } = parts(journey, state);
    const about = `${shown(pieces[state.piece])}, all ${config.d_model} numbers, and the first eight in figures`;
    const list = {
      pieces,
      vectors: facts.rows(vectors),
      at: state.piece,
      onPick: (piece) => change({ piece }),
    };
    return html`
      <div class="tfj-vectors">
        ${stripList("The pieces: choose one to follow", list)}
        ${sumTable("The sum for the piece that is followed", lines, about)}
      </div>`;
  };

export function rowParts({ word, config, sourceIds }, { piece }) {
  const scaled = facts.vector(word, piece);
  const row = facts.times(scaled, 1 / Math.sqrt(config.d_model));
  const lines = [
    ["", `row ${sourceIds[piece]}`, row],
    ["=", `× √${config.d_model}`, scaled],
  ];
  return { vectors: word, lines };
}

export function positionParts({ word, start }, { piece }) {
  const [row, sum] = [facts.vector(word, piece), facts.vector(start, piece)];
  const lines = [
    ["", "the piece", row],
    ["+", `place ${piece + 1}`, facts.minus(sum, row)],
    ["=", "together", sum],
  ];
  return { vectors: start, lines };
}

// The vector that comes into a layer, with what attention adds.
function sumOf(journey, { layer, piece }) {
  const stream = facts.vector(facts.before(journey, layer), piece);
  const attended = facts.vector(journey.layers[layer].attended, piece);
  return { stream, attended, sum: facts.plus(stream, attended) };
}

export function addParts(journey, state) {
  const { normalised } = journey.layers[state.layer];
  const { stream, attended, sum } = sumOf(journey, state);
  const lines = [
    ["", "before", stream],
    ["+", "attention", attended],
    ["=", "the sum", sum],
    ["→", "normalised", facts.vector(normalised, state.piece)],
  ];
  return { vectors: normalised, lines };
}

export const lengthsOf = (journey, state) => {
  const { normalised } = journey.layers[state.layer];
  const vectors = [sumOf(journey, state).sum, facts.vector(normalised, state.piece)];
  return vectors.map(facts.lengthOf);
};

function networkParts(journey, state) {
  const { fed, after, normalised } = journey.layers[state.layer];
  const isPre = journey.config.norm === "pre";
  const { sum } = sumOf(journey, state);
  const lines = [
    ["", "before", isPre ? sum : facts.vector(normalised, state.piece)],
    ["+", "network", facts.vector(fed, state.piece)],
    ["=", isPre ? "the sum" : "norm", facts.vector(after, state.piece)],
  ];
  return { vectors: after, lines };
}

// One of several, by number; made anew where there are more or fewer.
export function numberChoice(name, legend, onPick) {
  let choice = null;
  return (n, at) => {
    if (choice?.inputs.length !== n)
      choice = radios(name, legend, upTo(n).map(String), at, onPick);
    choice.pick(at);
    return choice.set;
  };
}

// Which head of the encoder is shown.
function headChoice(change) {
  const layers = numberChoice("layer", "Layer", (layer) => change({ layer }));
  const heads = numberChoice("head", "Head", (head) => change({ head }));
  return ({ config }, { layer, head }) => html`
    <div class="tfj-choices">${layers(config.n_encoder_layers, layer)}${heads(config.n_heads, head)}</div>`;
}

// A head as a heat map, query rows and key columns: its scores, and its weights.
export function headPicture({ change }) {
  const choice = headChoice(change);
  const kinds = oneOf("kind", "Show", ["scores", "weights"], (kind) =>
    change({ kind }),
  );
  const map = grid("What each piece looks at", {
    rowAxis: "query",
    columnAxis: "key",
    onPick: (piece) => change({ piece }),
  });
  return (journey, state) => {
    const { layer, head, piece, kind } = state;
    const pieces = journey.sourcePieces.map(shown);
    const weights = facts.weightsOf(journey, layer, head);
    const scores = facts.scoresOf(journey, layer, head);
    const all = scores.flat();
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const isScore = kind === "scores";
    kinds.show(kind);
    map.show({
      rows: pieces,
      columns: pieces,
      rowMark: (i) => (i === piece ? "tfj-followed" : ""),
      cell: (i, j) => {
        const [w, score] = [weights[i][j], scores[i][j]];
        return {
          text: isScore ? format(score, 1) : format(w).replace(/^0/, ""),
          label: `${pieces[i]} to ${pieces[j]}: score ${format(score)}, weight ${format(w)}`,
          share: isScore ? (score - low) / (high - low || 1) : w,
          exact: isScore ? score : w,
          mark: i === piece ? "tfj-followed" : "",
        };
      },
    });
    return html`
      <div><div class="tfj-choices">${choice(journey, state)}${kinds.set}</div>${map.node}</div>`;
  };
}

// A head's mix for one query: the values, each as strong as its weight; then all heads
// side by side, and what the last matrix makes of them.
export function mixPicture({ change }) {
  const choice = headChoice(change);
  return (journey, state) => {
    const { layer, head, piece } = state;
    const { n_heads } = journey.config;
    const { value, mixed, attended } = journey.layers[layer];
    const weights = facts.weightsOf(journey, layer, head)[piece];
    const parts = facts.rows(value).map((each) => facts.partOf(each, head, n_heads));
    const scale = scaleOf(parts) / 2;
    const joined = facts.vector(mixed, piece);
    const of = (k) => facts.partOf(joined, k, n_heads);
    const valueRow = (name, j) => html`
      <div class="tfj-value">
        <span class="tfj-name">${shown(name)}</span>
        <span class="tfj-weight" data-weight=${weights[j]}>${format(weights[j])}</span>
        ${strip(facts.times(parts[j], weights[j]), scale)}
      </div>`;
    const headColumn = (k) => html`
      <span class="tfj-head ${k === head ? "tfj-chosen" : ""}">${strip(of(k), scaleOf([joined]), TALL)}<small>${k}</small></span>`;
    return html`
      <div>
        ${choice(journey, state)}
        <div class="tfj-values">${journey.sourcePieces.map(valueRow)}</div>
        ${labelled("the mix", strip(of(head), scale, TALL))}
        <p class="tfj-label">All ${n_heads} heads, side by side:</p>
        <div class="tfj-heads">${upTo(n_heads).map(headColumn)}</div>
        ${labelled("blended by a matrix", strip(facts.vector(attended, piece), undefined, TALL))}
      </div>`;
  };
}

const labelled = (text, canvas) => html`
  <div class="tfj-labelled"><span class="tfj-label">${text}</span>${canvas}</div>`;

// The hidden numbers of the network for one piece, and the sum that it leads to.
export function networkPicture(tools) {
  const vectors = vectorsPicture(tools, networkParts);
  return (journey, state) => {
    const hidden = facts.vector(journey.layers[state.layer].hidden, state.piece);
    const kept = hidden.map((x) => Math.max(0, x));
    const n = facts.awake(hidden).length;
    return html`
      <div>
        <p class="tfj-label">${shown(journey.sourcePieces[state.piece])}: ${n} of ${hidden.length} numbers are above 0 (${percent(n / hidden.length, 0)})</p>
        ${strip(kept, undefined, { look: "tfj-hidden", columns: 64 })}
        ${vectors(journey, state)}
      </div>`;
  };
}

const WIDEST = 100; // degrees

// How far each vector has turned, layer by layer: a dot for each, from left to right.
export const turnedPicture =
  ({ change }) =>
  (journey, state) => {
    const { sourcePieces: pieces, memory } = journey;
    const track = (angles, i) => html`
      <div class="tfj-track ${i === state.piece ? "tfj-followed" : ""}">
        <span class="tfj-name">${shown(pieces[i])}</span>
        <span class="tfj-rail">${angles.map(dot)}</span>
        <small data-angle=${angles.at(-1)}>${format(angles.at(-1), 0)}°</small>
      </div>`;
    const list = {
      pieces,
      vectors: facts.rows(memory),
      at: state.piece,
      onPick: (piece) => change({ piece }),
    };
    return html`
      <div>
        <p class="tfj-angles" aria-hidden="true">${[0, 25, 50, 75, 100].map((x) => html`<span>${x}°</span>`)}</p>
        <div class="tfj-turned" role="group" aria-label="How far each vector has turned after each layer">${facts.turned(journey).map(track)}</div>
        <p class="tfj-label">The memory: what the decoder will see</p>
        ${stripList("The memory: choose a piece to follow", list)}
      </div>`;
  };

function dot(degrees, layers) {
  const when = layers
    ? `after layer ${layers - 1}: ${format(degrees, 0)}°`
    : "at the start";
  const place = `--x: ${Math.min(1, degrees / WIDEST)}; --k: ${layers}`;
  return html`<i title=${when} class=${layers ? "" : "tfj-begin"} style=${place}></i>`;
}
