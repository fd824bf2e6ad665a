// What the figures share that ask the trained model: the engine, wherever its files come
// from, the line to type a sentence in, and examples that were recorded.
import { connect } from "../engine/client.js";
import { bind, h, put, stopping, uid } from "./kit.js";
import { link } from "./link.js";
import { html, nothing, render } from "./vendor/lit.js";

// A page of the book sets this: (name, key) -> the address of a file of the model.
export const PAGE = Symbol.for("tformer.figures.page");
const KERNELS = Symbol.for("tformer.kernels"); // by model key: whom to ask
const PATIENCE = 60_000; // ms for a part of a file to come from a kernel

// The engine that runs a figure's model (see engine/client.js), the same for all figures
// with that model. Null on a page that does not have it. Nothing is loaded yet.
export function engineOf(model) {
  const key = model.get("model_key");
  const page = globalThis[PAGE];
  if (page && !key) return null;
  if (page) {
    const at = (name) => page(name, key);
    return connect({
      worker: workerFor(),
      weights: at("model.safetensors"),
      tokenizer: at("tokenizer.model"),
      shared: key,
    });
  }
  globalThis[KERNELS] ??= new Map();
  const kernels = globalThis[KERNELS];
  const shared = key || uid();
  kernels.set(shared, model); // the newest: an older one may have lost its kernel
  const from = (name) => (tools) => askKernel(kernels.get(shared), name, tools);
  return connect({
    worker: workerFor(() => kernels.get(shared)),
    weights: from("model.safetensors"),
    tokenizer: from("tokenizer.model"),
    shared,
  });
}

// An engine for two files that a reader chose: { weights, tokenizer }.
export function engineOfFiles(model, { weights, tokenizer }) {
  return connect({
    worker: workerFor(() => model),
    weights: () => weights.arrayBuffer(),
    tokenizer: () => tokenizer.arrayBuffer(),
  });
}

// What the engine runs in: the page has its modules; else a kernel is asked for them.
function workerFor(asked = null) {
  if (globalThis[PAGE]) return new URL("../engine/worker.js", import.meta.url);
  return async (tools) => {
    const modules = await askKernel(asked(), "engine.json", tools);
    return link(JSON.parse(new TextDecoder().decode(modules)));
  };
}

// A file from the kernel, part by part.
async function askKernel(model, name, { onProgress, signal }) {
  const parts = [];
  let wanted = 1;
  let loaded = 0;
  while (parts.length < wanted) {
    const { content, bytes } = await askPart(model, name, parts.length, signal);
    parts.push(bytes);
    wanted = content.parts;
    loaded += bytes.byteLength;
    if (name === "model.safetensors") onProgress({ loaded, total: content.bytes });
  }
  return new Blob(parts).arrayBuffer();
}

function askPart(model, name, part, signal) {
  return new Promise((resolve, reject) => {
    const hear = (content, buffers) => {
      if (content.file !== name || content.part !== part) return;
      const [{ buffer, byteOffset, byteLength }] = buffers.map((b) =>
        b.buffer ? b : new DataView(b),
      );
      end();
      resolve({ content, bytes: buffer.slice(byteOffset, byteOffset + byteLength) });
    };
    const fail = (problem) => {
      end();
      reject(problem);
    };
    const silent = () =>
      fail(new Error("the notebook’s kernel does not answer: run the cell again"));
    const stop = () => fail(signal.reason);
    const timer = setTimeout(silent, PATIENCE);
    const end = () => {
      clearTimeout(timer);
      model.off("msg:custom", hear);
      signal?.removeEventListener("abort", stop);
    };
    model.on("msg:custom", hear);
    signal?.addEventListener("abort", stop);
    model.send({ ask: name, part });
  });
}

// A recorded example (`recorded_attention` in Python) as the engine would have answered.
export function unpack(example) {
  const tensor = ({ shape, bytes }) => ({
    shape,
    data: Float32Array.from(atob(bytes), (c) => c.charCodeAt(0) / 255),
  });
  const unpacked = ["encoder", "decoder", "cross"].map((site) => [
    site,
    tensor(example[site]),
  ]);
  return { ...example, ...Object.fromEntries(unpacked) };
}

