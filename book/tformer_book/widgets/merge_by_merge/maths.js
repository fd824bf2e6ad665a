// Byte-pair encoding: merges learned from a text, and applied to it one by one. Runs in
// Node; the tests hold it to `tformer.tokenization.byte_pairs`.
export const END = "</w>";
const N_SPECIAL = 4; // pad, bos, eos, unk

export const split = (text) => text.split(/\s+/u).filter(Boolean);
const spell = (word) => [...word, END];
const keyOf = (left, right) => `${left} ${right}`; // no symbol holds a blank

// words: [symbols, how often][] -> Map from "left right" to its number of places.
export function countPairs(words) {
  const counts = new Map();
  for (const [symbols, n] of words) {
    for (let i = 0; i + 1 < symbols.length; i++) {
      const key = keyOf(symbols[i], symbols[i + 1]);
      counts.set(key, (counts.get(key) ?? 0) + n);
    }
  }
  return counts;
}

export function mergePair(symbols, left, right) {
  const merged = [];
  for (let i = 0; i < symbols.length; i++) {
    const fits = symbols[i] === left && symbols[i + 1] === right;
    merged.push(fits ? left + right : symbols[i]);
    if (fits) i++;
  }
  return merged;
}

// Python's order of strings: by code points, where JavaScript's < goes by UTF-16 units.
function before(a, b) {
  const [x, y] = [a, b].map((text) => [...text].map((c) => c.codePointAt(0)));
  const i = x.findIndex((c, j) => c !== y[j]);
  return i < 0 ? x.length < y.length : x[i] < y[i];
}
const pairBefore = ([a, b], [c, d]) => (a === c ? before(b, d) : before(a, c));

// Pairs with their counts, most frequent first; of equals, the first in the alphabet.
export function ranked(counts) {
  return [...counts]
    .map(([key, n]) => [key.split(" "), n])
    .sort(([p, n], [q, m]) => m - n || (pairBefore(p, q) ? -1 : 1));
}

// Learn merges from a text until every word is one piece.
export function learn(text) {
  const frequency = new Map();
  for (const word of split(text)) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  let words = [...frequency].map(([word, n]) => [spell(word), n]);
  const merges = [];
  const counts = [];
  for (;;) {
    const found = countPairs(words);
    if (!found.size) return { merges, counts };
    const [[left, right], n] = ranked(found)[0];
    merges.push(keyOf(left, right));
    counts.push(n);
    words = words.map(([symbols, k]) => [mergePair(symbols, left, right), k]);
  }
}

// The text's words before the first merge that fits, after it, …, after the last.
export function replay(text, merges) {
  const ranks = new Map(merges.map((key, i) => [key, i]));
  let words = split(text).map(spell);
  const steps = [{ rank: -1, words }];
  for (;;) {
    const found = [...countPairs(words.map((symbols) => [symbols, 1])).keys()];
    const rank = Math.min(...found.map((key) => ranks.get(key) ?? Infinity));
    if (rank === Infinity) return steps;
    const [left, right] = merges[rank].split(" ");
    words = words.map((symbols) => mergePair(symbols, left, right));
    steps.push({ rank, left, right, words });
  }
}

// A text and all that its merges make of it: its own, or those learned elsewhere, which
// come with counts and alphabet of what they were learned from, and curves to compare with.
export function cutting(text, isOwn, merges, counts, alphabet, curves) {
  const rules = isOwn ? learn(text) : { merges, counts };
  const letters = new Set(isOwn ? split(text).join("") : alphabet);
  return {
    text,
    isOwn,
    letters,
    curves: isOwn ? [] : curves,
    counts: rules.counts,
    total: rules.merges.length,
    base: N_SPECIAL + 1 + letters.size, // the vocabulary without any merge
    steps: replay(text, rules.merges),
  };
}

// The same after n merges: the words as they are then, the step that comes next.
export function after(cut, merges) {
  const n = Math.min(merges, cut.total);
  const index = cut.steps.findLastIndex(({ rank }) => rank < n);
  const { words } = cut.steps[index];
  const pieces = words.flat();
  const unknown = pieces.filter((piece) => isUnknown(cut, piece)).length;
  const coming = cut.steps[index + 1];
  return { ...cut, n, index, words, pieces, coming, unknown };
}

export const isUnknown = ({ letters }, piece) =>
  [...piece].length === 1 && !letters.has(piece);
export const perWord = ({ words }) => words.flat().length / Math.max(1, words.length);

// Up to five merges that come next, as [number or name, [left, right], count]: of the
// text's own, the most frequent pairs that it has now.
export function upcoming({ isOwn, words, steps, index, counts }) {
  if (isOwn)
    return ranked(countPairs(words.map((symbols) => [symbols, 1])))
      .slice(0, 5)
      .map(([pair, n], i) => [i ? null : "next", pair, n]);
  return steps
    .slice(index + 1, index + 6)
    .map(({ rank, left, right }) => [rank + 1, [left, right], counts[rank]]);
}
