// Twelve experiments: the settings of a sound run and of a broken one, after how many
// steps they are compared, and in what. The words are the figure's.
import { Dice } from "./dice.js";
import { inWords } from "./numbers.js";

// `length` numbers in words, each with its digits, as a reader would paste them.
function numberLines(length) {
  const dice = new Dice(0, "lines");
  const line = (number) =>
    `${inWords(number).join(" ")}\t${[...String(number)].join(" ")}`;
  return dice.many(length, () => line(dice.whole(0, 9999))).join("\n");
}

/**
 * @typedef {object} Experiment
 * @property {string} key
 * @property {Record<string, any>} sound settings
 * @property {Record<string, any>} broken settings
 * @property {number} steps
 * @property {"accuracy" | "alone" | "loss"} measure of `Run.evaluate`
 * @property {number} [soundAtLeast]
 * @property {number} [soundAtMost]
 * @property {number} [brokenAtLeast]
 * @property {number} [brokenAtMost]
 */

const NUMBERS = { task: "numbers" };
const SLIM = { task: "numbers", layers: 3, width: 16, dFf: 32 };
const POST = { task: "numbers", layers: 2, norm: "post", rate: 0.02, warmup: 200 };
const HOPS = { task: "hops", shape: "encoder", layers: 2 };
const DIFFERENCE = { task: "difference", shape: "encoder", rate: 0.005 };
const WIDE = { task: "copy", heads: 1, width: 64, dFf: 32 };
const LINES = { task: "lines", lines: numberLines(1500) };

// One switch, and what it breaks.
/** @returns {Experiment} */
function one(key, [sound, change], steps, bounds, measure = "accuracy") {
  return { key, sound, broken: { ...sound, ...change }, steps, measure, ...bounds };
}

const FAILS = { soundAtLeast: 0.6, brokenAtMost: 0.2 };
const SOME = { soundAtLeast: 0.6, brokenAtMost: 0.5 };
const LESS = { soundAtLeast: 0.8, brokenAtMost: 0.7 };

export const EXPERIMENTS = [
  one("positions", [{ task: "copy" }, { positions: false }], 250, FAILS),
  one("heads", [DIFFERENCE, { heads: 1 }], 1400, SOME),
  one("leak", [NUMBERS, { causal: false }], 300, FAILS),
  one("padding", [{ task: "copy" }, { padding: false }], 250, LESS, "alone"),
  one("shift", [NUMBERS, { shift: false }], 200, FAILS),
  one("residual", [SLIM, { residual: false }], 350, FAILS),
  one("layers", [HOPS, { layers: 1 }], 400, LESS),
  one("warmup", [POST, { warmup: 0 }], 300, FAILS),
  one("rate", [NUMBERS, { rate: 0.1 }], 300, FAILS),
  one("scale", [WIDE, { scale: false }], 175, FAILS),
  one(
    "smoothing",
    [NUMBERS, { smoothing: 0.1 }],
    300,
    { soundAtMost: 0.3, brokenAtLeast: 0.6 },
    "loss",
  ),
  one("lines", [LINES, { lines: numberLines(40) }], 350, FAILS),
];
