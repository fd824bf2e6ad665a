// The sequences of a run: those held out, which are never trained on, and endless others.
import { Dice } from "./dice.js";
import { readLines } from "./lines.js";
import { TASKS } from "./tasks.js";

const HELD_OUT = 100;
const SHARE = 5; // of own lines, every fifth is held out

// -> { words, spaced, lengths: of a source, least and most, or null, heldOut: { source,
// target }[], draw(): one of the others, answer(source): the target or null }
//
// The sequences that are held out are the same for every seed.
export function corpusOf({ task: key, lines, seed }) {
  const task = TASKS.find((each) => each.key === key);
  return task.draw ? endless(task, seed) : ownLines(lines, seed);
}

const keyOf = (source) => source.join(" ");

function endless(task, seed) {
  const { words, spaced, lengths, answer } = task;
  const pair = (dice) => {
    const source = task.draw(dice);
    return { source, target: answer(source) };
  };
  const fixed = new Dice(0, `${task.key} held out`);
  const heldOut = new Map();
  while (heldOut.size < HELD_OUT) {
    const drawn = pair(fixed);
    heldOut.set(keyOf(drawn.source), drawn);
  }
  const dice = new Dice(seed, "training");
  function draw() {
    const drawn = pair(dice);
    return heldOut.has(keyOf(drawn.source)) ? draw() : drawn;
  }
  return { words, spaced, lengths, heldOut: [...heldOut.values()], draw, answer };
}

// A source that comes twice is held out both times, or never.
function ownLines(text, seed) {
  const { pairs, words, spaced } = readLines(text);
  const bySource = new Map(pairs.map((each) => [keyOf(each.source), each]));
  const order = new Dice(0, "own lines").shuffled([...bySource.keys()]);
  const nHeldOut = Math.min(HELD_OUT, Math.ceil(order.length / SHARE));
  const kept = new Set(order.slice(0, nHeldOut));
  const training = pairs.filter(({ source }) => !kept.has(keyOf(source)));
  if (!training.length)
    throw new RangeError("all lines have the same source: give lines that differ");
  const dice = new Dice(seed, "training");
  return {
    words,
    spaced,
    lengths: null,
    heldOut: [...kept].map((key) => bySource.get(key)),
    draw: () => dice.pick(training),
    answer: (source) => bySource.get(keyOf(source))?.target ?? null,
  };
}
