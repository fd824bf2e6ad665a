// Attention and its gradient. Chapters *Attention*, *Multi-head attention*, *Training*.
//
// Axes as in the engine's attention: B batch, H heads, Tq queries, Tk keys, Dh = D / H.
import { attentionWeights, mix } from "../engine/attention.js";
import { dot } from "../engine/tensor.js";

// softmax(scale Q K^T) V for nHeads heads at once, as the engine computes it.
// -> output (B, Tq, D), weights (B, H, Tq, Tk)
//
// With A = weights and O = A V: dL/dV = A^T dL/dO and dL/dA = dL/dO V^T; softmax turns the
// latter into dL/dS = A * (dL/dA - sum over the row of A * dL/dA); from there
// dL/dQ = scale dL/dS K and dL/dK = scale (dL/dS)^T Q.
export function attention(query, key, value, { mask = null, nHeads = 1, scale }) {
  const { tape } = query;
  const [batch, nQueries, width] = query.shape;
  const nKeys = key.shape[1];
  const weights = tape.node([batch, nHeads, nQueries, nKeys]);
  const output = tape.node(query.shape);
  attentionWeights(query, key, mask, nHeads, scale, weights);
  mix(weights, value, output);
  const headWidth = width / nHeads;
  const slopes = new Float64Array(nKeys);

  // One query of one head, whose weights begin at w, its numbers at q, those of the first
  // key at k. A weight of zero takes no part.
  function oneQuery(w, q, k) {
    let expected = 0;
    for (let j = 0; j < nKeys; j++) {
      const weight = weights.data[w + j];
      if (weight === 0) continue;
      const at = k + j * width;
      slopes[j] = dot(output.gradient, q, value.data, at, headWidth);
      expected += weight * slopes[j];
      for (let c = 0; c < headWidth; c++)
        value.gradient[at + c] += weight * output.gradient[q + c];
    }
    for (let j = 0; j < nKeys; j++) {
      const weight = weights.data[w + j];
      if (weight === 0) continue;
      const at = k + j * width;
      const slope = scale * weight * (slopes[j] - expected);
      for (let c = 0; c < headWidth; c++) {
        query.gradient[q + c] += slope * key.data[at + c];
        key.gradient[at + c] += slope * query.data[q + c];
      }
    }
  }

  tape.record(() => {
    for (let b = 0, w = 0; b < batch; b++) {
      for (let h = 0; h < nHeads; h++) {
        const column = h * headWidth;
        for (let i = 0; i < nQueries; i++, w += nKeys)
          oneQuery(w, (b * nQueries + i) * width + column, b * nKeys * width + column);
      }
    }
  });
  return { output, weights };
}
