// The place of a reader on the journey, and the sentence, in an address (see
// kit/address.js):
//
//     #stop=6&layer=1&head=4&text=A+dog+runs.
import { partsOf, textOf } from "../kit/address.js";

// What the reader can change, as Python has it; and where each number begins.
export const STATE = { stop: 1, piece: -1, layer: 0, head: 0, step: -1, across: -1 };
const PLACE = Object.keys(STATE).filter((name) => name !== "stop");

// Only what differs from the beginning is written.
export function toHash({ text, ...state }, first) {
  const parts = new URLSearchParams({ stop: String(state.stop) });
  for (const name of PLACE)
    if (name in state && state[name] !== STATE[name])
      parts.set(name, String(state[name]));
  if (text !== first) parts.set("text", text);
  return `#${parts}`;
}

// { stop, text, …STATE }, the text "" where none is named; null if the address names
// neither, as one that leads to a heading. A stop that is not there becomes the nearest
// one; what is no number, or below its range, is as at the beginning.
export function ofHash(hash, nStops) {
  const parts = partsOf(hash);
  const text = textOf(parts);
  const numberOf = (name) => Math.round(Number(parts.get(name) || Number.NaN));
  const number = numberOf("stop");
  if (!text && Number.isNaN(number)) return null;
  const place = PLACE.map((name) => {
    const given = numberOf(name);
    return [name, given >= STATE[name] && given < Infinity ? given : STATE[name]];
  });
  const stop = Math.min(nStops, Math.max(1, number || 1));
  return { ...Object.fromEntries(place), stop, text };
}
