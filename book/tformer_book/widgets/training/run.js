// A run: one model that learns one task, step by step. No timers, no page.
//
//     const run = new Run({ task: "reverse", seed: 1 });
//     for (let i = 0; i < 500; i++) run.step();
//     run.evaluate().accuracy; run.write("abcdefgh").written;
import { commas } from "../kit/numbers.js";
import { Adam, clipGradients, learningRate } from "./adam.js";
import { batchOf, SPECIAL } from "./batch.js";
import { corpusOf } from "./corpus.js";
import { Dice } from "./dice.js";
import { symbolsOf } from "./lines.js";
import { crossEntropy } from "./loss.js";
import { MAX_LENGTH, Model, PAD } from "./model.js";
import { complete, MOST_PARAMETERS } from "./settings.js";
import { Tape } from "./tape.js";
import { attentionMaps, likeliest, written } from "./writing.js";

export class Run {
  #corpus;
  #ids;
  #heldOut; // sequences as ids
  #longest = 0; // the longest target that is known
  #weights;
  #adam;
  #training = new Tape();
  #reading = new Tape({ learns: false });
  #step = 0;
  #losses = []; // since the last evaluation

  // Throws a RangeError that names a value and the remedy.
  constructor(given = {}) {
    this.settings = complete(given);
    this.#corpus = corpusOf(this.settings);
    this.vocabulary = [...SPECIAL, ...this.#corpus.words];
    this.#ids = new Map(this.vocabulary.map((word, id) => [word, id]));
    this.#heldOut = this.#corpus.heldOut.map((pair) => this.#pair(pair));
    const dice = new Dice(this.settings.seed, "weights");
    this.model = new Model(this.settings, this.vocabulary.length, dice);
    this.nParameters = this.model.nParameters;
    if (this.nParameters > MOST_PARAMETERS)
      throw new RangeError(
        `the model would have ${commas(this.nParameters)} parameters, more than ${commas(MOST_PARAMETERS)}: ` +
          "take a smaller width or fewer layers",
      );
    this.#weights = this.model.weights;
    this.#adam = new Adam(this.#weights);
  }

  // Learn from one batch. -> { step, loss, gradientNorm (before it is clipped), rate }
  step() {
    const { batch, clip } = this.settings;
    const pairs = Array.from({ length: batch }, () => this.#pair(this.#corpus.draw()));
    const rate = learningRate(++this.#step, this.settings);
    for (const { gradient } of this.#weights) gradient.fill(0);
    const { loss } = this.#lossOf(batchOf(pairs, this.settings), this.#training);
    this.#training.backward();
    const gradientNorm = clipGradients(this.#weights, clip || Infinity);
    this.#adam.step(rate);
    this.#losses.push(loss);
    return { step: this.#step, loss, gradientNorm, rate };
  }

  // How well the model does on sequences that it has never learned from.
  // -> { step, loss, tokens: share of symbols that are right if it reads the target,
  // accuracy: share of sequences that it writes without a mistake, trainLoss: mean since
  // the last evaluation, null if there was no step, alone: accuracy if each sequence is
  // read by itself, without padding }
  evaluate() {
    const batch = batchOf(this.#heldOut, this.settings);
    const { loss, tokens } = this.#lossOf(batch, this.#reading);
    const sources = this.#heldOut.map(({ source }) => source);
    const accuracy = this.#accuracy(this.#written(sources));
    // What nobody sees makes no difference, so it need not be computed.
    const alone = this.settings.padding
      ? accuracy
      : this.#accuracy(sources.map((source) => this.#written([source])[0]));
    const trainLoss = this.#losses.length ? mean(this.#losses) : null;
    this.#losses = [];
    return { step: this.#step, loss, accuracy, alone, tokens, trainLoss };
  }

  // What the model writes for symbols, or for a text that has them.
  // -> { source, written, expected: symbols or null, right: boolean or null, maps,
  // lengths: those of all sequences that it learns from, if this one has another, or null }
  //
  // maps: { name, rows, columns: symbols, heads: Float32Array[] }[], rows query.
  write(words) {
    const source = Array.isArray(words) ? words : this.#symbols(words);
    const ids = this.#read(source);
    const [said] = this.#written([ids]);
    const expected = this.#corpus.answer(source);
    const batch = batchOf([{ source: ids, target: said }], this.settings);
    const say = (row) => row.map((id) => this.vocabulary[id]);
    const inWords = ({ rows, columns, ...map }) => {
      return { ...map, rows: say(rows), columns: say(columns) };
    };
    const { lengths } = this.#corpus;
    return {
      source,
      written: say(said),
      expected,
      right: expected && same(say(said), expected),
      lengths: isWithin(source.length, lengths) ? null : lengths,
      maps: attentionMaps(this.model, this.#reading, batch).map(inWords),
    };
  }

  // The share of held-out sequences of which every symbol is right.
  #accuracy(texts) {
    const right = texts.filter((ids, i) => same(ids, this.#heldOut[i].target));
    return right.length / texts.length;
  }

  #lossOf(batch, tape) {
    tape.rewind();
    const logits = this.model.forward(tape, batch);
    const { smoothing } = this.settings;
    const loss = crossEntropy(logits, batch.labels, { padId: PAD, smoothing });
    return { loss, tokens: tape.learns ? null : shareOfRight(logits, batch.labels) };
  }

  // Two symbols more than the longest target: room to be wrong in.
  #written(sources) {
    return written(this.model, this.#reading, sources, this.#longest + 2);
  }

  #pair({ source, target }) {
    this.#longest = Math.max(this.#longest, target.length);
    if (this.settings.shape === "encoder" && target.length > source.length)
      throw new RangeError(
        `an encoder alone cannot write “${target.join(" ")}” for “${source.join(" ")}”, which ` +
          "is shorter: take the shape encoder-decoder",
      );
    return { source: this.#idsOf(source), target: this.#idsOf(target) };
  }

  #idsOf(words) {
    return words.map((word) => this.#ids.get(word));
  }

  #symbols(text) {
    const { words, spaced } = this.#corpus;
    // Capitals are what many keyboards begin with.
    const known = (each) => (words.includes(each) ? each : each.toLowerCase());
    return symbolsOf(text, spaced).map(known);
  }

  // The ids of what a reader gives.
  #read(source) {
    const unknown = source.find((word) => !this.#corpus.words.includes(word));
    if (unknown !== undefined) {
      const { words } = this.#corpus;
      const more = words.length > 12 ? " and so on" : "";
      throw new RangeError(
        `“${unknown}” isn’t a symbol of this task: use some of ${words.slice(0, 12).join(" ")}${more}`,
      );
    }
    const most = MAX_LENGTH - this.#longest - 4;
    if (!source.length || source.length > most)
      throw new RangeError(
        `there are ${source.length} symbols: give 1 to ${most} of them`,
      );
    return this.#idsOf(source);
  }
}

const same = (a, b) => a.length === b.length && a.every((each, i) => each === b[i]);
const isWithin = (n, range) => !range || (n >= range[0] && n <= range[1]);
const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;

// The share of labels, padding aside, that have the highest score.
function shareOfRight(logits, labels) {
  const wanted = labels.flat();
  const real = [...wanted.keys()].filter((i) => wanted[i] !== PAD);
  return real.filter((i) => likeliest(logits, i) === wanted[i]).length / real.length;
}
