// One hypothesis: take the best next piece, or draw one by chance.
//
// A search is a generator. It yields a step each time the model has spoken, and returns
// its hypotheses { ids, logProbability, score }, the best first.
import { randomNumbers } from "../random.js";
import { row } from "../tensor.js";
import { USUAL } from "./settings.js";
import { checkCall, drain, Stepper } from "./stepping.js";

const ROUNDING = 1e-6; // two sums of probabilities that differ by less are the same

// Take the most probable piece at every step. Returns ids without special ones.
export const greedy = (model, sourceIds, options) =>
  drain(greedySteps(model, sourceIds, options))[0].ids;

export const greedySteps = (model, sourceIds, options) =>
  grow(model, sourceIds, (logP) => ({ id: argmax(logP) }), options);

// Draw every next piece by chance. Equal seeds repeat (in the page; Python draws others).
export const sample = (model, sourceIds, options) =>
  drain(sampleSteps(model, sourceIds, options))[0].ids;

export function sampleSteps(model, sourceIds, options = {}) {
  const chance = randomNumbers(options.seed ?? USUAL.seed);
  const choose = (logP) => {
    const p = distribution(logP, options);
    return { id: draw(p, chance()), p };
  };
  return grow(model, sourceIds, choose, options);
}

// Let one hypothesis grow; choose(logP) -> { id, p } picks each next piece, p being the
// distribution it was drawn from, if it was. The first pieces are those of prefix.
export function* grow(model, sourceIds, choose, options = {}) {
  const { maxLen = USUAL.maxLen, useCache = true, prefix = [] } = options;
  const { eos_id } = model.config;
  const longest = checkCall(model, sourceIds, maxLen, prefix);
  const step = new Stepper(model, sourceIds, useCache);
  const found = { ids: [], logProbability: 0, score: 0, ended: false };
  while (!found.ended && step.length < longest) {
    const logP = row(step.logProbabilities(), 0);
    const { id: chosen, p } = choose(logP);
    const id = prefix[step.length] ?? chosen;
    const total = found.logProbability + logP[id];
    const before = { ids: found.ids, logProbability: found.logProbability, logP, p };
    found.ended = id === eos_id;
    if (!found.ended) {
      found.ids = [...found.ids, id];
      step.extend([0], [id]);
    }
    found.logProbability = found.score = total;
    const fate = found.ended ? "finished" : "grown";
    yield {
      hypotheses: [before],
      candidates: [{ parent: 0, id, logProbability: total, fate }],
      finished: found.ended ? [{ ...found }] : [],
    };
  }
  return [found];
}

// What the distribution of the next piece becomes before `sample` draws from it: first
// p_i ∝ exp(log p_i / temperature), then only the topK largest, then, of the mass that is
// left, the smallest set of largest ones that reaches topP; the rest is scaled to sum
// to 1. Of equal pieces the lower id counts as larger.
export function distribution(logP, options = {}) {
  const { temperature = USUAL.temperature } = options;
  const { topK = USUAL.topK, topP = USUAL.topP } = options;
  if (!(temperature >= 1e-6 && temperature < Infinity))
    throw new RangeError(
      `temperature=${temperature} must be above 0 (at least 1e-6) and finite; where the ` +
        "best piece should always win, use greedy",
    );
  if (topK !== null && !(Number.isInteger(topK) && topK >= 1))
    throw new RangeError(`topK=${topK} must be a whole number, 1 or more, or null`);
  if (topP !== null && !(topP > 0 && topP <= 1))
    throw new RangeError(`topP=${topP} must be in (0, 1], or null`);
  const top = logP[argmax(logP)];
  const p = Float64Array.from(logP, (each) => Math.exp((each - top) / temperature));
  if (topK !== null || topP !== null) {
    // Stable, so of equal pieces the lower id stays in front.
    const order = Array.from(p.keys()).sort((i, j) => p[j] - p[i]);
    let stay = Math.min(topK ?? p.length, p.length);
    if (topP !== null && topP < 1) {
      const left = total(order.slice(0, stay).map((i) => p[i]));
      let [n, mass] = [0, 0];
      while (n < stay && mass < topP * (1 - ROUNDING) * left) mass += p[order[n++]];
      stay = n;
    }
    for (const i of order.slice(stay)) p[i] = 0;
  }
  const mass = total(p);
  return p.map((each) => each / mass);
}

const total = (numbers) => numbers.reduce((a, b) => a + b, 0);

export function argmax(numbers) {
  let best = 0;
  for (let i = 1; i < numbers.length; i++) if (numbers[i] > numbers[best]) best = i;
  return best;
}

// The piece at which the running sum of p passes chance, a number in [0, 1).
export function draw(p, chance) {
  const wanted = chance * total(p);
  let reached = 0;
  for (let id = 0; id < p.length; id++) {
    reached += p[id];
    if (reached > wanted) return id;
  }
  return argmax(p); // rounding may miss the very end
}
