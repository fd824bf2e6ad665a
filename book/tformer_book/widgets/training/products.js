// Products of whole matrices, by the engine's kernel: in WebAssembly where it runs, in
// JavaScript elsewhere.
import { multiply as plainly } from "../engine/kernel/plain.js";
import { openKernel, up, VECTOR } from "../engine/kernel/simd.js";

const MEMORY = 1 << 24; // bytes: larger products than fit here are done in JavaScript
const FLOATS = VECTOR / 4;

let opened; // the kernel, once somebody has asked for it

// y = x @ w.T, for n rows of x (n, nIn) and w (nOut, nIn).
export function multiply(x, w, y, n, nIn, nOut) {
  opened ??= open();
  const width = up(nIn, FLOATS);
  const rows = up(nOut, FLOATS);
  const atW = n * width;
  const atY = atW + rows * width;
  if (!opened.kernel || 4 * (atY + n * nOut + FLOATS) > MEMORY)
    return plainly(x, w, y, n, nIn, nOut);
  const { kernel, numbers } = opened;
  place(x, n, nIn, numbers, 0, width);
  place(w, nOut, nIn, numbers, atW, width);
  // A row's last numbers may run into the next row, which is written after it.
  for (let i = 0; i < n; i++)
    kernel.floats(4 * i * width, 4 * atW, 4 * (atY + i * nOut), 4 * width, rows);
  y.set(numbers.subarray(atY, atY + n * nOut));
}

// Rows of numbers to the kernel's memory, each filled up with zeros.
function place(from, n, length, to, start, width) {
  if (length === width) return to.set(from.subarray(0, n * length), start);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < width; j++)
      to[start + i * width + j] = j < length ? from[i * length + j] : 0;
  }
}

function open() {
  const { memory, kernel } = openKernel(MEMORY) ?? {};
  return { kernel, numbers: memory && new Float32Array(memory.buffer) };
}
