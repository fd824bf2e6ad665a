// Tensors: float32 numbers with a shape, row by row, and what PyTorch does with them in
// the Python package. Axes: B batch, T positions, D width, H heads, V vocabulary.

export class Tensor {
  constructor(shape, data = new Float32Array(shape.reduce((a, b) => a * b, 1))) {
    this.shape = shape;
    this.data = data;
  }
}

// (..., in) x (out, in) -> (..., out): `x @ weight.T + bias`.
export function linear(x, weight, bias = null) {
  const [nOut, nIn] = weight.shape;
  const n = x.data.length / nIn;
  const output = new Tensor([...x.shape.slice(0, -1), nOut]);
  multiply(x.data, weight.data, output.data, n, nIn, nOut);
  if (bias) {
    for (let i = 0; i < output.data.length; i += nOut) {
      for (let j = 0; j < nOut; j++) output.data[i + j] += bias.data[j];
    }
  }
  return output;
}

// All the time goes here. Several sums at once keep the processor busy: two rows of x by
// four of W where there are two, else one by eight. Sums run in double precision, which
// in JavaScript is faster than rounding every product to float32.
function multiply(x, w, y, n, nIn, nOut) {
  let row = 0;
  for (; row + 2 <= n; row += 2) twoRows(x, w, y, row, nIn, nOut);
  if (row < n) oneRow(x, w, y, row, nIn, nOut);
}

function twoRows(x, w, y, row, nIn, nOut) {
  const p = row * nIn;
  const q = p + nIn;
  let column = 0;
  for (; column + 4 <= nOut; column += 4) {
    const w0 = column * nIn;
    const w1 = w0 + nIn;
    const w2 = w1 + nIn;
    const w3 = w2 + nIn;
    let a0 = 0,
      a1 = 0,
      a2 = 0,
      a3 = 0,
      b0 = 0,
      b1 = 0,
      b2 = 0,
      b3 = 0;
    for (let k = 0; k < nIn; k++) {
      const u0 = w[w0 + k],
        u1 = w[w1 + k],
        u2 = w[w2 + k],
        u3 = w[w3 + k];
      const a = x[p + k],
        b = x[q + k];
      a0 += a * u0;
      a1 += a * u1;
      a2 += a * u2;
      a3 += a * u3;
      b0 += b * u0;
      b1 += b * u1;
      b2 += b * u2;
      b3 += b * u3;
    }
    const i = row * nOut + column;
    const j = i + nOut;
    y[i] = a0;
    y[i + 1] = a1;
    y[i + 2] = a2;
    y[i + 3] = a3;
    y[j] = b0;
    y[j + 1] = b1;
    y[j + 2] = b2;
    y[j + 3] = b3;
  }
  for (; column < nOut; column++) {
    y[row * nOut + column] = dot(x, p, w, column * nIn, nIn);
    y[(row + 1) * nOut + column] = dot(x, q, w, column * nIn, nIn);
  }
}

function oneRow(x, w, y, row, nIn, nOut) {
  const p = row * nIn;
  let column = 0;
  for (; column + 8 <= nOut; column += 8) {
    const w0 = column * nIn,
      w1 = w0 + nIn,
      w2 = w1 + nIn,
      w3 = w2 + nIn;
    const w4 = w3 + nIn,
      w5 = w4 + nIn,
      w6 = w5 + nIn,
      w7 = w6 + nIn;
    let a0 = 0,
      a1 = 0,
      a2 = 0,
      a3 = 0,
      a4 = 0,
      a5 = 0,
      a6 = 0,
      a7 = 0;
    for (let k = 0; k < nIn; k++) {
      const a = x[p + k];
      a0 += a * w[w0 + k];
      a1 += a * w[w1 + k];
      a2 += a * w[w2 + k];
      a3 += a * w[w3 + k];
      a4 += a * w[w4 + k];
      a5 += a * w[w5 + k];
      a6 += a * w[w6 + k];
      a7 += a * w[w7 + k];
    }
    const i = row * nOut + column;
    y[i] = a0;
    y[i + 1] = a1;
    y[i + 2] = a2;
    y[i + 3] = a3;
    y[i + 4] = a4;
    y[i + 5] = a5;
    y[i + 6] = a6;
    y[i + 7] = a7;
  }
  for (; column < nOut; column++) {
    y[row * nOut + column] = dot(x, p, w, column * nIn, nIn);
  }
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

// The numbers of row b of the first axis: a view, not a copy.
export function row(x, b) {
  const size = x.data.length / x.shape[0];
  return x.data.subarray(b * size, (b + 1) * size);
}

// (B, T, D) -> (B, 1, D): the newest position alone.
export function last(x) {
  const [batch, length, width] = x.shape;
  const kept = new Tensor([batch, 1, width]);
  for (let b = 0; b < batch; b++) {
    kept.data.set(row(x, b).subarray((length - 1) * width), b * width);
  }
  return kept;
}

// log p = logit - log(sum of e^logit), over the last axis.
export function logSoftmax(x) {
  const width = x.shape.at(-1);
  const output = new Tensor(x.shape);
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
