// Words of pieces, and how much of its attention each German word paid to each English
// one. No page: it runs in Node, too.

import { headMap } from "../heads/weights.js";
import { upTo } from "../kit/lists.js";
import { percent } from "../kit/numbers.js";
import { written } from "../kit/pieces.js";

export const LEAST = 0.1; // a smaller share is neither named, nor tinted, nor drawn

// A word that was less probable than this was guessed, …
export const GUESSED = 0.1;
const UNSURE = 0.6; // … the model was not sure of it, …
export const PROBABLE = 0.8; // … or there may be something to see.

// What the engine answers, as the figure's examples are recorded.
export function ofAnswers(attention, { positions }) {
  const layer = attention.cross.shape[0] - 1;
  return {
    sourcePieces: attention.sourcePieces,
    predictedPieces: attention.predictedPieces,
    weights: headMap(attention, "cross", layer, null),
    next: positions.map(({ next }) =>
      next.map(({ piece, probability }) => [piece, probability]),
    ),
    chances: positions.map(({ logProbability }) => Math.exp(logProbability)),
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
  const textOf = (places) => written(places.map((i) => pieces[i]));
  return groups.map((places) => ({ text: textOf(places), places }));
}

// A mark stands by itself: "horse" and "." are two.
export const isMark = (piece) => /^[.,;:!?…]$/.test(piece);

// -> { english, german, shares } with shares[g][e], which add up to 1 less what a word
// pays to the end of the sentence. A word of several pieces takes the mean of what they
// pay, and gets the sum of what they are paid. others[g] are the words that came close to
// it: { text, probability, prefix: the pieces that a translation with it begins with }[];
// certain[g] is its own probability, the product of its pieces'; begun[g] its first piece's,
// as "first" is that of one which came close.
export function linked(way, close = 1) {
  const { sourcePieces, predictedPieces, weights, next } = way;
  const english = wordsOf(sourcePieces);
  const german = wordsOf(predictedPieces);
  const shares = german.map(({ places: rows }) =>
    english.map(({ places: columns }) => {
      const of = (row) => columns.reduce((sum, j) => sum + weights[row][j], 0);
      return rows.reduce((sum, row) => sum + of(row), 0) / rows.length;
    }),
  );
  const others = german.map(({ text, places: [t] }) =>
    next[t]
      .filter(([piece, probability]) => {
        const areWords = [piece, predictedPieces[t]].every((x) => x.startsWith("▁"));
        const isOther = !text.startsWith(written([piece])); // not itself in other pieces
        return areWords && isOther && probability >= close;
      })
      .slice(0, 2)
      .map(([piece, probability]) => {
        const prefix = [...predictedPieces.slice(0, t), piece];
        return {
          text: `${written([piece])}…`,
          probability,
          first: probability,
          prefix,
        };
      }),
  );
  const certain = german.map(({ places }) => chance(way, places));
  const begun = german.map(({ places: [t] }) => way.chances[t]);
  return { english, german, shares, others, certain, begun };
}

const chance = ({ chances }, places) => places.reduce((p, t) => p * chances[t], 1);

// What German words mean, "" for a mark: in this sentence, where that is known of all of
// them; else what they usually mean, or that the model was not sure of one.
export function glossed({ german, certain }, { of = {}, usual = {} } = {}) {
  const texts = german.map(({ text }) => text);
  if (texts.every((text) => isMark(text) || text in of))
    return texts.map((text) => of[text] ?? "");
  return texts.map((text, g) => {
    if (isMark(text)) return "";
    const doubt = certain[g] < GUESSED ? "(a guess)" : "(unsure)";
    return usually(text, usual) ?? (certain[g] < UNSURE ? doubt : "");
  });
}

const usually = (text, usual) => usual[text] ?? usual[text.toLowerCase()];

// What is worth knowing of each German word, "" where there is nothing. notes: [words that
// must all stand there, what is told of each of them][]
export function noted(german, notes = []) {
  const there = german.map(({ text }) => text);
  const told = notes.filter(([words]) => words.every((word) => there.includes(word)));
  return there.map((text) => told.find(([words]) => words.includes(text))?.[1] ?? "");
}

// Of recorded translations, the one that begins with some pieces.
export const beginning = (ways, prefix) =>
  ways.find(({ predictedPieces }) =>
    prefix.every((piece, i) => predictedPieces[i] === piece),
  );

// Which German words drew most on an English one, in words.
export function lookedFrom({ english, german, shares }, e) {
  const [[most, share], [next, less]] = shares
    .map((row, g) => [`“${german[g].text}”`, row[e]])
    .sort(([, a], [, b]) => b - a)
    .concat([["", 0]]); // one word has no next
  const rest = less >= LEAST ? `, and ${next} gave it\u00a0${percent(less, 0)}` : "";
  return `${most} gave “${english[e].text}”\u00a0${percent(share, 0)} of its attention${rest}`;
}

// What a German word looked at, the most looked at first: English words, and the sign at
// the sentence's end, which got what is lacking to 1.
// -> [share, text][], empty if its attention is spread over many
function mostSeen({ english, shares }, g) {
  const end = 1 - shares[g].reduce((sum, share) => sum + share, 0);
  return english
    .map(({ text }, e) => [shares[g][e], `“${text}”`])
    .concat([[end, "the invisible end sign"]])
    .filter(([share]) => share >= LEAST)
    .sort(([a], [b]) => b - a);
}

// … in words,
export function lookedAt(pair, g) {
  const parts = mostSeen(pair, g).map(
    ([share, text], i) =>
      `${text}\u00a0${percent(share, 0)}${i === 0 ? " of its attention" : ""}`,
  );
  if (!parts.length) return "spread its attention over many words";
  const all = parts[3]
    ? `${parts.slice(0, 2).join(", ")}, and others less`
    : listed(parts);
  return `gave ${all}`;
}

// … and the most looked at alone.
export function sawMost(pair, g) {
  const [most] = mostSeen(pair, g);
  return most ? `looked most at ${most[1]}` : "looked at many words, none of them much";
}

// For which German word an English one was looked at most, in words.
export function seenMostFor({ english, german, shares }, e) {
  const drawn = shares.map((row) => row[e]);
  const share = Math.max(...drawn);
  if (share < LEAST)
    return `No German word paid much attention to “${english[e].text}”`;
  const most = german[drawn.indexOf(share)];
  return `“${english[e].text}” got its largest share of attention from “${most.text}”`;
}

const listed = (parts) =>
  [parts.slice(0, -1).join(", "), parts.at(-1)].filter(Boolean).join(" and ");

// The German word that a figure ends with: the one that is named ("look"); else, of those
// that could have been another, the least probable one of which something is told, or the
// one that looked at most words, those first that would have meant something else; where
// none could have been another the least probable one, unless all are probable.
export function worthALook({ german, certain, shares, others, notes, glosses, look }) {
  const given = german.findIndex(({ text }) => text === look);
  if (given >= 0) return given;
  const all = upTo(german.length).filter((g) => !isMark(german[g].text));
  const least = (places, by) => places.toSorted((a, b) => by(a) - by(b))[0];
  const probable = (g) => certain[g];
  const most = (g) => Math.max(...shares[g]);
  const open = all.filter((g) => others[g].length);
  const told = open.filter((g) => notes[g]);
  if (told.length) return least(told, probable);
  const apart = open.filter((g) =>
    others[g].some(({ sense }) => sense && !shareOne(sense, glosses[g])),
  );
  if (open.length) return least(apart.length ? apart : open, most);
  const unsure = least(all, probable);
  return certain[unsure] >= PROBABLE ? least(all, most) : unsure;
}

const shareOne = (some, others) =>
  some.split(", ").some((each) => others.split(", ").includes(each));

// The places of words that are others than before, after the one that was chosen. Null if
// the sentences have not as many words, so that nothing can be compared.
export function changedAfter(chosen, before, after) {
  if (before.length !== after.length) return null;
  return upTo(after.length).filter((i) => i > chosen && before[i] !== after[i]);
}

// … and in words.
export function toldOfChoice(chosen, before, after) {
  const places = changedAfter(chosen, before, after);
  const chose = `You chose “${after[chosen]}” over “${before[chosen]}”`;
  if (!places || places.length > 3) return `${chose}; the model wrote the rest`;
  const parts = places.map((i) => `“${after[i]}” instead of “${before[i]}”`);
  return parts.length
    ? `${chose}; the model then wrote ${parts.join(", ")}`
    : `${chose}; the rest came out the same`;
}

// A word that came close, as it is written in a translation that is there, how probable that
// was, and what it means; of one that is in none, what it would mean as it stands ("sense").
export function named(other, ways, { of = {}, usual = {} } = {}) {
  const way = beginning(ways, other.prefix);
  if (!way) return { ...other, sense: usually(written(other.prefix.slice(-1)), usual) };
  const { text, places } = wordsOf(way.predictedPieces)[
    wordsOf(other.prefix).length - 1
  ];
  const meaning = of[text] ?? usually(text, usual);
  return { ...other, text, probability: chance(way, places), meaning, sense: meaning };
}

// How probable the model found a German word, which its bar shows, in words.
export function howSure({ german, certain }, g) {
  const likely =
    certain[g] < 0.005 ? "very unlikely" : `${percent(certain[g], 0)} likely`;
  return `It found “${german[g].text}” ${likely}`;
}

// A word that came close and was likelier, as far as it is known and at its beginning.
export const likelier = ({ others, certain, begun }, g) =>
  others[g].find((each) => each.probability > certain[g] && each.first > begun[g]);

// What the model might have written instead of a German word, in words.
export function cameClose({ others }, g) {
  const parts = (others[g] ?? []).map(
    ({ text, probability }) => `“${text}”\u00a0(${percent(probability, 0)})`,
  );
  return parts.length ? `It might have written ${parts.join(" or ")}.` : "";
}
