// What the reader knows of each card, kept under the card's id: cards that this page
// doesn't have stay as they are, and whatever cannot be read counts as nothing.
import { attempt, keys, read, remove, write } from "../keep/keep.js";

const START = "tf-cards:";
const NUMBERS = ["passed", "ease", "interval", "asked", "due"];
/** @typedef {import("./schedule.js").Progress} Progress */
/** @type {Record<string, Progress>} */
const here = {}; // for as long as the page is open, should the browser keep nothing

/** @returns {Progress | null} */
function parsed(text) {
  const entry = attempt(() => JSON.parse(text));
  const isCount = (name) => Number.isSafeInteger(entry[name]) && entry[name] >= 0;
  return typeof entry?.again === "boolean" && NUMBERS.every(isCount) ? entry : null;
}

/** The progress of all cards, as last saved, perhaps in another tab. */
export function load() {
  for (const key of keys(START)) {
    const entry = parsed(read(key));
    if (entry) here[key.slice(START.length)] = entry;
  }
  return { ...here };
}

/** Save the progress of a card; whether the browser keeps it. */
export function save(id, entry) {
  here[id] = entry;
  return write(START + id, JSON.stringify(entry));
}

export function forget(ids) {
  for (const id of ids) {
    delete here[id];
    remove(START + id);
  }
}
