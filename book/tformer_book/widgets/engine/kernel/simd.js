// Products by the kernel in WebAssembly (kernel.wat): many numbers at a time.
import { BINARY } from "./binary.js";
import { largest } from "./fixed-point.js";

const PAGE = 1 << 16; // bytes, of WebAssembly's memory
export const VECTOR = 16; // bytes that are loaded at once
const AT_ONCE = 4; // vectors that eight-bit weights are multiplied by

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

// Where in the memory each weight lies, and behind them vectors x, the same in whole
// numbers, and products y that are long enough for all. The memory never grows, so views
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
    const rows = Math.max(...this.places.map((each) => each.rows));
    this.x = this.#take(4 * AT_ONCE * columns);
    this.whole = this.#take(2 * AT_ONCE * columns);
    this.y = this.#take(4 * AT_ONCE * rows);
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
  const input = new Float32Array(buffer, x, AT_ONCE * columns);
  const output = new Float32Array(buffer, y, AT_ONCE * rows);
  const most = largest(nIn);
  const multiply = (kind) =>
    kernel[kind](x, whole, most, numbers, y, width, rows, place.scales);
  return (from, to) => {
    const n = from.length / nIn;
    input.fill(0); // another product may have left something there
    for (let first = 0, count; first < n; first += count) {
      count = scales && first + AT_ONCE <= n ? AT_ONCE : 1;
      for (let i = 0; i < count; i++) {
        const start = (first + i) * nIn;
        input.set(from.subarray(start, start + nIn), i * columns);
      }
      if (!scales) kernel.floats(x, numbers, y, width, rows);
      else multiply(count > 1 ? "four_bytes" : "bytes");
      for (let i = 0; i < count; i++)
        to.set(output.subarray(i * rows, i * rows + nOut), (first + i) * nOut);
    }
  };
}
