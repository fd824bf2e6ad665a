// The state of the live lab in an address, so that a link shows it again: after "#", which
// a browser keeps to itself, so no sentence travels to the host of the page.
//
//     #text=A+dog+runs.&search=sample&seed=7&begin=▁Ein

import {
  pageName,
  settingsOf,
  TRAITS,
  traitsOf,
  USED,
  USUAL,
  used,
} from "../engine/decode/settings.js";

export const SEARCHES = Object.keys(USED);
export const VIEWS = ["alternatives", "heads", "decoding", "teacher"];

// Numbers: their name in the address, smallest and largest value, and step. A top_k of 0 and
// a top_p of 1 keep every piece.
export const NUMBERS = {
  beam_size: { name: "beam", min: 1, max: 6, step: 1 },
  length_penalty: { name: "alpha", min: 0, max: 3, step: 0.1 },
  temperature: { name: "temperature", min: 0.1, max: 2, step: 0.1 },
  top_k: { name: "top-k", min: 0, max: 50, step: 1 },
  top_p: { name: "top-p", min: 0.05, max: 1, step: 0.05 },
  seed: { name: "seed", min: 0, max: 30, step: 1 },
};

// The numbers that a search uses.
export const numbersOf = (search) =>
  TRAITS.filter((trait) => USED[search].includes(pageName(trait)));

const LONGEST = 400; // characters of a sentence

/** @returns {Record<string, any>} */
export const usual = () => ({
  ...traitsOf(USUAL),
  prefix: [],
  view: "alternatives",
});

// Only what differs from the usual, and what the chosen search uses, is written.
export function toHash(state) {
  const known = usual();
  const parts = new URLSearchParams({ text: state.text });
  if (state.search !== known.search) parts.set("search", state.search);
  for (const key of numbersOf(state.search)) {
    if (state[key] !== known[key]) parts.set(NUMBERS[key].name, String(state[key]));
  }
  if (state.prefix.length) parts.set("begin", state.prefix.join(" "));
  if (state.view !== known.view) parts.set("view", state.view);
  return `#${parts}`;
}

// The whole state; null if the address names no sentence. What makes no sense is left out.
export function ofHash(hash) {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const text = (parts.get("text") ?? "").slice(0, LONGEST);
  if (!text.trim()) return null;
  /** @type {Record<string, any>} */
  const state = { ...usual(), text };
  if (SEARCHES.includes(parts.get("search"))) state.search = parts.get("search");
  if (VIEWS.includes(parts.get("view"))) state.view = parts.get("view");
  for (const [key, { name, min, max, step }] of Object.entries(NUMBERS)) {
    const given = parts.get(name);
    if (given === null || !given.trim() || !Number.isFinite(Number(given))) continue;
    const stepped = Math.round(Number(given) / step) * step;
    state[key] = Number(Math.min(max, Math.max(min, stepped)).toFixed(2));
  }
  state.prefix = (parts.get("begin") ?? "").split(" ").filter(Boolean);
  return state;
}

// What the engine is told of the search.
export const searchOptions = (state) => used(settingsOf(state));
