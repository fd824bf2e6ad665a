// The feed-forward network: the same two-layer perceptron at every position. Chapter *The encoder*.
import { Linear, Module } from "./module.js";
import { Tensor } from "./tensor.js";

export const ACTIVATIONS = {
  relu: (x) => (x > 0 ? x : 0),
  gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  swish: (x) => x / (1 + Math.exp(-x)),
};

// FFN(x) = max(0, x W_1 + b_1) W_2 + b_2
export class FeedForward extends Module {
  constructor(dModel, dFf, activation) {
    super();
    this.expand = new Linear(dModel, dFf);
    this.activation = ACTIVATIONS[activation];
    this.contract = new Linear(dFf, dModel);
  }

  // (B, T, D) -> (B, T, D), through (B, T, F)
  forward(x) {
    const { activation } = this;
    const { data, shape } = this.expand.call(x);
    const active = new Float32Array(data.length);
    for (let i = 0; i < data.length; i++) active[i] = activation(data[i]);
    return this.contract.call(new Tensor(shape, active));
  }
}

// The error function, to 1.2e-7 (Press et al., Numerical Recipes, section 6.2).
const ERFC = [
  -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398,
  1.48851587, -0.82215223, 0.17087277,
];
function erf(x) {
  const t = 1 / (1 + 0.5 * Math.abs(x));
  const power = ERFC.reduceRight((sum, coefficient) => sum * t + coefficient, 0);
  const rest = t * Math.exp(-x * x + power);
  return x < 0 ? rest - 1 : 1 - rest;
}
