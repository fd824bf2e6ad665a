// What stands on a side of the figure at a step, and what there is to see in it.
import { listed } from "../kit/lists.js";
import { format, percent } from "../kit/numbers.js";
import { inHeads, times, WORDS } from "./maths.js";

// Blocks of numbers (or weights) with their names.
export function blocksOf(stage, made, { words, heads: n, wrongSplit }) {
  const names = WORDS.slice(0, words);
  const count = (k, before = "") => times(k, (i) => `${before}${i}`);
  const rows = wrongSplit ? count(words, "row ") : names;
  const [rowAxis, others] = wrongSplit ? ["row", count(words)] : ["word", names];
  const numbers = (caption, cells, rows, rowAxis) => {
    const columns = count(cells[0].length);
    return { kind: "numbers", caption, rows, columns, cells, rowAxis };
  };
  const weights = (cells, i) => {
    const caption = `head ${i}: weights`;
    return { kind: "weights", caption, rows, columns: others, cells, rowAxis: "query" };
  };
  const whole = (cells) => [numbers("", cells, names, "word")];
  if (stage === 1) return whole(made.x);
  if (stage === 2 && !wrongSplit)
    return names.map((name, t) => {
      const cells = made.parts.map((part) => part[t]);
      return numbers(name, cells, count(n, "head "), "head");
    });
  if (stage <= 3)
    return made.parts.map((cells, i) => numbers(`head ${i}`, cells, rows, rowAxis));
  if (stage >= 5) return whole(stage === 5 ? made.merged : made.output);
  return made.weights.flatMap((cells, i) => [
    weights(cells, i),
    numbers("output", made.outputs[i], rows, rowAxis),
  ]);
}

export function codeOf(stage, { words, width, heads: n, wrongSplit, wrongMerge }) {
  const each = width / n;
  return [
    `x = x @ W → (T, D) = (${words}, ${width})`,
    wrongSplit
      ? `x.view(${n}, ${words}, ${each}) → (H, T, Dh)`
      : `x.view(${words}, ${n}, ${each}) → (T, H, Dh)`,
    wrongSplit
      ? `the shape is (H, T, Dh) already`
      : `.transpose(0, 1) → (H, T, Dh) = (${n}, ${words}, ${each})`,
    `attention(x, x, x) → (H, T, Dh) = (${n}, ${words}, ${each})`,
    `${wrongMerge ? "" : ".transpose(0, 1)"}.reshape(${words}, ${width}) → (T, D)`,
    `x @ W_O → (T, D) = (${words}, ${width})`,
  ][stage - 1];
}

const named = (indices) => listed(indices.map((i) => WORDS[i]));

// Heads before they attend.
function tellOfHeads(made, { words, heads: n, wrongSplit }) {
  const inHead = inHeads(made.parts);
  if (!wrongSplit && inHead.every((each) => each.length === words))
    return "Every head has one row for each word, and one colour: its own numbers.";
  if (n === 1) return "One head: nothing to mix up. The mistake does not show.";
  const owners = inHead.map(
    (each, i) => `Head ${i} has numbers of ${named(each)} only.`,
  );
  return [...owners, "Words are cut into rows, and colours are mixed."].join(" ");
}

function tellOfWeights(made, { words, heads: n, wrongSplit }) {
  if (n === 1) return "One head, one table of weights.";
  if (!wrongSplit && inHeads(made.parts).every((each) => each.length === words))
    return "Each head shares out its own budget: rows of words by columns of words.";
  return "The tables look healthy, rows sum to 1. But rows and columns are pieces of words, and each output mixes numbers of different heads.";
}

// Heads side by side again, and after W_O.
function tellOfRows(stage, made, { words, heads: n }) {
  const strange = made.merged.some((row, t) => row.some(({ askers }) => askers[t] < 1));
  const lost = made.reach.flatMap((each, t) =>
    each.length < words ? [`${WORDS[t]} hears only ${named(each)}`] : [],
  );
  if (!strange && !lost.length) {
    if (stage === 5)
      return "Each row has its word’s outputs of all heads, side by side.";
    if (n === 1) return "W_O mixes the numbers.";
    return "W_O mixes: every number has something of every head.";
  }
  const blind = lost.length ? ` ${lost.join("; ")}.` : "";
  if (stage === 5)
    return strange
      ? `Rows hold what other words asked for.${blind}`
      : `Each row has its own word’s outputs.${blind}`;
  return strange
    ? `W_O cannot repair it: what other words asked for stands in the row.${blind}`
    : `W_O cannot repair it: what was not heard is not there.${blind}`;
}

// What to see on a side at a stage, in words.
export function tell(stage, made, options) {
  if (stage === 1)
    return "A row for each word. The colours say which head each number was made for.";
  if (stage === 2 && !options.wrongSplit)
    return "Every row is cut in place. Nothing has moved; the heads stand behind the words.";
  if (stage <= 3) return tellOfHeads(made, options);
  if (stage === 4) return tellOfWeights(made, options);
  return tellOfRows(stage, made, options);
}

// Where a number of a block comes from.
export function tellOfCell({ kind, caption, rows, columns, cells }, i, j) {
  const x = cells[i][j];
  if (kind === "weights")
    return `${caption.replace(": weights", "")}: ${rows[i]} takes ${format(x)} from ${rows[j]}.`;
  const block = caption && caption !== "output" ? `${caption}, ` : "";
  const place = `${block}${rows[i]}, number ${columns[j]}`;
  if (x.at)
    return `${place}: it is ${format(x.value, 1)}, number ${x.at[1]} of “${WORDS[x.at[0]]}”, made for head ${x.heads.indexOf(1)}.`;
  const sources = counting(x.heads).map(
    (k) => `${percent(x.heads[k], 0)} from numbers of head ${k}`,
  );
  const askers = counting(x.askers).map((k) => `“${WORDS[k]}”`);
  return `${place}: ${format(x.value)}, ${listed(sources)}, asked for by ${listed(askers)}.`;
}

// The places of shares that are more than a rounding error.
export const counting = (shares) =>
  shares.flatMap((share, k) => (share > 0.0005 ? [k] : []));
