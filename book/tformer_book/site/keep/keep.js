// What the reader has done, kept in this browser: the one place that reads and writes it.
// A key says what is kept and of which page, so that it outlives a reworded chapter:
//
//   tf-prediction:book/by-pencil:Predict, then run. “it” asks …   the answer
//   tf-problem:book/by-pencil:3      solved
//   tf-seen:book/by-pencil:recall    the end of this section has been on the screen
//   tf-read:book/by-pencil           … and so have the ends of all others
//   tf-place:book/by-pencil          where the reader was last: {id, title, at}
//
// The browser may forbid all this, or have no room left: then nothing is kept, and
// nothing fails.

const OURS = "tf-";
const FORMAT = "tformer-progress";
const VERSION = 1;
const LONGEST = 100_000; // characters of one value
const PAGE = /^book\/[\w-]+(?:\/[\w-]+)?$/;

export const root = new URL("../../", import.meta.url); // of the site

/** The name of a page, such as "book/by-pencil". */
export function pageAt(address) {
  const { pathname } = new URL(address, location.href);
  return pathname.slice(root.pathname.length).replace(/\.html$/, "");
}

export const page = pageAt(location.href);

/** What some work gives, or, where it fails, something else. */
export function attempt(work, otherwise = null) {
  try {
    return work();
  } catch {
    return otherwise;
  }
}

/** @returns {string | null} */
export const read = (key) => attempt(() => localStorage.getItem(key));

/** Keep a value; false if the browser won't. */
export const write = (key, value) =>
  attempt(() => {
    localStorage.setItem(key, value);
    return true;
  }, false);

export const remove = (key) => attempt(() => localStorage.removeItem(key));

/** Every key that begins so; all that are the book's by default. */
export const keys = (start = OURS) =>
  attempt(() => Object.keys(localStorage), []).filter((key) => key.startsWith(start));

/** Whether this browser keeps anything at all. */
export function keeps() {
  const kept = write(`${OURS}try`, "1");
  remove(`${OURS}try`);
  return kept;
}

/** Where the reader was on a page; null if nowhere, or if what is kept is damaged. */
function placeOn(name) {
  const place = attempt(() => JSON.parse(read(`tf-place:${name}`)));
  const isWhole = PAGE.test(name) && place?.id && place.title && place.at > 0;
  return isWhole ? place : null;
}

/** Where the reader was last, on the pages that are wanted; null if nowhere. */
export function lastPlace(isWanted = (_name) => true) {
  const [last] = keys("tf-place:")
    .map((key) => key.slice("tf-place:".length))
    .filter(isWanted)
    .map((name) => ({ name, ...placeOn(name) }))
    .filter((place) => place.id)
    .sort((a, b) => b.at - a.at);
  return last ?? null;
}

/** The address of such a place. */
export const addressOf = ({ name, id }) =>
  new URL(`${name}.html#${encodeURIComponent(id)}`, root).href;

/** All that is kept, as the text of a file. */
export function exported() {
  const entries = Object.fromEntries(keys().map((key) => [key, read(key)]));
  return JSON.stringify({ format: FORMAT, version: VERSION, entries }, null, 1);
}

/** What a file holds, by key. Throws an Error with a sentence for the reader. */
function entriesOf(text) {
  const file = attempt(() => JSON.parse(text));
  if (file?.format === FORMAT && file.version > VERSION)
    throw new Error("This file comes from a newer edition of the book.");
  const entries = Object.entries(file?.entries ?? {});
  const sound = ([key, value]) =>
    key.startsWith(OURS) && typeof value === "string" && value.length <= LONGEST;
  if (file?.format !== FORMAT || file.version !== VERSION || !entries.every(sound))
    throw new Error("This file is damaged, or it isn't one that this page exported.");
  return entries;
}

/**
 * Add what a file holds; what is here already stays as it is. Returns how much is new.
 * Throws an Error with a sentence for the reader, and has changed nothing then.
 */
export function imported(text) {
  const added = entriesOf(text).filter(([key]) => read(key) === null);
  if (!added.every(([key, value]) => write(key, value))) {
    for (const [key] of added) remove(key);
    throw new Error("This browser has no room for it, or doesn't allow it.");
  }
  return added.length;
}

export function erase() {
  for (const key of keys()) remove(key);
}
