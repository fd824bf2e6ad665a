// The way of a signal between two tokens, in five kinds of layers.
// Runs in Node, too; the tests hold it to `tformer.analysis.paths`, which is held to real
// layers.
import { plural } from "../kit/numbers.js";

const DILATED = "dilated convolution";
export const KINDS = [
  ...["recurrent", "convolution", DILATED],
  ...["self-attention", "restricted attention"],
];

// Steps of trained weights between a token and the output of another.
export function pathLength(kind, distance, kernel) {
  if (kind === "recurrent") return distance + 1;
  if (kind === "self-attention") return 1;
  if (kind === DILATED) {
    let layers = 1;
    while (kernel ** layers <= distance) layers++;
    return layers;
  }
  return Math.max(1, Math.ceil(distance / (kernel - 1)));
}

export const sequentialOperations = (kind, n) => (kind === "recurrent" ? n : 1);

// The leading term for one layer, as in the paper's table.
export function multiplications(kind, n, d, k) {
  if (kind === "recurrent") return n * d * d;
  if (kind === "self-attention") return n * n * d;
  return k * n * d * (kind === "restricted attention" ? 1 : d);
}

// The path itself: [place, row], from the input in row 0. Recurrence stays in row 1.
/** @returns {[number, number][]} */
export function route(kind, start, end, kernel) {
  const way = Math.sign(end - start);
  const distance = Math.abs(end - start);
  /** @type {[number, number][]} */
  const nodes = [[start, 0]];
  if (kind === "recurrent") {
    for (let i = 0; i <= distance; i++) nodes.push([start + way * i, 1]);
    return nodes;
  }
  if (kind === "self-attention") return [...nodes, [end, 1]];
  const layers = pathLength(kind, distance, kernel);
  let left = distance;
  let place = start;
  for (let layer = 0; layer < layers; layer++) {
    // Dilated: the digits of the distance in base k, the last digit first.
    const isDilated = kind === DILATED;
    const step = isDilated ? left % kernel : Math.min(kernel - 1, left);
    place += way * step * (isDilated ? kernel ** layer : 1);
    left = isDilated ? Math.floor(left / kernel) : left - step;
    nodes.push([place, layer + 1]);
  }
  return nodes;
}

// All that the output of `end` hears of, from one side: edges [place, row] to the row above.
// Empty if there are more than `most`: then a drawing would show nothing but ink.
export function cone(kind, start, end, kernel, n, most = 900) {
  const way = end < start ? -1 : 1;
  const all = Array.from({ length: n }, (_, p) => p);
  const isInside = (p) => p >= 0 && p < n;
  /** @type {(from: [number, number], to: [number, number]) => [number, number][]} */
  const edge = (from, to) => [from, to];
  const edges = [];
  if (kind === "recurrent") {
    if (n > most / 2) return [];
    for (const p of all) {
      edges.push(edge([p, 0], [p, 1]));
      if (isInside(p + way)) edges.push(edge([p, 1], [p + way, 1]));
    }
    return edges;
  }
  let above = [end];
  for (let layer = pathLength(kind, Math.abs(end - start), kernel); layer; layer--) {
    const apart = kind === DILATED ? kernel ** (layer - 1) : 1;
    const reached = (place) => all.slice(0, kernel).map((m) => place - way * m * apart);
    const sources = (place) =>
      kind === "self-attention" ? all : reached(place).filter(isInside);
    const found = above.flatMap((place) =>
      sources(place).map((p) => edge([p, layer - 1], [place, layer])),
    );
    edges.push(...found);
    if (edges.length > most) return [];
    above = [...new Set(found.map(([[p]]) => p))];
  }
  return edges;
}

// One sentence on what is drawn.
export function explain({ kind, start, end, length, kernel, words }) {
  const name = (p) => (words.length >= length ? `“${words[p]}”` : `token ${p + 1}`);
  const distance = Math.abs(end - start);
  const steps = pathLength(kind, distance, kernel);
  const goal = distance
    ? `${name(end)}, ${plural(distance, "place")} apart`
    : "its own output";
  const what = {
    recurrent: `${plural(steps, "step")}, in ${distance ? "one layer, from state to state. Each state waits for the one before" : "one layer"}.`,
    convolution: `${plural(steps, "layer")} of kernels that see ${kernel} tokens: each moves the signal by at most ${plural(kernel - 1, "place")}.`,
    "dilated convolution": `${plural(steps, "layer")}. The gaps between the ${kernel} tokens of a kernel grow by ${kernel} with each layer, so reach grows as a power.`,
    "self-attention":
      "1 step, however far. Every output sees every token of the layer below.",
    "restricted attention": `${plural(steps, "layer")} of attention to ${kernel} tokens: cheap, and as slow as a convolution.`,
  }[kind];
  return `From ${name(start)} to ${goal}: ${what}`;
}

// The steps at which the pulse stops to be counted: all of them, if there are few.
export function stopsOf(steps, most = 24) {
  const count = Math.min(steps, most);
  return Array.from({ length: count + 1 }, (_, i) => Math.round((i * steps) / count));
}
