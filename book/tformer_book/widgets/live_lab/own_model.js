// A model of the reader's own in the lab: two files that they choose, which stay on their
// machine. `python -m tformer export --to lab` writes them; a run folder has them, too.
import { h, put, say, uid } from "../kit/kit.js";
import { commas } from "../kit/numbers.js";

const ENDINGS = { weights: ".safetensors", tokenizer: ".model" };
const NAMES = { weights: "model.safetensors", tokenizer: "tokenizer.model" };

// The two files of a model among those that a reader chose -> { weights, tokenizer }.
/** @param {Iterable<{ name: string }>} chosen @returns {Record<string, any>} */
export function filesOf(chosen) {
  const files = [...chosen];
  const both = `${NAMES.weights} and ${NAMES.tokenizer}`;
  const found = Object.entries(ENDINGS).map(([what, ending]) => {
    const fitting = files.filter(({ name }) => name.toLowerCase().endsWith(ending));
    if (fitting.length === 1) return [what, fitting[0]];
    const said = fitting.length
      ? `there are ${fitting.length} files *${ending} among them`
      : `there is no ${NAMES[what]} among them`;
    throw new Error(`Choose ${both} of one folder, both at once: ${said}.`);
  });
  const other = files.find((each) => !found.some(([, file]) => file === each));
  if (other)
    throw new Error(`Choose ${both} and nothing else: ${other.name} is neither.`);
  return Object.fromEntries(found);
}

// An engine in whose place another one can be put, for all who hold it.
/** @param {any} first @returns {Record<string, any>} */
export function exchangeable(first) {
  let current = first;
  const methods = [
    "load",
    "translate",
    "score",
    "damage",
    "attention",
    "stream",
    "pieces",
  ];
  const forward = methods.map((name) => [
    name,
    (/** @type {any[]} */ ...inputs) => current[name](...inputs),
  ]);
  return {
    ...Object.fromEntries(forward),
    // Put another one in its place; null brings the first one back.
    use(other) {
      if (current !== first) current.close();
      current = other ?? first;
    },
  };
}

// The control. open(files) makes an engine of two files; onUse(engine) gets it once it is
// loaded, null when the reader goes back to the model of the page.
// -> { node, stop() }
export function ownModel(open, onUse) {
  let attempt = 0;
  const id = uid();
  const input = h("input", {
    type: "file",
    id,
    multiple: true,
    accept: Object.values(ENDINGS).join(),
    "data-control": "own-files",
  });
  const said = h("p", { class: "tfl-note", role: "status", "data-own-said": true });
  const back = h(
    "button",
    { type: "button", hidden: true, "data-control": "own-back" },
    "Back to the model of this page",
  );
  back.addEventListener("click", () => {
    attempt += 1;
    input.value = "";
    put(back, { hidden: true });
    say(said, "The model of this page answers again.");
    onUse(null);
    input.focus();
  });
  input.addEventListener("change", async () => {
    attempt += 1;
    const mine = attempt;
    if (!input.files.length) return;
    let engine = null;
    try {
      const files = filesOf(input.files);
      say(said, "Opening your model …");
      engine = open(files);
      const { config, nParameters } = await engine.load();
      if (mine !== attempt) throw new DOMException("", "AbortError");
      onUse(engine);
      put(back, { hidden: false });
      say(
        said,
        `Your model answers now: ${commas(nParameters)} parameters, ${commas(config.vocab_size)} pieces.`,
      );
    } catch (error) {
      engine?.close();
      if (mine !== attempt) return;
      input.value = ""; // so that the same files can be chosen again
      say(said, `It cannot be opened. ${error.message}`);
    }
  });
  const node = h(
    "details",
    { class: "tfl-own", "data-own": true },
    h("summary", {}, "A model of your own"),
    h(
      "p",
      { class: "tfl-hint" },
      "It opens here and stays on your machine. ",
      h("code", {}, "python -m tformer export --model runs/mine --to lab exported/lab"),
      " writes its two files.",
    ),
    h(
      "div",
      { class: "tfl-own-line" },
      h("label", { for: id }, `${NAMES.weights} and ${NAMES.tokenizer}, both at once`),
      input,
      back,
    ),
    said,
  );
  return {
    node,
    stop: () => {
      attempt += 1;
    },
  };
}
