// The engine's side of a conversation: answers requests that come through a port.
//
// In come { id, method, inputs } and { cancel: id }; out go { id, progress }, { id, step }
// and, once, { id, result } or { id, error: { name, message } }. Requests are answered one
// after another.
import { download } from "./download.js";
import { pause } from "./pause.js";
import { loadPretrained } from "./pretrained.js";

// port: a worker's global scope, or a MessagePort.
export function serve(port) {
  let translator = null;
  let queue = Promise.resolve();
  const running = new Map(); // AbortControllers, by id

  const methods = {
    async load({ weights, tokenizer }, { signal, onProgress }) {
      const get = (from, tools) =>
        typeof from === "string" ? download(from, tools) : from;
      const [weightBytes, tokenizerBytes] = await Promise.all([
        get(weights, { signal, onProgress }),
        get(tokenizer, { signal }),
      ]);
      translator = await loadPretrained({
        weights: weightBytes,
        tokenizer: tokenizerBytes,
      });
      const { model, kernel } = translator;
      return { config: model.config, nParameters: model.nParameters(), kernel };
    },
    translate: (text, options, tools) => walked(loaded().steps(text, options), tools),
    damage: (text, translation, _, tools) =>
      walked(loaded().damage(text, translation), tools),
    transplants: (text, donor, _, tools) =>
      walked(loaded().transplants(text, donor), tools),
    score: (...inputs) => loaded().score(...inputs),
    attention: (...inputs) => loaded().attention(...inputs),
    stream: (...inputs) => loaded().stream(...inputs),
    journey: (...inputs) => loaded().journey(...inputs),
    pieces: (text) => loaded().tokenizer.pieces(text),
  };

  const loaded = () => {
    if (!translator) throw new Error("the model is not loaded yet: load it first");
    return translator;
  };

  async function answer({ id, method, inputs }) {
    const { signal } = running.get(id);
    const tools = {
      signal,
      onProgress: (progress) => port.postMessage({ id, progress }),
      onStep: (step) => port.postMessage({ id, step }),
    };
    try {
      signal.throwIfAborted();
      if (!Object.hasOwn(methods, method))
        throw new Error(`there is no method "${method}"`);
      port.postMessage({ id, result: await methods[method](...inputs, tools) });
    } catch ({ name, message }) {
      port.postMessage({ id, error: { name, message } });
    } finally {
      running.delete(id);
    }
  }

  port.onmessage = ({ data }) => {
    if (data.cancel !== undefined) {
      running.get(data.cancel)?.abort();
    } else {
      running.set(data.id, new AbortController());
      queue = queue.then(() => answer(data));
    }
  };
}

// Go through steps to their result, telling of each, until someone asks to stop.
async function walked(steps, { signal, onStep }) {
  let step = steps.next();
  for (; !step.done; step = steps.next()) {
    onStep(step.value);
    await pause();
    if (signal.aborted) steps.return();
    signal.throwIfAborted();
  }
  return step.value;
}
