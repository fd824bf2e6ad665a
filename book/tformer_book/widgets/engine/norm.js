// Layer normalisation, from its formula. Chapter *The encoder*.
import { Module, Parameter } from "./module.js";
import { Tensor } from "./tensor.js";

export const EPSILON = 1e-5; // so that the root is not 0

// gain * (x - mean) / sqrt(variance + epsilon) + bias, for each vector alone
export function layerNorm(
  x,
  gain,
  bias,
  epsilon = EPSILON,
  output = new Tensor(x.shape),
) {
  const width = gain.data.length;
  for (let i = 0; i < x.data.length; i += width) {
    const vector = x.data.subarray(i, i + width);
    let mean = 0;
    for (let j = 0; j < width; j++) mean += vector[j] / width;
    let variance = 0;
    for (let j = 0; j < width; j++) variance += (vector[j] - mean) ** 2 / width;
    const root = Math.sqrt(variance + epsilon);
    for (let j = 0; j < width; j++)
      output.data[i + j] = (gain.data[j] * (vector[j] - mean)) / root + bias.data[j];
  }
  return output;
}

export class LayerNorm extends Module {
  constructor(dModel) {
    super();
    this.gain = new Parameter(dModel);
    this.bias = new Parameter(dModel);
  }

  forward(x) {
    return layerNorm(x, this.gain, this.bias);
  }
}
