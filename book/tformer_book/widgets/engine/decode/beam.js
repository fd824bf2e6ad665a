// Beam search: several hypotheses at once, and the best of those that ended.
import { best, row } from "../tensor.js";
import { USUAL } from "./settings.js";
import { checkCall, drain, Stepper } from "./stepping.js";

// The best hypothesis that a beam search finds: ids without special ones.
export const beamSearch = (model, sourceIds, options) =>
  nBest(model, sourceIds, { ...options, n: 1 })[0].ids;

// The n best, no two alike: { ids, logProbability, score }, the best first.
export const nBest = (model, sourceIds, options) =>
  drain(beamSteps(model, sourceIds, options));

// The search, step by step. A hypothesis Y (its eos counted) is ranked by
// log p(Y) / lp(|Y|). It ends when beamSize hypotheses have ended, or when no live one
// could still overtake the n-th of those. All begin with the pieces of prefix.
//
// Yields { hypotheses: [{ ids, logProbability, logP }], candidates: [{ parent, id,
// logProbability, fate }], finished }: the live ones with log p of all their next pieces,
// their best continuations ("grown", "finished" or "dropped"), and all that have ended.
export function* beamSteps(model, sourceIds, options = {}) {
  const { beamSize = USUAL.beamSize, lengthPenalty = USUAL.lengthPenalty } = options;
  const { maxLen = USUAL.maxLen, n = beamSize, useCache = true, prefix = [] } = options;
  checkOptions(n, beamSize, lengthPenalty);
  const { eos_id } = model.config;
  const longest = checkCall(model, sourceIds, maxLen, prefix);
  const beam = new Beam(n, beamSize, lengthPenalty, longest);
  const step = new Stepper(model, sourceIds, useCache);
  let totals = [0]; // log p so far
  for (;;) {
    const logP = step.logProbabilities();
    const hypotheses = step.tokens.map(([, ...ids], i) => {
      return { ids, logProbability: totals[i], logP: row(logP, i) };
    });
    const only = prefix[step.length] ?? (step.length === longest ? eos_id : null);
    // A row ends in at most one way: 2 * beamSize leave enough to go on.
    const candidates = continuations(hypotheses, 2 * beamSize, only);
    for (const [rank, each] of candidates.entries()) {
      const hasEnded = each.id === eos_id && rank < beamSize;
      each.fate = hasEnded ? "finished" : "dropped";
      if (hasEnded) beam.finish(hypotheses[each.parent].ids, each.logProbability);
    }
    const grown = candidates.filter((each) => each.id !== eos_id).slice(0, beamSize);
    const isDone = !grown.length || beam.isDone(grown[0].logProbability);
    if (!isDone) for (const each of grown) each.fate = "grown";
    yield { hypotheses, candidates, finished: [...beam.finished] };
    if (isDone) return beam.finished.slice(0, n);
    const column = (name) => grown.map((each) => each[name]);
    step.extend(column("parent"), column("id"));
    totals = column("logProbability");
  }
}

// lp(n) = ((5 + n) / 6)^alpha: what a log-probability is divided by; n counts eos.
export const lengthPenaltyOf = (length, alpha) => ((5 + length) / 6) ** alpha;

// The finished hypotheses of one sentence, the best first.
class Beam {
  constructor(n, size, alpha, maxLen) {
    this.n = n;
    this.size = size;
    this.alpha = alpha;
    this.finished = [];
    this.longestPenalty = lengthPenaltyOf(maxLen + 1, alpha);
  }

  // Enter a hypothesis that ended: its pieces without eos, its log p with it.
  finish(ids, logProbability) {
    const score = logProbability / lengthPenaltyOf(ids.length + 1, this.alpha);
    this.finished.push({ ids, logProbability, score, ended: true });
    this.finished.sort((a, b) => b.score - a.score); // stable: behind its equals
  }

  // Enough have ended, or none alive could win even if all to come were sure.
  isDone(bestLive) {
    if (this.finished.length >= this.size) return true;
    return this.finished[this.n - 1]?.score >= bestLive / this.longestPenalty;
  }
}

// The `count` most probable continuations of all hypotheses, best first; all by one piece,
// if `only` names it.
function continuations(hypotheses, count, only) {
  return hypotheses
    .flatMap(({ logProbability, logP }, parent) => {
      const ids = only === null ? best(logP, count) : [only];
      return ids.map((id) => {
        return { parent, id, logProbability: logProbability + logP[id] };
      });
    })
    .filter(({ logProbability }) => logProbability > -Infinity)
    .sort((a, b) => b.logProbability - a.logProbability)
    .slice(0, count);
}

function checkOptions(n, beamSize, lengthPenalty) {
  if (!(Number.isInteger(beamSize) && beamSize >= 1))
    throw new RangeError(`beamSize=${beamSize} must be at least 1`);
  if (!(lengthPenalty >= 0))
    throw new RangeError(`lengthPenalty=${lengthPenalty} must not be negative`);
  if (!(Number.isInteger(n) && n >= 1 && n <= beamSize))
    throw new RangeError(
      `n=${n} must be at least 1 and at most beamSize=${beamSize}: a wider beam finds more`,
    );
}
