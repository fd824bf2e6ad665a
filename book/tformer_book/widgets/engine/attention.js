// Attention: a look-up that is soft, and several of them side by side. Chapters *Attention*, *Multi-head attention*.
//
// Axes: B batch, H heads, Tq queries, Tk keys, D width, Dh = D / H width of a head. Heads
// stay side by side in the columns: head h is columns h * Dh to (h + 1) * Dh of (B, T, D),
// so to split and to merge heads costs nothing.
import { Linear, Module, Probe } from "./module.js";
import { dot, Tensor } from "./tensor.js";

// softmax(Q K^T / sqrt(Dh)) V, for nHeads heads at once.
//
// query (B, Tq, D), key and value (B, Tk, D); mask: bytes that broadcast to (B, Tq, Tk),
// 1 = may attend; every query must see a key. Returns output (B, Tq, D) and
// weights (B, H, Tq, Tk).
export function attention(query, key, value, { mask = null, nHeads = 1 } = {}) {
  const weights = attentionWeights(query, key, mask, nHeads);
  return { output: mix(weights, value), weights };
}

// softmax(scale * Q K^T), where scale is 1 / sqrt(Dh): rows sum to 1, what is hidden gets
// exactly 0. The results go to `weights`.
export function attentionWeights(
  query,
  key,
  mask,
  nHeads,
  scale = 1 / Math.sqrt(query.shape[2] / nHeads),
  weights = new Tensor([query.shape[0], nHeads, query.shape[1], key.shape[1]]),
) {
  const [batch, nQueries, width] = query.shape;
  const nKeys = key.shape[1];
  const headWidth = width / nHeads;
  for (let b = 0, start = 0; b < batch; b++) {
    for (let h = 0; h < nHeads; h++) {
      for (let i = 0; i < nQueries; i++, start += nKeys) {
        const scores = weights.data.subarray(start, start + nKeys);
        const q = (b * nQueries + i) * width + h * headWidth;
        for (let j = 0; j < nKeys; j++) {
          const k = (b * nKeys + j) * width + h * headWidth;
          scores[j] = -Infinity;
          if (!mask || mayAttend(mask, b, i, j))
            scores[j] = dot(query.data, q, key.data, k, headWidth) * scale;
        }
        softmaxInPlace(scores);
      }
    }
  }
  return weights;
}

function mayAttend(mask, b, i, j) {
  const [batch, nQueries, nKeys] = mask.shape;
  const row = (batch > 1 ? b : 0) * nQueries + (nQueries > 1 ? i : 0);
  return mask.data[row * nKeys + j];
}

function softmaxInPlace(scores) {
  let top = -Infinity;
  for (let j = 0; j < scores.length; j++) if (scores[j] > top) top = scores[j];
  if (top === -Infinity)
    throw new RangeError("a query may attend to no key: show it at least one");
  let total = 0;
  for (let j = 0; j < scores.length; j++)
    total += scores[j] = Math.exp(scores[j] - top);
  for (let j = 0; j < scores.length; j++) scores[j] /= total;
}

// weights (B, H, Tq, Tk), value (B, Tk, D) -> (B, Tq, D): each head mixes its own columns.
export function mix(
  weights,
  value,
  output = new Tensor([weights.shape[0], weights.shape[2], value.shape[2]]),
) {
  const [batch, nHeads, nQueries, nKeys] = weights.shape;
  const width = value.shape[2];
  const headWidth = width / nHeads;
  const sum = new Float64Array(headWidth);
  for (let b = 0, w = 0; b < batch; b++) {
    for (let h = 0; h < nHeads; h++) {
      for (let i = 0; i < nQueries; i++) {
        sum.fill(0);
        for (let j = 0; j < nKeys; j++, w++) {
          const weight = weights.data[w];
          const v = (b * nKeys + j) * width + h * headWidth;
          for (let c = 0; c < headWidth; c++) sum[c] += weight * value.data[v + c];
        }
        output.data.set(sum, (b * nQueries + i) * width + h * headWidth);
      }
    }
  }
  return output;
}

// MultiHead(Q, K, V) = Concat(head_1, …, head_H) W_O
//
// Probes: `weights` (B, H, Tq, Tk), and `heads` (B, Tq, D), the heads' outputs before
// `toOutput`; a hook on `heads` that scales columns knocks a head out.
export class MultiHeadAttention extends Module {
  constructor(dModel, nHeads) {
    super();
    this.nHeads = nHeads;
    this.toQuery = new Linear(dModel, dModel);
    this.toKey = new Linear(dModel, dModel);
    this.toValue = new Linear(dModel, dModel);
    this.toOutput = new Linear(dModel, dModel);
    this.weights = new Probe();
    this.heads = new Probe();
  }

  // (B, Tq, D), (B, Tk, D) -> (B, Tq, D); without a key the query attends to itself.
  forward(query, key = query, mask = null) {
    const [keys, values] = this.projectMemory(key);
    return this.attend(this.toQuery.call(query), keys, values, mask);
  }

  // Keys and values of what is looked up: worth keeping while decoding.
  projectMemory(key) {
    return [this.toKey.call(key), this.toValue.call(key)];
  }

  // Attention of projected queries, keys and values, merged by `toOutput`.
  attend(query, key, value, mask = null) {
    const weights = this.weights.call(attentionWeights(query, key, mask, this.nHeads));
    return this.toOutput.call(this.heads.call(mix(weights, value)));
  }
}
