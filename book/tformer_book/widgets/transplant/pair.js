// The two sentences, and what asks the model about them.
import { bind, h, oneOf, put, stopping, uid } from "../kit/kit.js";
import { atFirst, requests } from "../kit/model.js";
import { html, render } from "../kit/vendor/lit.js";

const EXAMPLES = {
  "a verb": ["A girl is riding a bike.", "A girl is riding a horse."],
  "a word of two pieces": ["The street was dry.", "The street was wet."],
  "two nouns": [
    "Two boys are playing in the snow.",
    "Two girls are playing in the water.",
  ],
  "a whole phrase": ["The woman is on the phone.", "The woman is on the horse."],
};
const NAMES = Object.keys(EXAMPLES);
const FIELDS = { text: "It translates", donor: "A state comes from" };

// show(result) hears of every transplant that is done.
// -> { node, stop() }
export function pairBar(engine, model, { show }) {
  const node = h("form", { class: "tfk-ask tftp-ask" });
  const asked = requests(atFirst(engine, model), draw);
  const pair = bind(model, Object.keys(FIELDS), follow);
  const examples = oneOf("example", "For example:", NAMES, (name) => {
    write(EXAMPLES[name]);
    ask();
  });
  const boxes = () => Object.keys(FIELDS).map((name) => box(name));
  /** @returns {HTMLInputElement} */
  const box = (name) => node.querySelector(`[data-control="${name}"]`);
  const write = (texts) =>
    boxes().forEach((each, i) => {
      each.value = texts[i];
    });
  let shown = Object.values(pair.read());

  async function sweep({ signal, onProgress }) {
    const texts = boxes().map((each) => each.value);
    let isFirst = true;
    const onStep = (found) => {
      if (isFirst) {
        isFirst = false;
        shown = texts;
        pair.commit({ text: texts[0], donor: texts[1] });
      }
      asked.tell(`${found.cells.length} of ${found.of} transplants …`);
      show(found);
    };
    show(await engine.transplants(...texts, { signal, onProgress, onStep }));
  }
  const ask = () => asked.run(sweep);
  const go = () => (asked.busy() ? asked.stop() : ask());

  // What else sets the sentences is asked, too.
  function follow() {
    const texts = Object.values(pair.read());
    if (texts.join("\n") === shown.join("\n")) return;
    write(texts);
    if (engine) ask();
  }

  function draw(isBusy) {
    put(node, { "data-busy": isBusy && "true" });
    const line = ([name, label]) => {
      const id = `${name}-${own}`;
      return html`<label for=${id}>${label}</label>
        <input type="text" id=${id} data-control=${name} autocomplete="off" spellcheck="false"
          lang="en" enterkeyhint="go" ?disabled=${!engine}>`;
    };
    render(
      html`<div class="tftp-pair">${Object.entries(FIELDS).map(line)}</div>
        <div class="tftp-go">${engine ? examples.set : ""}
          <button type="button" class="tfk-do" data-control="ask" ?disabled=${!engine} @click=${go}>${isBusy ? "Stop" : "Transplant"}</button>
        </div>${asked.node}`,
      node,
    );
  }
  const own = uid();
  draw(false);
  write(shown);
  node.addEventListener("submit", (event) => event.preventDefault());
  node.addEventListener("keydown", (event) => {
    const isField =
      event.target instanceof HTMLInputElement && event.target.type === "text";
    if (event.key !== "Enter" || event.isComposing || !isField) return;
    event.preventDefault();
    asked.busy() || ask();
  });
  return { node, stop: stopping(pair, asked) };
}
