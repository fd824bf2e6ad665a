// The residual stream of the trained model on a sentence of the reader's own.
import { bind, figure } from "../kit/kit.js";
import { askBar, engineOf } from "../kit/model.js";
import { residualStreamView, STATE } from "./view.js";

const NAMES = Object.keys(STATE);

function render({ model, el }) {
  const root = figure(el, "tfrs", "The residual stream of the trained Transformer");
  const engine = engineOf(model);
  const read = () => Object.fromEntries(NAMES.map((name) => [name, model.get(name)]));
  const state = bind(model, NAMES, () => view.set(read()));
  const view = residualStreamView({
    initial: read(),
    onState: (changes) => state.commit(changes),
  });
  let shown = model.get("text");
  const ask = askBar(engine, model, {
    action: "Follow it",
    async onAsk(text, tools) {
      const stream = await engine.stream(text, null, tools);
      shown = text;
      texts.commit({ text });
      view.show(stream);
    },
  });
  const texts = bind(model, ["text"], () => {
    if (model.get("text") === shown) return;
    ask.show(model.get("text"));
    if (engine) ask.ask();
  });
  root.append(ask.node, view.node);
  view.show(model.get("example"));
  return () => {
    ask.stop();
    view.stop();
    state.stop();
    texts.stop();
  };
}

export default { render };
