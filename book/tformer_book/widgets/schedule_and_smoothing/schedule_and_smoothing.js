// Two curves of a training run to drag: the learning rate, and the target of the loss.
// `rateOf`, `targetOf`, `predictionOf` and `lossesOf` are all of the maths and run in Node,
// too; the tests hold them to `tformer.schedule` and `tformer.loss`.
import { arrowKeys } from "../kit/arrows.js";
import {
  bind,
  button,
  check,
  choice,
  draggable,
  figure,
  h,
  kept,
  liveRegion,
  put,
  radios,
  say,
  slider,
  textTable,
} from "../kit/kit.js";
import { commas, format, percent } from "../kit/numbers.js";

// --- the learning rate --------------------------------------------------------------

// Both arms of equation 3, without width and factor: the line climbs, the root falls.
export const armsOf = (step, warmup) => ({
  root: step ** -0.5,
  line: step * warmup ** -1.5,
});
export function rateOf(step, { width, warmup, factor }) {
  const { root, line } = armsOf(step, warmup);
  return factor * width ** -0.5 * Math.min(root, line);
}
export const peakOf = ({ width, warmup, factor }) => factor * (width * warmup) ** -0.5;

/** @type {[string, { width: number, warmup: number, factor: number, total: number }][]} */
export const SCHEDULES = [
  ["paper, base", { width: 512, warmup: 4000, factor: 1, total: 100000 }],
  ["paper, big", { width: 1024, warmup: 4000, factor: 1, total: 300000 }],
  ["ours, in this chapter", { width: 128, warmup: 600, factor: 1, total: 1600 }],
];
const PAPER = SCHEDULES[0][1];

// What the sliders can say: round numbers, close enough together to drag the peak.
const ROUND = [
  1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.2, 2.4, 2.6, 2.8, 3, 3.3, 3.6, 4, 4.4, 4.8,
  5, 5.5, 6, 6.5, 7, 8, 9,
];
const decades = (from, to) => {
  const all = [];
  for (let k = from; k < to; k++)
    all.push(...ROUND.map((x) => Number((x * 10 ** k).toPrecision(3))));
  return [...all, Number((10 ** to).toPrecision(3))];
};
export const WIDTHS = [16, 32, 64, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096];
export const WARMUPS = decades(1, 5).filter((x) => x <= 40000);
export const FACTORS = decades(-2, 2);
export const TOTALS = decades(2, 6).filter((x) => x <= 500000);
export const VOCABULARIES = [
  5, 6, 8, 10, 20, 50, 100, 200, 500, 1000, 2000, 4000, 6000, 8000, 16000, 37000, 50000,
];

// The place in a list whose value is nearest, by ratio.
export const nearest = (list, x) =>
  list.reduce(
    (best, each, i) =>
      Math.abs(Math.log(each / x)) < Math.abs(Math.log(list[best] / x)) ? i : best,
    0,
  );

// Where a step stands on the axis, 0 to 1, and back.
export const shareOf = (step, total, log) =>
  log ? Math.log(step) / Math.log(total) : (step - 1) / (total - 1);
export const stepAt = (share, total, log) =>
  Math.min(
    total,
    Math.max(1, Math.round(log ? total ** share : 1 + share * (total - 1))),
  );

// The end of an axis: 1, 2 or 5 times a power of ten.
export function roundUp(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return (
    (Number((x / power).toPrecision(9)) <= 1
      ? 1
      : x / power <= 2
        ? 2
        : x / power <= 5
          ? 5
          : 10) * power
  );
}

// --- the target ---------------------------------------------------------------------

export const NAMED = ["Hund", "Katze", "Straße", "müde", "."];
export const SPREADS = ["over all V", "over the V − 1 others"];

// What the right piece gets, and each other one.
export function targetOf(epsilon, size, spread) {
  if (spread === SPREADS[1]) return { right: 1 - epsilon, other: epsilon / (size - 1) };
  return { right: 1 - epsilon + epsilon / size, other: epsilon / size };
}

