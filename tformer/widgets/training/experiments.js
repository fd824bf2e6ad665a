// Twelve experiments: the settings of a sound run and of a broken one, after how many
// steps they are compared, and in what. The words are the figure's.
import { Dice } from "./dice.js";
import { inWords } from "./numbers.js";

// So many numbers in words, each with its digits, as a reader would paste them.
function numberLines(length) {
  const dice = new Dice(0, "lines");
  const line = (number) => `${inWords(number).join(" ")}\t${[...String(number)].join(" ")}`;
  return dice.many(length, () => line(dice.whole(0, 9999))).join("\n");
}

const NUMBERS = { task: "numbers" };
const DEEP = { task: "numbers", layers: 3, width: 16, dFf: 32 };
const POST = { task: "numbers", norm: "post", layers: 2, rate: 0.01 };
const HOPS = { task: "hops", shape: "encoder", layers: 2 };
const DIFFERENCE = { task: "difference", shape: "encoder", width: 16, dFf: 32, rate: 0.005 };

// One switch: what it breaks, and what shows it.
const one = (key, chapter, sound, change, steps, measure, bounds) => ({
  key,
  chapter,
  sound,
  broken: { ...sound, ...change },
  steps,
  measure,
  ...bounds,
});

/**
 * @typedef {object} Experiment
 * @property {string} key
 * @property {string} chapter the title of the one that it belongs to
 * @property {Record<string, any>} sound settings
 * @property {Record<string, any>} broken settings
 * @property {number} steps
 * @property {"accuracy" | "tokens" | "loss"} measure of `Run.evaluate`
 * @property {number} [soundAtLeast]
 * @property {number} [soundAtMost]
 * @property {number} [brokenAtLeast]
 * @property {number} [brokenAtMost]
 */

const FAILS = { soundAtLeast: 0.7, brokenAtMost: 0.2 };

/** @type {Experiment[]} */
export const EXPERIMENTS = [
  one("positions", "Positions", { task: "copy" }, { positions: false }, 250, "accuracy", FAILS),
  one("heads", "Multi-head attention", DIFFERENCE, { heads: 1 }, 500, "accuracy", FAILS),
  one("leak", "Masks", NUMBERS, { causal: false }, 300, "accuracy", FAILS),
  one("padding", "Masks", NUMBERS, { padding: false }, 300, "accuracy", FAILS),
  one("shift", "Training", NUMBERS, { shift: false }, 300, "accuracy", FAILS),
  one("residual", "The encoder", DEEP, { residual: false }, 300, "accuracy", FAILS),
  one("layers", "The encoder", HOPS, { layers: 1 }, 400, "accuracy", { soundAtLeast: 0.9, brokenAtMost: 0.6 }),
  one("warmup", "Training", { ...POST, warmup: 200 }, { warmup: 0 }, 300, "accuracy", FAILS),
  one("rate", "Training", NUMBERS, { rate: 0.1 }, 300, "accuracy", FAILS),
  one("scale", "Attention", { task: "copy", heads: 1 }, { scale: false }, 175, "accuracy", FAILS),
  one("smoothing", "Training", NUMBERS, { smoothing: 0.1 }, 300, "loss", { soundAtMost: 0.3, brokenAtLeast: 0.6 }),
  one("lines", "Training", { task: "lines", lines: numberLines(800) }, { lines: numberLines(40) }, 300, "accuracy", FAILS),
  one("width", "Embeddings", NUMBERS, { width: 4, dFf: 8 }, 300, "accuracy", FAILS),
  one("norm", "The encoder", { ...POST, norm: "pre" , warmup: 0}, { norm: "post" }, 300, "accuracy", FAILS),
];
