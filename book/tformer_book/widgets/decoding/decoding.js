// Decoding a sentence, step by step: greedy, by sampling, by beam search.
import { TRAITS as SETTINGS, settingsOf, traitsOf } from "../engine/decode/settings.js";
import { bind, figure, stopping } from "../kit/kit.js";
import { askBar, engineOf } from "../kit/model.js";
import { DecodingView } from "./view.js";

function render({ model, el }) {
  const root = figure(el, "tfd", "Decoding, step by step");
  const engine = engineOf(model);
  const state = bind(model, [...SETTINGS, "step", "text", "example"], () => update());
  function settings() {
    const { step, ...traits } = state.read();
    return { ...settingsOf(traits), step };
  }
  const view = new DecodingView(engine, {
    initial: settings(),
    onNeed: () => bar.ask(),
    onState: ({ step, found, ...now }) =>
      state.commit({ ...traitsOf(now), step, found, text: found.text }),
  });
  const bar = askBar(engine, model, { onAsk: (text, tools) => view.run(text, tools) });
  root.append(bar.node, view.node);

  let shown = null; // the example
  function showExample() {
    const { text, example } = state.read();
    if (example === shown) return;
    shown = example;
    bar.show(text);
    view.show(text, example.runs);
  }
  function update() {
    showExample();
    view.set(settings());
    const { text } = state.read();
    if (text === view.state.found.text) return;
    bar.show(text);
    if (engine) bar.ask();
  }
  showExample();
  return stopping(state, bar, view);
}

export default { render };