// Logits: five pieces by name, and one that all the others share. For each of the six
// groups: log p of one piece, how many there are, and the probability of all of them.
export function predictionOf(logits, size) {
  const counts = [1, 1, 1, 1, 1, size - NAMED.length];
  const largest = Math.max(...logits.filter((_, i) => counts[i]));
  const total = logits.reduce(
    (sum, z, i) => sum + (counts[i] && counts[i] * Math.exp(z - largest)),
    0,
  );
  return logits.map((z, i) => {
    const logP = z - largest - Math.log(total);
    return { logP, count: counts[i], mass: counts[i] * Math.exp(logP) };
  });
}

// Cross-entropy, entropy of the target, and KL, each summed by itself, in nats.
export function lossesOf(target, prediction) {
  const sum = (term) =>
    prediction.reduce((total, { logP, count }, i) => {
      const q = i ? target.other : target.right;
      return q > 0 && count ? total + count * term(q, logP) : total;
    }, 0);
  return {
    cross: sum((q, logP) => -q * logP),
    entropy: sum((q) => -q * Math.log(q)),
    divergence: sum((q, logP) => q * (Math.log(q) - logP)),
    hard: -prediction[0].logP,
  };
}

// The logits that give group i the probability x; the others keep their proportions.
export function withMass(logits, size, i, x) {
  const { mass } = predictionOf(logits, size)[i];
  const odds = (p) => Math.log(p) - Math.log1p(-p);
  return logits.map((z, j) =>
    j === i ? z + odds(x) - odds(Math.min(Math.max(mass, 1e-12), 1 - 1e-12)) : z,
  );
}

const LEAST = -20; // a logit for "never", which must be a number
export const matching = ({ right, other }) =>
  [right, other, other, other, other, other].map((q) =>
    q > 0 ? Math.max(LEAST, Math.log(q)) : LEAST,
  );
export const BY_HAND = [2, 1, 0, -1, 0.5, -8];

/** @type {[string, { epsilon: number, size: number }][]} */
export const TARGETS = [
  ["by hand", { epsilon: 0.1, size: 5 }],
  ["paper", { epsilon: 0.1, size: 37000 }],
  ["ours, in this chapter", { epsilon: 0.1, size: 4000 }],
];

// --- numbers on the page ------------------------------------------------------------

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
const raised = (n) => [...String(n)].map((c) => RAISED[c]).join("");
// Three digits that count, with a power of ten where zeros would hide them.
export function scientific(x) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  const sign = x < 0 ? "−" : "";
  if (size >= 0.0095 && size < 10000)
    return (
      sign +
      (size >= 100 ? commas(Math.round(size)) : Number(size.toPrecision(3)).toString())
    );
  const [digits, exponent] = size.toExponential(2).split("e");
  return `${sign}${digits} × 10${raised(Number(exponent))}`;
}

// --- the drawings -------------------------------------------------------------------

const BOX = { width: 640, height: 320, left: 56, right: 14, top: 28, bottom: 46 };
const INNER = {
  x: BOX.width - BOX.left - BOX.right,
  y: BOX.height - BOX.top - BOX.bottom,
};
const N_POINTS = 160;

// Steps to draw the curve through: even on the axis, and the corner itself.
function stepsFor({ warmup, total }, log) {
  const steps = new Set([1, total, Math.min(warmup, total)]);
  for (let i = 1; i < N_POINTS; i++) steps.add(stepAt(i / N_POINTS, total, log));
  return [...steps].sort((a, b) => a - b);
}

