// The residual stream of the trained model on a sentence of the reader's own.
import { bind, figure, stopping } from "../kit/kit.js";
import { engineOf, textBar } from "../kit/model.js";
import { residualStreamView, STATE } from "./view.js";

function render({ model, el }) {
  const root = figure(el, "tfrs", "The residual stream of the trained Transformer");
  const engine = engineOf(model);
  const state = bind(model, Object.keys(STATE), () => view.set(state.read()));
  const view = residualStreamView({ initial: state.read(), onState: state.commit });
  const bar = textBar(engine, model, {
    action: "Follow it",
    ask: (text, tools) => engine.stream(text, null, tools),
    show: view.show,
  });
  root.append(bar.node, view.node);
  view.show(model.get("example"));
  return stopping(bar, view, state);
}

export default { render };
