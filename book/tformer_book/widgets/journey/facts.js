// What the stops say of a journey (`Translator.journey`), worked out from its numbers. No
// page is needed: it runs in Node, too.

import { headMap } from "../heads/weights.js";
import { within } from "../kit/arrows.js";
import { dot, upTo } from "../kit/lists.js";
import { spoken } from "../kit/pieces.js";

// A recorded journey (`_pack` in Python) as the engine would have answered.
export function unpack(value) {
  if (Array.isArray(value)) return value.map(unpack);
  if (value === null || typeof value !== "object") return value;
  if (value.bytes === undefined)
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, unpack(each)]),
    );
  const bytes = Uint8Array.from(atob(value.bytes), (each) => each.charCodeAt(0));
  const numbers = new DataView(bytes.buffer);
  const data = Float32Array.from(
    { length: bytes.length / 2 },
    (_, i) => numbers.getInt16(2 * i, true) * value.scale,
  );
  return { shape: value.shape, data };
}

// Row t of (T, D).
export function vector({ shape, data }, t) {
  const width = shape.at(-1);
  return data.subarray(t * width, (t + 1) * width);
}
export const rows = (tensor) => upTo(tensor.shape[0]).map((t) => vector(tensor, t));

export const plus = (a, b) => a.map((x, i) => x + b[i]);
export const minus = (a, b) => a.map((x, i) => x - b[i]);
export const times = (a, factor) => a.map((x) => x * factor);
export const lengthOf = (a) => Math.sqrt(dot(a, a));

// In degrees.
export function angle(a, b) {
  const cosine = dot(a, b) / (lengthOf(a) * lengthOf(b) || 1);
  return (180 / Math.PI) * Math.acos(Math.max(-1, Math.min(1, cosine)));
}

// The head's part of a vector (D).
export function partOf(numbers, head, nHeads) {
  const width = numbers.length / nHeads;
  return numbers.subarray(head * width, (head + 1) * width);
}

// The scores of an encoder's head before the softmax: query · key / √width.
export function scoresOf({ config, layers }, layer, head) {
  const part = (tensor) =>
    rows(tensor).map((each) => partOf(each, head, config.n_heads));
  const [queries, keys] = [part(layers[layer].query), part(layers[layer].key)];
  const root = Math.sqrt(keys[0].length);
  return queries.map((q) => keys.map((k) => dot(q, k) / root));
}

export const weightsOf = (journey, layer, head) =>
  headMap(journey, "encoder", layer, head);

// The stream as it comes into a layer of the encoder.
export const before = ({ start, layers }, layer) =>
  layer ? layers[layer - 1].after : start;

// How far each vector has turned after 0, 1, … layers, in degrees.
export const turned = ({ start, layers }) =>
  upTo(start.shape[0]).map((t) =>
    [start, ...layers.map(({ after }) => after)].map((each) =>
      angle(vector(start, t), vector(each, t)),
    ),
  );

// The places of the numbers above 0.
export const awake = (hidden) => upTo(hidden.length).filter((i) => hidden[i] > 0);

export const largest = (numbers) => numbers.indexOf(Math.max(...numbers));

// What comes after each German piece: the best one.
export const predicted = ({ next }) => next.map(([{ piece }]) => piece);
export const hasEnded = (journey) => predicted(journey).at(-1) === "</s>";

// What the decoder looks at across, for each German piece that it chose (the mean of the
// heads of a layer).
export const across = (journey, layer) => headMap(journey, "cross", layer, null);

// Whether two German pieces look, most of all, at English pieces in the other order.
export function crosses(weights) {
  const places = weights.map(largest);
  return places.some((place, i) => i > 0 && place < Math.max(...places.slice(0, i)));
}

// Pieces by words: [[0], [1, 2], …]; what ends the sentence is by itself.
export function words(pieces) {
  const groups = [];
  pieces.forEach((piece, i) => {
    if (!groups.length || piece.startsWith("▁") || piece === "</s>") groups.push([i]);
    else groups.at(-1).push(i);
  });
  return groups;
}

const isWord = (piece) => /\p{L}/u.test(piece) && !piece.startsWith("<");
export const isByte = (piece) => /^<0x..>$/.test(piece);

// Whether a word, not counting signs such as a full stop, came in several pieces.
export const isSplit = (word, pieces) =>
  word.filter((i) => isWord(pieces[i]) || isByte(pieces[i])).length > 1;

// The piece that is followed unless the reader picks one: of the last word.
export function followed(pieces, chosen) {
  if (chosen >= 0 && chosen < pieces.length) return chosen;
  const last = pieces.findLastIndex(isWord);
  return last < 0 ? 0 : last;
}

// How many German pieces are written, unless the reader says: all but the last word.
export function written(journey, chosen) {
  const steps = predicted(journey);
  if (chosen >= 0 && chosen < steps.length) return chosen;
  return Math.max(0, steps.findLastIndex(isWord));
}

// A piece in a sentence.
export const named = (piece) =>
  piece === "</s>" ? "the sign ⟨eos⟩" : `“${spoken(piece)}”`;

// A state in the range of a journey.
export function fit(state, journey, text, nStops) {
  const { n_encoder_layers, n_decoder_layers, n_heads } = journey.config;
  const { across } = state;
  return {
    ...state,
    text,
    stop: within(state.stop - 1, nStops) + 1,
    piece: followed(journey.sourcePieces, state.piece),
    layer: within(state.layer, n_encoder_layers),
    head: within(state.head, n_heads),
    step: written(journey, state.step),
    across: across < 0 ? n_decoder_layers - 1 : within(across, n_decoder_layers),
  };
}
