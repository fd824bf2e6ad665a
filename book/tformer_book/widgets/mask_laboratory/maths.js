// Masks at work: scores, masked scores, weights, outputs, in float32 or float16. All of the
// maths of the figure; the tests hold it to PyTorch and `tformer.attention`.

// The nearest float16, ties to even, as PyTorch rounds; too large becomes infinite.
export function half(number) {
  const x = Math.fround(number);
  if (!Number.isFinite(x) || x === 0) return x;
  const size = Math.abs(x);
  let power = Math.floor(Math.log2(size));
  if (size >= 2 ** (power + 1)) power++;
  if (size < 2 ** power) power--;
  const step = 2 ** (Math.max(power, -14) - 10); // between neighbours; exact division
  const whole = Math.floor(size / step);
  const rest = size / step - whole;
  const isUp = rest > 0.5 || (rest === 0.5 && whole % 2 === 1);
  const near = (isUp ? whole + 1 : whole) * step;
  return Math.sign(x) * (near > 65504 ? Infinity : near);
}

export const PRECISIONS = { float32: Math.fround, float16: half };
export const FILLS = {
  "−∞": () => -Infinity,
  "−1e9": () => -1e9,
  "−1e4": () => -1e4,
  "dtype’s minimum": (precision) =>
    precision === "float16" ? -65504 : -3.4028234663852886e38,
};

// True = may attend. flips: cells (i * Tk + j) that the reader changed by hand.
export function makeMask(site, { causal, padding, hideQueries = false, flips = [] }) {
  const hand = new Set(flips);
  return site.queries.map((_, i) =>
    site.keys.map((__, j) => {
      const may =
        !(causal && j > i) &&
        !(padding && !site.real_keys[j]) &&
        !(hideQueries && !site.real_queries[i]);
      return hand.has(i * site.keys.length + j) ? !may : may;
    }),
  );
}

// softmax(masked scores) V, row by row, every stored number rounded to the precision.
export function attend({ scores, values, mask, fill = "−∞", precision = "float32" }) {
  const round = PRECISIONS[precision];
  const low = round(FILLS[fill](precision));
  const masked = scores.map((row, i) =>
    row.map((s, j) => (mask[i][j] ? round(s) : low)),
  );
  const weights = masked.map((row) => {
    const top = Math.max(...row);
    const powers = row.map((s) => Math.exp(s - top)); // −∞ − (−∞) is NaN, as in PyTorch
    const total = powers.reduce((a, b) => a + b, 0);
    return powers.map((p) => round(p / total));
  });
  const outputs = weights.map((row) =>
    values[0].map((_, c) =>
      round(row.reduce((sum, w, j) => sum + w * round(values[j][c]), 0)),
    ),
  );
  return { masked, weights, outputs };
}

// The same site with another token at position j: its key, its value and, where queries
// come from the same tokens, its query are new.
export function changed(site, j) {
  if (j < 0) return site;
  const scores = site.scores.map((row, i) =>
    row.map((s, k) => (k === j || (site.self && i === j) ? 1.5 - s : s)),
  );
  return {
    ...site,
    scores,
    values: site.values.map((v, k) => (k === j ? v.map((x) => 1 - x) : v)),
  };
}

// How far each output row moves when token j changes: 0 exactly, where it cannot reach.
export function moved(site, options) {
  const before = attend({ ...site, ...options }).outputs;
  const after = attend({ ...changed(site, options.change), ...options }).outputs;
  return before.map((row, i) =>
    Math.max(...row.map((x, c) => Math.abs(after[i][c] - x))),
  );
}

// How a mask differs from the right one at this place: cells by what they let through or
// hide, and the queries that may attend to nothing.
function mistakes(site, mask) {
  const right = makeMask(site, site);
  const count = { future: 0, padding: 0, hidden: 0 };
  mask.forEach((row, i) =>
    row.forEach((may, j) => {
      if (may && !right[i][j])
        count[site.real_keys[j] && site.causal ? "future" : "padding"]++;
      if (!may && right[i][j]) count.hidden++;
    }),
  );
  return { ...count, empty: site.queries.filter((_, i) => !mask[i].some(Boolean)) };
}

// What is wrong with a mask at this place, in words; empty if nothing is.
export function diagnose(site, { mask, fill, precision }) {
  const { future, padding, hidden, empty } = mistakes(site, mask);
  const cells = (n) => (n === 1 ? "1 cell" : `${n} cells`);
  const isInfinite = PRECISIONS[precision](FILLS[fill](precision)) === -Infinity;
  const nothing = isInfinite
    ? "∞ − ∞ makes the row NaN, loudly."
    : "all scores are equal, so the row is uniform, silently wrong, over hidden keys, too.";
  const isTooLow = precision === "float16" && fill === "−1e9";
  return [
    future &&
      `The future leaks through ${cells(future)}: in training, the answer is on the table.`,
    padding &&
      `Padding is seen through ${cells(padding)}: the output depends on how long the batch is.`,
    hidden && `${cells(hidden)} hide something real.`,
    empty.length &&
      `${empty.map((name) => `“${name}”`).join(", ")} may attend to nothing: ${nothing}`,
    isTooLow &&
      "float16 ends at 65504: PyTorch refuses to fill with −1e9, and an added −1e9 has become −∞.",
  ].filter(Boolean);
}
