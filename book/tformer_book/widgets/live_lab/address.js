// The state of the live lab in an address (see kit/address.js):
//
//     #text=A+dog+runs.&search=sample&seed=7&begin=▁Ein&view=heads&out=cross.2.4

import {
  SLIDERS,
  settingsOf,
  traitsOf,
  USED,
  USUAL,
  used,
} from "../engine/decode/settings.js";
import { SITES } from "../heads/weights.js";
import { partsOf, textOf } from "../kit/address.js";

export const SEARCHES = Object.keys(USED);
export const VIEWS = ["alternatives", "heads", "decoding", "teacher"];

// The numbers that a search uses; in the address each has its short name.
const numbersOf = (search) => SLIDERS.filter(({ of }) => of === search);

/** @returns {Record<string, any>} */
export const usual = () => ({
  ...traitsOf(USUAL),
  prefix: [],
  view: "alternatives",
  knocked_out: [],
});

// Only what differs from the usual, and what the chosen search uses, is written.
export function toHash(state) {
  const known = usual();
  const parts = new URLSearchParams({ text: state.text });
  if (state.search !== known.search) parts.set("search", state.search);
  for (const { name, short } of numbersOf(state.search))
    if (state[name] !== known[name]) parts.set(short, String(state[name]));
  if (state.prefix.length) parts.set("begin", state.prefix.join(" "));
  if (state.view !== known.view) parts.set("view", state.view);
  if (state.knocked_out.length)
    parts.set("out", state.knocked_out.map((head) => head.join(".")).join(" "));
  return `#${parts}`;
}

// The whole state; null if the address names no sentence. What makes no sense is left out.
export function ofHash(hash) {
  const parts = partsOf(hash);
  const text = textOf(parts);
  if (!text) return null;
  /** @type {Record<string, any>} */
  const state = { ...usual(), text };
  if (SEARCHES.includes(parts.get("search"))) state.search = parts.get("search");
  if (VIEWS.includes(parts.get("view"))) state.view = parts.get("view");
  for (const { name, short, min, max, step } of SLIDERS) {
    const given = parts.get(short);
    if (given === null || !given.trim() || !Number.isFinite(Number(given))) continue;
    const stepped = Math.round(Number(given) / step) * step;
    state[name] = Number(Math.min(max, Math.max(min, stepped)).toFixed(2));
  }
  state.prefix = (parts.get("begin") ?? "").split(" ").filter(Boolean);
  state.knocked_out = headsOf(parts.get("out") ?? "");
  return state;
}

// "cross.2.4 encoder.0.1" -> [["cross", 2, 4], ["encoder", 0, 1]]
function headsOf(text) {
  const found = text.split(" ").map((each) => /^([a-z]+)\.(\d+)\.(\d+)$/.exec(each));
  return found
    .filter((each) => each && SITES.includes(each[1]))
    .map(([, site, layer, head]) => [site, Number(layer), Number(head)]);
}

// What the engine is told of the search.
export const searchOptions = (state) => used(settingsOf(state));
