// The residual stream of the trained model on a sentence of the reader's own.
import { bind, figure } from "../kit/kit.js";
import { engineOf, textBar } from "../kit/model.js";
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
  const bar = textBar(engine, model, {
    action: "Follow it",
    ask: (text, tools) => engine.stream(text, null, tools),
    show: view.show,
  });
  root.append(bar.node, view.node);
  view.show(model.get("example"));
  return () => {
    bar.stop();
    view.stop();
    state.stop();
  };
}

export default { render };
