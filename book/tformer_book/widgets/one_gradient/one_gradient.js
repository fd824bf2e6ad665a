// One step of training through one attention, with all of its numbers.
import { within } from "../kit/arrows.js";
import { bind, figure, liveRegion, oneOf, slider, stopping } from "../kit/kit.js";
import { walker } from "../kit/player.js";
import { render as draw } from "../kit/vendor/lit.js";
import { MATRICES, whole } from "./maths.js";
import { STEPS } from "./steps.js";
import { page } from "./view.js";

const BEAT = 3500; // ms between two steps while it plays: time to read
const TRAITS = ["words", "answers", "x", ...MATRICES, "target", "rate", "step"];

function render({ model, el }) {
  const root = figure(el, "tfog", "One gradient: forward, backward, and one update");
  const { read, commit, set, stop } = bind(model, TRAITS, () => update());
  const live = liveRegion();
  const { answers } = read();
  const controls = {
    target: oneOf("target", "Should come next:", [0, 1, 2], set("target"), answers),
    rate: slider("rate", "rate", { min: 0, max: 4, step: 0.25 }, set("rate")),
  };
  const walk = walker({
    name: "step",
    words: ["To the beginning", "One step back", "One step on", "To the update"],
    at: () => read().step,
    last: () => STEPS.length - 1,
    to: (i) => commit({ step: within(i, STEPS.length) }),
    beat: BEAT,
  });

  function update(speak = true) {
    const state = read();
    const all = whole(state);
    controls.target.show(state.target);
    controls.rate.show(state.rate);
    walk.show();
    draw(page(state, all, { walk, controls, live }), root);
    const { title, rule, worked } = STEPS[state.step];
    if (speak) live.announce(`${title}. ${rule}. ${worked(state, all, state.target)}`);
  }
  update(false);
  return stopping(walk, live, stop);
}

export default { render };
