// The page's side: ask the engine in its worker, and await the answer.
//
//     const engine = connect({ worker, weights, tokenizer });
//     const { text } = await engine.translate("A dog runs.", { onStep, signal });

/**
 * How a request is watched and stopped.
 * @typedef {object} Watch
 * @property {(progress: any) => void} [onProgress] hears how far loading has come
 * @property {(step: any) => void} [onStep] hears of each step of a search
 * @property {AbortSignal | null} [signal] stops the request
 */
/** @typedef {Watch & Record<string, any>} Options */
/** @typedef {(text: string, options?: Options) => Promise<any>} OfText */
/** @typedef {string | string[] | null} Translation a text or its pieces */
/** @typedef {(text: string, translation?: Translation, options?: Options) => Promise<any>} OfPair */

// One engine for all figures, though in a notebook each has a copy of this module.
const SHARED = Symbol.for("tformer.engine");

// worker: the address of worker.js, or a Worker or MessagePort. weights, tokenizer:
// addresses or ArrayBuffers. Each may be a function that returns (a promise of) such a
// value; it is called when the first request comes, with { onProgress, signal }. Nothing
// is loaded before.
export function connect({ worker, weights, tokenizer, shared = null }) {
  if (shared === null) return new Engine(worker, weights, tokenizer);
  globalThis[SHARED] ??= new Map();
  const engines = globalThis[SHARED];
  if (!engines.has(shared)) engines.set(shared, new Engine(worker, weights, tokenizer));
  return engines.get(shared);
}

class Engine {
  #files; // worker, weights, tokenizer
  #port = null;
  #loading = null; // { promise, listeners, stopper } of the model
  #waiting = new Map(); // requests without an answer, by id
  #lastId = 0;

  constructor(worker, weights, tokenizer) {
    this.#files = [worker, weights, tokenizer];
  }

  // Load the model, once; others who ask wait for the same. It stops when all who wait
  // have stopped; after that, or a failure, the next call tries again.
  // -> { config, nParameters, kernel: "WebAssembly" or "JavaScript" }
  /** @param {Watch} [watch] */
  async load({ onProgress = () => {}, signal = null } = {}) {
    signal?.throwIfAborted();
    this.#loading ??= this.#begin();
    const loading = this.#loading;
    const { promise, listeners, stopper } = loading;
    const listener = (progress) => onProgress(progress); // one for each who waits
    listeners.add(listener);
    const stopped = new Promise((_, reject) => {
      signal?.addEventListener("abort", () => {
        listeners.delete(listener);
        if (!listeners.size) {
          stopper.abort();
          if (this.#loading === loading) this.#loading = null; // who asks now begins anew
        }
        reject(signal.reason);
      });
    });
    try {
      return await Promise.race([promise, stopped]);
    } finally {
      listeners.delete(listener);
    }
  }

  // Requests: see the methods of `Translator` that have the same names. The last argument
  // holds the options, and how the request is watched and stopped. (`translate` gives
  // { text, hypotheses }.)
  /** @type {OfText} */
  translate = (text, options) => this.#ask("translate", [text], options);
  /** @type {OfPair} */
  score = (text, given, options) => this.#ask("score", [text, given], options);
  /** @type {OfPair} */
  damage = (text, given, watch) => this.#ask("damage", [text, given], watch);
  /** @type {OfPair} */
  transplants = (text, donor, watch) => this.#ask("transplants", [text, donor], watch);
  /** @type {OfPair} */
  attention = (text, given = null, options = {}) =>
    this.#ask("attention", [text, given], options);
  /** @type {OfPair} */
  stream = (text, given = null, options = {}) =>
    this.#ask("stream", [text, given], options);
  /** @type {OfText} */
  journey = (text, options) => this.#ask("journey", [text], options);
  /** @type {OfText} */
  pieces = (text, watch) => this.#ask("pieces", [text], watch);

  // Stop everything; the next request starts anew.
  close() {
    this.#fail(closed());
  }

  #begin() {
    const loading = { listeners: new Set(), stopper: new AbortController() };
    loading.promise = this.#load(loading).catch((error) => {
      if (this.#loading === loading) this.#loading = null;
      throw error;
    });
    return loading;
  }

  async #load({ listeners, stopper: { signal } }) {
    const onProgress = (progress) => listeners.forEach((each) => each(progress));
    const [worker, ...files] = await Promise.all(
      this.#files.map((file) =>
        typeof file === "function" ? file({ onProgress, signal }) : file,
      ),
    );
    const [weights, tokenizer] = files.map((file) =>
      file instanceof ArrayBuffer ? file : new URL(file, document.baseURI).href,
    );
    signal.throwIfAborted();
    this.#port ??= this.#open(worker);
    return this.#send("load", [{ weights, tokenizer }], { onProgress, signal });
  }

  /** @param {string} method @param {any[]} inputs @param {Options} [options] */
  async #ask(method, inputs, { onStep, onProgress, signal, ...options } = {}) {
    const about = this.load({ onProgress, signal });
    const loading = this.#loading;
    await about;
    if (this.#loading !== loading) throw closed();
    return this.#send(method, [...inputs, options], { onStep, signal });
  }

  /** @param {string} method @param {any[]} inputs @param {Watch} watch */
  #send(method, inputs, { onStep, onProgress, signal }) {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      signal?.addEventListener("abort", () => this.#port?.postMessage({ cancel: id }));
      this.#waiting.set(id, { resolve, reject, onStep, onProgress });
      this.#port.postMessage({ id, method, inputs });
    });
  }

  #open(worker) {
    const port = openPort(worker);
    port.onmessage = ({ data }) => this.#hear(data);
    port.onerror = ({ message = "its script was not loaded" }) =>
      this.#fail(new Error(`the engine cannot run here: ${message}`));
    return port;
  }

  #hear({ id, step, progress, result, error }) {
    const request = this.#waiting.get(id);
    if (!request) return;
    if (step) return request.onStep?.(step);
    if (progress) return request.onProgress?.(progress);
    this.#waiting.delete(id);
    if (error)
      request.reject(Object.assign(new Error(error.message), { name: error.name }));
    else request.resolve(result);
  }

  #fail(error) {
    this.#loading?.stopper.abort(error);
    this.#port?.terminate?.();
    this.#port = this.#loading = null;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

const closed = () => new DOMException("the engine was closed", "AbortError");

function openPort(worker) {
  if (typeof worker === "object" && !(worker instanceof URL)) return worker;
  return new Worker(new URL(worker, document.baseURI), { type: "module" });
}
