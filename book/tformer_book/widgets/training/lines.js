// The reader's own lines: a source, a tab, a target; or a line that is to be continued.
// Phones have no tab, so two spaces will do.
import { MAX_LENGTH } from "./model.js";

const FEWEST = 4;
const MOST = 5000;
const MOST_WORDS = 400;
const GAP = /\t| {2,}/;
const LONGEST = MAX_LENGTH / 2 - 2; // a decoder alone has both in one row

// Text -> { pairs: { source, target }[], words, spaced }. Without spaces in any line each
// character is a symbol, else each word. A line without a gap is cut in its middle.
//
// Throws a RangeError that names line and remedy.
export function readLines(text) {
  const lines = text
    .split(/\r?\n/)
    .map((line, i) => ({ line, number: i + 1 }))
    .filter(({ line }) => line.trim());
  if (lines.length < FEWEST || lines.length > MOST) {
    const found = ["none yet", "only one"][lines.length] ?? lines.length;
    throw new RangeError(
      `give ${FEWEST} to ${MOST} lines, each a source, a tab (or two spaces) and a target: there are ${found}`,
    );
  }
  const isSpaced = (side) => /\S\s+\S/.test(side);
  const spaced = lines.some(({ line }) => sidesOf(line).some(isSpaced));
  const pairs = lines.map(({ line, number }) => pairOf(line, number, spaced));
  const all = pairs.flatMap(({ source, target }) => [...source, ...target]);
  const words = [...new Set(all)];
  if (words.length > MOST_WORDS)
    throw new RangeError(
      `the lines have ${words.length} different symbols, more than ${MOST_WORDS}: take fewer lines or simpler words`,
    );
  return { pairs, words: words.sort(), spaced };
}

// The symbols of a text.
export const symbolsOf = (text, spaced) =>
  spaced ? text.split(/\s+/).filter(Boolean) : [...text.replace(/\s+/g, "")];

const sidesOf = (line) => line.replace(/^ +| +$/g, "").split(GAP);

function pairOf(line, number, spaced) {
  const sides = sidesOf(line).map((side) => symbolsOf(side, spaced));
  if (sides.length === 1) {
    const [all] = sides;
    const middle = Math.ceil(all.length / 2);
    sides.splice(0, 1, all.slice(0, middle), all.slice(middle));
  }
  const [source, target] = sides;
  if (sides.length > 2)
    throw new RangeError(
      `line ${number} has ${sides.length - 1} tabs or wide gaps: keep the one between source and target`,
    );
  if (!source.length || !target.length)
    throw new RangeError(
      `line ${number} has no ${source.length ? "target" : "source"}: give both, with a tab between them`,
    );
  for (const side of sides) {
    if (side.length > LONGEST)
      throw new RangeError(
        `line ${number} has a side of ${side.length} symbols, more than ${LONGEST}: shorten it`,
      );
  }
  return { source, target };
}
