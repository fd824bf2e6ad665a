// The loss: cross-entropy against a smoothed target, ignoring padding. Chapter *Training*.
import { logSoftmax } from "../engine/tensor.js";

// Mean over the labels that are not padding of
// -(1 - smoothing) log p[label] - smoothing * mean over v of log p[v].
//
// logits (B, T, V), labels (B, T). -> a number, nats per symbol. Its gradient, for a row
// of logits, is (p - (1 - smoothing) onehot(label) - smoothing / V) / number of labels.
export function crossEntropy(logits, labels, { padId, smoothing = 0 }) {
  const { tape } = logits;
  const size = logits.shape.at(-1);
  const logP = tape.node(logits.shape);
  logSoftmax(logits, logP);
  const wanted = labels.flat();
  const real = wanted.filter((label) => label !== padId).length;
  let total = 0;
  wanted.forEach((label, i) => {
    if (label === padId) return;
    const row = i * size;
    total -= (1 - smoothing) * logP.data[row + label];
    if (!smoothing) return;
    for (let v = 0; v < size; v++) total -= (smoothing / size) * logP.data[row + v];
  });
  tape.record(() => {
    wanted.forEach((label, i) => {
      if (label === padId) return;
      const row = i * size;
      for (let v = 0; v < size; v++) {
        const target = (v === label ? 1 - smoothing : 0) + smoothing / size;
        logits.gradient[row + v] += (Math.exp(logP.data[row + v]) - target) / real;
      }
    });
  });
  return total / real;
}
