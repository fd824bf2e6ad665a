// Pieces, for people.
import { h } from "./kit.js";

// A byte that is a character by itself, such as "<0x3B>", as that character: ";". Bytes
// that are parts of characters, or invisible, keep their numbers.
export const byteAsCharacter = (piece) =>
  piece.replace(/^<0x(2[1-9A-F]|[3-6].|7[0-9A-E])>$/, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
// A piece as it is shown: ▁ marks the beginning of a word.
export const shown = (piece) =>
  ({ "<s>": "⟨bos⟩", "</s>": "⟨eos⟩" })[piece] ?? byteAsCharacter(piece);
// As it is read aloud.
export const spoken = (piece) =>
  ({ "<s>": "the start", "</s>": "the end" })[piece] ??
  (byteAsCharacter(piece).replace(/▁/g, "") || "a space");
// Pieces as a text: ▁ is a space, a run of bytes is the characters that it spells. Of a
// character whose last bytes are still to come nothing shows.
export const written = (pieces) =>
  pieces
    .filter((each) => each !== "</s>")
    .join("")
    .replace(/(<0x[0-9A-F]{2}>)+/g, characters)
    .replace(/▁/g, " ")
    .trim();
function characters(run) {
  const bytes = run.match(/[0-9A-F]{2}(?=>)/g).map((hex) => Number.parseInt(hex, 16));
  return new TextDecoder().decode(Uint8Array.from(bytes)).replace(/\uFFFD/g, "");
}
// Its end, where it is long.
export const ending = (text, most = 48) =>
  text.length > most ? `…${text.slice(1 - most)}` : text;

// A table cell with a bar as long as a probability.
export function meter(name, p) {
  const bar = h("span");
  bar.style.width = `${(100 * (p ?? 0)).toFixed(1)}%`;
  return h("td", { class: name, "aria-hidden": "true" }, bar);
}
