// Scores to powers to shares, in the 32 bits that models use: softmax to play with.
// `softmax32` is the whole of the maths and runs in Node, too; the tests hold it to torch.
import {
  bind,
  button,
  check,
  figure,
  h,
  liveRegion,
  put,
  say,
  slider,
} from "../kit/kit.js";
import { format } from "../kit/numbers.js";

const f = Math.fround;

// Shares of (scores + added) / temperature. Every step is rounded to 32 bits.
// `subtract` takes the largest away first, which changes no share.
export function softmax32(
  scores,
  { temperature = 1, added = 0, subtract = true } = {},
) {
  const logits = scores.map((s) => f(f(f(s) + f(added)) / f(temperature)));
  const largest = Math.max(...logits);
  const exponents = logits.map((x) => (subtract ? f(x - largest) : x));
  const powers = exponents.map((x) => f(Math.exp(x)));
  const total = powers.reduce((sum, p) => f(sum + p), 0);
  return {
    logits,
    largest,
    exponents,
    powers,
    total,
    shares: powers.map((p) => f(p / total)),
  };
}

const RAISED = {
  "-": "⁻",
  0: "⁰",
  1: "¹",
  2: "²",
  3: "³",
  4: "⁴",
  5: "⁵",
  6: "⁶",
  7: "⁷",
  8: "⁸",
  9: "⁹",
};
// Three digits, and a power of ten where there would be many more.
export function short(x) {
  if (x === 0 || !Number.isFinite(x)) return x === 0 ? "0" : format(x);
  if (Math.abs(x) >= 0.001 && Math.abs(x) < 10000)
    return format(x, Math.abs(x) < 1 ? 3 : Math.abs(x) < 100 ? 2 : 0);
  const [digits, exponent] = x.toExponential(1).split("e");
  return `${digits} × 10${[...String(Number(exponent))].map((c) => RAISED[c]).join("")}`;
}

// What e is raised to, in words: the head of its column.
export function exponent({ temperature, added, subtract }) {
  const sign = added < 0 ? "−" : "+";
  let words = added ? `score ${sign} ${Math.abs(added)}` : "score";
  if (subtract) words = "score − largest"; // what was added to both cancels
  if (temperature === 1) return words;
  const whole = words === "score" ? words : `(${words})`;
  return `${whole} ÷ ${format(temperature, 1)}`;
}

// The sentence under the table.
export function explain(labels, result, { subtract }) {
  const { powers, total, shares, exponents } = result;
  if (powers.includes(Infinity)) {
    const j = powers.indexOf(Infinity);
    return (
      `e to the power ${format(exponents[j], 1)} is more than 32 bits can hold: ∞. ` +
      "∞ ÷ ∞ is NaN, not a number, and everything that is computed from it is NaN, too. Subtract the largest score first."
    );
  }
  if (total === Infinity)
    return "No power overflows, but their sum does: ∞. So every share is 0. Subtract the largest score first.";
  if (total === 0) {
    return "All powers are smaller than 32 bits can hold, so they are 0. 0 ÷ 0 is NaN. Subtract the largest score first: then one power is 1.";
  }
  const order = shares
    .map((share, j) => [share, j])
    .sort((x, y) => y[0] - x[0])
    .map((x) => x[1]);
  const [best, next] = order;
  const head = `“${labels[best]}” gets ${short(powers[best])} ÷ ${short(total)} = ${format(shares[best], 3)}`;
  if (next === undefined) return `${head}.`;
  const gap = exponents[best] - exponents[next];
  const times =
    shares[next] > 0
      ? `, e to the power ${format(gap, 1)} = ${short(Math.exp(gap))} times as much as “${labels[next]}”`
      : "";
  const largest = subtract
    ? " No power is above 1, since the largest score was subtracted."
    : "";
  return `${head}${times}.${largest}`;
}

