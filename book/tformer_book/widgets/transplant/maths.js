// Transplants in numbers and words; no page: it runs in Node, too. found: what
// engine.transplants() gives, { sourcePieces, donorPieces, text, other, cells, of }.
import { upTo } from "../kit/lists.js";
import { format, plural } from "../kit/numbers.js";
import { spoken } from "../kit/pieces.js";

// Positions that both sentences have, and depths: the map's columns and rows.
export const positionsOf = ({ sourcePieces, donorPieces }) =>
  upTo(Math.min(sourcePieces.length, donorPieces.length));
export const depthsOf = (found) => upTo(found.of / positionsOf(found).length);

// A transplant; with moved and text once it is done.
export const cellAt = (found, depth, position) => ({
  depth,
  position,
  ...found.cells[depth * positionsOf(found).length + position],
});

// The one that is meant, or the nearest that there is.
export const nearest = (found, { depth, position }) =>
  cellAt(
    found,
    Math.min(depth, depthsOf(found).length - 1),
    Math.min(position, positionsOf(found).length - 1),
  );

// Whether the model then writes what it writes of neither sentence.
export const isNew = (found, { text }) =>
  text !== undefined && text !== found.text && text !== found.other;

export function sentence(found, { depth, position, moved, text }) {
  const piece = spoken(found.donorPieces[position]);
  const lead = `With the state of ${piece} after ${plural(depth, "layer")}`;
  if (text === undefined) return `${lead}: not tried yet.`;
  return `${lead}${moved === null ? "" : `, moved ${format(moved)}`}: ${text}`;
}

export function verdict(found, cell) {
  if (found.text === found.other)
    return "Both sentences have the same translation, so nothing can move.";
  if (cell.text === undefined) return "Not tried yet.";
  const moved = `moved ${format(cell.moved)}`;
  if (isNew(found, cell))
    return `The words are those of neither sentence alone: ${moved}.`;
  return cell.text === found.text
    ? `The words stay as they are: ${moved}.`
    : `The model writes the other translation: ${moved}.`;
}
