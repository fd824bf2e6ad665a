// What a model can learn here within a minute: each task draws sequences, and says what
// ought to be written for one.
import { drawSentence, GRAMMAR_WORDS, inGerman } from "./grammar.js";
import { inDigits, inWords, NUMBER_WORDS } from "./numbers.js";

const LETTERS = [..."abcdefghij"];
const DIGITS = [..."0123456789"];
const PARTNERS = { "(": ")", "[": "]", "{": "}" };
const OPEN = Object.keys(PARTNERS);
const SHIFT = 2;

// What tasks about sequences of four to eight symbols have in common.
const sequencesOf = (alphabet) => ({
  words: alphabet,
  spaced: false,
  lengths: [4, 8],
  draw: (dice) => dice.many(dice.whole(4, 8), () => dice.pick(alphabet)),
});

function drawSum(dice) {
  const number = () => [...String(dice.whole(10, 99))];
  return [...number(), "+", ...number()];
}

function sum(source) {
  const [a, b, ...more] = source.join("").split("+");
  const isSum = b && a && !more.length;
  return isSum ? [...String(Number(a) + Number(b))] : null;
}

// Brackets of which at least one is still open at the end.
function drawBrackets(dice) {
  const length = dice.whole(3, 9);
  const open = [];
  const drawn = [];
  while (drawn.length < length) {
    const closes = open.length > 1 && dice.between(0, 1) < 0.5;
    drawn.push(closes ? PARTNERS[open.pop()] : dice.pick(OPEN));
    if (!closes) open.push(drawn.at(-1));
  }
  return drawn;
}

// What closes all that is open, the last first; null if a bracket closes another kind.
function closing(source) {
  const open = [];
  for (const each of source) {
    if (OPEN.includes(each)) open.push(each);
    else if (PARTNERS[open.pop()] !== each) return null;
  }
  return open.map((each) => PARTNERS[each]).reverse();
}

// For each digit its left neighbour minus its right one, where there is none zero.
const differences = (source) =>
  source.map((_, i) =>
    String((Number(source[i - 1] ?? 0) - Number(source[i + 1] ?? 0) + 8) % 8),
  );

// Each digit says at which place to look, and the digit there again.
const hops = (source) => source.map((_, i) => source[source[source[i]]]);

/**
 * @typedef {object} Task
 * @property {string} key its name in settings
 * @property {boolean} [hidden] whether it is only there for an experiment
 * @property {string} title
 * @property {string} line what is asked, in one sentence
 * @property {string[] | null} words all symbols that occur; null if the lines say it
 * @property {boolean} spaced whether words are written with spaces between them
 * @property {number[] | null} lengths of a source, least and most
 * @property {Record<string, any>} [defaults] settings with which it is learned
 * @property {string} example a source as a reader types it
 * @property {(dice: any) => string[]} draw a source
 * @property {(source: string[]) => string[] | null} answer null if there is none
 */

const OCTAL = DIGITS.slice(0, 8);
const FEW = DIGITS.slice(0, 5);

/** @type {Task[]} */
export const TASKS = [
  {
    key: "reverse",
    title: "Reverse",
    line: "Write the letters from the last to the first.",
    ...sequencesOf(LETTERS),
    defaults: { batch: 64 },
    example: "abcdefgh",
    answer: (source) => source.toReversed(),
  },
  {
    key: "copy",
    title: "Copy",
    line: "Write the letters as they are.",
    ...sequencesOf(LETTERS),
    example: "jabcadef",
    answer: (source) => [...source],
  },
  {
    key: "sort",
    title: "Sort",
    line: "Write the digits from the smallest to the largest.",
    ...sequencesOf(DIGITS),
    example: "31415926",
    answer: (source) => source.toSorted(),
  },
  {
    key: "shift",
    title: `Shift by ${SHIFT}`,
    line: `Move the first ${SHIFT} letters to the end.`,
    ...sequencesOf(LETTERS),
    example: "abcdefgh",
    answer: (source) => [...source.slice(SHIFT), ...source.slice(0, SHIFT)],
  },
  {
    key: "add",
    title: "Add",
    line: "Write the sum of two two-digit numbers.",
    words: [...DIGITS, "+"],
    spaced: false,
    lengths: [5, 5],
    defaults: { width: 64 },
    example: "47+85",
    draw: drawSum,
    answer: sum,
  },
  {
    key: "brackets",
    title: "Brackets",
    line: "Close every bracket that is still open.",
    words: [...OPEN, ...Object.values(PARTNERS)],
    spaced: false,
    lengths: [3, 9],
    defaults: { layers: 2 },
    example: "{([](",
    draw: drawBrackets,
    answer: closing,
  },
  {
    key: "numbers",
    title: "Number words",
    line: "Write the number in digits.",
    words: [...NUMBER_WORDS, ...DIGITS],
    spaced: true,
    lengths: [1, 8],
    example: "four thousand two hundred and seven",
    draw: (dice) => inWords(dice.whole(0, 9999)),
    answer: inDigits,
  },
  {
    key: "grammar",
    title: "English to German",
    line: "Translate a short sentence: mind gender, case, and the verb’s place.",
    words: GRAMMAR_WORDS,
    spaced: true,
    lengths: [5, 13],
    example: "today the old dog sees a cat .",
    draw: drawSentence,
    answer: inGerman,
  },
  {
    key: "lines",
    title: "Own lines",
    line: "Learn your own lines: on each, a source, a tab and a target.",
    words: null,
    spaced: true,
    lengths: null,
    example: "",
    draw: null,
    answer: null,
  },
  {
    key: "difference",
    hidden: true,
    title: "Left minus right",
    line: "For each digit, write its left neighbour minus its right one, modulo 8.",
    ...sequencesOf(OCTAL),
    defaults: { shape: "encoder" },
    example: "3174026",
    answer: differences,
  },
  {
    key: "hops",
    hidden: true,
    title: "Two hops",
    line: "Each digit names a place, and the digit there another: write what is there.",
    words: FEW,
    spaced: false,
    lengths: [5, 5],
    defaults: { shape: "encoder" },
    example: "20413",
    draw: (dice) => dice.many(5, () => dice.pick(FEW)),
    answer: hops,
  },
];
