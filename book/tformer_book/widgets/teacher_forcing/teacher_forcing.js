// Teacher forcing beside decoding, for one sentence and its German.
import { bind, figure, stopping } from "../kit/kit.js";
import { askBar, engineOf } from "../kit/model.js";
import { teacherForcingView } from "./view.js";

function render({ model, el }) {
  const root = figure(el, "tft", "Teacher forcing beside decoding");
  const engine = engineOf(model);
  const names = ["step", "text", "translation", "example"];
  const { commit, stop } = bind(model, names, () => update());
  const view = teacherForcingView(engine, {
    initial: { step: model.get("step") },
    onNeed: () => bar.ask(),
    onState: commit,
  });
  const bar = askBar(engine, model, { onAsk: (text, tools) => view.run(text, tools) });
  root.append(bar.node, view.node);

  let example = null;
  function update() {
    if (model.get("example") !== example) {
      example = model.get("example");
      bar.show(model.get("text"));
      view.show(model.get("text"), example);
    }
    view.set({ step: model.get("step") });
    const { text, translation } = view.state();
    if (model.get("text") !== text || model.get("translation") !== translation) {
      bar.show(model.get("text"));
      view.teach(model.get("translation"));
    }
  }
  update();
  return stopping(stop, bar, view);
}

export default { render };
