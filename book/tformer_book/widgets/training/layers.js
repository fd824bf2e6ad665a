// The layers of a model that learns: those of the engine, on a tape, each with a switch
// to break it. Weights have the names that PyTorch gives them in the Python package.
import { Module, Linear as Plain, Probe } from "../engine/module.js";
import { LayerNorm as PlainNorm } from "../engine/norm.js";
import { attention } from "./attention.js";
import { add, layerNorm, linear, relu } from "./operations.js";

class Linear extends Plain {
  forward(x) {
    return linear(x, this.weight, this.bias);
  }
}

class LayerNorm extends PlainNorm {
  forward(x) {
    return layerNorm(x, this.gain, this.bias);
  }
}

// Without `scale` scores are what the dot products are. The probe `weights` shows
// (B, H, Tq, Tk).
class MultiHeadAttention extends Module {
  constructor({ width, heads, scale }) {
    super();
    this.nHeads = heads;
    this.scale = scale ? 1 / Math.sqrt(width / heads) : 1;
    this.toQuery = new Linear(width, width);
    this.toKey = new Linear(width, width);
    this.toValue = new Linear(width, width);
    this.toOutput = new Linear(width, width);
    this.weights = new Probe();
  }

  forward(query, key, mask) {
    const { output, weights } = attention(
      this.toQuery.call(query),
      this.toKey.call(key),
      this.toValue.call(key),
      { mask, nHeads: this.nHeads, scale: this.scale },
    );
    this.weights.call(weights);
    return this.toOutput.call(output);
  }
}

class FeedForward extends Module {
  constructor({ width, dFf }) {
    super();
    this.expand = new Linear(width, dFf);
    this.contract = new Linear(dFf, width);
  }

  forward(x) {
    return this.contract.call(relu(this.expand.call(x)));
  }
}

// A norm before or after, and, unless it is switched off, the stream itself added.
class Residual extends Module {
  constructor({ width, norm, residual }) {
    super();
    this.isPre = norm === "pre";
    this.adds = residual;
    this.norm = new LayerNorm(width);
  }

  forward(x, sublayer) {
    const added = sublayer(this.isPre ? this.norm.call(x) : x);
    const sum = this.adds ? add(x, added) : added;
    return this.isPre ? sum : this.norm.call(sum);
  }
}

// Self-attention, then, in a decoder that reads a source, cross-attention, then the
// feed-forward network.
class Layer extends Module {
  constructor(settings, crosses) {
    super();
    this.selfAttention = new MultiHeadAttention(settings);
    this.selfAttentionResidual = new Residual(settings);
    if (crosses) {
      this.crossAttention = new MultiHeadAttention(settings);
      this.crossAttentionResidual = new Residual(settings);
    }
    this.feedForward = new FeedForward(settings);
    this.feedForwardResidual = new Residual(settings);
  }

  // (B, T, D) -> (B, T, D); memory (B, S, D) for cross-attention.
  forward(x, mask, memory = null, memoryMask = null) {
    x = this.selfAttentionResidual.call(x, (h) => this.selfAttention.call(h, h, mask));
    const across = (h) => this.crossAttention.call(h, memory, memoryMask);
    if (memory) x = this.crossAttentionResidual.call(x, across);
    return this.feedForwardResidual.call(x, (h) => this.feedForward.call(h));
  }
}

// A stack of layers; with pre-norm, one last norm closes the stream.
export class Stack extends Module {
  constructor(settings, crosses = false) {
    super();
    const { layers: length } = settings;
    this.layers = Array.from({ length }, () => new Layer(settings, crosses));
    this.finalNorm = settings.norm === "pre" ? new LayerNorm(settings.width) : null;
  }

  forward(x, ...rest) {
    for (const layer of this.layers) x = layer.call(x, ...rest);
    return this.finalNorm ? this.finalNorm.call(x) : x;
  }
}
