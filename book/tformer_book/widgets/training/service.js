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
  let run = null;
  let playing = null; // who plays: a loop ends when it is no longer its turn
  let course = null; // { until, every }, in steps; null: endlessly, as time allows
  let asked = ""; // the reader's sequence
  let news = null; // what has not been told: { losses, norms, since, rate }
  let evaluated = { step: -1, cost: 0, at: 0 };

  const tell = (event) => port.postMessage(event);
  const forget = () => {
    news = { losses: [], norms: [], since: performance.now(), rate: 0, step: 0 };
  };

  function restart(settings) {
    run = null; // what cannot begin leaves nothing that could go on
    run = new Run(settings);
    forget();
    const { nParameters, vocabulary } = run;
    tell({ kind: "started", settings: run.settings, nParameters, vocabulary });
    evaluate();
  }

  function evaluate() {
    const start = performance.now();
    const result = run.evaluate();
    tell({ kind: "evaluation", ...result, ...answer() });
    const end = performance.now();
    evaluated = { step: result.step, cost: end - start, at: end };
  }

  // What the model writes for the reader's sequence.
  function answer() {
    if (!asked) return { answer: null };
    try {
      return { answer: run.write(asked) };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return { answer: null, problem: error.message };
    }
  }

  function step() {
    const { step, loss, gradientNorm, rate } = run.step();
    if (!Number.isFinite(loss)) {
      throw new RangeError(
        `at step ${step} the loss is no longer a number: take a lower learning rate and start again`,
      );
    }
    news.losses.push(loss);
    news.norms.push(gradientNorm);
    Object.assign(news, { rate, step });
    const now = performance.now();
    if (now - news.since >= TELL) flush(now);
    if (course ? isMark(step) : pays(step, now)) evaluate();
    if (step === course?.until) playing = null;
  }

  const isMark = (step) => step % course.every === 0 || step === course.until;
  const pays = (step, now) =>
    step >= evaluated.step + EVALUATE && now - evaluated.at >= SLOWER * evaluated.cost;

  function flush(now = performance.now()) {
    const { losses, norms, since, rate, step } = news;
    if (!losses.length) return;
    tell({
      kind: "step",
      step,
      losses: Float32Array.from(losses),
      norms: Float32Array.from(norms),
      rate,
      stepsPerSecond: (1000 * losses.length) / (now - since),
    });
    forget();
  }

  async function play(given) {
    if (playing) return;
    course = given.course;
    const own = {};
    playing = own;
    forget();
    while (playing === own) {
      attempt(step);
      await pause();
    }
    flush();
  }

  const commands = {
    restart: ({ settings }) => restart(settings),
    play,
    pause() {
      playing = null;
    },
    step() {
      forget();
      step();
      flush();
      evaluate();
    },
    ask() {
      tell({ kind: "answer", ...answer() });
    },
  };

  function attempt(work) {
    try {
      work();
    } catch ({ message }) {
      playing = null;
      tell({ kind: "failed", message });
    }
  }

  port.onmessage = ({ data }) => {
    if (data.command === "ask") asked = data.text;
    if (!run && data.command !== "restart") return;
    attempt(() => commands[data.command](data));
  };
}
