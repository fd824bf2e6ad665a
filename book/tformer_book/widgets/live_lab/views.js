// What the lab shows of its sentence behind the tabs: the figures of the chapters. Each is
// made when its tab is first opened. `asks`: it asks the model for more than the lab has.
//
// make(engine, { run, state, onState }) -> { view: { node, stop() }, show(shown, tools),
// set(state)? }: shown is what the lab shows, { text, german, pieces, steps }, with `recorded` what needs
// no model; state is that of the lab, of which onState hears changes; run(work) lets the lab
// say how a request fares. look: the classes of its figure; book: the chapter that explains
// it.
import { DecodingView } from "../decoding/view.js";
import { HeadsView } from "../heads/view.js";
import { CHAPTERS } from "../kit/chapters.js";
import { teacherForcingView } from "../teacher_forcing/view.js";
import { searchOptions } from "./address.js";

/** @type {Record<string, any>[]} */
export const INSIDE = [
  {
    key: "heads",
    asks: true,
    title: "Heads",
    look: "tfk tfh",
    book: CHAPTERS.inside,
    make(engine, { state, onState }) {
      const view = new HeadsView(engine, {
        initial: { knocked_out: state.knocked_out },
        onState: ({ knocked_out }) => knocked_out && onState({ knocked_out }),
      });
      async function show({ text, pieces, prefix, recorded }, tools) {
        const known = recorded?.attention;
        view.show(known ?? (await engine.attention(text, pieces, tools)), text, prefix);
      }
      return { view, show, set: ({ knocked_out }) => view.set({ knocked_out }) };
    },
  },
  {
    key: "decoding",
    title: "Search",
    look: "tfk tfd",
    book: CHAPTERS.decoding,
    make(engine) {
      const initial = { step: 0 };
      const view = new DecodingView(engine, { initial, onNeed: () => {} }); // the lab asks
      function show({ text, steps }) {
        view.set(initial); // another sentence: from the beginning again
        return view.show(text, steps);
      }
      return { view, show, set: (state) => view.set(searchOptions(state)) };
    },
  },
  {
    key: "teacher",
    asks: true,
    title: "Teacher forcing",
    look: "tfk tft",
    book: CHAPTERS.decoder,
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
          const onStep = (step) => greedy.push(step);
          await engine.translate(text, { search: "greedy", onStep, ...tools });
          found = { scored, greedy };
        }
        const { scored, greedy: steps } = found;
        return view.show(text, { translation: german, scored, steps });
      }
      return { view, show };
    },
  },
];
