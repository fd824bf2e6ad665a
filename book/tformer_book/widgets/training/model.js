// A Transformer that learns, of three shapes: encoder and decoder, decoder alone, encoder
// alone. Chapters *The whole Transformer*, *Variants*.
import { Table } from "../engine/embedding.js";
import { causalMask, paddingMask, targetMask } from "../engine/masks.js";
import { Module } from "../engine/module.js";
import { sinusoids } from "../engine/positions.js";
import { Stack } from "./layers.js";
import { embed, linear } from "./operations.js";
import { multiply } from "./products.js";

export const PAD = 0;
export const MAX_LENGTH = 64; // positions that have a row

// One table is read on the way in, times sqrt(D), and on the way out.
class Embedding extends Module {
  constructor(vocabSize, width) {
    super();
    this.factor = Math.sqrt(width);
    this.table = new Table(vocabSize, width);
  }

  // (B, T) ids -> (B, T, D)
  forward(tape, ids, places) {
    return embed(tape, ids, this.table.weight, this.factor, places);
  }

  unembed(hidden) {
    return linear(hidden, this.table.weight);
  }
}

export class Model extends Module {
  // settings: as in settings.js; vocabSize: with padding, start and end.
  constructor(settings, vocabSize, dice) {
    super();
    this.settings = settings;
    this.sourceEmbedding = new Embedding(vocabSize, settings.width);
    this.places = settings.positions ? sinusoids(MAX_LENGTH, settings.width) : null;
    const { shape } = settings;
    if (shape !== "decoder") this.encoder = new Stack(settings);
    if (shape !== "encoder")
      this.decoder = new Stack(settings, shape === "encoder-decoder");
    for (const [name, weight] of this.namedParameters()) begin(name, weight, dice);
  }

  get weights() {
    return Array.from(this.namedParameters(), ([, weight]) => weight);
  }

  get nParameters() {
    return this.weights.reduce((total, { data }) => total + data.length, 0);
  }

  // Logits (B, T, V) of what a batch asks: `source`, `target` (B, T) ids, padded on the
  // right. An encoder alone has no target, a decoder alone no source.
  forward(tape, { source, target }) {
    const memory = source && this.encode(tape, source);
    return this.unembed(target ? this.decode(tape, target, memory, source) : memory);
  }

  // (B, S) ids -> (B, S, D)
  encode(tape, source) {
    const x = this.sourceEmbedding.call(tape, source, this.places);
    return this.encoder.call(x, this.#paddingMask(source));
  }

  // (B, T) ids -> (B, T, D), with the memory (B, S, D) of the source ids
  decode(tape, target, memory, source) {
    const x = this.sourceEmbedding.call(tape, target, this.places);
    const { causal, padding } = this.settings;
    let mask = this.#paddingMask(target);
    if (causal) mask = padding ? targetMask(target, PAD) : causalMask(target[0].length);
    return this.decoder.call(x, mask, memory, memory && this.#paddingMask(source));
  }

  unembed(hidden) {
    return this.sourceEmbedding.unembed(hidden);
  }

  #paddingMask(ids) {
    return this.settings.padding ? paddingMask(ids, PAD) : null;
  }
}

// How a weight begins, as in the Python package: gains at one, biases at zero, matrices
// within +-sqrt(6 / (in + out)), rows of the table with variance 1 / D.
function begin(name, weight, dice) {
  const [nOut, nIn] = weight.shape;
  const bound = Math.sqrt(6 / (nIn + nOut));
  const draws = {
    gain: () => 1,
    bias: () => 0,
    table: () => dice.normal() / Math.sqrt(nIn),
    matrix: () => dice.between(-bound, bound),
  };
  const last = name.split(".").at(-1);
  const kind = name.includes("table") ? "table" : last === "weight" ? "matrix" : last;
  const size = weight.shape.reduce((a, b) => a * b);
  weight.data = Float32Array.from({ length: size }, draws[kind]);
  weight.gradient = new Float32Array(size);
  weight.product = (x, y) => multiply(x, weight.data, y, x.length / nIn, nIn, nOut);
}
