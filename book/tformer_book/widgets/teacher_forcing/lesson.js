// One sentence, the German that is taught, and what the model writes by itself.
import { written } from "../kit/pieces.js";

export class Lesson {
  text = "";
  translation = "";
  positions = []; // of the given German
  before = null; // the positions of what was given before
  steps = []; // of greedy search
  recorded = []; // translations that need no model
  #turn = 0;

  show(text, example) {
    this.stop();
    this.text = text;
    this.recorded = [example, example.other].filter(Boolean);
    this.translation = example.translation;
    this.positions = example.scored.positions;
    this.steps = example.steps;
    this.before = null;
  }

  // Take a German that was recorded. -> whether it was
  recall(german) {
    const known = this.recorded.find(({ translation }) => translation === german);
    if (!known) return false;
    this.stop();
    this.#accept(german, known.scored.positions);
    return true;
  }

  // Score a German, a text or its pieces; for another sentence decode that before.
  // -> whether it was taken: not if something else was asked for meanwhile
  async score(engine, text, german, tools) {
    const mine = ++this.#turn;
    const isNew = text !== this.text;
    const steps = isNew ? [] : this.steps;
    let given = german;
    if (isNew) {
      const onStep = (step) => steps.push(step);
      await engine.translate(text, { search: "greedy", onStep, ...tools });
      // A teacher who still holds the old sentence's German takes the model's own.
      if (given === this.translation)
        given = withoutEnd(steps.map(({ candidates: [each] }) => each.piece));
    }
    const { positions } = await engine.score(text, given, tools);
    if (mine !== this.#turn) return false;
    if (isNew) Object.assign(this, { text, steps, positions: null, recorded: [] });
    const isText = typeof given === "string";
    this.#accept(isText ? given : written(piecesOf(positions)), positions);
    return true;
  }

  // The German with another piece at a position.
  withPiece(piece, at) {
    const pieces = piecesOf(this.positions);
    const later = piece === "</s>" ? [] : pieces.slice(at + 1);
    return withoutEnd([...pieces.slice(0, at), piece, ...later]);
  }

  // What was recorded beside what is taught.
  get other() {
    return this.recorded.find(({ translation }) => translation !== this.translation);
  }

  // Disregard what is still under way.
  stop() {
    this.#turn++;
  }

  #accept(translation, positions) {
    this.before = this.positions;
    this.positions = positions;
    this.translation = translation;
  }
}

const piecesOf = (positions) => positions.map(({ piece }) => piece);
const withoutEnd = (pieces) => pieces.filter((piece) => piece !== "</s>");
