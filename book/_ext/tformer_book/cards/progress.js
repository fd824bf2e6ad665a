// What the browser remembers of each card, under the card's id. Entries of cards that
// this page doesn't have stay as they are; whatever cannot be read counts as nothing.

const KEY = "tf-cards";
const NUMBERS = ["passed", "ease", "interval", "asked", "due"];
/** @type {Record<string, import("./schedule.js").Progress>} */
let here = {}; // for as long as the page is open, should the browser forbid its store

const isProgress = (entry) =>
  entry !== null &&
  typeof entry === "object" &&
  typeof entry.again === "boolean" &&
  NUMBERS.every((name) => Number.isSafeInteger(entry[name]) && entry[name] >= 0);

/** The progress of all cards, as last saved, perhaps in another tab. */
export function load() {
  try {
    const entries = Object.entries(JSON.parse(localStorage.getItem(KEY)) ?? {});
    here = Object.fromEntries(entries.filter(([, entry]) => isProgress(entry)));
  } catch {
    // Forbidden, or not what we wrote.
  }
  return { ...here };
}

/** Save the progress of all cards; whether the browser keeps it. */
export function save(known) {
  here = { ...known };
  try {
    localStorage.setItem(KEY, JSON.stringify(known));
    return true;
  } catch {
    return false;
  }
}
