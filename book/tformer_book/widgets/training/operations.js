// What the engine computes, and the gradient of each: embedding, linear map, ReLU, layer
// norm, addition. Chapters *Embeddings*, *The encoder*, *Training*.
//
// The way forward is the engine's own. A result y gets `y.gradient`, dL/dy, from whoever
// reads it; each operation adds what follows from it to the gradients of what it read
// itself, since several may read the same.
import { ACTIVATIONS } from "../engine/feedforward.js";
import { EPSILON, layerNorm as normalized } from "../engine/norm.js";
import { linear as product } from "../engine/tensor.js";
import { multiply } from "./products.js";

// (B, T) ids -> (B, T, D): row E[id] * factor, plus the row of `places` for its position
// (none if null).
export function embed(tape, ids, table, factor, places) {
  const width = table.shape[1];
  const length = ids[0].length;
  const output = tape.node([ids.length, length, width]);
  ids.forEach((row, b) => {
    row.forEach((id, t) => {
      const start = (b * length + t) * width;
      for (let j = 0; j < width; j++) {
        const place = places ? places.data[t * width + j] : 0;
        output.data[start + j] = table.data[id * width + j] * factor + place;
      }
    });
  });
  tape.record(() => {
    ids.flat().forEach((id, i) => {
      for (let j = 0; j < width; j++)
        table.gradient[id * width + j] += output.gradient[i * width + j] * factor;
    });
  });
  return output;
}

// (..., in) -> (..., out): y = x W^T + b. dL/dx = dL/dy W, dL/dW = (dL/dy)^T x.
//
// All three are products of rows with rows, which is what the engine multiplies best, so
// what lies otherwise is turned first.
export function linear(x, weight, bias = null) {
  const { tape } = x;
  const [nOut, nIn] = weight.shape;
  const output = tape.node([...x.shape.slice(0, -1), nOut]);
  const n = x.data.length / nIn;
  product(x, weight, bias, output);
  tape.record(() => {
    const gradient = output.gradient;
    const turnedWeight = turn(weight.data, nOut, nIn, tape.scratch(0, nOut * nIn));
    const forX = tape.scratch(1, n * nIn);
    multiply(gradient, turnedWeight, forX, n, nOut, nIn);
    addTo(x.gradient, forX);
    const turnedGradient = turn(gradient, n, nOut, tape.scratch(2, n * nOut));
    const turnedX = turn(x.data, n, nIn, tape.scratch(1, n * nIn));
    const forWeight = tape.scratch(0, nOut * nIn);
    multiply(turnedGradient, turnedX, forWeight, nOut, n, nIn);
    addTo(weight.gradient, forWeight);
    if (bias) {
      for (let i = 0; i < gradient.length; i += nOut) {
        for (let j = 0; j < nOut; j++) bias.gradient[j] += gradient[i + j];
      }
    }
  });
  return output;
}

// (rows, columns) -> (columns, rows)
function turn(from, rows, columns, to) {
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) to[j * rows + i] = from[i * columns + j];
  }
  return to;
}

function addTo(sum, more) {
  for (let i = 0; i < more.length; i++) sum[i] += more[i];
}

// y = max(0, x): the gradient passes where x was above zero.
export function relu(x) {
  const output = x.tape.node(x.shape);
  for (let i = 0; i < x.data.length; i++) output.data[i] = ACTIVATIONS.relu(x.data[i]);
  x.tape.record(() => {
    for (let i = 0; i < x.data.length; i++) {
      if (x.data[i] > 0) x.gradient[i] += output.gradient[i];
    }
  });
  return output;
}

export function add(x, y) {
  const output = x.tape.node(x.shape);
  for (let i = 0; i < x.data.length; i++) output.data[i] = x.data[i] + y.data[i];
  x.tape.record(() => {
    addTo(x.gradient, output.gradient);
    addTo(y.gradient, output.gradient);
  });
  return output;
}

// y = gain * n + bias with n = (x - mean) / root. With g = gain * dL/dy:
// dL/dx = (g - mean(g) - n * mean(g * n)) / root, for each vector alone.
export function layerNorm(x, gain, bias) {
  const width = gain.data.length;
  const output = x.tape.node(x.shape);
  normalized(x, gain, bias, EPSILON, output);
  x.tape.record(() => {
    const n = new Float64Array(width);
    const g = new Float64Array(width);
    for (let i = 0; i < x.data.length; i += width) {
      let mean = 0;
      for (let j = 0; j < width; j++) mean += x.data[i + j] / width;
      let variance = 0;
      for (let j = 0; j < width; j++) variance += (x.data[i + j] - mean) ** 2 / width;
      const root = Math.sqrt(variance + EPSILON);
      let meanG = 0;
      let meanGN = 0;
      for (let j = 0; j < width; j++) {
        const dy = output.gradient[i + j];
        n[j] = (x.data[i + j] - mean) / root;
        g[j] = gain.data[j] * dy;
        meanG += g[j] / width;
        meanGN += (g[j] * n[j]) / width;
        gain.gradient[j] += dy * n[j];
        bias.gradient[j] += dy;
      }
      for (let j = 0; j < width; j++)
        x.gradient[i + j] += (g[j] - meanG - n[j] * meanGN) / root;
    }
  });
  return output;
}
