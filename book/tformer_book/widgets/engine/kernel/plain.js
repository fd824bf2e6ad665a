// Products in plain JavaScript: the readable twin of kernel.wat, and what runs where a
// browser has no SIMD or a page forbids WebAssembly.
import { dot } from "../tensor.js";
import { fixedPoint } from "./fixed-point.js";

// A weight (out, in) -> the product with it, (x, y) => void: y = x @ weight.T for rows
// (n, in) in x and (n, out) in y, both float32.
export function plainProduct({ shape: [nOut, nIn], data, scales }) {
  if (!scales) return (x, y) => multiply(x, data, y, x.length / nIn, nIn, nOut);
  return (x, y) => {
    const n = x.length / nIn;
    const numbers = new Int16Array(x.length);
    const steps = new Float32Array(n);
    for (let row = 0; row < n; row++) {
      const [from, to] = [row * nIn, (row + 1) * nIn];
      steps[row] = fixedPoint(x.subarray(from, to), numbers.subarray(from, to));
    }
    multiply(numbers, data, y, n, nIn, nOut); // whole numbers, so exact
    for (let row = 0, i = 0; row < n; row++) {
      for (let j = 0; j < nOut; j++) y[i++] *= Math.fround(steps[row] * scales[j]);
    }
  };
}

// y = x @ w.T, for n rows of x (n, nIn) and w (nOut, nIn).
//
// Several sums at once keep the processor busy: two rows of x by four of W where there
// are two, else one by eight. Sums run in double precision, which in JavaScript is faster
// than rounding every product to float32.
export function multiply(x, w, y, n, nIn, nOut) {
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
    let a0, a1, a2, a3, b0, b1, b2, b3;
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0;
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
    let a0, a1, a2, a3, a4, a5, a6, a7;
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0;
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
  for (; column < nOut; column++)
    y[row * nOut + column] = dot(x, p, w, column * nIn, nIn);
}