function render({ model, el }) {
  const root = figure(el, "tfsb", "Softmax: from scores to shares");
  const get = (name) => model.get(name);
  const names = ["labels", "scores", "temperature", "added", "subtract"];
  const live = liveRegion();
  const { commit, stop } = bind(model, names, () => update());
  const start = Object.fromEntries(names.map((name) => [name, get(name)]));

  const temperature = slider(
    "temperature",
    "temperature",
    { min: 0.1, max: 5, step: 0.1, digits: 1 },
    (x) => commit({ temperature: x }),
  );
  const added = slider(
    "added",
    "add to all",
    { min: -120, max: 120, step: 5, digits: 0 },
    (x) => commit({ added: x }),
  );
  const subtract = check(
    "subtract",
    "subtract the largest first",
    get("subtract"),
    (on) => commit({ subtract: on }),
  );
  const reset = button("reset", "Start again", () => commit(start));
  const body = h("tbody");
  const power = h("th", { scope: "col" });
  const table = h(
    "table",
    {},
    h("caption", {}, "Move a score and watch all shares."),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ...["", "score"].map((name) => h("th", { scope: "col" }, name)),
        power,
        h("th", { scope: "col" }, "share"),
      ),
    ),
    body,
  );
  const worked = h("p", { class: "tfsb-worked" });
  root.append(
    h("div", { class: "tfk-scroll" }, table),
    worked,
    h(
      "div",
      { class: "tfsb-controls" },
      temperature.box,
      added.box,
      subtract.box,
      reset,
    ),
    live.node,
  );

  let rows = [];
  let sum = null; // the row below them
  let drawn = "";
  function build(labels) {
    rows = labels.map((label, j) => {
      const score = slider(
        `score-${j}`,
        label,
        { min: -10, max: 10, step: 0.5, digits: 1 },
        (x) => commit({ scores: get("scores").map((old, i) => (i === j ? x : old)) }),
      );
      score.input.setAttribute("aria-label", `score of ${label}`);
      score.text.remove(); // the row's header says it already
      const bar = h("span", { class: "tfsb-bar", "aria-hidden": "true" });
      const share = h("span", { class: "tfsb-number", "data-share": j });
      const e = h("td", { "data-power": j });
      const row = h(
        "tr",
        {},
        h("th", { scope: "row" }, label),
        h("td", { class: "tfsb-score" }, score.box),
        e,
        h(
          "td",
          { class: "tfsb-share" },
          share,
          h("span", { class: "tfsb-track" }, bar),
        ),
      );
      return { row, score, bar, share, e };
    });
    sum = {
      e: h("td", { "data-power": "sum" }),
      share: h("td", { class: "tfsb-share", "data-share": "sum" }),
    };
    body.replaceChildren(
      ...rows.map((r) => r.row),
      h(
        "tr",
        { class: "tfsb-sum" },
        h("th", { scope: "row" }, "sum"),
        h("td"),
        sum.e,
        sum.share,
      ),
    );
    drawn = labels.join("\n");
  }

  function update() {
    const labels = get("labels");
    const scores = get("scores");
    if (labels.length !== scores.length) return; // a kernel sends one after the other
    if (drawn !== labels.join("\n")) build(labels);
    const settings = {
      temperature: get("temperature"),
      added: get("added"),
      subtract: get("subtract"),
    };
    const result = softmax32(scores, settings);
    temperature.show(settings.temperature);
    added.show(settings.added);
    subtract.input.checked = settings.subtract;
    power.replaceChildren("e", h("sup", {}, exponent(settings)));
    rows.forEach((row, j) => {
      const share = result.shares[j];
      row.score.show(scores[j]);
      say(row.e, short(result.powers[j]));
      row.e.dataset.exact = result.powers[j];
      row.e.title = `e to the power ${format(result.exponents[j], 2)}`;
      say(row.share, format(share, 3));
      row.share.dataset.exact = share;
      put(row.share, { class: `tfsb-number ${Number.isNaN(share) ? "tfsb-bad" : ""}` });
      row.e.classList.toggle("tfsb-bad", result.powers[j] === Infinity);
      row.bar.style.width = `${(100 * (share || 0)).toFixed(2)}%`;
    });
    say(sum.e, short(result.total));
    say(
      sum.share,
      format(
        result.shares.reduce((a, b) => a + b, 0),
        3,
      ),
    );
    const bad = !(result.total > 0 && result.total < Infinity);
    worked.classList.toggle("tfsb-bad", bad);
    say(worked, explain(labels, result, settings));
    live.announce(
      bad
        ? "The shares are not usable: overflow."
        : labels.map((label, j) => `${label} ${format(result.shares[j])}`).join(", "),
    );
  }
  update();
  live.stop();
  return () => {
    live.stop();
    stop();
  };
}

export default { render };
