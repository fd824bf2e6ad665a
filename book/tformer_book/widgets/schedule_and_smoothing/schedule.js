// The learning rate against the step, with a peak to drag.
import {
  bottomAxis,
  dragIn,
  ground,
  leftAxis,
  linear,
  pathOf,
  plotOf,
  roundUp,
  segment,
  viewBox,
} from "../kit/chart.js";
import {
  button,
  check,
  h,
  holdsPage,
  listSlider,
  presets,
  showAll,
  slider,
  textTable,
} from "../kit/kit.js";
import { commas, nearest, percent, powerOfTen } from "../kit/numbers.js";
import { html, render } from "../kit/vendor/lit.js";
import {
  armsOf,
  FACTORS,
  PAPER,
  peakOf,
  rateOf,
  SCHEDULES,
  scientific,
  shareOf,
  stepAt,
  stepScale,
  stepsFor,
  TOTALS,
  WARMUPS,
  WIDTHS,
} from "./maths.js";

const BOX = { width: 640, height: 320, left: 56, right: 14, top: 28, bottom: 46 };
const CATCH = 0.0013; // of the axis: so near, the peak catches a step

// write hears changes of the schedule, `set` makes what hears a trait's; `look` hears a
// step that is pointed at.
function controlsOf(read, write, look, set) {
  const ready = presets("schedule", "Schedule:", SCHEDULES, (schedule) =>
    write({ ...schedule, step: schedule.warmup }),
  );
  const list = (name, label, values, key, text = commas) =>
    listSlider(name, label, values, (x) => write({ [key]: x }), text);
  const range = { min: 0, max: 400, step: 1, text: () => commas(read().step) };
  const controls = {
    width: list("d_model", "d_model", WIDTHS, "width"),
    warmup: list("warmup", "warm-up", WARMUPS, "warmup"),
    factor: list("factor", "factor", FACTORS, "factor", String),
    total: list("total", "steps in all", TOTALS, "total"),
    share: slider("step", "look at step", range, (u) =>
      look(stepAt(u / 400, read().total, read().isLog)),
    ),
    isLog: check("log-steps", "logarithmic steps", read().isLog, set("log_steps")),
  };
  const toPeak = button("to-peak", "Go to the peak", () =>
    write({ step: read().warmup }),
  );
  const show = (s) => {
    ready.show(s);
    const share = Math.round(400 * shareOf(s.step, s.total, s.isLog));
    showAll(controls, { ...s, share });
  };
  const { isLog, ...sliders } = controls;
  const node = html`${ready.set}
    <div class="tfss-sliders">
      ${Object.values(sliders).map(({ box }) => box)}
      <div class="tfss-row">${isLog.box}${toPeak}</div>
    </div>`;
  return { node, show };
}

const quarters = (x) => [0, 1, 2, 3, 4].map((k) => (x * k) / 4);
const cornerOf = (s) => Math.min(s.warmup, s.total);

// `top` of the rate's axis; `hears`: what hears the ground and the peak being pressed.
function drawing(s, top, hears) {
  const plot = plotOf(BOX, stepScale(s.total, s.isLog), linear(0, top));
  const shown = (n, of) => [n, Math.min(1.04 * top, rateOf(n, of))];
  const points = (of) =>
    stepsFor({ ...s, warmup: of.warmup }, s.isLog).map((n) => shown(n, of));
  const place = (n) => [plot.x(n), plot.y(shown(n, s)[1])];
  const corner = cornerOf(s);
  const [cx, cy] = place(s.step);
  const power = Math.floor(Math.log10(top));
  const ticks = s.isLog
    ? Array.from({ length: Math.floor(Math.log10(s.total)) + 1 }, (_, k) => 10 ** k)
    : quarters(s.total).map((n) => Math.max(1, n));
  const label = `Learning rate against step: up in a straight line to ${scientific(rateOf(corner, s))} at step ${commas(corner)}${s.warmup < s.total ? `, then down with the root of the step to ${scientific(rateOf(s.total, s))} at step ${commas(s.total)}` : ", where the run ends"}. Dashed: the paper’s base model.`;
  const rates = stepsFor(s, s.isLog)
    .filter((_, i) => i % 20 === 0)
    .map((n) => [n, rateOf(n, s)]);
  return html`<svg viewBox=${viewBox(plot)} class="tfss-chart" role="img" aria-label=${label}
    data-rates=${JSON.stringify(rates)}>
    ${leftAxis(plot, quarters(top), {
      text: (r) => String(Number((r / 10 ** power).toPrecision(3))),
      title: `learning rate, × ${powerOfTen(power)}`,
    })}
    ${bottomAxis(plot, ticks, {
      text: (n) => commas(Math.round(n)),
      mark: 4,
      anchor: (n) =>
        n === 1 ? "start" : plot.x(n) > BOX.width - 60 ? "end" : "middle",
      title: "step →",
    })}
    ${ground(plot, "axis", hears.ground(plot))}
    <path class="tfss-ghost" d=${pathOf(plot, points(PAPER))} />
    <path class="tfss-curve" d=${pathOf(plot, points(s))} />
    ${segment("tfss-now", [cx, plot.top], [cx, plot.bottom])}
    <circle class="tfss-dot" r="5" cx=${cx} cy=${cy} />
    <g class="tfss-peak" data-handle="peak" transform="translate(${place(corner).join(" ")})"
      @pointerdown=${hears.peak(plot)} @touchstart=${holdsPage}
      @pointerup=${hears.released} @pointercancel=${hears.released}>
      <circle r="20" class="tfss-reach" /><circle r="9" class="tfss-knob" />
    </g>
  </svg>`;
}

