// The heads of the trained Transformer on a sentence of the reader's own.
import { bind, figure, stopping } from "../kit/kit.js";
import { engineOf, megabytes, textBar, unpack } from "../kit/model.js";
import { HeadsView, STATE } from "./view.js";

function render({ model, el }) {
  const root = figure(el, "tfh", "The attention heads of the trained Transformer");
  const engine = engineOf(model);
  const state = bind(model, Object.keys(STATE), () => view.set(state.read()));
  const view = new HeadsView(engine, {
    initial: state.read(),
    onState: state.commit,
    note: `Knocking a head out asks the model (${megabytes(model.get("model_bytes"))}, loaded once).`,
  });
  const bar = textBar(engine, model, {
    ask: (text, tools) => engine.attention(text, null, tools),
    show: (attention, text) => view.show(attention, text),
  });
  root.append(bar.node, view.node);
  view.show(unpack(model.get("example")), bar.text());
  return stopping(bar, view, state);
}

export default { render };
