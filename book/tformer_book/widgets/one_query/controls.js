// The controls of the figure, made once.
import { check, radios, slider } from "../kit/kit.js";
import { format } from "../kit/numbers.js";
import { LIMIT, STEP } from "./maths.js";

const STEPS = ["Compare", "Scale", "Mask", "Softmax", "Mix"];

// An example as it is at first, with all steps.
export const settingsOf = ({ tokens, query, key, value, selected }) => ({
  tokens,
  query,
  key,
  value,
  selected,
  visible: tokens.map(() => true),
  scaled: true,
  temperature: 1,
  step: STEPS.length,
});

// The sliders of the query and of the chosen key, how sharp the softmax is, the steps.
// now() -> { query, key, chosen }: where the two are.
export function controlsOf(s, now, { onQuery, onKey }, commit) {
  const axis = (kind, name, onInput) =>
    slider(
      `${kind}-${name}`,
      name === "x" ? "across" : "up",
      { min: -LIMIT, max: LIMIT, step: STEP, kind: `tfk-${kind}` },
      onInput,
    );
  const axes = [
    axis("query", "x", (x) => onQuery([x, now().query[1]])),
    axis("query", "y", (y) => onQuery([now().query[0], y])),
    axis("key", "x", (x) => onKey(now().chosen, [x, now().key[1]])),
    axis("key", "y", (y) => onKey(now().chosen, [now().key[0], y])),
  ];
  const temperature = slider(
    "temperature",
    "temperature",
    { min: 0.1, max: 4, step: 0.1, digits: 1 },
    (x) => commit({ temperature: x }),
  );
  const root = format(Math.sqrt(s.query.length));
  const scaled = check("scaled", `divide by √d = ${root}`, s.scaled, (on) =>
    commit({ scaled: on }),
  );
  const names = STEPS.map((name, i) => `${i + 1} ${name}`);
  const step = radios("step", "Show up to", names, s.step - 1, (i) =>
    commit({ step: i + 1 }),
  );
  return { axes, temperature, scaled, step };
}

// Let the controls say what is.
export function show(
  { sentences, axes, temperature, scaled, step, dragged, asked },
  s,
  chosen,
) {
  const key = s.keys[chosen];
  const owners = [`query of ${s.tokens[s.selected]}`, `key of ${s.tokens[chosen]}`];
  [...s.query, ...key].forEach((value, i) => {
    const { input, text, show } = axes[i];
    show(value);
    const owner = owners[Math.floor(i / 2)];
    input.setAttribute("aria-label", `${owner}, ${text.textContent}`);
  });
  sentences.pick(s.example);
  temperature.show(s.temperature);
  scaled.input.checked = s.scaled;
  step.pick(s.step - 1);
  dragged.show(s.keys.map(String).join(";"));
  asked.show(s.queries.map(String).join(";"));
}
