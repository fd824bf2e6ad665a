// The numbers of the figure: a row for each key, the chosen key's own worked out in words.
import { h, put, say } from "../kit/kit.js";
import { format } from "../kit/numbers.js";

export const pair = (v) => `(${v.map((x) => format(x)).join(", ")})`;
const factor = (x) => (x < 0 ? `(${format(x)})` : format(x));

// onSee(j, on, input) hears that a key was ticked or not, onChoose(j) which row to follow.
// -> { node, show(state, result, chosen) }; result as `attend` gives it
export function weightTable(tokens, { onSee, onChoose }) {
  const rows = tokens.map((token, j) => {
    const row = rowOf(token, j);
    row.see.addEventListener("change", () => onSee(j, row.see));
    row.row.addEventListener("click", () => onChoose(j));
    row.see.addEventListener("focus", () => onChoose(j));
    return row;
  });
  const output = h("td", {
    "data-from": 5,
    class: "tfk-output",
    "data-output": "text",
  });
  const caption = h("caption");
  const table = h(
    "table",
    {},
    caption,
    h("thead", {}, headings()),
    h("tbody", {}, ...rows.map((each) => each.row), sumRow(output)),
  );

  function show(s, result, chosen) {
    rows.forEach((row, j) => {
      const hidden = s.visible[j] === false;
      row.see.checked = !hidden;
      row.row.classList.toggle("tfq-off", hidden);
      row.row.classList.toggle("tfq-chosen", j === chosen);
      fill(row, s, result, j);
    });
    say(output, pair(result.output));
    output.dataset.exact = JSON.stringify(result.output);
    say(
      caption,
      `What “${s.tokens[s.selected]}” takes from each word. Untick one to hide it, choose a row to follow it.`,
    );
    table.dataset.step = s.step;
  }
  return { node: h("div", { class: "tfk-scroll" }, table), show };
}

// data-from: the step from which a column shows.
const headings = () =>
  h(
    "tr",
    {},
    h("th", { scope: "col" }, "may see"),
    h("th", { scope: "col", "data-from": 1 }, "q · k"),
    h("th", { scope: "col", "data-from": 2 }, "scaled"),
    h("th", { scope: "col", "data-from": 4 }, "weight"),
    h("th", { scope: "col", "data-from": 5 }, "weight × value"),
  );

function rowOf(token, j) {
  const see = h("input", { type: "checkbox", "data-control": `see-${j}` });
  const bar = h("span", { class: "tfq-bar", "aria-hidden": "true" });
  const score = h("td", { "data-from": 1 });
  const logit = h("td", { "data-from": 2 });
  const weight = h("span", { class: "tfq-number", "data-weight": j });
  const share = h("td", { "data-from": 5 });
  const row = h(
    "tr",
    {},
    h("th", { scope: "row" }, h("label", {}, see, h("span", {}, token))),
    score,
    logit,
    h(
      "td",
      { "data-from": 4, class: "tfq-weight" },
      weight,
      h("span", { class: "tfq-track" }, bar),
    ),
    share,
  );
  return { row, see, bar, score, logit, weight, share };
}

const sumRow = (output) =>
  h(
    "tr",
    { class: "tfq-sum" },
    h("th", { scope: "row" }, "sum"),
    h("td"),
    h("td"),
    h(
      "td",
      { "data-from": 4, class: "tfq-weight" },
      h("span", { class: "tfq-number" }, "1.000"),
    ),
    output,
  );

function fill({ score, logit, weight, bar, share }, s, result, j) {
  say(score, format(result.scores[j]));
  say(
    logit,
    format(s.step >= 3 ? result.logits[j] : result.scores[j] / result.divisor),
  );
  say(weight, format(result.weights[j], 3));
  weight.dataset.exact = result.weights[j];
  bar.style.width = `${(100 * result.weights[j]).toFixed(2)}%`;
  say(share, pair(s.values[j].map((v) => v * result.weights[j])));
}

// The weights once more, as bars beside the planes: who gets how much, while one drags.
// -> { node, show(state, result) }
export function weightBars(tokens) {
  const bars = tokens.map((token) => {
    const bar = h("span", { class: "tfq-bar" });
    const number = h("span", { class: "tfq-much" });
    const node = h(
      "div",
      { class: "tfq-share" },
      h("span", {}, token),
      number,
      h("span", { class: "tfq-track" }, bar),
    );
    return { node, bar, number };
  });
  // (The table says the same to those who cannot see it.)
  const node = h(
    "div",
    { class: "tfq-shares", "aria-hidden": "true" },
    h("span", { class: "tfq-shares-name" }, "weights"),
    ...bars.map((each) => each.node),
  );
  function show(s, result) {
    put(node, { "data-none": s.step < 4 });
    bars.forEach((each, j) => {
      each.bar.style.width = `${(100 * result.weights[j]).toFixed(2)}%`;
      say(each.number, format(result.weights[j], 2));
      put(each.node, { "data-hidden": s.visible[j] === false });
    });
  }
  return { node, show };
}

// The sentence under the steps: the chosen key's own numbers, worked out.
export function work(s, result, j) {
  const { tokens, query, keys, values, temperature } = s;
  const name = tokens[j];
  const score = format(result.scores[j]);
  const hidden = result.logits[j] === -Infinity;
  const scaledScore = format(result.scores[j] / result.divisor);
  const total = result.logits.reduce((sum, x) => sum + Math.exp(x), 0);
  const divisor =
    [s.scaled && "√2", temperature !== 1 && format(temperature, 1)]
      .filter(Boolean)
      .join(" × ") || "1";
  return [
    `Compare with “${name}”: ${query.map((x, c) => `${factor(x)} × ${factor(keys[j][c])}`).join(" + ")} = ${score}. ` +
      "The longer the key reaches along the query, the higher the score.",
    `Scale “${name}”: ${score} ÷ (${divisor.replace("√2", `√${query.length}`)}) = ${scaledScore}.` +
      (s.scaled ? "" : " The division by √d is switched off."),
    hidden
      ? `Mask: “${name}” is hidden. Its score becomes −∞, so its weight will be exactly 0.`
      : `Mask: “${name}” may be seen, so its score stays ${scaledScore}. Untick a word to hide it.`,
    hidden
      ? `Softmax: e to the power −∞ is 0, so “${name}” gets nothing and the others share everything.`
      : `Softmax for “${name}”: e to the power ${scaledScore} is ${Math.exp(result.logits[j]).toPrecision(3)}; ` +
        `divided by the sum over all words, ${total.toPrecision(3)}, it is ${format(result.weights[j], 3)}.`,
    `Mix: “${name}” gives ${format(result.weights[j], 3)} × ${pair(values[j])}. ` +
      `All of them add up to the output ${pair(result.output)}, inside the shaded area.`,
  ][s.step - 1];
}