function schedulePart(get, commit, live) {
  const read = () => ({
    width: get("d_model"),
    warmup: get("warmup_steps"),
    factor: get("scale"),
    total: get("total_steps"),
  });
  const write = ({ width, warmup, factor, total }) => ({
    d_model: width,
    warmup_steps: warmup,
    scale: factor,
    total_steps: total,
    step: Math.min(get("step"), total),
  });
  const presets = radios(
    "schedule",
    "Schedule:",
    SCHEDULES.map(([name]) => name),
    -1,
    (i) => {
      const s = SCHEDULES[i][1];
      commit({ ...write(s), step: s.warmup });
    },
  );
  const list = (name, label, values, key, text) =>
    slider(
      name,
      label,
      { min: 0, max: values.length - 1, step: 1, text: () => text(read()[key]) },
      (i) => {
        commit(write({ ...read(), [key]: values[i] }));
      },
    );
  const width = list("d_model", "d_model", WIDTHS, "width", commas);
  const warmup = list("warmup", "warm-up", WARMUPS, "warmup", commas);
  const factor = list("factor", "factor", FACTORS, "factor", (x) => String(x));
  const total = list("total", "steps in all", TOTALS, "total", commas);
  const at = slider(
    "step",
    "look at step",
    { min: 0, max: 400, step: 1, text: () => commas(get("step")) },
    (u) => look(u / 400),
  );
  const log = check("log-steps", "logarithmic steps", get("log_steps"), (on) =>
    commit({ log_steps: on }),
  );
  const toPeak = button("to-peak", "Go to the peak", () =>
    commit({ step: Math.min(get("warmup_steps"), get("total_steps")) }),
  );

  // A step on the axis; the peak catches what comes near.
  function look(share) {
    const s = read();
    const found = stepAt(Math.min(1, Math.max(0, share)), s.total, get("log_steps"));
    const near =
      Math.abs(
        shareOf(found, s.total, get("log_steps")) -
          shareOf(Math.min(s.warmup, s.total), s.total, get("log_steps")),
      ) < 0.0013;
    commit({ step: near ? Math.min(s.warmup, s.total) : found });
  }

  const grid = h("g", { class: "tfss-grid" });
  const ghost = h("path", { class: "tfss-ghost" });
  const curve = h("path", { class: "tfss-curve" });
  const now = h("line", {
    class: "tfss-now",
    y1: BOX.top,
    y2: BOX.height - BOX.bottom,
  });
  const dot = h("circle", { r: 5, class: "tfss-dot" });
  const ground = h("rect", {
    x: BOX.left,
    y: BOX.top,
    width: INNER.x,
    height: INNER.y,
    class: "tfss-ground",
    "data-handle": "axis",
  });
  const peak = h(
    "g",
    { class: "tfss-peak", "data-handle": "peak" },
    h("circle", { r: 20, class: "tfss-reach" }),
    h("circle", { r: 9, class: "tfss-knob" }),
  );
  const unit = h("text", { x: 4, y: 15, class: "tfss-small" });
  const foot = h(
    "text",
    {
      x: BOX.width - BOX.right,
      y: BOX.height - 3,
      class: "tfss-small",
      "text-anchor": "end",
    },
    "step →",
  );
  const svg = h(
    "svg",
    { viewBox: `0 0 ${BOX.width} ${BOX.height}`, class: "tfss-chart", role: "img" },
    grid,
    ground,
    ghost,
    curve,
    now,
    dot,
    peak,
    unit,
    foot,
  );

  let top = 0; // of the rate's axis; it stays while the peak is dragged
  let dragging = false;
  const toShare = (x) => (x * BOX.width - BOX.left) / INNER.x;
  draggable(ground, (x) => look(toShare(x)));
  ground.addEventListener("pointerdown", (event) => {
    const box = svg.getBoundingClientRect();
    look(toShare((event.clientX - box.left) / box.width));
  });
  draggable(
    peak,
    (x, y) => {
      const s = read();
      const step = stepAt(
        Math.min(1, Math.max(0, toShare(x))),
        s.total,
        get("log_steps"),
      );
      const height =
        Math.min(
          1.02,
          Math.max(0.01, (BOX.height - BOX.bottom - y * BOX.height) / INNER.y),
        ) * top;
      const next = {
        ...s,
        warmup: WARMUPS[nearest(WARMUPS, Math.max(step, WARMUPS[0]))],
      };
      next.factor = FACTORS[nearest(FACTORS, height / peakOf({ ...next, factor: 1 }))];
      commit({ ...write(next), step: Math.min(next.warmup, next.total) });
    },
    { holdsPage: true },
  );
  peak.addEventListener("pointerdown", () => {
    dragging = true;
  });
  const released = () => {
    dragging = false;
    update();
  };
  for (const name of ["pointerup", "pointercancel"])
    peak.addEventListener(name, released);

  const worked = h("p", { class: "tfss-worked" });
  const facts = h("dl", { class: "tfss-facts" });
  const fact = (name) => {
    const value = h("dd", { "data-fact": name });
    const label = h("dt");
    facts.append(h("div", {}, label, value));
    return { label, value };
  };
  const cells = {
    rate: fact("rate"),
    peak: fact("peak"),
    last: fact("last"),
    share: fact("share"),
  };
  const legend = h(
    "p",
    { class: "tfss-legend", "aria-hidden": "true" },
    h("span", { class: "tfss-key tfss-own" }, "your schedule"),
    h("span", { class: "tfss-key tfss-theirs" }, "the paper’s base model"),
    h("span", {}, "drag the peak ●; click anywhere to look at a step"),
  );
  const behind = textTable("The curve as a table", "step");
  const node = h(
    "div",
    { class: "tfss-part" },
    presets.set,
    h(
      "div",
      { class: "tfss-sliders" },
      width.box,
      warmup.box,
      factor.box,
      total.box,
      at.box,
      h("div", { class: "tfss-row" }, log.box, toPeak),
    ),
    legend,
    svg,
    worked,
    facts,
    behind.node,
  );

  function update(speak = true) {
    const s = read();
    const isLog = get("log_steps");
    const step = get("step");
    const corner = Math.min(s.warmup, s.total);
    const largest = rateOf(corner, s);
    const paperLargest = rateOf(Math.min(PAPER.warmup, s.total), PAPER);
    if (!dragging || !top) top = roundUp(1.05 * Math.max(largest, paperLargest));
    const X = (n) => BOX.left + INNER.x * shareOf(n, s.total, isLog);
    const Y = (r) => BOX.height - BOX.bottom - INNER.y * Math.min(1.04, r / top);
    const path = (of) =>
      stepsFor({ ...s, warmup: of.warmup }, isLog)
        .map(
          (n, i) => `${i ? "L" : "M"}${X(n).toFixed(1)},${Y(rateOf(n, of)).toFixed(1)}`,
        )
        .join("");
    put(curve, { d: path(s) });
    put(ghost, { d: path(PAPER) });
    put(now, { x1: X(step), x2: X(step) });
    put(dot, { cx: X(step).toFixed(1), cy: Y(rateOf(step, s)).toFixed(1) });
    put(peak, {
      transform: `translate(${X(corner).toFixed(1)} ${Y(largest).toFixed(1)})`,
    });
    const power = Math.floor(Math.log10(top));
    const marks = [];
    for (let i = 0; i <= 4; i++) {
      const y = Y((top * i) / 4);
      marks.push(
        h("line", { x1: BOX.left, x2: BOX.width - BOX.right, y1: y, y2: y }),
        h(
          "text",
          { x: BOX.left - 6, y: y + 5, "text-anchor": "end", class: "tfss-small" },
          Number(((top * i) / 4 / 10 ** power).toPrecision(3)).toString(),
        ),
      );
    }
    const ticks = isLog
      ? Array.from({ length: Math.floor(Math.log10(s.total)) + 1 }, (_, k) => 10 ** k)
      : Array.from({ length: 5 }, (_, k) => Math.max(1, (s.total * k) / 4));
    ticks.forEach((n, i) =>
      marks.push(
        h("line", {
          x1: X(n),
          x2: X(n),
          y1: BOX.height - BOX.bottom,
          y2: BOX.height - BOX.bottom + 4,
        }),
        h(
          "text",
          {
            x: X(n),
            y: BOX.height - BOX.bottom + 20,
            "text-anchor": i === 0 ? "start" : X(n) > BOX.width - 60 ? "end" : "middle",
            class: "tfss-small",
          },
          commas(Math.round(n)),
        ),
      ),
    );
    grid.replaceChildren(...marks);
    say(unit, `learning rate, × 10${raised(power)}`);
    put(svg, {
      "aria-label": `Learning rate against step: up in a straight line to ${scientific(largest)} at step ${commas(corner)}${s.warmup < s.total ? `, then down with the root of the step to ${scientific(rateOf(s.total, s))} at step ${commas(s.total)}` : ", where the run ends"}. Dashed: the paper’s base model.`,
      "data-rates": JSON.stringify(
        stepsFor(s, isLog)
          .filter((_, i) => i % 20 === 0)
          .map((n) => [n, rateOf(n, s)]),
      ),
    });

    presets.pick(
      SCHEDULES.findIndex(([, preset]) =>
        Object.keys(preset).every((key) => preset[key] === s[key]),
      ),
    );
    width.show(nearest(WIDTHS, s.width));
    warmup.show(nearest(WARMUPS, s.warmup));
    factor.show(nearest(FACTORS, s.factor));
    total.show(nearest(TOTALS, s.total));
    at.show(Math.round(400 * shareOf(step, s.total, isLog)));
    log.input.checked = isLog;

    const arms = armsOf(step, s.warmup);
    const lead = `${s.factor === 1 ? "" : `${s.factor} · `}${s.width}`;
    const which =
      step === s.warmup
        ? "Here the two arms meet"
        : arms.line < arms.root
          ? "The straight line is the smaller"
          : "The root is the smaller";
    worked.replaceChildren(
      `${lead}`,
      h("sup", {}, "−0.5"),
      ` · min(${commas(step)}`,
      h("sup", {}, "−0.5"),
      `, ${commas(step)} · ${commas(s.warmup)}`,
      h("sup", {}, "−1.5"),
      `) = ${scientific(s.factor * s.width ** -0.5)} · min(${scientific(arms.root)}, ${scientific(arms.line)}) = ${scientific(rateOf(step, s))}. ${which}.`,
    );
    worked.dataset.exact = rateOf(step, s);
    say(cells.rate.label, `at step ${commas(step)}`);
    say(cells.rate.value, scientific(rateOf(step, s)));
    say(
      cells.peak.label,
      s.warmup <= s.total
        ? `peak, at step ${commas(corner)}`
        : "largest (no peak: the run ends first)",
    );
    say(cells.peak.value, scientific(largest));
    say(cells.last.label, "at the last step");
    say(cells.last.value, scientific(rateOf(s.total, s)));
    say(cells.share.label, "warm-up’s share of all steps");
    const share = Math.min(1, s.warmup / s.total);
    say(cells.share.value, percent(share, share < 0.0995 ? 1 : 0));
    const rows = [
      ...new Set([
        1,
        ...[0.1, 0.25, 0.5, 0.75].map((x) => Math.max(1, Math.round(corner * x))),
        corner,
        ...[2, 4, 8, 16].map((x) => corner * x).filter((n) => n < s.total),
        s.total,
        step,
      ]),
    ].sort((a, b) => a - b);
    behind.show(
      ["learning rate", "the paper’s base model"],
      rows.map((n) => [
        commas(n),
        scientific(rateOf(n, s)),
        scientific(rateOf(n, PAPER)),
      ]),
    );
    if (speak)
      live.announce(
        `Step ${commas(step)}: learning rate ${scientific(rateOf(step, s))}. Peak ${scientific(largest)} at step ${commas(corner)}.`,
      );
  }
  return { node, update };
}

