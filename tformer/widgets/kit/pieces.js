// Pieces, for people.
import { h } from "./kit.js";

// A piece as it is shown: ▁ marks the beginning of a word.
export const shown = (piece) => ({ "<s>": "⟨bos⟩", "</s>": "⟨eos⟩" })[piece] ?? piece;
// As it is read aloud.
export const spoken = (piece) =>
  ({ "<s>": "the start", "</s>": "the end" })[piece] ??
  (piece.replace(/▁/g, "") || "a space");
// Pieces as a text.
export const written = (pieces) =>
  pieces
    .filter((each) => each !== "</s>")
    .join("")
    .replace(/▁/g, " ")
    .trim();
// Its end, where it is long.
export const ending = (text, most = 48) =>
  text.length > most ? `…${text.slice(1 - most)}` : text;

// A table cell with a bar as long as a probability.
export function meter(name, p) {
  const bar = h("span");
  bar.style.width = `${(100 * (p ?? 0)).toFixed(1)}%`;
  return h("td", { class: name, "aria-hidden": "true" }, bar);
}
