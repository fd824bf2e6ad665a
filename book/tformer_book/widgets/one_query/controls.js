// The controls of the figure, made once.
import { check, radios, slider } from "../kit/kit.js";
import { format } from "../kit/numbers.js";
import { LIMIT, STEP } from "./maths.js";

const STEPS = ["Compare", "Scale", "Mask", "Softmax", "Mix"];

// An example as it is at first, with all steps.
export const settingsOf = ({ tokens, query, key, value, selected }) => {
  const visible = tokens.map(() => true);
  const whole = { scaled: true, temperature: 1, step: STEPS.length };
  return { tokens, query, key, value, selected, visible, ...whole };
};

// The sliders of the query and of the chosen key, how sharp the softmax is, the steps.
// now() -> { query, key, chosen }: where the two are.
export function controlsOf(s, now, { onQuery, onKey }, { commit, set }) {
  const range = { min: -LIMIT, max: LIMIT, step: STEP };
  const axis = (kind, at, onMove) => {
    const [name, label] = [`${kind}-${"xy"[at]}`, ["across", "up"][at]];
    return slider(name, label, { ...range, kind: `tfk-${kind}` }, (x) =>
      onMove(now()[kind].with(at, x)),
    );
  };
  const moveKey = (to) => onKey(now().chosen, to);
  const heat = { min: 0.1, max: 4, step: 0.1, digits: 1 };
  const divide = `divide by √d = ${format(Math.sqrt(s.query.length))}`;
  const names = STEPS.map((name, i) => `${i + 1} ${name}`);
  return {
    axes: [
      ...[0, 1].map((at) => axis("query", at, onQuery)),
      ...[0, 1].map((at) => axis("key", at, moveKey)),
    ],
    temperature: slider("temperature", "temperature", heat, set("temperature")),
    scaled: check("scaled", divide, s.scaled, set("scaled")),
    step: radios("step", "Show up to", names, s.step - 1, (i) =>
      commit({ step: i + 1 }),
    ),
  };
}

// Let the controls say what is.
export function show(parts, s, chosen) {
  const key = s.keys[chosen];
  const owners = [`query of ${s.tokens[s.selected]}`, `key of ${s.tokens[chosen]}`];
  [...s.query, ...key].forEach((value, i) => {
    const { input, text, show } = parts.axes[i];
    show(value);
    const owner = owners[Math.floor(i / 2)];
    input.setAttribute("aria-label", `${owner}, ${text.textContent}`);
  });
  parts.sentences.pick(s.example);
  parts.temperature.show(s.temperature);
  parts.scaled.show(s.scaled);
  parts.step.pick(s.step - 1);
  parts.dragged.show(s.keys.map(String).join(";"));
  parts.asked.show(s.queries.map(String).join(";"));
}