// Equation 3 with its numbers.
function worked(s) {
  const arms = armsOf(s.step, s.warmup);
  const rate = rateOf(s.step, s);
  const [step, lead] = [commas(s.step), s.factor === 1 ? "" : `${s.factor} · `];
  const which =
    s.step === s.warmup
      ? "Here the two arms meet"
      : `The ${arms.line < arms.root ? "straight line" : "root"} is the smaller`;
  return html`<p class="tfss-worked" data-exact=${rate}>${lead}${s.width}<sup>−0.5</sup> · min(${step}<sup>−0.5</sup>, ${step} · ${commas(s.warmup)}<sup>−1.5</sup>) = ${scientific(s.factor * s.width ** -0.5)} · min(${scientific(arms.root)}, ${scientific(arms.line)}) = ${scientific(rate)}. ${which}.</p>`;
}

function facts(s) {
  const corner = cornerOf(s);
  const share = Math.min(1, s.warmup / s.total);
  const found = [
    ["rate", `at step ${commas(s.step)}`, scientific(rateOf(s.step, s))],
    [
      "peak",
      s.warmup <= s.total
        ? `peak, at step ${commas(corner)}`
        : "largest (no peak: the run ends first)",
      scientific(rateOf(corner, s)),
    ],
    ["last", "at the last step", scientific(rateOf(s.total, s))],
    ["share", "warm-up’s share of all steps", percent(share, share < 0.0995 ? 1 : 0)],
  ];
  return html`<dl class="tfss-facts">${found.map(
    ([name, label, value]) =>
      html`<div><dt>${label}</dt><dd data-fact=${name}>${value}</dd></div>`,
  )}</dl>`;
}

const LEGEND = html`<p class="tfss-legend" aria-hidden="true">
  <span class="tfss-key tfss-own">your schedule</span>
  <span class="tfss-key tfss-theirs">the paper’s base model</span>
  <span class="tfk-how">drag the peak ●; click anywhere to look at a step</span>
</p>`;

// Steps that tell the curve's shape, and the one that is looked at.
function tableRows(s) {
  const corner = cornerOf(s);
  const steps = new Set([
    1,
    ...[0.1, 0.25, 0.5, 0.75].map((x) => Math.max(1, Math.round(corner * x))),
    corner,
    ...[2, 4, 8, 16].map((x) => corner * x).filter((n) => n < s.total),
    s.total,
    s.step,
  ]);
  return [...steps]
    .sort((a, b) => a - b)
    .map((n) => [commas(n), scientific(rateOf(n, s)), scientific(rateOf(n, PAPER))]);
}

// What the schedule's numbers are called here and in the figure's state.
const TRAITS = Object.entries({
  width: "d_model",
  warmup: "warmup_steps",
  factor: "scale",
  total: "total_steps",
  step: "step",
  isLog: "log_steps",
});

export function schedulePart(get, { commit, set }, live) {
  const node = h("div", { class: "tfss-part" });
  /** @type {() => any} */
  const read = () =>
    Object.fromEntries(TRAITS.map(([key, trait]) => [key, get(trait)]));
  const write = (changes) => {
    const s = { ...read(), ...changes };
    s.step = Math.min(s.step, s.total);
    commit(Object.fromEntries(TRAITS.map(([key, trait]) => [trait, s[key]])));
  };
  const look = (step) => {
    const { total, isLog, ...s } = read();
    const corner = Math.min(s.warmup, total);
    const [found, peak] = [step, corner].map((n) => shareOf(n, total, isLog));
    commit({ step: Math.abs(found - peak) < CATCH ? corner : Math.round(step) });
  };
  const controls = controlsOf(read, write, look, set);
  const behind = textTable("The curve as a table", "step");
  let top = 0; // of the rate's axis; it stays while the peak is dragged
  let dragging = false;
  const movePeak = (step, rate) => {
    const warmup = WARMUPS[nearest(WARMUPS, Math.max(Math.round(step), WARMUPS[0]))];
    const alone = peakOf({ ...read(), warmup, factor: 1 });
    const factor = FACTORS[nearest(FACTORS, Math.max(0.01 * top, rate) / alone)];
    write({ warmup, factor, step: warmup });
  };
  const hears = {
    ground: (plot) => dragIn(plot, look, { atOnce: true }),
    peak: (plot) => (event) => {
      dragging = true;
      dragIn(plot, movePeak)(event);
    },
    released: () => {
      dragging = false;
      update();
    },
  };

  function update(speak = true) {
    const s = read();
    const largest = rateOf(cornerOf(s), s);
    const papers = rateOf(Math.min(PAPER.warmup, s.total), PAPER);
    if (!dragging || !top) top = roundUp(1.05 * Math.max(largest, papers));
    controls.show(s);
    behind.show(["learning rate", "the paper’s base model"], tableRows(s));
    render(
      html`${controls.node}${LEGEND}${drawing(s, top, hears)}${worked(s)}${facts(s)}${behind.node}`,
      node,
    );
    const [rate, peak] = [rateOf(s.step, s), largest].map(scientific);
    const text = `Step ${commas(s.step)}: learning rate ${rate}. Peak ${peak} at step ${commas(cornerOf(s))}.`;
    if (speak) live.announce(text);
  }
  return { node, update };
}
