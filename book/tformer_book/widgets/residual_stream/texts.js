// What the figure says of a position and of a part, in words.
import { chance, format } from "../kit/numbers.js";
import { shown } from "../kit/pieces.js";
import { best, inWords, NAMES, settled } from "./maths.js";

const quoted = (piece) => `“${shown(piece)}”`;

export const aboutText = (side, piece, norm) =>
  side === "encoder"
    ? `What the encoder makes of ${quoted(piece)}. It never has to name a piece; the words below only say which row of the embedding table points most nearly the same way.`
    : `The decoder has read ${quoted(piece)} and all before it. The words below say which piece would come next if the model ended there: last norm, table, softmax. (${norm}-norm model)`;

export function headline({ title, before, added, length, angle }, norm) {
  if (angle === null)
    return `The embedding begins the stream: length ${format(length, 1)}.`;
  const isPosition = title === NAMES.position;
  const what = isPosition ? "The position" : `Layer ${title.replace(" ", ", ")},`;
  const after = norm === "post" && !isPosition ? ", after the norm" : "";
  return `${what} adds a vector of length ${format(added, 1)} at ${format(angle, 0)}° to the stream: ${format(before, 1)} becomes ${format(length, 1)}${after}.`;
}

// The whole way. own: the piece at the position; given: what the translation goes on with.
export function summary(side, rows, own, given) {
  const grown = rows.at(-1).length / rows[0].length;
  const growth = `On its way the stream grows to ${format(grown, 1)} times its length.`;
  if (side === "encoder") {
    const lost = rows.findIndex((row) => best(row) !== own);
    const stays =
      lost < 0
        ? `${quoted(own)} itself stays the nearest piece to the end`
        : `${quoted(own)} itself is the nearest piece until ${inWords(rows[lost].title)}`;
    return `${growth} ${stays}, where its cosine is ${format(rows.at(lost).followed, 2)}.`;
  }
  const [end, p] = rows.at(-1).next[0];
  const from = inWords(rows[settled(rows)].title);
  const other = given === end ? "" : ` The translation goes on with ${quoted(given)}.`;
  return `${growth} In the end it says ${quoted(end)}, p ${chance(p)}; that piece is ahead from ${from} on.${other}`;
}

export function arrowsText({ before, added, angle }, norm) {
  if (angle === null) return `One arrow: the embedding, of length ${format(added, 1)}.`;
  const after = norm === "post" ? ", which is normalised afterwards" : "";
  return `The stream, of length ${format(before, 1)}, drawn upwards; at ${format(angle, 0)} degrees to it what is added, of length ${format(added, 1)}; and their sum${after}.`;
}