export const COMPUTED = "Computed on your machine.";
export const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)}\u00a0MB`;

// What a request to the engine says of itself: progress, and failures in words. A new
// one stops the one before. onBusy(true or false) hears of beginning and end.
// -> { node, busy(), run(work), tell(text), stop() } where work gets { signal, onProgress }
// and may return what is then said.
/** @param {string} atFirst @param {(busy: boolean) => void} [onBusy] */
export function requests(atFirst, onBusy = () => {}) {
  const node = h("div");
  let running = null;
  /** @type {Record<string, any>} */
  const now = { said: atFirst, isIdle: true, share: nothing }; // share: of the model
  function show(changes) {
    const { said, isIdle, share } = Object.assign(now, changes);
    render(
      html`<progress class="tfk-progress" ?data-idle=${isIdle} max="1" value=${share}
          aria-label="The model is being loaded"></progress>
        <p class="tfk-said" role="status" data-said>${said}</p>`,
      node,
    );
  }
  const tell = (said) => show({ said });
  function progress({ loaded, total }) {
    const all = total ? ` of ${megabytes(total)}` : "";
    const said = `Loading the model: ${megabytes(loaded)}${all}`;
    show({ said, isIdle: false, share: total ? loaded / total : nothing });
  }
  async function run(work) {
    const before = running;
    const mine = new AbortController();
    const isMine = () => running === mine;
    const onProgress = (each) => isMine() && progress(each);
    running = mine;
    tell("The model is working …");
    onBusy(true);
    try {
      const done = work({ signal: mine.signal, onProgress });
      before?.abort(); // only now: a model that both wait for goes on loading
      const said = await done;
      const isTold = ["string", "object"].includes(typeof said); // text, or html`…`
      if (isMine()) tell(isTold ? said : COMPUTED);
    } catch (error) {
      if (isMine())
        tell(error.name === "AbortError" ? "Stopped." : sentence(error.message));
    } finally {
      if (isMine()) {
        running = null;
        show({ isIdle: true });
        onBusy(false);
      }
    }
  }
  show({});
  const busy = () => running !== null;
  const stop = () => running?.abort();
  return { node, busy, run, tell, stop };
}

// What stands there before anything was asked.
export const atFirst = (engine, model) =>
  engine
    ? `What you see was recorded. For your own, the model runs in your browser (${megabytes(model.get("model_bytes"))}, loaded once).`
    : "What you see was recorded. To ask this model, run the cell in a notebook.";

// The line where a reader types a sentence and asks. onAsk(text, { signal, onProgress })
// does the work; meanwhile the button stops it. A failure is said in words. With a hint,
// the field is empty at first, and the hint stands in it.
// -> { node, input, ask(), run(other work), show(text), tell(text), stop() }
export function askBar(
  engine,
  model,
  { label = "English sentence", action = "Translate", hint = "", onAsk },
) {
  const id = uid();
  const node = h("form", { class: "tfk-ask" });
  const asked = requests(atFirst(engine, model), draw);
  const ask = () => asked.run((tools) => onAsk(input.value, tools));
  const go = () => (asked.busy() ? asked.stop() : ask());
  // Enter asks; with Shift it begins a new line.
  function onKey(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    asked.busy() || ask();
  }
  // The box is as high as a copy of the text, which the style sheet draws unseen.
  const grow = () => put(input.parentElement, { "data-typed": input.value });
  // What nobody has typed yet is replaced by typing.
  let given = "";
  let isEntered = false;
  const choose = () => input.value === given && input.select();
  function onFocus() {
    isEntered = true;
    choose();
  }
  function onClick() {
    if (isEntered) choose(); // the click itself has put the caret somewhere
    isEntered = false;
  }
  function draw(isBusy) {
    put(node, { "data-busy": isBusy && "true" });
    render(
      html`<label for=${id}>${label}</label>
        <div class="tfk-ask-line">
          <div class="tfk-grows"><textarea id=${id} rows="1" autocomplete="off"
            spellcheck="false" lang="en" enterkeyhint="go" data-control="text" placeholder=${hint}
            ?disabled=${!engine} @input=${grow} @keydown=${onKey}
            @focus=${onFocus} @click=${onClick}></textarea></div>
          <button type="button" class="tfk-do" data-control="ask" ?disabled=${!engine}
            @click=${go}>${isBusy ? "Stop" : action}</button>
        </div>${asked.node}`,
      node,
    );
  }
  draw(false);
  const input = node.querySelector("textarea");
  const show = (text) => {
    input.value = given = text;
    grow();
  };
  show(hint ? "" : model.get("text"));
  node.addEventListener("submit", (event) => event.preventDefault());
  const { run, tell, stop } = asked;
  return { node, input, ask, run, show, tell, stop };
}

// The same line for a figure's trait `text`: what a reader asks becomes its value, and what
// else sets it is asked, too. ask(text, tools) fetches what show(answer, text) will show.
// -> { node, text(): that is shown, follow(text): ask for it, unless it is shown, stop() }
/** @param {any} engine @param {any} model @param {Record<string, any>} options */
export function textBar(engine, model, { ask, show, ...words }) {
  let shown = model.get("text");
  async function onAsk(text, tools) {
    const answer = await ask(text, tools);
    shown = text;
    texts.commit({ text });
    show(answer, text);
  }
  const bar = askBar(engine, model, { ...words, onAsk });
  function follow(text) {
    if (text === shown) return;
    bar.show(text);
    if (engine) bar.ask();
  }
  const texts = bind(model, ["text"], () => follow(model.get("text")));
  return { node: bar.node, text: () => shown, follow, stop: stopping(bar, texts) };
}

const sentence = (text) =>
  text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
