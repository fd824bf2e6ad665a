// What a model costs: four prices, and what doubling a size does to each.
// Runs in Node, too; the tests hold it to `tformer.analysis.cost`.
import { commas, format } from "../kit/numbers.js";

export const WIDTHS = [64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048];
export const LAYERS = [1, 2, 3, 4, 6, 8, 12, 16, 24];
export const LENGTHS = [1, 2, 4, 8, 16, 25, 32, 64, 128, 256, 512, 1024, 2048, 4096];
export const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 2048];
const FLOAT = 4; // bytes of a number

// Each price as parts [name, amount]: numbers, operations, bytes, bytes.
/** @param {Record<string, any>} c @returns {Record<string, [string, number][]>} */
export function prices(c) {
  const { vocab_size: V, d_model: d, n_layers: N, length: T, batch: B } = c;
  const pre = c.norm === "pre";
  const f = 4 * d;
  const heads = d / c.d_head;
  const attentions = 3 * N; // one in an encoder layer, two in a decoder layer
  const norms = 5 * N + (pre ? 2 : 0);
  /** @type {[string, number][]} */
  const parameters = [
    ["embedding table", V * d],
    ["attention", attentions * 4 * (d * d + d)],
    ["feed-forward", 2 * N * (2 * d * f + f + d)],
    ["norms", norms * 2 * d],
  ];
  const weights = FLOAT * parameters.reduce((sum, [, n]) => sum + n, 0);
  const places = B * T;
  const ends = (pre ? 3 : 2) * d;
  const ofSource = N * (10 * d + f + heads + 4) + N * 2 * d + ends;
  const ofTarget = N * (15 * d + f + 2 * heads + 6 + T) + ends;
  return {
    parameters,
    operations: [
      ["vocabulary", 3 * places * 2 * d * V],
      ["projections", 3 * places * attentions * 8 * d * d],
      ["feed-forward", 3 * places * 2 * N * 4 * d * f],
      ["word against word", 3 * places * attentions * 4 * T * d],
    ],
    training: [
      ["weights", weights],
      ["gradients", weights],
      ["Adam’s averages", 2 * weights],
      ["activations", FLOAT * (places * (ofSource + ofTarget) + 8 * N * d * d)],
    ],
    cache: [
      ["source", FLOAT * 2 * N * d * places],
      ["target so far", FLOAT * 2 * N * d * places],
    ],
  };
}

/** @param {[string, number][]} parts */
export const total = (parts) => parts.reduce((sum, [, amount]) => sum + amount, 0);

// How many times as much each price becomes when one size doubles.
/** @type {string[]} */
export const SIZES = ["d_model", "n_layers", "length", "batch"];
/** @param {Record<string, any>} c @returns {Record<string, number[]>} */
export function growth(c) {
  const doubled = SIZES.map((size) => prices({ ...c, [size]: 2 * c[size] }));
  const times = ([name, now]) => doubled.map((each) => total(each[name]) / total(now));
  return Object.fromEntries(
    Object.entries(prices(c)).map((price) => [price[0], times(price)]),
  );
}

const UNITS = {
  count: ["", " thousand", " million", " billion", " trillion", " quadrillion"],
  bytes: [" bytes", " kB", " MB", " GB", " TB", " PB"],
};
export function large(x, kind = "count") {
  const units = UNITS[kind];
  const thousands = Math.floor(Math.log10(Math.max(1, x)) / 3 + 1e-12);
  const power = Math.min(units.length - 1, Math.max(0, thousands));
  const shown = x / 1000 ** power;
  const digits = power === 0 || shown >= 100 ? 0 : shown >= 10 ? 1 : 2;
  return `${shown >= 1e4 ? commas(Math.round(shown)) : format(shown, digits)}${units[power]}`;
}
