// What the lab shows of its sentence behind the tabs: the figures of the chapters. Each is
// made when its tab is first opened. `asks`: it asks the model for more than the lab has.
//
// make(engine, { run, state, onState }) -> { node, show(shown, tools), stop(), set(state)? }: shown is what
// the lab shows, { text, german, pieces, steps }, with `recorded` what needs no model;
// state is that of the lab, of which onState hears changes; run(work) lets the lab say how
// a request fares. book: the chapter that explains it, and its page.
import { DecodingView } from "../decoding/view.js";
import { HeadsView } from "../heads/view.js";
import { h } from "../kit/kit.js";
import { teacherForcingView } from "../teacher_forcing/view.js";
import { searchOptions } from "./address.js";

/** @type {Record<string, any>[]} */
export const INSIDE = [
  {
    key: "heads",
    asks: true,
    title: "Heads",
    book: ["Inside the trained model", "14-inside-the-model.html"],
    make(engine, { state, onState }) {
      const view = new HeadsView(engine, {
        initial: { knocked_out: state.knocked_out },
        onState: ({ knocked_out }) => knocked_out && onState({ knocked_out }),
      });
      const show = async ({ text, pieces, prefix, recorded }, tools) =>
        view.show(
          recorded?.attention ?? (await engine.attention(text, pieces, tools)),
          text,
          prefix,
        );
      return {
        node: h("div", { class: "tfk tfh" }, view.node),
        show,
        set: ({ knocked_out }) => view.set({ knocked_out }),
        stop: () => view.stop(),
      };
    },
  },
  {
    key: "decoding",
    title: "Search",
    book: ["Decoding and scoring", "13-decoding-and-scoring.html"],
    make(engine) {
      const initial = { step: 0 };
      const view = new DecodingView(engine, { initial, onNeed: () => {} }); // the lab asks
      function show({ text, steps }) {
        view.set(initial); // another sentence: from the beginning again
        return view.show(text, steps);
      }
      return {
        node: h("div", { class: "tfk tfd" }, view.node),
        show,
        set: (state) => view.set(searchOptions(state)),
        stop: () => view.stop(),
      };
    },
  },
  {
    key: "teacher",
    asks: true,
    title: "Teacher forcing",
    book: ["The decoder", "09-decoder.html"],
    make(engine, { run }) {
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
