// Products by the kernel in WebAssembly (kernel.wat): many numbers at a time.
import { BINARY } from "./binary.js";
import { largest } from "./fixed-point.js";

const PAGE = 1 << 16; // bytes, of WebAssembly's memory
export const VECTOR = 16; // bytes that are loaded at once

// The kernel and a memory of so many bytes, or null where they cannot be had.
export function openKernel(size) {
  try {
    const bytes = Uint8Array.from(atob(BINARY), (each) => each.charCodeAt(0));
    const memory = new WebAssembly.Memory({ initial: Math.ceil(size / PAGE) });
    const module = new WebAssembly.Module(bytes);
    const { exports } = new WebAssembly.Instance(module, { engine: { memory } });
    return { memory, kernel: /** @type {any} */ (exports) };
  } catch {
    return null;
  }
}

// What `plainProduct` gives for each weight, or null where it cannot be had: no SIMD, no
// WebAssembly, a page that forbids it, or too little memory.
export function simdProducts(weights) {
  const layout = new Layout(weights);
  const opened = openKernel(layout.size);
  if (!opened) return null;
  const { memory, kernel } = opened;
  return weights.map((weight, i) => {
    fill(memory.buffer, weight, layout.places[i]);
    return product(kernel, memory.buffer, weight, layout.places[i], layout);
  });
}

// Where in the memory each weight lies, and behind them a vector x, the same in whole
// numbers, and a product y that are long enough for all. The memory never grows, so views
// of it stay good.
class Layout {
  size = 0;

  constructor(weights) {
    this.places = weights.map(({ shape: [nOut, nIn], scales }) => {
      const bytes = scales ? 1 : 4;
      const width = up(nIn * bytes, VECTOR);
      const rows = up(nOut, 4);
      return {
        columns: width / bytes,
        width,
        rows,
        numbers: this.#take(width * rows),
        scales: scales && this.#take(4 * rows),
      };
    });
    const columns = Math.max(...this.places.map((each) => each.columns));
    this.x = this.#take(4 * columns);
    this.whole = this.#take(2 * columns);
    this.y = this.#take(Math.max(...this.places.map(({ rows }) => 4 * rows)));
  }

  #take(bytes) {
    const start = this.size;
    this.size += up(bytes, VECTOR);
    return start;
  }
}

export const up = (n, step) => Math.ceil(n / step) * step;

// Copy a weight to its place, row by row; what is between stays zero.
function fill(buffer, { shape: [nOut, nIn], data, scales }, place) {
  const Numbers = scales ? Int8Array : Float32Array;
  for (let row = 0; row < nOut; row++) {
    const there = new Numbers(buffer, place.numbers + row * place.width, nIn);
    there.set(data.subarray(row * nIn, (row + 1) * nIn));
  }
  if (scales) new Float32Array(buffer, place.scales, nOut).set(scales);
}

function product(kernel, buffer, { shape: [nOut, nIn], scales }, place, layout) {
  const { columns, width, rows, numbers } = place;
  const { x, whole, y } = layout;
  const input = new Float32Array(buffer, x, columns);
  const output = new Float32Array(buffer, y, nOut);
  const most = largest(nIn);
  return (from, to) => {
    input.fill(0, nIn); // another product may have left something there
    for (let i = 0, j = 0; i < from.length; i += nIn, j += nOut) {
      input.set(from.subarray(i, i + nIn));
      if (scales) kernel.bytes(x, whole, most, numbers, y, width, rows, place.scales);
      else kernel.floats(x, numbers, y, width, rows);
      to.set(output, j);
    }
  };
}
