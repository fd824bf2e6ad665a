// Decoding a sentence, step by step: greedy, by sampling, by beam search.
import { bind, figure } from "../kit/kit.js";
import { askBar, engineOf } from "../kit/model.js";
import { decodingView } from "./view.js";

// Traits in Python, and what they are called in the page; 0 stands for no cut.
const TRAITS = {
  search: "search", beam_size: "beamSize", length_penalty: "lengthPenalty", temperature: "temperature",
  top_k: "topK", top_p: "topP", seed: "seed", step: "step",
};
const CUTS = { top_k: 0, top_p: 1 };

function render({ model, el }) {
  const root = figure(el, "tfd", "Decoding, step by step");
  const engine = engineOf(model);
  const settings = () => Object.fromEntries(Object.entries(TRAITS).map(([trait, name]) => {
    const value = model.get(trait);
    return [name, value === CUTS[trait] ? null : value];
  }));
  const { commit, stop } = bind(model, [...Object.keys(TRAITS), "text", "example"], () => update());
  const view = decodingView(engine, {
    initial: settings(),
    onNeed: () => bar.ask(),
    onState: (state) => commit({
      ...Object.fromEntries(Object.entries(TRAITS).map(([trait, name]) => [trait, state[name] ?? CUTS[trait]])),
      found: state.found, text: state.found.text,
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
    if (model.get("text") !== view.state().found.text) {
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
