// What heads are worth to a translation, in numbers and in words; no page: it runs in Node,
// too.

const FAINTEST = 0.01; // nats a piece: smaller falls do not stretch the scale

// What a sweep found, { whole, pieces, heads }, as nats that log p falls for each piece:
// by site, layer and head; undefined where it has not been yet.
export function falls({ whole, pieces, heads }) {
  const found = {};
  for (const { site, layer, head, logProbability } of heads) {
    found[site] ??= [];
    found[site][layer] ??= [];
    found[site][layer][head] = (whole - logProbability) / pieces;
  }
  return found;
}

// The largest fall, by which the others are coloured.
export const largestFall = (found) =>
  Math.max(FAINTEST, ...Object.values(found).flat(2));

// How the probability of a translation changed, in words; log p before and after.
export function lessProbable(before, after) {
  const times = Math.exp(Math.abs(after - before));
  if (times < 1.05) return "about as probable as before";
  const shown =
    times >= 10000
      ? `10^${Math.floor(Math.log10(times))}`
      : times >= 10
        ? times.toFixed(0)
        : times.toFixed(1);
  return `${shown} times ${after < before ? "less" : "more"} probable than before`;
}

export const gainsOf = (heads) =>
  heads.map(([site, layer, head]) => ({ site, layer, head, gain: 0 }));

// "encoder layer 0: 3; cross layer 1: all"
export function listed(heads, nHeads) {
  const groups = new Map();
  for (const [site, layer, head] of [...heads].sort()) {
    const name = `${site} layer ${layer}`;
    groups.set(name, [...(groups.get(name) ?? []), head]);
  }
  return [...groups]
    .map(
      ([name, numbers]) =>
        `${name}: ${numbers.length < nHeads ? numbers.join(", ") : "all"}`,
    )
    .join("; ");
}
