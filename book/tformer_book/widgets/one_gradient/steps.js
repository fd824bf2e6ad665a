// What each step computes: which boxes it fills, the rule, and one number worked out.
import { commas, format } from "../kit/numbers.js";

const n = (x) => format(x, 2);
const signed = (x) => (x < 0 ? `(${n(x)})` : n(x));
const sum = (a, b) => a.map((x, i) => `${signed(x)} · ${signed(b[i])}`).join(" + ");

// fills: boxes whose value (or, on the way back, gradient) is new. worked(s, all): a number.
export const STEPS = [
  {
    title: "Three words and four matrices",
    fills: ["x", "w_query", "w_key", "w_value", "table"],
    rule: "“it” will ask, all three words answer, and a German word should follow.",
    worked: ({ answers, target }) => `It should be “${answers[target]}”.`,
  },
  {
    title: "Query, keys, values",
    fills: ["query", "keys", "values"],
    rule: "q = x W_Q of the last word; k = x W_K and v = x W_V of every word",
    worked: ({ x, w_query }, { found }) =>
      `q’s first number: ${sum(
        x.at(-1),
        w_query.map((row) => row[0]),
      )} = ${n(found.query[0])}`,
  },
  {
    title: "Scores",
    fills: ["scores"],
    rule: "s_j = q · k_j / √2",
    worked: ({ words }, { found: { query, keys, scores } }) =>
      `for “${words[0]}”: (${sum(query, keys[0])}) / 1.41 = ${n(scores[0])}`,
  },
  {
    title: "Weights",
    fills: ["weights"],
    rule: "a = softmax(s)",
    worked: (_, { found: { scores, weights } }) =>
      `e^${n(scores[0])} / (${scores.map((s) => `e^${n(s)}`).join(" + ")}) = ${n(weights[0])}`,
  },
  {
    title: "Output",
    fills: ["output"],
    rule: "o = Σ a_j v_j",
    worked: (_, { found: { weights, values, output } }) =>
      `first number: ${sum(
        weights,
        values.map((row) => row[0]),
      )} = ${n(output[0])}`,
  },
  {
    title: "Logits, probabilities, loss",
    fills: ["logits", "p", "loss"],
    rule: "z = o U; p = softmax(z); loss = −ln p of the right word",
    worked: (_, { found: { p, loss } }, target) =>
      `−ln ${format(p[target], 3)} = ${format(loss, 3)}`,
  },
  {
    title: "Back: the logits",
    back: ["logits"],
    rule: "∂loss/∂z = p − (1 for the right word, else 0)",
    worked: ({ answers }, { found: { p }, gradients }, target) =>
      `“${answers[target]}”: ${n(p[target])} − 1 = ${n(gradients.logits[target])}; it should rise, the others fall`,
  },
  {
    title: "Back: the table and the output",
    back: ["table", "output"],
    rule: "∂U = oᵀ ∂z and ∂o = ∂z Uᵀ",
    worked: ({ table }, { gradients }) =>
      `∂o’s first number: ${sum(gradients.logits, table[0])} = ${n(gradients.output[0])}`,
  },
  {
    title: "Back: the weights and the values",
    back: ["weights", "values"],
    rule: "∂a_j = ∂o · v_j and ∂v_j = a_j ∂o",
    worked: ({ words }, { found: { values }, gradients }) =>
      `∂a of “${words[0]}”: ${sum(gradients.output, values[0])} = ${n(gradients.weights[0])}`,
  },
  {
    title: "Back: the scores",
    back: ["scores"],
    rule: "∂s_j = a_j (∂a_j − Σ a_i ∂a_i): only what differs from the mean counts",
    worked: (_, { found: { weights }, gradients }) =>
      `${n(weights[0])} · (${n(gradients.weights[0])} − ${signed(gradients.mean)}) = ${n(gradients.scores[0])}`,
  },
  {
    title: "Back: the query and the keys",
    back: ["query", "keys"],
    rule: "∂q = Σ ∂s_j k_j / √2 and ∂k_j = ∂s_j q / √2",
    worked: (_, { found: { keys }, gradients }) =>
      `∂q’s first number: (${sum(
        gradients.scores,
        keys.map((row) => row[0]),
      )}) / 1.41 = ${n(gradients.query[0])}`,
  },
  {
    title: "Back: the matrices",
    back: ["w_query", "w_key", "w_value"],
    rule: "∂W = xᵀ ∂(x W), summed over the words that it was used for",
    worked: ({ x }, { gradients }) =>
      `∂W_Q, top left: ${n(x.at(-1)[0])} · ${signed(gradients.query[0])} = ${n(gradients.w_query[0][0])}`,
  },
  {
    title: "One step downhill",
    moved: true,
    rule: "W ← W − rate · ∂W, for all four matrices; then forward again",
    worked: ({ rate, w_query }, { gradients, matrices, found, after }) =>
      `W_Q, top left: ${n(w_query[0][0])} − ${commas(rate)} · ${signed(gradients.w_query[0][0])} = ${n(matrices.w_query[0][0])}. The loss: ${format(found.loss, 3)} → ${format(after.loss, 3)}`,
  },
];

// The step at which a box gets its value, and its gradient; Infinity for never.
const stepOf = (list) => (name) => {
  const at = STEPS.findIndex((step) => step[list]?.includes(name));
  return at < 0 ? Number.POSITIVE_INFINITY : at;
};
export const valueAt = stepOf("fills");
export const gradientAt = stepOf("back");
