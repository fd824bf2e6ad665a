// The settings of a run, with the switches that break it, and what each may be.
import { TASKS } from "./tasks.js";

export const MOST_PARAMETERS = 120_000;

export const DEFAULTS = {
  task: "reverse",
  shape: "encoder-decoder",
  layers: 1,
  heads: 2,
  width: 32,
  dFf: 64,
  norm: "pre",
  causal: true, // no position of the decoder sees a later one
  padding: true, // nobody sees padding
  positions: true,
  residual: true,
  scale: true, // scores are divided by sqrt(Dh)
  shift: true, // labels are one place ahead of what the decoder reads
  smoothing: 0,
  rate: 0.003,
  warmup: 50, // steps until the learning rate has its full size
  batch: 32,
  clip: 1, // the largest norm of the gradient; 0 leaves it as it is
  seed: 1,
  lines: "", // of the task "lines"
};

const CHOICES = {
  task: TASKS.map(({ key }) => key),
  shape: ["encoder-decoder", "decoder", "encoder"],
  norm: ["pre", "post"],
};

// Whole numbers, from … to.
const WHOLE = {
  layers: [1, 6],
  heads: [1, 16],
  width: [4, 128],
  dFf: [4, 512],
  warmup: [0, 100_000],
  batch: [1, 128],
  seed: [0, 2 ** 32 - 1],
};
const NUMBERS = { smoothing: [0, 0.9], rate: [0, 1], clip: [0, 1e6] };

// The settings that a task begins with.
export function settingsOf(task) {
  return { ...DEFAULTS, task, ...TASKS.find(({ key }) => key === task)?.defaults };
}

// All settings, those that are not given by default.
//
// Throws a RangeError that names the value and the remedy.
export function complete(given) {
  const settings = { ...DEFAULTS, ...given };
  for (const [name, value] of Object.entries(settings)) check(name, value);
  const { width, heads } = settings;
  if (width % 2) throw new RangeError(`a width of ${width} is odd: take an even one`);
  if (width % heads)
    throw new RangeError(
      `a width of ${width} cannot be shared by ${heads} heads: take a multiple of ${heads}`,
    );
  return settings;
}

function check(name, value) {
  if (!Object.hasOwn(DEFAULTS, name)) {
    const known = Object.keys(DEFAULTS).join(", ");
    throw new RangeError(`there is no setting "${name}"; there are ${known}`);
  }
  const said = `${name} is ${JSON.stringify(value)}`;
  if (typeof value !== typeof DEFAULTS[name])
    throw new RangeError(`${said}: give a ${typeof DEFAULTS[name]}`);
  const choices = CHOICES[name];
  if (choices && !choices.includes(value))
    throw new RangeError(`${said}: take one of ${choices.join(", ")}`);
  const [least, most] = WHOLE[name] ?? NUMBERS[name] ?? [];
  if (least === undefined) return;
  const fits = value >= least && value <= most;
  if (!fits || (WHOLE[name] && !Number.isInteger(value))) {
    const kind = WHOLE[name] ? "a whole number" : "a number";
    throw new RangeError(`${said}: take ${kind} from ${least} to ${most}`);
  }
}
