// Sentence pairs packed into batches, and what padding costs them. Runs in Node; the tests
// hold it to `tformer.data`.
import { percent, plural } from "../kit/numbers.js";

export const ORDERS = ["as they come", "sorted by length"];
export const CUTS = ["by pairs", "by tokens"];

// Indices of pairs [source, target]; sorted by target, then source, equal ones as they come.
export function arrange(lengths, order) {
  const rows = [...lengths.keys()];
  if (order !== ORDERS[1]) return rows;
  return rows.sort(
    (a, b) => lengths[a][1] - lengths[b][1] || lengths[a][0] - lengths[b][0] || a - b,
  );
}

export function cutByPairs(rows, size) {
  const batches = [];
  for (let i = 0; i < rows.length; i += size) batches.push(rows.slice(i, i + size));
  return batches;
}

// A batch is closed when the next pair would make B·(S + T) larger than the budget.
export function cutByTokens(rows, lengths, budget) {
  const batches = [];
  let [batch, source, target] = [[], 0, 0];
  for (const row of rows) {
    source = Math.max(source, lengths[row][0]);
    target = Math.max(target, lengths[row][1]);
    if (batch.length && (batch.length + 1) * (source + target) > budget) {
      batches.push(batch);
      batch = [];
      [source, target] = lengths[row];
    }
    batch.push(row);
  }
  if (batch.length) batches.push(batch);
  return batches;
}

/** @param {Record<string, any>} state */
export function pack({ lengths, order, cut, sentences, tokens }) {
  const rows = arrange(lengths, order);
  return measure(
    cut === CUTS[1] ? cutByTokens(rows, lengths, tokens) : cutByPairs(rows, sentences),
    lengths,
  );
}

// Shape, tokens and padding of each batch, and of all.
export function measure(batches, lengths) {
  const each = batches.map((rows) => {
    const source = Math.max(...rows.map((row) => lengths[row][0]));
    const target = Math.max(...rows.map((row) => lengths[row][1]));
    const tokens = rows.length * (source + target);
    const real = rows.reduce((sum, row) => sum + lengths[row][0] + lengths[row][1], 0);
    return { rows, source, target, tokens, padding: tokens - real };
  });
  const sum = (name) => each.reduce((total, batch) => total + batch[name], 0);
  const sizes = each.map((batch) => batch.tokens);
  return {
    batches: each,
    steps: each.length,
    tokens: sum("tokens"),
    padding: sum("padding"),
    waste: sum("padding") / sum("tokens"),
    largest: Math.max(...sizes),
    smallest: Math.min(...sizes),
  };
}

/** @param {Record<string, any>} state @param {any} found */
export function explain({ order, cut, sentences, tokens }, found) {
  const most = cut === CUTS[1] ? `at most ${tokens} tokens` : plural(sentences, "pair");
  return (
    `${order[0].toUpperCase()}${order.slice(1)}, ${most} in a batch: ${plural(found.steps, "step")}. ` +
    `Of ${found.tokens} tokens computed, ${found.padding} are padding: ${percent(found.waste)}. ` +
    (found.steps === 1
      ? `The batch has ${found.largest} tokens.`
      : `The largest batch has ${found.largest} tokens, the smallest ${found.smallest}.`)
  );
}
