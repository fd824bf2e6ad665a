// The product of two small matrices, and what there is to say about one entry of it. Runs
// in Node; the tests hold it to torch.
import { format } from "../kit/numbers.js";

// A (M, K) times B (K, N). Where the inner lengths differ, `product` is null.
export function multiply(a, b) {
  const [m, k, k2, n] = [a.length, a[0].length, b.length, b[0].length];
  const terms = (i, j) => a[i].slice(0, k2).map((x, c) => [x, b[c][j], x * b[c][j]]);
  const entry = (i, j) => terms(i, j).reduce((sum, [, , xy]) => sum + xy, 0);
  const product = k === k2 ? a.map((_, i) => b[0].map((__, j) => entry(i, j))) : null;
  return { m, k, k2, n, product, terms };
}
export const transpose = (rows) => rows[0].map((_, j) => rows.map((row) => row[j]));

// The same matrix with other lengths: what is new is filled with small numbers.
export function resized(rows, height, width) {
  const fresh = (i, j) => [1, 0, 2][(i + 2 * j) % 3];
  return Array.from({ length: height }, (_, i) =>
    Array.from({ length: width }, (_, j) => rows[i]?.[j] ?? fresh(i, j)),
  );
}

export const short = (x) => format(x, Number.isInteger(x) ? 0 : 2);
const factor = (x) => (x < 0 ? `(${short(x)})` : short(x));
const ordinal = (i) => ["first", "second", "third", "fourth"][i];

// What the line under the matrices says about entry (i, j).
export function explain(a, b, i, j) {
  const { k, k2, product, terms } = multiply(a, b);
  if (!product) {
    const [longer, what] =
      k > k2 ? ["row of A", "column of B"] : ["column of B", "row of A"];
    return (
      `No product. A row of A has length ${k}, a column of B has length ${k2}. ` +
      `The ${ordinal(Math.min(k, k2))} number of the ${longer} has no partner in the ${what}.`
    );
  }
  const all = terms(i, j);
  const written = all.map(([x, y]) => `${factor(x)} × ${factor(y)}`).join(" + ");
  const worked = all.length > 1 ? ` = ${all.map((t) => factor(t[2])).join(" + ")}` : "";
  return `Row ${i + 1} of A along column ${j + 1} of B: ${written}${worked} = ${short(product[i][j])}.`;
}

// The pairs of row i and column j; a number without a partner gets null.
export function pairs(a, b, i, j) {
  const longest = Math.max(a[0].length, b.length);
  const pair = (_, c) => [a[i][c] ?? null, b[c]?.[j] ?? null];
  return Array.from({ length: longest }, pair);
}
