// The page's side of a training that runs in a worker.
//
//     const trainer = open({ task: "reverse" });
//     const stop = trainer.on((event) => …);
//     trainer.play(); trainer.ask("abcdefgh"); … trainer.close();
//
// Events, by kind:
// - started: settings (complete), nParameters, vocabulary
// - step, some twenty a second: step, losses and norms since the last one (Float32Array),
//   rate, stepsPerSecond
// - evaluation: as `Run.evaluate`, and `answer`, as `Run.write` for the reader's sequence
//   (null with none, or with a `problem`)
// - answer: the answer alone, when the reader asks
// - failed: message
import { ADDRESS } from "./worker.js";

/** @param {Record<string, any>} settings */
export function open(settings) {
  return new Trainer(settings);
}

class Trainer {
  #worker = new Worker(ADDRESS, { type: "module" });
  #listeners = new Set();

  constructor(settings) {
    this.#worker.onmessage = ({ data }) => this.#tell(data);
    this.#worker.onerror = ({ message: why = "its script was not loaded" }) =>
      this.#tell({ kind: "failed", message: `training cannot run here: ${why}` });
    this.restart(settings);
  }

  // Hear of all that happens; returns the function that ends it.
  /** @param {(event: any) => void} listener */
  on(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // Evaluated as time allows or, with a course, each so many steps, to end at one exactly.
  /** @param {{ until: number, every: number } | null} course */
  play = (course = null) => this.#send({ command: "play", course });

  pause = () => this.#send({ command: "pause" });

  // One step, and an evaluation after it.
  step = () => this.#send({ command: "step" });

  // Begin anew with these settings; what was playing goes on playing.
  /** @param {Record<string, any>} settings */
  restart = (settings) => this.#send({ command: "restart", settings });

  // Watch what the model writes for a sequence; "" for none.
  /** @param {string} text */
  ask = (text) => this.#send({ command: "ask", text });

  close() {
    this.#worker.terminate();
    this.#listeners.clear();
  }

  #send(message) {
    this.#worker.postMessage(message);
  }

  #tell(event) {
    for (const listener of this.#listeners) listener(event);
  }
}
