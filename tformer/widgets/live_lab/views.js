// What the lab shows of its sentence behind the tabs: the figures of the chapters. Each is
// made when its tab is first opened. `asks`: it asks the model for more than the lab has.
//
// make(engine, run) -> { node, show(shown, tools), stop(), set(options)? }: shown is what
// the lab shows, { text, german, pieces, steps }, with `recorded` what needs no model;
// options are those of its search; run(work) lets the lab say how a request fares.
import { decodingView } from "../decoding/view.js";
import { headsView } from "../heads/view.js";
import { h } from "../kit/kit.js";
import { teacherForcingView } from "../teacher_forcing/view.js";

export const INSIDE = [
  {
    key: "heads",
    asks: true,
    title: "Heads",
    make(engine) {
      const view = headsView(engine);
      const show = async ({ text, pieces, recorded }, tools) =>
        view.show(
          recorded?.attention ?? (await engine.attention(text, pieces, tools)),
          text,
        );
      return { node: h("div", { class: "tfk tfh" }, view.node), show, stop: view.stop };
    },
  },
  {
    key: "decoding",
    title: "Search",
    make(engine) {
      const view = decodingView(engine, { onNeed: () => {} }); // the lab does the asking
      const show = ({ text, steps }) => view.show(text, steps);
      return {
        node: h("div", { class: "tfk tfd" }, view.node),
        show,
        set: view.set,
        stop: view.stop,
      };
    },
  },
  {
    key: "teacher",
    asks: true,
    title: "Teacher forcing",
    make(engine, run) {
      let sentence = "";
      const view = teacherForcingView(engine, {
        onNeed: () => run((tools) => view.run(sentence, tools)),
      });
      // The teacher gives what the lab shows; greedy search goes its own way.
      async function show({ text, german, pieces, recorded }, tools) {
        sentence = text;
        let found = recorded;
        if (!found) {
          const greedy = [];
          const scored = await engine.score(text, pieces, tools);
          await engine.translate(text, {
            search: "greedy",
            onStep: (step) => greedy.push(step),
            ...tools,
          });
          found = { scored, greedy };
        }
        return view.show(text, {
          translation: german,
          scored: found.scored,
          steps: found.greedy,
        });
      }
      return { node: h("div", { class: "tfk tft" }, view.node), show, stop: view.stop };
    },
  },
];
