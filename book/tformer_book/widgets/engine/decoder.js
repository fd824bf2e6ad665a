// The decoder: each target position looks back at the target and across to the source.
// Chapter *The decoder*.
import { MultiHeadAttention } from "./attention.js";
import { FeedForward } from "./feedforward.js";
import { Module, Probe } from "./module.js";
import { LayerNorm } from "./norm.js";
import { makeSelfAttention } from "./parts.js";
import { Residual } from "./residual.js";
import { concatenate, select } from "./tensor.js";

// What one layer need not compute twice while a translation grows: keys and values of
// the source (`memory`, made at first use) and of the target so far, each (B, T, D).
class LayerCache {
  memory = null;
  target = null;

  // Append the new positions' keys and values; return those of all so far.
  extend(key, value) {
    this.target = this.target
      ? [concatenate(this.target[0], key), concatenate(this.target[1], value)]
      : [key, value];
    return this.target;
  }

  select(rows, sameSources) {
    const keep = (pair) => pair?.map((each) => select(each, rows));
    if (!sameSources) this.memory = keep(this.memory);
    this.target = keep(this.target);
  }
}

// The key/value cache of a whole decoder.
export class Cache {
  constructor(nLayers) {
    this.layers = Array.from({ length: nLayers }, () => new LayerCache());
  }

  // Target positions already in the cache.
  get length() {
    return this.layers[0].target?.[0].shape[1] ?? 0;
  }

  // Keep (and reorder) rows of the batch; sameSources: the sources stay where they are.
  select(rows, sameSources = false) {
    for (const layer of this.layers) layer.select(rows, sameSources);
  }
}

export class DecoderLayer extends Module {
  constructor(config) {
    super();
    const { d_model, n_heads, d_ff, norm, activation } = config;
    this.selfAttention = makeSelfAttention(config);
    this.selfAttentionResidual = new Residual(d_model, norm);
    this.crossAttention = new MultiHeadAttention(d_model, n_heads);
    this.crossAttentionResidual = new Residual(d_model, norm);
    this.feedForward = new FeedForward(d_model, d_ff, activation);
    this.feedForwardResidual = new Residual(d_model, norm);
  }

  // (B, T, D) -> (B, T, D); with a cache, only the positions that are new.
  forward(x, memory, targetMask = null, sourceMask = null, cache = null) {
    const lookBack = (h) => {
      const { selfAttention } = this;
      let [keys, values] = selfAttention.projectMemory(h);
      if (cache) [keys, values] = cache.extend(keys, values);
      const query = selfAttention.toQuery.call(h);
      return selfAttention.attend(query, keys, values, targetMask);
    };
    const lookAcross = (h) => {
      const { crossAttention } = this;
      const kept = cache?.memory ?? crossAttention.projectMemory(memory);
      if (cache) cache.memory = kept;
      return crossAttention.attend(crossAttention.toQuery.call(h), ...kept, sourceMask);
    };
    x = this.selfAttentionResidual.call(x, lookBack);
    x = this.crossAttentionResidual.call(x, lookAcross);
    return this.feedForwardResidual.call(x, (h) => this.feedForward.call(h));
  }
}

// A stack of layers; with pre-norm, one last norm closes the stream.
export class Decoder extends Module {
  constructor(config) {
    super();
    const { n_decoder_layers: length, d_model, norm } = config;
    this.layers = Array.from({ length }, () => new DecoderLayer(config));
    this.finalNorm = norm === "pre" ? new LayerNorm(d_model) : new Probe();
  }

  forward(x, memory, targetMask = null, sourceMask = null, cache = null) {
    for (const [number, layer] of this.layers.entries())
      x = layer.call(x, memory, targetMask, sourceMask, cache?.layers[number]);
    return this.finalNorm.call(x);
  }
}
