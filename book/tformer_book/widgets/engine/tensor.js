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
  const [a, b, sum] = [x.data, y.data, new Float32Array(x.data.length)];
  for (let i = 0; i < sum.length; i++) sum[i] = a[i] + b[i];
  return new Tensor(x.shape, sum);
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
  return x.scales
    ? new Float32Array(numbers).map((each) => each * x.scales[b])
    : numbers;
}

// (B, T, D) -> (B, 1, D): the newest position alone.
export function last(x) {
  const [batch, length, width] = x.shape;
  const kept = new Tensor([batch, 1, width]);
  for (let b = 0; b < batch; b++)
    kept.data.set(row(x, b).subarray((length - 1) * width), b * width);
  return kept;
}

// e^-d for d >= 0, to 15 digits, and three times as fast as Math.exp: the nearest entry of
// a table times the series of what is left. Nothing is less than e^-64: beside e^0, that
// makes no difference in a sum.
const PER_ONE = 64;
const POWERS = Float64Array.from({ length: 64 * PER_ONE + 1 }, (_, i) =>
  Math.exp(-i / PER_ONE),
);
function expMinus(d) {
  const place = Math.min(d * PER_ONE, POWERS.length - 1);
  const nearest = (place + 0.5) | 0;
  const r = (nearest - place) / PER_ONE;
  const series = 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r / 120))));
  return POWERS[nearest] * series;
}

// log p = logit - log(sum of e^logit), over the last axis.
export function logSoftmax(x, output = new Tensor(x.shape)) {
  const width = x.shape.at(-1);
  for (let i = 0; i < x.data.length; i += width) {
    const logits = x.data.subarray(i, i + width);
    let top = -Infinity;
    for (let j = 0; j < width; j++) if (logits[j] > top) top = logits[j];
    let total = 0;
    for (let j = 0; j < width; j++) total += expMinus(top - logits[j]);
    const shift = top + Math.log(total);
    for (let j = 0; j < width; j++) output.data[i + j] = logits[j] - shift;
  }
  return output;
}

// The places of the largest numbers, the largest first; of equal ones the first stays.
export function best(numbers, count) {
  const places = [];
  const { length } = numbers;
  let least = -Infinity; // of them
  for (let i = 0; i < length; i++) {
    if (numbers[i] <= least && i >= count) continue;
    let at = Math.min(i, count - 1);
    for (; at > 0 && numbers[i] > numbers[places[at - 1]]; at--)
      places[at] = places[at - 1];
    places[at] = i;
    least = numbers[places.at(-1)];
  }
  return places;
}

// 0, 1, … n - 1.
export const upTo = (n) => Array.from({ length: n }, (_, i) => i);
