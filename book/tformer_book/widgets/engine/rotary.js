// Rotary positions: queries and keys are turned, so scores see offsets only. Chapter *What came after*.
import { MultiHeadAttention } from "./attention.js";
import { Module } from "./module.js";
import { Tensor } from "./tensor.js";

// Turn pair i of each head's columns by position / base^(2i / Dh); the first row of x
// (B, T, D) stands at position `first`.
export function rotatePairs(x, nHeads, first = 0, base = 10_000) {
  const [batch, length, width] = x.shape;
  const headWidth = width / nHeads;
  const turned = new Tensor(x.shape);
  for (let t = 0; t < length; t++) {
    for (let column = 0; column < width; column += 2) {
      const angle = (first + t) / base ** ((column % headWidth) / headWidth);
      const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
      for (let b = 0; b < batch; b++) {
        const at = (b * length + t) * width + column;
        const [even, odd] = [x.data[at], x.data[at + 1]];
        turned.data[at] = even * cosine - odd * sine;
        turned.data[at + 1] = even * sine + odd * cosine;
      }
    }
  }
  return turned;
}

export class RotaryAttention extends MultiHeadAttention {
  // With a cache, queries are the newest of the keys' positions.
  attend(query, key, value, mask = null) {
    const first = key.shape[1] - query.shape[1];
    const { nHeads } = this;
    const turned = rotatePairs(query, nHeads, first);
    return super.attend(turned, rotatePairs(key, nHeads), value, mask);
  }
}

// Adds nothing to the embeddings.
export class NoPositions extends Module {
  forward(x) {
    return x;
  }
}
