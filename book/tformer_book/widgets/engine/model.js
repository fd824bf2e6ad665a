// The whole Transformer: embeddings, positions, encoder, decoder, logits. Chapter *The whole Transformer*.
//
// Axes: B batch, S source length, T target length, D width, V vocabulary.
import { transformerConfig } from "./config.js";
import { Cache, Decoder } from "./decoder.js";
import { ScaledEmbedding } from "./embedding.js";
import { Encoder } from "./encoder.js";
import { checkIds, sourceMask, targetMask } from "./masks.js";
import { Module } from "./module.js";
import { makePositions } from "./parts.js";

export class Transformer extends Module {
  constructor(fields) {
    super();
    this.config = transformerConfig(fields);
    const { vocab_size, d_model, tie_embeddings, output_bias } = this.config;
    const embedding = (outputBias) =>
      new ScaledEmbedding(vocab_size, d_model, { outputBias });
    this.sourceEmbedding = embedding(tie_embeddings && output_bias);
    this.targetEmbedding = tie_embeddings ? this.sourceEmbedding : embedding(false);
    this.outputEmbedding = tie_embeddings
      ? this.sourceEmbedding
      : embedding(output_bias);
    this.positions = makePositions(this.config);
    this.encoder = new Encoder(this.config);
    this.decoder = new Decoder(this.config);
  }

  // Score every next piece at every target position, in one parallel pass.
  //
  // sourceIds (B, S) pieces + eos, targetIds (B, T) bos + pieces, padded on the right
  // -> logits (B, T, V); row t scores the piece that follows targetIds[:, t].
  forward(sourceIds, targetIds) {
    if (sourceIds.length !== targetIds.length)
      throw new RangeError(
        "source and target must have the same batch size, got " +
          `${sourceIds.length} and ${targetIds.length}`,
      );
    const memory = this.encode(sourceIds);
    const mask = sourceMask(sourceIds, this.config.pad_id);
    return this.unembed(this.decode(targetIds, memory, mask));
  }

  // Read the source once: (B, S) ids -> (B, S, D) memory.
  encode(sourceIds) {
    this.#check(sourceIds);
    const x = this.positions.call(this.sourceEmbedding.call(sourceIds));
    return this.encoder.call(x, sourceMask(sourceIds, this.config.pad_id));
  }

  // Run the decoder: (B, T) ids -> (B, T, D). With a cache: the one new column of ids.
  decode(targetIds, memory, mask, cache = null) {
    this.#check(targetIds);
    if (cache && targetIds[0].length !== 1)
      throw new RangeError(
        `with a cache, decode takes one new column of ids at a time, got ${targetIds[0].length}`,
      );
    // With a cache there is one new query, and all that is cached is its past.
    const seen = cache ? null : targetMask(targetIds, this.config.pad_id);
    const word = this.targetEmbedding.call(targetIds);
    const x = this.positions.call(word, cache?.length ?? 0);
    return this.decoder.call(x, memory, seen, mask, cache);
  }

  // (..., D) streams -> (..., V) logits.
  unembed(hidden) {
    return this.outputEmbedding.unembed(hidden);
  }

  newCache() {
    return new Cache(this.config.n_decoder_layers);
  }

  nParameters() {
    const sizes = [...this.namedParameters()].map(([, weight]) => weight.shape);
    return sizes.reduce((total, shape) => total + shape.reduce((a, b) => a * b), 0);
  }

  #check(ids) {
    checkIds(ids, this.config);
    const { max_len } = this.config;
    if (ids[0].length > max_len)
      throw new RangeError(
        `${ids[0].length} tokens are more than max_len=${max_len}: split the text, or take ` +
          "a model with a larger max_len",
      );
  }
}
