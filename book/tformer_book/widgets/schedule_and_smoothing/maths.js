// Both formulas of the figure: the learning rate of a step, and the loss for a target.
// Runs in Node, too; the tests hold it to `tformer.schedule` and `tformer.loss`.
import { linear, log } from "../kit/chart.js";
import { commas, powerOfTen } from "../kit/numbers.js";

// --- the learning rate --------------------------------------------------------------

// Both arms of equation 3, without width and factor: the line climbs, the root falls.
export const armsOf = (step, warmup) => ({
  root: step ** -0.5,
  line: step * warmup ** -1.5,
});
export function rateOf(step, { width, warmup, factor }) {
  const { root, line } = armsOf(step, warmup);
  return factor * width ** -0.5 * Math.min(root, line);
}
export const peakOf = ({ width, warmup, factor }) => factor * (width * warmup) ** -0.5;

/** @type {[string, { width: number, warmup: number, factor: number, total: number }][]} */
export const SCHEDULES = [
  ["paper, base", { width: 512, warmup: 4000, factor: 1, total: 100000 }],
  ["paper, big", { width: 1024, warmup: 4000, factor: 1, total: 300000 }],
  ["ours, in this chapter", { width: 128, warmup: 600, factor: 1, total: 1600 }],
];
export const PAPER = SCHEDULES[0][1];

// What the sliders can say: round numbers, close enough together to drag the peak.
const ROUND = [
  1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.2, 2.4, 2.6, 2.8, 3, 3.3, 3.6, 4, 4.4, 4.8,
  5, 5.5, 6, 6.5, 7, 8, 9,
];
const decades = (from, to) => {
  const round = (x, k) => Number((x * 10 ** k).toPrecision(3));
  const powers = Array.from({ length: to - from }, (_, i) => from + i);
  return [...powers.flatMap((k) => ROUND.map((x) => round(x, k))), round(1, to)];
};
export const WIDTHS = [16, 32, 64, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096];
export const WARMUPS = decades(1, 5).filter((x) => x <= 40000);
export const FACTORS = decades(-2, 2);
export const TOTALS = decades(2, 6).filter((x) => x <= 500000);
export const VOCABULARIES = [
  5, 6, 8, 10, 20, 50, 100, 200, 500, 1000, 2000, 4000, 6000, 8000, 16000, 37000, 50000,
];

// The axis of the steps; where a step stands on it, 0 to 1, and back.
export const stepScale = (total, isLog) => (isLog ? log : linear)(1, total);
export const shareOf = (step, total, isLog) => stepScale(total, isLog)(step);
export const stepAt = (share, total, isLog) =>
  Math.min(total, Math.max(1, Math.round(stepScale(total, isLog).invert(share))));

// Steps to draw the curve through: even on the axis, and the corner itself.
const N_POINTS = 160;
export function stepsFor({ warmup, total }, isLog) {
  const steps = new Set([1, total, Math.min(warmup, total)]);
  for (let i = 1; i < N_POINTS; i++) steps.add(stepAt(i / N_POINTS, total, isLog));
  return [...steps].sort((a, b) => a - b);
}

// --- the target ---------------------------------------------------------------------

export const NAMED = ["Hund", "Katze", "Straße", "müde", "."];
export const SPREADS = ["over all V", "over the V − 1 others"];

// What the right piece gets, and each other one.
export function targetOf(epsilon, size, spread) {
  if (spread === SPREADS[1]) return { right: 1 - epsilon, other: epsilon / (size - 1) };
  return { right: 1 - epsilon + epsilon / size, other: epsilon / size };
}

// Logits: five pieces by name, and one that all the others share. For each of the six
// groups: log p of one piece, how many there are, and the probability of all of them.
export function predictionOf(logits, size) {
  const counts = [1, 1, 1, 1, 1, size - NAMED.length];
  const largest = Math.max(...logits.filter((_, i) => counts[i]));
  const total = logits.reduce(
    (sum, z, i) => sum + (counts[i] && counts[i] * Math.exp(z - largest)),
    0,
  );
  return logits.map((z, i) => {
    const logP = z - largest - Math.log(total);
    return { logP, count: counts[i], mass: counts[i] * Math.exp(logP) };
  });
}

// Cross-entropy, entropy of the target, and KL, each summed by itself, in nats.
export function lossesOf(target, prediction) {
  const sum = (term) =>
    prediction.reduce((total, { logP, count }, i) => {
      const q = i ? target.other : target.right;
      return q > 0 && count ? total + count * term(q, logP) : total;
    }, 0);
  return {
    cross: sum((q, logP) => -q * logP),
    entropy: sum((q) => -q * Math.log(q)),
    divergence: sum((q, logP) => q * (Math.log(q) - logP)),
    hard: -prediction[0].logP,
  };
}

// The logits that give group i the probability x; the others keep their proportions.
export function withMass(logits, size, i, x) {
  const { mass } = predictionOf(logits, size)[i];
  const odds = (p) => Math.log(p) - Math.log1p(-p);
  return logits.map((z, j) =>
    j === i ? z + odds(x) - odds(Math.min(Math.max(mass, 1e-12), 1 - 1e-12)) : z,
  );
}

const LEAST = -20; // a logit for "never", which must be a number
export const matching = ({ right, other }) =>
  [right, other, other, other, other, other].map((q) =>
    q > 0 ? Math.max(LEAST, Math.log(q)) : LEAST,
  );
export const BY_HAND = [2, 1, 0, -1, 0.5, -8];

/** @type {[string, { epsilon: number, spread: string, size: number }][]} */
export const TARGETS = [
  ["by hand", { epsilon: 0.1, spread: SPREADS[0], size: 5 }],
  ["paper", { epsilon: 0.1, spread: SPREADS[0], size: 37000 }],
  ["ours, in this chapter", { epsilon: 0.1, spread: SPREADS[0], size: 4000 }],
];

// The axis of the probabilities; the height of one on it, 0 to 1, and back.
const LEAST_SHOWN = 1e-6;
export const massScale = (isLog) =>
  (isLog ? log(LEAST_SHOWN, 1) : linear(0, 1)).clamp(true);
export const heightOf = (p, isLog) => massScale(isLog)(p);
export const massAt = (height, isLog) => massScale(isLog).invert(height);
// What a bar can be dragged to.
export const draggedTo = (p, isLog) =>
  Math.min(0.9999, Math.max(isLog ? LEAST_SHOWN : 0.0005, p));

// --- numbers on the page ------------------------------------------------------------

// Three digits that count, with a power of ten where zeros would hide them.
export function scientific(x) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  const sign = x < 0 ? "−" : "";
  if (size >= 100 && size < 10000) return sign + commas(Math.round(size));
  if (size >= 0.0095 && size < 100) return `${sign}${Number(size.toPrecision(3))}`;
  const [digits, exponent] = size.toExponential(2).split("e");
  return `${sign}${digits} × ${powerOfTen(Number(exponent))}`;
}