const BARS = { width: 640, height: 280, left: 56, top: 16, bottom: 52, floor: 1e-6 };
// Hundredths of the height.
const BY_KEY = {
  ArrowUp: 1,
  ArrowRight: 1,
  ArrowDown: -1,
  ArrowLeft: -1,
  PageUp: 10,
  PageDown: -10,
};
const TALL = BARS.height - BARS.top - BARS.bottom;
const SLOT = (BARS.width - BARS.left) / 6;
// The height of a probability, 0 to 1, on a linear or logarithmic axis, and back.
export const heightOf = (p, log) =>
  log
    ? Math.max(0, 1 - Math.log10(Math.max(p, BARS.floor)) / Math.log10(BARS.floor))
    : p;
export const massAt = (height, log) => (log ? BARS.floor ** (1 - height) : height);

function smoothingPart(get, commit, live) {
  const presets = radios(
    "target",
    "Vocabulary:",
    TARGETS.map(([name]) => name),
    -1,
    (i) => {
      const { epsilon, size } = TARGETS[i][1];
      commit({ epsilon, vocab_size: size, spread: SPREADS[0], logits: BY_HAND });
    },
  );
  const epsilon = slider(
    "epsilon",
    "smoothing ε",
    { min: 0, max: 0.5, step: 0.01 },
    (x) => commit({ epsilon: x }),
  );
  const size = slider(
    "vocab",
    "pieces V",
    {
      min: 0,
      max: VOCABULARIES.length - 1,
      step: 1,
      text: () => commas(get("vocab_size")),
    },
    (i) => commit({ vocab_size: VOCABULARIES[i] }),
  );
  const spread = radios("spread", "ε is spread", SPREADS, 0, (i) =>
    commit({ spread: SPREADS[i] }),
  );
  const log = check("log-bars", "logarithmic bars", get("log_bars"), (on) =>
    commit({ log_bars: on }),
  );
  const set = (name, text, logits) =>
    button(name, text, () => commit({ logits: logits() }));
  const now = () => targetOf(get("epsilon"), get("vocab_size"), get("spread"));
  const buttons = choice(
    "Prediction:",
    set("like-target", "same as the target", () => matching(now())),
    set("sure", "sure of “Hund”", () => [12, 0, 0, 0, 0, 0]),
    set("uniform", "no idea", () => [0, 0, 0, 0, 0, 0]),
    set("by-hand", "as above", () => BY_HAND),
  );

  // What was dragged, for a link: one number for each bar that has a handle.
  const held = kept("logits", (text) => {
    const logits = text.split(",").map(Number);
    if (logits.length === get("logits").length && logits.every(Number.isFinite))
      commit({ logits });
  });

  const grid = h("g", { class: "tfss-grid" });
  const svg = h(
    "svg",
    {
      viewBox: `0 0 ${BARS.width} ${BARS.height}`,
      class: "tfss-chart",
      role: "group",
      "aria-label":
        "Target and prediction for each piece; the handles on the bars can be moved",
    },
    grid,
  );
  const clamp = (p, log_) => Math.min(0.9999, Math.max(log_ ? BARS.floor : 0.0005, p));
  const toMass = (y) =>
    massAt(
      Math.min(1, Math.max(0, (BARS.height - BARS.bottom - y * BARS.height) / TALL)),
      get("log_bars"),
    );

  // A bar with a handle; arrow keys move it, too.
  function bar(kind, i, move) {
    const rect = h("rect", {
      class: `tfss-bar tfss-${kind}`,
      width: SLOT * 0.34,
      x: BARS.left + SLOT * i + SLOT * (kind === "target" ? 0.14 : 0.52),
    });
    svg.append(rect);
    if (!move) return { rect, show() {} };
    const middle = BARS.left + SLOT * i + SLOT * (kind === "target" ? 0.31 : 0.69);
    const grip = h(
      "g",
      {
        class: "tfss-grip",
        role: "slider",
        tabindex: 0,
        "aria-orientation": "vertical",
        "aria-valuemin": 0,
        "aria-valuemax": 1,
        "data-handle": `${kind}-${i}`,
      },
      h("rect", {
        x: -SLOT * 0.2,
        y: -14,
        width: SLOT * 0.4,
        height: 28,
        class: "tfss-reach",
      }),
      h("rect", {
        x: -SLOT * 0.17,
        y: -3.5,
        width: SLOT * 0.34,
        height: 7,
        rx: 3,
        class: `tfss-knob tfss-${kind}`,
      }),
    );
    svg.append(grip);
    draggable(grip, (_, y) => move(toMass(y)), { holdsPage: true });
    arrowKeys(grip, BY_KEY, (by) => {
      const height = heightOf(Number(grip.dataset.exact), get("log_bars"));
      move(massAt(Math.min(1, Math.max(0, height + by / 100)), get("log_bars")));
    });
    const show = (mass, y, label) => {
      put(grip, {
        transform: `translate(${middle.toFixed(1)} ${y.toFixed(1)})`,
        "aria-valuenow": mass.toPrecision(4),
        "aria-valuetext": scientific(mass),
        "aria-label": label,
        "data-exact": mass,
      });
    };
    return { rect, show };
  }
  const toEpsilon = (p) => {
    const V = get("vocab_size");
    const found = get("spread") === SPREADS[1] ? 1 - p : (1 - p) / (1 - 1 / V);
    commit({ epsilon: Math.min(0.5, Math.max(0, Math.round(100 * found) / 100)) });
  };
  const targets = Array.from({ length: 6 }, (_, i) =>
    bar("target", i, i ? null : toEpsilon),
  );
  const predictions = Array.from({ length: 6 }, (_, i) =>
    bar("prediction", i, (p) =>
      commit({
        logits: withMass(
          get("logits"),
          get("vocab_size"),
          i,
          clamp(p, get("log_bars")),
        ),
      }),
    ),
  );
  const names = Array.from({ length: 6 }, (_, i) =>
    h("text", {
      x: BARS.left + SLOT * (i + 0.5),
      y: BARS.height - BARS.bottom + 20,
      "text-anchor": "middle",
      class: "tfss-name",
    }),
  );
  const under = h("text", {
    x: BARS.width,
    y: BARS.height - BARS.bottom + 42,
    "text-anchor": "end",
    class: "tfss-small",
  });
  const rightMark = h(
    "text",
    {
      x: BARS.left + SLOT * 0.5,
      y: BARS.height - BARS.bottom + 42,
      "text-anchor": "middle",
      class: "tfss-small",
    },
    "the right one",
  );
  svg.append(...names, under, rightMark);

  const legend = h(
    "p",
    { class: "tfss-legend", "aria-hidden": "true" },
    h("span", { class: "tfss-box tfss-target" }, "target q"),
    h("span", { class: "tfss-box tfss-prediction" }, "prediction p"),
    h("span", {}, "drag a handle ▬; the other predictions share the rest"),
  );
  const head = h("tr");
  const rows = ["target q", "prediction p", "p − q"].map((name, i) =>
    h(
      "tr",
      {},
      h("th", { scope: "row", class: ["tfss-target", "tfss-prediction", ""][i] }, name),
      ...Array.from({ length: 6 }, () => h("td")),
    ),
  );
  const table = h(
    "div",
    {
      class: "tfk-scroll",
      tabindex: 0,
      role: "region",
      "aria-label": "Target and prediction in numbers",
    },
    h("table", { class: "tfss-table" }, h("thead", {}, head), h("tbody", {}, ...rows)),
  );
  const floor = h("span", { class: "tfss-floor" });
  const gap = h("span", { class: "tfss-gap" });
  const stack = h("div", { class: "tfss-stack", "aria-hidden": "true" }, floor, gap);
  const sum = h("p", { class: "tfss-sum" });
  const verdict = h("p", { class: "tfss-verdict" });
  const node = h(
    "div",
    { class: "tfss-part" },
    presets.set,
    h("div", { class: "tfss-sliders" }, epsilon.box, size.box),
    h("div", { class: "tfss-row" }, spread.set, log.box),
    buttons,
    legend,
    svg,
    table,
    stack,
    sum,
    verdict,
    held.node,
  );

  function update(speak = true) {
    const [e, V, way, logits, isLog] = [
      "epsilon",
      "vocab_size",
      "spread",
      "logits",
      "log_bars",
    ].map(get);
    const target = targetOf(e, V, way);
    const prediction = predictionOf(logits, V);
    const found = lossesOf(target, prediction);
    const rest = V - NAMED.length;
    held.show(logits.map((x) => Number(x.toPrecision(5))).join(","));
    presets.pick(
      TARGETS.findIndex(
        ([, preset]) => preset.size === V && preset.epsilon === e && way === SPREADS[0],
      ),
    );
    epsilon.show(e);
    size.show(nearest(VOCABULARIES, V));
    spread.pick(SPREADS.indexOf(way));
    log.input.checked = isLog;

    const marks = [];
    for (const p of isLog ? [1, 0.01, 1e-4, 1e-6] : [0, 0.25, 0.5, 0.75, 1]) {
      const y = BARS.height - BARS.bottom - TALL * heightOf(p, isLog);
      marks.push(
        h("line", { x1: BARS.left, x2: BARS.width, y1: y, y2: y }),
        h(
          "text",
          { x: BARS.left - 6, y: y + 5, "text-anchor": "end", class: "tfss-small" },
          isLog && p < 1 ? `10${raised(Math.round(Math.log10(p)))}` : String(p),
        ),
      );
    }
    grid.replaceChildren(...marks);
    const labels = [...NAMED, rest > 0 ? `${commas(rest)} others` : "no others"];
    const masses = prediction.map(
      ({ count }, i) => (i ? target.other : target.right) * count,
    );
    labels.forEach((name, i) => {
      say(names[i], i < 5 ? name : rest > 0 ? commas(rest) : "–");
      const shown = i < 5 || rest > 0;
      for (const [one, mass, kind] of [
        [targets[i], masses[i], "target"],
        [predictions[i], prediction[i].mass, "prediction"],
      ]) {
        const high = TALL * heightOf(mass, isLog);
        put(one.rect, {
          y: (BARS.height - BARS.bottom - high).toFixed(1),
          height: high.toFixed(1),
          "data-bar": `${kind}-${i}`,
          "data-exact": mass,
        });
        one.show(
          mass,
          BARS.height - BARS.bottom - high,
          `${kind} of ${i < 5 ? `“${name}”` : "all others together"}`,
        );
      }
      const grip = svg.querySelector(`[data-handle="prediction-${i}"]`);
      put(grip, { visibility: shown ? null : "hidden", tabindex: shown ? 0 : -1 });
    });
    say(under, rest > 0 ? "others, together" : "no others");
    head.replaceChildren(
      ...["", ...labels].map((name) => h("th", { scope: "col" }, name)),
    );
    prediction.forEach(({ mass }, i) => {
      const off = i === 5 && rest <= 0;
      say(rows[0].children[i + 1], off ? "–" : scientific(masses[i]));
      say(rows[1].children[i + 1], off ? "–" : scientific(mass));
      say(rows[2].children[i + 1], off ? "–" : format(mass - masses[i], 3));
    });

    const most = Math.max(1, roundUp(found.cross));
    floor.style.width = `${((100 * found.entropy) / most).toFixed(2)}%`;
    gap.style.width = `${((100 * Math.max(0, found.divergence)) / most).toFixed(2)}%`;
    sum.replaceChildren(
      "cross-entropy ",
      h(
        "b",
        { "data-fact": "cross", "data-exact": found.cross },
        format(found.cross, 3),
      ),
      " = ",
      h("span", { class: "tfss-target" }, "entropy of the target "),
      h(
        "b",
        { "data-fact": "entropy", "data-exact": found.entropy },
        format(found.entropy, 3),
      ),
      " + ",
      h("span", { class: "tfss-prediction" }, "KL "),
      h(
        "b",
        { "data-fact": "divergence", "data-exact": found.divergence },
        format(found.divergence, 3),
      ),
      ` nats. Without smoothing the loss would be −ln p = ${format(found.hard, 3)}, a perplexity of ${scientific(Math.exp(found.hard))}.`,
    );
    const other = way === SPREADS[1] ? `ε / (V − 1)` : "ε / V";
    say(
      verdict,
      e === 0
        ? "A one-hot target has entropy 0: cross-entropy and KL are the same number. It is 0 only for a prediction that is infinitely sure."
        : found.divergence < 0.0005
          ? `The prediction is the target. The loss is as low as it can get, ${format(found.entropy, 3)}: the entropy of the target is its floor.`
          : `Each other piece gets ${other} = ${scientific(target.other)}, “Hund” keeps ${Number(target.right.toFixed(6))}. The floor of the loss is ${format(found.entropy, 3)}; ` +
            (prediction[0].mass > target.right + 0.0005
              ? "“Hund” gets more than its target: the loss pulls it down."
              : "training can only shrink the KL part."),
    );
    if (speak)
      live.announce(
        `Cross-entropy ${format(found.cross)}, entropy of the target ${format(found.entropy)}, KL ${format(found.divergence)}.`,
      );
  }
  return { node, update };
}

function render({ model, el }) {
  const part = model.get("part");
  const root = figure(
    el,
    "tfss",
    part === "schedule"
      ? "The learning rate, to drag"
      : part === "smoothing"
        ? "Label smoothing, to drag"
        : "Learning rate and label smoothing, to drag",
  );
  const get = (name) => model.get(name);
  const names = [
    "d_model",
    "warmup_steps",
    "scale",
    "total_steps",
    "step",
    "log_steps",
    "epsilon",
    "vocab_size",
    "spread",
    "logits",
    "log_bars",
  ];
  const live = liveRegion();
  const parts = [];
  const { commit, stop } = bind(model, names, () =>
    parts.forEach((each) => each.update()),
  );
  if (part !== "smoothing") parts.push(schedulePart(get, commit, live));
  if (part !== "schedule") parts.push(smoothingPart(get, commit, live));
  root.append(...parts.map((each) => each.node), live.node);
  parts.forEach((each) => each.update(false));
  return () => {
    live.stop();
    stop();
  };
}

export default { render };
