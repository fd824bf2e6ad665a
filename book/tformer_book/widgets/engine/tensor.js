// Tensors: float32 numbers with a shape, row by row, and what PyTorch does with them in
// the Python package. Axes: B batch, T positions, D width, H heads, V vocabulary.
//
// A matrix of weights may be kept in eight bits instead: whole numbers, and for each row
// what it counts in (`scales`).

export class Tensor {
  constructor(
    shape,
    data = new Float32Array(shape.reduce((a, b) => a * b, 1)),
    scales = null,
  ) {
    this.shape = shape;
    this.data = data;
    this.scales = scales;
  }
}

// (..., in) x (out, in) -> (..., out): `x @ weight.T + bias`, weight a `Parameter`. Most
// of the time goes here, so the product is the kernel's. The results go to `output`.
export function linear(
  x,
  weight,
  bias = null,
  output = new Tensor([...x.shape.slice(0, -1), weight.shape[0]]),
) {
  const nOut = weight.shape[0];
  weight.product(x.data, output.data);
  if (bias) {
    for (let i = 0; i < output.data.length; i += nOut) {
      for (let j = 0; j < nOut; j++) output.data[i + j] += bias.data[j];
    }
  }
  return output;
}

// The dot product of `length` numbers of a, from i on, and of b, from j on.
export function dot(a, i, b, j, length) {
  let total = 0;
  for (let k = 0; k < length; k++) total += a[i + k] * b[j + k];
  return total;
}

export function add(x, y) {
  return new Tensor(
    x.shape,
    x.data.map((value, i) => value + y.data[i]),
  );
}

// Rows of the first axis, in this order; a row may come twice.
export function select(x, rows) {
  const kept = new Tensor([rows.length, ...x.shape.slice(1)]);
  const size = x.data.length / x.shape[0];
  rows.forEach((each, i) => kept.data.set(row(x, each), i * size));
  return kept;
}

// (B, T, D) and (B, T', D) -> (B, T + T', D).
export function concatenate(x, y) {
  const [batch, before, width] = x.shape;
  const after = y.shape[1];
  const joined = new Tensor([batch, before + after, width]);
  for (let b = 0; b < batch; b++) {
    const start = b * (before + after) * width;
    joined.data.set(row(x, b), start);
    joined.data.set(row(y, b), start + before * width);
  }
  return joined;
}

// The numbers of row b of the first axis: a view, not a copy (but for eight bits).
export function row(x, b) {
  const size = x.data.length / x.shape[0];
  const numbers = x.data.subarray(b * size, (b + 1) * size);
  return x.scales ? Float32Array.from(numbers, (each) => each * x.scales[b]) : numbers;
}

// (B, T, D) -> (B, 1, D): the newest position alone.
export function last(x) {
  const [batch, length, width] = x.shape;
  const kept = new Tensor([batch, 1, width]);
  for (let b = 0; b < batch; b++)
    kept.data.set(row(x, b).subarray((length - 1) * width), b * width);
  return kept;
}

// log p = logit - log(sum of e^logit), over the last axis.
export function logSoftmax(x, output = new Tensor(x.shape)) {
  const width = x.shape.at(-1);
  for (let i = 0; i < x.data.length; i += width) {
    const logits = x.data.subarray(i, i + width);
    let top = -Infinity;
    for (let j = 0; j < width; j++) if (logits[j] > top) top = logits[j];
    let total = 0;
    for (let j = 0; j < width; j++) total += Math.exp(logits[j] - top);
    const shift = top + Math.log(total);
    for (let j = 0; j < width; j++) output.data[i + j] = logits[j] - shift;
  }
  return output;
}

// 0, 1, … n - 1.
export const upTo = (n) => Array.from({ length: n }, (_, i) => i);
