// Attention of one query, as maths; it runs in Node, and the tests hold it to
// `tformer.attention`.

export const dot = (a, b) => a.reduce((total, x, i) => total + x * b[i], 0);

// softmax(q K^T / (sqrt(d) * temperature)) V for a single query.
// visible[j] === false hides key j: its score becomes -Infinity, its weight exactly 0.
export function attend(state) {
  const { query, keys, values, visible, scaled = true, temperature = 1 } = state;
  const divisor = (scaled ? Math.sqrt(query.length) : 1) * temperature;
  const scores = keys.map((key) => dot(query, key));
  const logits = scores.map((s, j) =>
    visible?.[j] === false ? -Infinity : s / divisor,
  );
  const top = Math.max(...logits);
  const exps = logits.map((s) => Math.exp(s - top));
  const total = exps.reduce((a, b) => a + b, 0);
  const weights = exps.map((e) => e / total);
  const column = (c) => values.map((v) => v[c]);
  const output = values[0].map((_, c) => dot(weights, column(c)));
  return { scores, divisor, logits, weights, output };
}

// The corners of the smallest convex polygon around the points (monotone chain).
export function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (o, a, b) =>
    (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const half = (list) => {
    const chain = [];
    for (const p of list) {
      while (chain.length > 1 && turn(chain.at(-2), chain.at(-1), p) <= 0) chain.pop();
      chain.push(p);
    }
    return chain.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}

// Coordinates lie between -LIMIT and LIMIT, at multiples of STEP.
export const LIMIT = 3;
export const STEP = 0.05;
export const snap = (x) => {
  const inside = Math.min(LIMIT, Math.max(-LIMIT, x));
  return Math.round(Math.round(inside / STEP) * STEP * 100) / 100;
};

// Vectors from a link, or null unless there are as many as wanted.
export function vectorsOf(text, wanted) {
  const rows = text.split(";").map((row) => row.split(",").map(Number));
  const isVector = (row) => row.length === 2 && row.every(Number.isFinite);
  if (rows.length !== wanted || !rows.every(isVector)) return null;
  return rows.map((row) => row.map(snap));
}
