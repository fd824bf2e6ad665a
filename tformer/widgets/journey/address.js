// Stop and sentence of the journey in an address (see kit/address.js):
//
//     #stop=6&text=A+dog+runs.
import { partsOf, textOf } from "../kit/address.js";

// Only what differs from the beginning is written.
export function toHash({ stop, text }, first) {
  const parts = new URLSearchParams({ stop: String(stop) });
  if (text !== first) parts.set("text", text);
  return `#${parts}`;
}

// { stop, text }, the text "" where none is named; null if the address names neither, as
// one that leads to a heading. A stop that is not there becomes the nearest one.
export function ofHash(hash, nStops) {
  const parts = partsOf(hash);
  const text = textOf(parts);
  const number = Math.round(Number(parts.get("stop") || Number.NaN));
  if (!text && Number.isNaN(number)) return null;
  return { stop: Math.min(nStops, Math.max(1, number || 1)), text };
}
