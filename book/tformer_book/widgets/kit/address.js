// What a figure keeps in the page's address, so that a link shows it again: after "#",
// which a browser keeps to itself, so no sentence travels to the host of the page.
const LONGEST = 2000; // characters of a sentence

export const partsOf = (hash) => new URLSearchParams(hash.replace(/^#/, ""));

// The sentence that an address names; "" if it names none.
export function textOf(parts) {
  const text = (parts.get("text") ?? "").slice(0, LONGEST);
  return text.trim() ? text : "";
}

// The address of this page with another hash.
export const addressOf = (hash) => new URL(hash, location.href.split("#")[0]).href;

// Put it in the place of the present one, without a step back in the browser's history,
// once the reader rests: WebKit refuses, with an error, more than 100 in ten seconds.
const REST = 150; // ms
let timer = 0;
export function keep(address) {
  const before = location.href;
  clearTimeout(timer);
  timer = setTimeout(() => {
    // Who has followed a link meanwhile is elsewhere.
    if (location.href === before) history.replaceState(history.state, "", address);
  }, REST);
}
