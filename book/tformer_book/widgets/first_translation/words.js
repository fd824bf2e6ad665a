// Words of pieces, and how much of its attention each German word paid to each English
// one. No page: it runs in Node, too.
import { headMap, upTo } from "../heads/maps.js";
import { written } from "../kit/pieces.js";

// What the engine answers, as the figure's examples are recorded.
export function ofAttention(text, attention) {
  const layer = attention.cross.shape[0] - 1;
  return {
    text,
    sourcePieces: attention.sourcePieces,
    predictedPieces: attention.predictedPieces,
    weights: headMap(attention, "cross", layer, null),
  };
}

// Where each word begins and ends among the pieces; the end of the sentence is no word.
// -> [{ text, places: number[] }]
export function wordsOf(pieces) {
  const groups = [];
  for (const i of upTo(pieces.length)) {
    if (pieces[i] === "</s>") continue;
    if (!groups.length || pieces[i].startsWith("▁") || isMark(pieces[i]))
      groups.push([]);
    groups.at(-1).push(i);
  }
  return groups.map((places) => ({
    text: written(places.map((i) => pieces[i])),
    places,
  }));
}

// A mark stands by itself: "horse" and "." are two.
const isMark = (piece) => /^[.,;:!?…]$/.test(piece);

// -> { english, german, shares } with shares[g][e], which add up to 1 less what a word
// pays to the end of the sentence. A word of several pieces takes the mean of what they
// pay, and gets the sum of what they are paid.
export function linked({ sourcePieces, predictedPieces, weights }) {
  const english = wordsOf(sourcePieces);
  const german = wordsOf(predictedPieces);
  const shares = german.map(({ places: rows }) =>
    english.map(({ places: columns }) => {
      const of = (row) => columns.reduce((sum, j) => sum + weights[row][j], 0);
      return rows.reduce((sum, row) => sum + of(row), 0) / rows.length;
    }),
  );
  return { english, german, shares };
}
