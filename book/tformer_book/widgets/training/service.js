// The worker's side of a training: does what the page says, and tells how it goes.
//
// In come { command: "restart", settings }, { command: "play", course: { until, every } or
// null, in steps }, { command: "pause" | "step" } and
// { command: "ask", text }; out go the events that client.js describes.
import { pause } from "../engine/pause.js";
import { Run } from "./run.js";

const TELL = 50; // ms between two events about steps
const EVALUATE = 25; // steps between two evaluations
const SLOWER = 10; // an evaluation may take a tenth of the time, else they come seldom

// port: a worker's global scope, or a MessagePort.
export function serve(port) {
  const service = new Service((event) => port.postMessage(event));
  port.onmessage = ({ data }) => service.hear(data);
}

class Service {
  #run = null;
  #playing = null; // who plays: a loop ends when it is no longer its turn
  #course = null; // { until, every }, in steps; null: endlessly, as time allows
  #asked = ""; // the reader's sequence
  #news = null; // what has not been told: { losses, norms, since, rate, step }
  #evaluated = { step: -1, cost: 0, at: 0 };
  #tell;

  constructor(tell) {
    this.#tell = tell;
  }

  hear({ command, ...given }) {
    if (command === "ask") this.#asked = given.text;
    if (this.#run || command === "restart") this.#attempt(() => this[command](given));
  }

  #attempt(work) {
    try {
      work();
    } catch ({ message }) {
      this.pause();
      this.#tell({ kind: "failed", message });
    }
  }

  restart({ settings }) {
    this.#run = null; // what cannot begin leaves nothing that could go on
    this.#run = new Run(settings);
    this.#forget();
    const { settings: complete, nParameters, vocabulary } = this.#run;
    this.#tell({ kind: "started", settings: complete, nParameters, vocabulary });
    this.#evaluate();
  }

  async play({ course }) {
    if (this.#playing) return;
    this.#course = course;
    const own = {};
    this.#playing = own;
    this.#forget();
    while (this.#playing === own) {
      this.#attempt(() => this.#learn());
      await pause();
    }
    this.#flush();
  }

  pause() {
    this.#playing = null;
  }

  step() {
    this.#forget();
    this.#learn();
    this.#flush();
    this.#evaluate();
  }

  ask() {
    this.#tell({ kind: "answer", ...this.#answer() });
  }

  #learn() {
    const { step, loss, gradientNorm, rate } = this.#run.step();
    if (!Number.isFinite(loss))
      throw new RangeError(
        `at step ${step} the loss is no longer a number: take a lower learning rate and start again`,
      );
    const news = this.#news;
    news.losses.push(loss);
    news.norms.push(gradientNorm);
    Object.assign(news, { rate, step });
    const now = performance.now();
    if (now - news.since >= TELL) this.#flush(now);
    if (this.#isDue(step, now)) this.#evaluate();
    if (step === this.#course?.until) this.pause();
  }

  // Whether it is time to evaluate.
  #isDue(step, now) {
    if (this.#course)
      return step % this.#course.every === 0 || step === this.#course.until;
    const { step: last, at, cost } = this.#evaluated;
    return step >= last + EVALUATE && now - at >= SLOWER * cost;
  }

  #evaluate() {
    const start = performance.now();
    const result = this.#run.evaluate();
    this.#tell({ kind: "evaluation", ...result, ...this.#answer() });
    const end = performance.now();
    this.#evaluated = { step: result.step, cost: end - start, at: end };
  }

  // What the model writes for the reader's sequence.
  #answer() {
    if (!this.#asked) return { answer: null };
    try {
      return { answer: this.#run.write(this.#asked) };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return { answer: null, problem: error.message };
    }
  }

  #forget() {
    this.#news = { losses: [], norms: [], since: performance.now(), rate: 0, step: 0 };
  }

  #flush(now = performance.now()) {
    const { losses, norms, since, rate, step } = this.#news;
    if (!losses.length) return;
    this.#tell({
      kind: "step",
      step,
      losses: Float32Array.from(losses),
      norms: Float32Array.from(norms),
      rate,
      stepsPerSecond: (1000 * losses.length) / (now - since),
    });
    this.#forget();
  }
}
