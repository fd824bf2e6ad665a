// The encoder: every source position learns about every other. Chapter *The encoder*.
import { FeedForward } from "./feedforward.js";
import { Module, Probe } from "./module.js";
import { LayerNorm } from "./norm.js";
import { makeSelfAttention } from "./parts.js";
import { Residual } from "./residual.js";

export class EncoderLayer extends Module {
  constructor(config) {
    super();
    const { d_model, d_ff, norm, activation } = config;
    this.selfAttention = makeSelfAttention(config);
    this.selfAttentionResidual = new Residual(d_model, norm);
    this.feedForward = new FeedForward(d_model, d_ff, activation);
    this.feedForwardResidual = new Residual(d_model, norm);
  }

  // (B, S, D) -> (B, S, D)
  forward(x, sourceMask = null) {
    x = this.selfAttentionResidual.call(x, (h) =>
      this.selfAttention.call(h, h, sourceMask),
    );
    return this.feedForwardResidual.call(x, (h) => this.feedForward.call(h));
  }
}

// A stack of layers; with pre-norm, one last norm closes the stream.
export class Encoder extends Module {
  constructor(config) {
    super();
    const { n_encoder_layers: length, d_model, norm } = config;
    this.layers = Array.from({ length }, () => new EncoderLayer(config));
    this.finalNorm = norm === "pre" ? new LayerNorm(d_model) : new Probe();
  }

  forward(x, sourceMask = null) {
    for (const layer of this.layers) x = layer.call(x, sourceMask);
    return this.finalNorm.call(x);
  }
}
