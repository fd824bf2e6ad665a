// A matrix cut into heads, attended and merged, right or with a slip. All of the maths of
// the figure; the tests hold it to `tformer.attention.MultiHeadAttention`.
import { sum } from "../kit/lists.js";

export const WORDS = ["dog", "it", "tired", "street", "cross"];
export const WIDTHS = [4, 6, 8, 12];
export const STAGES = ["Project", "Cut", "Transpose", "Attend", "Concatenate", "W_O"];
export const MISTAKES = ["there and back", "at the split", "at the merge"];

export const times = (n, make) => Array.from({ length: n }, (_, i) => make(i));
const distinct = (numbers) => [...new Set(numbers)].sort();

// Numbers that look random and are the same everywhere: rounded sines.
const tableOf = (rows, columns, size, [start, down, across, both]) =>
  times(rows, (i) =>
    times(columns, (j) => {
      const sine = Math.sin(start + down * i + across * j + both * i * j);
      return Math.round(10 * size * sine) / 10;
    }),
  );
export const numbersOf = (words, width) =>
  tableOf(words, width, 2, [1.7, 2.3, 1.1, 0.9]);
export const outputMatrix = (width) => tableOf(width, width, 1, [0.7, 2.9, 1.7, 0.6]);

// A number that remembers: its value, its address in x, what share of it comes from each
// head's columns of x, and which words asked for it.
const one = (n, i) => times(n, (j) => (j === i ? 1 : 0));
function traced(x, n) {
  const each = x[0].length / n;
  return x.map((row, t) =>
    row.map((value, c) => ({
      value,
      at: [t, c],
      id: `${t},${c}`,
      wave: t,
      heads: one(n, Math.floor(c / each)),
      askers: one(x.length, t),
    })),
  );
}

// (T, D) -> (H, T, Dh). Wrong: the numbers dealt out in the order of memory.
export function split(rows, n, wrong) {
  const each = rows[0].length / n;
  const piece = (row, i) => row.slice(i * each, (i + 1) * each);
  const flat = rows.flat();
  return times(n, (i) =>
    rows.map((row, t) => (wrong ? piece(flat, i * rows.length + t) : piece(row, i))),
  );
}
// (H, T, Dh) -> (T, D). Wrong: again in the order of memory.
export function merge(heads, wrong) {
  const flat = heads.flat(2);
  const width = flat.length / heads[0].length;
  return heads[0].map((_, t) =>
    wrong ? flat.slice(t * width, (t + 1) * width) : heads.flatMap((head) => head[t]),
  );
}

// Sum of numbers, each times a factor; shares follow the sizes of what is added up.
function mixed(parts, factors, askers) {
  const sizes = parts.map((part, i) =>
    Math.abs(factors[i] * (askers ? 1 : part.value)),
  );
  const total = sum(sizes) || 1;
  const share = (key) =>
    parts[0][key].map((_, k) => sum(parts.map((p, i) => sizes[i] * p[key][k])) / total);
  return {
    value: sum(parts.map((part, i) => factors[i] * part.value)),
    heads: share("heads"),
    askers: askers ?? share("askers"),
  };
}

function softmax(scores) {
  const top = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - top));
  return powers.map((power) => power / sum(powers));
}

// Each head's own attention, with the same rows as queries, keys and values.
export function attend(head) {
  const root = Math.sqrt(head[0].length);
  const dot = (q, k) => sum(q.map((x, j) => x.value * k[j].value));
  const weights = head.map((q) => softmax(head.map((k) => dot(q, k) / root)));
  const column = (j) => head.map((row) => row[j]);
  const output = weights.map((row, r) =>
    head[0].map((_, j) => mixed(column(j), row, head[r][0].askers)),
  );
  return { weights, output };
}

// Which words have numbers in each head.
export const inHeads = (parts) =>
  parts.map((part) => distinct(part.flat().map(({ at }) => at[0])));

// All steps. `reach[t]` are the words that row t of the output depends on.
export function through({
  words,
  width,
  heads: n,
  wrongSplit = false,
  wrongMerge = false,
}) {
  const x = traced(numbersOf(words, width), n);
  const parts = split(x, n, wrongSplit);
  const seen = parts.map(attend);
  const outputs = seen.map(({ output }, i) =>
    output.map((row, r) =>
      row.map((number, j) => ({ ...number, id: `out ${i},${r},${j}`, wave: r })),
    ),
  );
  const merged = merge(outputs, wrongMerge);
  const matrix = outputMatrix(width);
  const column = (o) => matrix.map((row) => row[o]);
  const inHead = inHeads(parts);
  const owners = merge(
    outputs.map((rows, i) => rows.map((row) => row.map(() => i))),
    wrongMerge,
  );
  return {
    x,
    parts,
    weights: seen.map(({ weights }) => weights),
    outputs,
    merged,
    output: merged.map((row) => row.map((_, o) => mixed(row, column(o)))),
    reach: owners.map((row) => distinct(row.flatMap((i) => inHead[i]))),
  };
}
