// What the lab says of a text that it cannot translate, or of a German that it would not
// trust. No page: it runs in Node, too.
import { format } from "../kit/numbers.js";

export const UNSURE = 0.5; // a piece with less of the probability is marked

// Why there is nothing to translate; "" if there is something.
export const refusal = (text) =>
  text.trim() ? "" : "There is nothing to translate yet: type an English sentence.";

// What is said of a text that is too long for the model.
export const tooLong = (n, most) =>
  `This text has ${n} pieces, and the model reads at most ${most} at a time. It has learned from single sentences, so enter them one at a time.`;

// What in a text cannot be English; "" if nothing.
export function foreign(text) {
  const letters = text.match(/\p{L}/gu) ?? [];
  const others = letters.filter((each) => !/\p{Script=Latin}/u.test(each));
  if (letters.length && others.length > letters.length / 2)
    return "This isn’t written in Latin letters. The model has read only English, so it spells other scripts byte by byte, and the German that it makes of them means nothing.";
  if (!letters.length)
    return "There are no words in this. The model has learned from sentences, and what it makes of anything else means nothing.";
  const signs = text.match(/\p{Extended_Pictographic}|\p{L}+/gu) ?? [];
  const odd = signs.filter((each) => !/^\p{Script=Latin}/u.test(each));
  return odd.length
    ? `The model was taught English sentences, and “${odd[0]}” is not from one: it may be lost, or spoil what stands beside it.`
    : "";
}

// Whether log p, spread over the pieces, says that the model doesn't know. doubt: { below:
// nats a piece, level: how many percent of the validation captions do worse }, or {}.
/**
 * @param {{ logProbability: number, pieces: number }} found
 * @param {{ below?: number, level?: number }} doubt
 */
export function doubtful({ logProbability, pieces }, { below, level }) {
  const each = logProbability / pieces;
  return below === undefined || each >= below
    ? ""
    : `Take this German with care: the model was less sure of it than of ${format(100 - level, 0)} % of the captions that it was checked on.`;
}

// That a translation ends only because it may not be longer.
export const cutAt = (n, most) =>
  n < most
    ? ""
    : `Cut at ${most} pieces, the most that the lab lets it write: the model hadn’t come to an end.`;
