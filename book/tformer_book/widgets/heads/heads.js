// The heads of the trained Transformer on a sentence of the reader's own.
import { bind, figure } from "../kit/kit.js";
import { askBar, engineOf, megabytes, unpack } from "../kit/model.js";
import { HeadsView, STATE } from "./view.js";

const NAMES = Object.keys(STATE);

function render({ model, el }) {
  const root = figure(el, "tfh", "The attention heads of the trained Transformer");
  const engine = engineOf(model);
  const read = () => Object.fromEntries(NAMES.map((name) => [name, model.get(name)]));
  const state = bind(model, NAMES, () => view.set(read()));
  const view = new HeadsView(engine, {
    initial: read(),
    onState: (changes) => state.commit(changes),
    note: `Knocking a head out asks the model (${megabytes(model.get("model_bytes"))}, loaded once).`,
  });
  let shown = model.get("text");
  const ask = askBar(engine, model, {
    async onAsk(text, tools) {
      const attention = await engine.attention(text, null, tools);
      shown = text;
      texts.commit({ text });
      view.show(attention, text);
    },
  });
  const texts = bind(model, ["text"], () => {
    if (model.get("text") === shown) return;
    ask.show(model.get("text"));
    if (engine) ask.ask();
  });
  root.append(ask.node, view.node);
  view.show(unpack(model.get("example")), shown);
  return () => {
    ask.stop();
    view.stop();
    state.stop();
    texts.stop();
  };
}

export default { render };
