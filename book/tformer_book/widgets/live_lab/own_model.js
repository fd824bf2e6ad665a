// A model of the reader's own in the lab: two files that they choose, which stay on their
// machine. `python -m tformer export --to lab` writes them; a run folder has them, too.
import { h, uid } from "../kit/kit.js";
import { commas } from "../kit/numbers.js";
import { html, render } from "../kit/vendor/lit.js";

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
  const methods = "load translate score damage attention stream pieces".split(" ");
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
  const node = h("div");
  const id = uid();
  let attempt = 0;
  let isUsed = false;
  function tell(said) {
    render(controlOf({ id, said, isUsed, onChoose: choose, onBack: back }), node);
  }

  function back() {
    const input = node.querySelector("input");
    attempt += 1;
    input.value = "";
    isUsed = false;
    tell("The model of this page answers again.");
    onUse(null);
    input.focus();
  }

  async function choose({ target: input }) {
    const mine = ++attempt;
    if (!input.files.length) return;
    let engine = null;
    try {
      const files = filesOf(input.files);
      tell("Opening your model …");
      engine = open(files);
      const { config, nParameters } = await engine.load();
      if (mine !== attempt) throw new DOMException("", "AbortError");
      onUse(engine);
      isUsed = true;
      tell(
        `Your model answers now: ${commas(nParameters)} parameters, ${commas(config.vocab_size)} pieces.`,
      );
    } catch (error) {
      engine?.close();
      if (mine !== attempt) return;
      input.value = ""; // so that the same files can be chosen again
      tell(`It cannot be opened. ${error.message}`);
    }
  }

  tell("");
  const stop = () => {
    attempt += 1;
  };
  return { node, stop };
}

const controlOf = ({ id, said, isUsed, onChoose, onBack }) => html`
  <details class="tfl-own" data-own>
    <summary>A model of your own</summary>
    <p class="tfl-hint">It opens here and stays on your machine. <code>python -m tformer
      export --model runs/mine --to lab exported/lab</code> writes its two files.</p>
    <div class="tfl-own-line">
      <label for=${id}>${NAMES.weights} and ${NAMES.tokenizer}, both at once</label>
      <input type="file" id=${id} multiple accept=${Object.values(ENDINGS).join()}
        data-control="own-files" @change=${onChoose}>
      <button type="button" ?hidden=${!isUsed} data-control="own-back"
        @click=${onBack}>Back to the model of this page</button>
    </div>
    <p class="tfl-note" role="status" data-own-said>${said}</p>
  </details>`;
