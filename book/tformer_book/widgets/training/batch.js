// From sequences to what a model is asked: rows of ids of one length.
//
// Encoder and decoder: the source is read, the target is written. A decoder alone reads
// both in one row, and only the target has labels. An encoder alone has the target as
// labels of the source's positions.
import { PAD } from "./model.js";

export const START = 1;
export const END = 2;
export const SPECIAL = ["⟨pad⟩", "⟨bos⟩", "⟨eos⟩"];

// pairs: { source, target } of ids. -> { source, target, labels }, each (B, T) or null.
// Without `shift` the labels are what the decoder reads.
export function batchOf(pairs, { shape, shift }) {
  const endOf = ({ source }) => [...source, END];
  const read = ({ target }) => [START, ...target];
  const wanted = ({ target }) => (shift ? [...target, END] : [START, ...target]);
  if (shape === "decoder") {
    return {
      source: null,
      target: padded(pairs.map((pair) => [...pair.source, ...read(pair)])),
      labels: padded(
        pairs.map((pair) => [...pair.source.map(() => PAD), ...wanted(pair)]),
      ),
    };
  }
  const source = padded(pairs.map(endOf));
  if (shape === "encoder") {
    const labels = pairs.map(({ target }) => [...target, END]);
    return { source, target: null, labels: padded(labels, source[0].length) };
  }
  return { source, target: padded(pairs.map(read)), labels: padded(pairs.map(wanted)) };
}

// Rows of one length, padded on the right.
export function padded(rows, length = Math.max(...rows.map((row) => row.length))) {
  return rows.map((row) => [...row, ...Array(length - row.length).fill(PAD)]);
}
