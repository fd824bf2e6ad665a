// Forward and backward through one query's attention; no page: it runs in Node, too.
// Vectors are rows: a row times a matrix is a row.
import { dot } from "../kit/lists.js";

const column = (matrix, j) => matrix.map((row) => row[j]);
const times = (row, matrix) => matrix[0].map((_, j) => dot(row, column(matrix, j)));
const transposed = (matrix) => matrix[0].map((_, j) => column(matrix, j));
const outer = (a, b) => a.map((x) => b.map((y) => x * y));
const scaled = (row, by) => row.map((x) => by * x);
const plus = (a, b) => a.map((row, i) => row.map((x, j) => x + b[i][j]));
function softmax(row) {
  const most = Math.max(...row);
  const powers = row.map((x) => Math.exp(x - most));
  const total = powers.reduce((a, b) => a + b);
  return powers.map((x) => x / total);
}

// From x and the four matrices to the loss.
export function forward({ x, w_query, w_key, w_value, table, target }) {
  const query = times(x.at(-1), w_query);
  const keys = x.map((row) => times(row, w_key));
  const values = x.map((row) => times(row, w_value));
  const scores = keys.map((key) => dot(query, key) / Math.sqrt(query.length));
  const weights = softmax(scores);
  const output = times(weights, values);
  const logits = times(output, table);
  const p = softmax(logits);
  const loss = -Math.log(p[target]);
  return { query, keys, values, scores, weights, output, logits, p, loss };
}

// The loss's gradient with respect to everything, by the same names.
export function backward({ x, table, target }, found) {
  const { query, keys, values, weights, output, p } = found;
  const root = Math.sqrt(query.length);
  const logits = p.map((each, i) => each - Number(i === target));
  const toOutput = times(logits, transposed(table));
  const toWeights = values.map((value) => dot(toOutput, value));
  const mean = dot(weights, toWeights);
  const scores = weights.map((weight, j) => weight * (toWeights[j] - mean));
  const toQuery = scaled(times(scores, keys), 1 / root);
  const toKeys = scores.map((each) => scaled(query, each / root));
  const toValues = weights.map((weight) => scaled(toOutput, weight));
  const summed = (rows) => x.map((row, i) => outer(row, rows[i])).reduce(plus);
  return {
    logits,
    output: toOutput,
    weights: toWeights,
    mean,
    scores,
    query: toQuery,
    keys: toKeys,
    values: toValues,
    table: outer(output, logits),
    w_query: outer(x.at(-1), toQuery),
    w_key: summed(toKeys),
    w_value: summed(toValues),
  };
}

export const MATRICES = ["w_query", "w_key", "w_value", "table"];

// The matrices after one step downhill.
export function updated(state, gradients) {
  const moved = (name) =>
    state[name].map((row, i) =>
      row.map((each, j) => each - state.rate * gradients[name][i][j]),
    );
  return Object.fromEntries(MATRICES.map((name) => [name, moved(name)]));
}

// All that the figure shows: forward, backward, and forward again with new matrices.
export function whole(state) {
  const found = forward(state);
  const gradients = backward(state, found);
  const matrices = updated(state, gradients);
  const after = forward({ ...state, ...matrices });
  return { found, gradients, matrices, after };
}
