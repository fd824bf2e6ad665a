// Decoding a sentence, step by step: greedy, by sampling, by beam search.

import { TRAITS as SETTINGS, settingsOf, traitsOf } from "../engine/decode/settings.js";
import { bind, figure } from "../kit/kit.js";
import { askBar, engineOf } from "../kit/model.js";
import { DecodingView } from "./view.js";

const TRAITS = [...SETTINGS, "step"];

function render({ model, el }) {
  const root = figure(el, "tfd", "Decoding, step by step");
  const engine = engineOf(model);
  const settings = () => {
    const traits = Object.fromEntries(TRAITS.map((trait) => [trait, model.get(trait)]));
    return { ...settingsOf(traits), step: traits.step };
  };
  const { commit, stop } = bind(model, [...TRAITS, "text", "example"], () => update());
  const view = new DecodingView(engine, {
    initial: settings(),
    onNeed: () => bar.ask(),
    onState: (state) =>
      commit({
        ...traitsOf(state),
        step: state.step,
        found: state.found,
        text: state.found.text,
      }),
  });
  const bar = askBar(engine, model, { onAsk: (text, tools) => view.run(text, tools) });
  root.append(bar.node, view.node);
  view.show(model.get("text"), model.get("example").runs);

  let example = model.get("example");
  function update() {
    if (model.get("example") !== example) {
      example = model.get("example");
      bar.show(model.get("text"));
      view.show(model.get("text"), example.runs);
    }
    view.set(settings());
    if (model.get("text") !== view.state.found.text) {
      bar.show(model.get("text"));
      if (engine) bar.ask();
    }
  }
  return () => {
    stop();
    bar.stop();
    view.stop();
  };
}

export default { render };
