// Boxes of numbers, the value above and its gradient below, in the order of the pass.
import { format } from "../kit/numbers.js";
import { html, nothing } from "../kit/vendor/lit.js";
import { gradientAt, STEPS, valueAt } from "./steps.js";

const LAST = STEPS.length - 1;

// Each box: its name on the screen, what its rows are, and a class for its hue.
const BOXES = {
  x: { title: "x", kind: "" },
  w_query: { title: "W_Q", kind: "query" },
  w_key: { title: "W_K", kind: "key" },
  w_value: { title: "W_V", kind: "value" },
  query: { title: "q of “it”", kind: "query" },
  keys: { title: "k", kind: "key", of: "words" },
  values: { title: "v", kind: "value", of: "words" },
  scores: { title: "scores s", kind: "", across: "words" },
  weights: { title: "weights a", kind: "", across: "words" },
  output: { title: "output o", kind: "output" },
  table: { title: "table U", kind: "", across: "answers" },
  logits: { title: "logits z", kind: "", across: "answers" },
  p: { title: "p", kind: "", across: "answers" },
};
BOXES.x.of = "words";
const GROUPS = [
  ["x", "w_query", "w_key", "w_value"],
  ["query", "keys", "values"],
  ["scores", "weights", "output"],
  ["table", "logits", "p"],
];

// "s_j" with its index below the line.
const written = (text) =>
  text.split(/_(\w)/).map((part, i) => (i % 2 ? html`<sub>${part}</sub>` : part));

const rowsOf = (value) => (Array.isArray(value[0]) ? value : [value]);

// A table of numbers; before its time only its shape. old: numbers to compare with.
/** @param {number[][]} rows @param {Record<string, any>} options */
function numbers(rows, { look, isThere, label, rowNames, columnNames, old }) {
  const cell = (x, i, j) => {
    const changed = old && Math.abs(old[i][j] - x) > 0.005;
    return html`<td data-exact=${isThere ? x : nothing} class=${changed ? "tfog-moved" : ""}>${isThere ? format(x, 2) : " "}</td>`;
  };
  const head = columnNames
    ? html`<thead><tr>${rowNames ? html`<td></td>` : ""}${columnNames.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>`
    : "";
  return html`<table class="tfog-numbers ${look}" aria-label=${label}>${head}<tbody>${rows.map(
    (row, i) =>
      html`<tr>${rowNames ? html`<th scope="row">${rowNames[i]}</th>` : ""}${row.map((x, j) => cell(x, i, j))}</tr>`,
  )}</tbody></table>`;
}

function box(name, state, all) {
  const { title, kind, of, across } = BOXES[name];
  const { step } = state;
  const isMoved = step === LAST;
  const before = rowsOf(state[name] ?? all.found[name]);
  const new_ = name === "x" ? before : rowsOf(all.matrices[name] ?? all.after[name]);
  const gradient = all.gradients[name];
  const names = { rowNames: of && state[of], columnNames: across && state[across] };
  const isNow = [valueAt(name), gradientAt(name)].includes(step);
  const isThere = step >= valueAt(name);
  return html`<div class="tfog-box ${kind && `tfog-${kind}`}" data-box=${name} data-now=${isNow ? "" : nothing}>
    <p class="tfog-name">${written(title)}</p>
    ${numbers(isMoved ? new_ : before, {
      ...names,
      look: "",
      isThere,
      label: title.replace("_", " "),
      old: isMoved && before,
    })}
    ${
      gradient
        ? numbers(rowsOf(gradient), {
            look: "tfog-gradient",
            isThere: step >= gradientAt(name),
            label: `gradient of ${title.replace("_", " ")}`,
            rowNames: names.rowNames,
          })
        : ""
    }
  </div>`;
}

// Bars with their numbers; none before there are any.
function shares(label, look, names, before, after, { isThere, isMoved }) {
  const line = (name, i) => {
    const [old, now] = [before[i], isMoved ? after[i] : before[i]];
    const text = isMoved ? `${format(old, 2)} → ${format(now, 2)}` : format(old, 2);
    const share = `--share: ${(isThere ? 100 * now : 0).toFixed(1)}%`;
    return html`<li><span>${name}</span><span class="tfog-bar" style=${share}></span><span>${isThere ? text : "–"}</span></li>`;
  };
  return html`<ul class="tfog-shares ${look}" aria-label=${label}>${names.map(line)}</ul>`;
}

export function page(state, all, { walk, controls, live }) {
  const { step, words, answers, target } = state;
  const { found, after } = all;
  const isMoved = step === LAST;
  const { title, rule, worked } = STEPS[step];
  const at = (name) => ({ isThere: step >= valueAt(name), isMoved });
  const loss = isMoved
    ? `${format(found.loss, 3)} → ${format(after.loss, 3)}`
    : step >= valueAt("loss")
      ? format(found.loss, 3)
      : "?";
  return html`
    <div class="tfog-controls">${controls.target.set}${controls.rate.box}</div>
    <div class="tfog-steps">${walk.nodes}</div>
    <div class="tfog-said"><p class="tfog-title">${step + 1}. ${title}</p>
      <p class="tfog-rule">${written(rule)}</p>
      <p class="tfog-worked" data-worked>${written(worked(state, all, target))}</p></div>
    <div class="tfog-pass">${GROUPS.map(
      (names) =>
        html`<div class="tfog-group">${names.map((name) => box(name, state, all))}</div>`,
    )}</div>
    <div class="tfog-ends">
      <p class="tfog-loss" data-loss>loss of “${answers[target]}”: <b>${loss}</b></p>
      ${shares("weights: where “it” looks", "", words, found.weights, after.weights, at("weights"))}
      ${shares("p of each answer", "tfog-answers", answers, found.p, after.p, at("p"))}
    </div>
    ${live.node}`;
}
