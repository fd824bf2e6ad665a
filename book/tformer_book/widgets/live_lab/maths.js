// What the lab works out of a search. No page: it runs in Node, too.
import { SLIDERS } from "../engine/decode/settings.js";
import { format } from "../kit/numbers.js";

export const END = "</s>";

// The positions of the best translation of a search, from its steps: at each the chosen
// piece, its probability, and the pieces that the model found likeliest.
export function positionsOf(steps, best) {
  const chosen = [...best.pieces, END];
  return steps.slice(0, chosen.length).map(({ hypotheses, candidates }, t) => {
    const parent = hypotheses.findIndex((each) =>
      each.ids.every((id, i) => id === best.ids[i]),
    );
    const { next, logProbability } = hypotheses[parent];
    const taken = candidates.find(
      (each) => each.parent === parent && each.piece === chosen[t],
    );
    const probability = Math.exp(taken.logProbability - logProbability);
    return { piece: chosen[t], probability, next };
  });
}

// The likeliest translation so far: the pieces of the best candidate of a step.
export function soFar({ hypotheses, candidates }) {
  const best = candidates.find((each) => each.fate !== "dropped") ?? candidates[0];
  return [...hypotheses[best.parent].pieces, best.piece];
}

// Where the model gave the piece that it took the least: there is most to ask.
export function leastSure(positions) {
  const shares = positions.map(({ probability }) => probability);
  return shares.indexOf(Math.min(...shares));
}

// What the model weighed at a position: the likeliest pieces, with the one that it took;
// the pieces before it; what is left for all others; and whether temperature, top k or
// top p made another distribution of it.
export function weighedAt(positions, t) {
  const { piece, probability, next } = positions[t];
  const isAmong = next.some((each) => each.piece === piece);
  const rows = isAmong ? next : [...next, { piece, probability }];
  return {
    rows,
    before: positions.slice(0, t).map((each) => each.piece),
    rest: Math.max(0, 1 - rows.reduce((sum, each) => sum + each.probability, 0)),
    isRedrawn: rows.some(
      ({ drawn, probability: p }) => Math.abs((drawn ?? p) - p) > 5e-4,
    ),
  };
}

const SAID = { top_k: "top", top_p: "top p" }; // where it isn't the slider's name

// One line on how a translation was searched for.
export function described(state) {
  const { search, beam_size, length_penalty } = state;
  if (search === "greedy") return "greedy search";
  if (search === "beam")
    return `beam search, ${beam_size} wide, α ${format(length_penalty, 1)}`;
  const parts = SLIDERS.filter(({ of }) => of === "sample")
    .filter(({ name, everything }) => state[name] !== everything)
    .map(({ name, label, step }) => {
      const value = format(state[name], step < 0.1 ? 2 : step < 1 ? 1 : 0);
      return `${SAID[name] ?? label} ${value}`;
    });
  return `sampling, ${parts.join(", ")}`;
}
