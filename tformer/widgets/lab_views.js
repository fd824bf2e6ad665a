// What the lab shows of its sentence behind the tabs: the figures of the chapters. Each is
// made when its tab is first opened. `asks`: it needs more of the model than the lab has.
//
// make(engine) -> { node, show(shown, tools), stop(), set(options)? }, where shown is
// { text, pieces, steps, attention? } of a translation, and options are of its search.
import { decodingView } from "./decoding_view.js";
import { headsView } from "./heads_view.js";
import { h } from "./kit.js";

export const INSIDE = [
  {
    key: "heads",
    asks: true,
    title: "Heads",
    make(engine) {
      const view = headsView(engine);
      const node = h("div", { class: "tfk tfh" }, view.node);
      const show = async ({ text, pieces, attention }, tools) =>
        view.show(attention ?? (await engine.attention(text, pieces, tools)), text);
      return { node, show, stop: view.stop };
    },
  },
  {
    key: "decoding",
    title: "The search",
    make(engine) {
      const view = decodingView(engine, { onNeed: () => {} }); // the lab does the asking
      const node = h("div", { class: "tfk tfd" }, view.node);
      return { node, show: ({ text, steps }) => view.show(text, steps), set: view.set, stop: view.stop };
    },
  },
];
