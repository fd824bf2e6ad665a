// A state of one sentence, put into another while the trained Transformer translates it.
import { bind, figure, stopping } from "../kit/kit.js";
import { engineOf } from "../kit/model.js";
import { pairBar } from "./pair.js";
import { STATE, transplantView } from "./view.js";

function render({ model, el }) {
  const root = figure(el, "tftp", "A state of one sentence, put into another");
  const engine = engineOf(model);
  const state = bind(model, Object.keys(STATE), () => view.set(state.read()));
  const view = transplantView({ initial: state.read(), onState: state.commit });
  const bar = pairBar(engine, model, { show: view.show });
  root.append(bar.node, view.node);
  view.show(model.get("example"));
  return stopping(bar, view, state);
}

export default { render };
