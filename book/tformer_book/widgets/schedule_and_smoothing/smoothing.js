// The target of the loss and a prediction as bars to drag, and what the loss makes of them.
import { onArrows } from "../kit/arrows.js";
import { dragIn, leftAxis, linear, plotOf, roundUp, viewBox } from "../kit/chart.js";
import {
  button,
  check,
  choice,
  h,
  holdsPage,
  kept,
  listSlider,
  oneOf,
  presets,
  showAll,
  slider,
} from "../kit/kit.js";
import { commas, format, powerOfTen } from "../kit/numbers.js";
import { heads, scrolling } from "../kit/table.js";
import { html, nothing, render, svg } from "../kit/vendor/lit.js";
import {
  BY_HAND,
  draggedTo,
  heightOf,
  lossesOf,
  massAt,
  massScale,
  matching,
  NAMED,
  predictionOf,
  SPREADS,
  scientific,
  TARGETS,
  targetOf,
  VOCABULARIES,
  withMass,
} from "./maths.js";

const BOX = { width: 640, height: 280, left: 56, top: 16, bottom: 52 };
const EPSILON = { min: 0, max: 0.5, step: 0.01 };
const SLOT = (BOX.width - BOX.left) / 6;
const BAR = 0.34 * SLOT;
const LEFT = { target: 0.14 * SLOT, prediction: 0.52 * SLOT }; // of a bar in its slot
// Hundredths of the height.
const PAGES = { PageUp: 10, PageDown: -10 };
const BY_KEY = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, ...PAGES };

function controlsOf(get, { commit, set }) {
  const ready = presets("target", "Vocabulary:", TARGETS, ({ epsilon, size, spread }) =>
    commit({ epsilon, vocab_size: size, spread, logits: BY_HAND }),
  );
  const controls = {
    epsilon: slider("epsilon", "smoothing ε", EPSILON, set("epsilon")),
    size: listSlider("vocab", "pieces V", VOCABULARIES, set("vocab_size")),
    spread: oneOf("spread", "ε is spread", SPREADS, set("spread")),
    isLog: check("log-bars", "logarithmic bars", get("log_bars"), set("log_bars")),
  };
  const { epsilon, size, spread, isLog } = controls;
  const logits = (name, text, found) =>
    button(name, text, () => commit({ logits: found() }));
  const now = () => targetOf(get("epsilon"), get("vocab_size"), get("spread"));
  const buttons = choice(
    "Prediction:",
    logits("like-target", "same as the target", () => matching(now())),
    logits("sure", "sure of “Hund”", () => [12, 0, 0, 0, 0, 0]),
    logits("uniform", "no idea", () => [0, 0, 0, 0, 0, 0]),
    logits("by-hand", "as above", () => BY_HAND),
  );
  const show = (s) => {
    ready.show(s);
    showAll(controls, s);
  };
  const node = html`${ready.set}
    <div class="tfss-sliders">${epsilon.box}${size.box}</div>
    <div class="tfss-row">${spread.set}${isLog.box}</div>
    ${buttons}`;
  return { node, show };
}

const LEGEND = html`<p class="tfss-legend" aria-hidden="true">
  <span class="tfss-box tfss-target">target q</span>
  <span class="tfss-box tfss-prediction">prediction p</span>
  <span class="tfk-how">drag a handle ▬; the other predictions share the rest</span>
</p>`;

// The handle of a bar; arrow keys move it, too. `move` hears what it is to be.
function grip(plot, s, { kind, i, mass, move, label, hidden = false }) {
  const x = plot.left + i * SLOT + LEFT[kind] + BAR / 2;
  const step = (by) =>
    move(massAt(Math.min(1, Math.max(0, heightOf(mass, s.isLog) + by / 100)), s.isLog));
  return svg`<g class="tfss-grip" role="slider" tabindex=${hidden ? -1 : 0}
    visibility=${hidden ? "hidden" : nothing} transform="translate(${x} ${plot.y(mass)})"
    aria-orientation="vertical" aria-valuemin="0" aria-valuemax="1" aria-label=${label}
    aria-valuenow=${mass.toPrecision(4)} aria-valuetext=${scientific(mass)}
    data-handle="${kind}-${i}" data-exact=${mass} @keydown=${onArrows(BY_KEY, step)}
    @pointerdown=${dragIn(plot, (_, p) => move(p))} @touchstart=${holdsPage}>
    <rect class="tfss-reach" x=${-0.2 * SLOT} y="-14" width=${0.4 * SLOT} height="28" />
    <rect class="tfss-knob tfss-${kind}" x=${-BAR / 2} y="-3.5" width=${BAR} height="7" rx="3" />
  </g>`;
}

const bar = (plot, kind, i, mass) => svg`<rect class="tfss-bar tfss-${kind}"
  x=${plot.left + i * SLOT + LEFT[kind]} width=${BAR} y=${plot.y(mass)}
  height=${plot.bottom - plot.y(mass)} data-bar="${kind}-${i}" data-exact=${mass} />`;

// moves: what the bar of the right piece's target, and that of each prediction, hears.
function drawing(s, moves) {
  const plot = plotOf(BOX, linear(0, 6), massScale(s.isLog));
  const ticks = s.isLog ? [1, 0.01, 1e-4, 1e-6] : [0, 0.25, 0.5, 0.75, 1];
  const text = (p) =>
    s.isLog && p < 1 ? powerOfTen(Math.round(Math.log10(p))) : String(p);
  const gripOf = (kind, i, mass, move) => {
    const label = `${kind} of ${i < 5 ? `“${NAMED[i]}”` : "all others together"}`;
    const hidden = i === 5 && s.rest <= 0;
    return grip(plot, s, { kind, i, mass, move, label, hidden });
  };
  const middle = (i) => plot.x(i + 0.5);
  return html`<svg viewBox=${viewBox(plot)} class="tfss-chart" role="group"
    aria-label="Target and prediction for each piece; the handles on the bars can be moved">
    ${leftAxis(plot, ticks, { text })}
    ${s.masses.map((mass, i) => bar(plot, "target", i, mass))}
    ${gripOf("target", 0, s.masses[0], moves.target)}
    ${s.prediction.map(
      ({ mass }, i) => svg`${bar(plot, "prediction", i, mass)}
        ${gripOf("prediction", i, mass, (p) => moves.prediction(i, p))}`,
    )}
    ${[...NAMED, s.rest > 0 ? commas(s.rest) : "–"].map(
      (name, i) =>
        svg`<text class="tfss-name" x=${middle(i)} y=${plot.bottom + 20} text-anchor="middle">${name}</text>`,
    )}
    <g class="tfk-axis">
      <text x=${plot.right} y=${plot.bottom + 42} text-anchor="end">${s.rest > 0 ? "others, together" : "no others"}</text>
      <text x=${middle(0)} y=${plot.bottom + 42} text-anchor="middle">the right one</text>
    </g>
  </svg>`;
}

function table({ masses, prediction, rest }) {
  const names = [...NAMED, rest > 0 ? `${commas(rest)} others` : "no others"];
  const row = (name, look, of) => html`<tr>
    <th scope="row" class=${look}>${name}</th>
    ${names.map((_, i) => html`<td>${i === 5 && rest <= 0 ? "–" : of(i)}</td>`)}
  </tr>`;
  const rows = html`${row("target q", "tfss-target", (i) => scientific(masses[i]))}
    ${row("prediction p", "tfss-prediction", (i) => scientific(prediction[i].mass))}
    ${row("p − q", "", (i) => format(prediction[i].mass - masses[i], 3))}`;
  return scrolling(
    "Target and prediction in numbers",
    html`<table class="tfss-table">${heads(["", ...names])}<tbody>${rows}</tbody></table>`,
  );
}

// The loss as a sum of two parts, drawn and in numbers.
function sum({ cross, entropy, divergence, hard }) {
  const most = Math.max(1, roundUp(cross));
  const width = (x) => `width: ${((100 * Math.max(0, x)) / most).toFixed(2)}%`;
  const fact = (name, x) =>
    html`<b data-fact=${name} data-exact=${x}>${format(x, 3)}</b>`;
  return html`<div class="tfss-stack" aria-hidden="true">
      <span class="tfss-floor" style=${width(entropy)}></span><span class="tfss-gap" style=${width(divergence)}></span>
    </div>
    <p class="tfss-sum">cross-entropy ${fact("cross", cross)} = <span class="tfss-target">entropy of the target </span>${fact("entropy", entropy)} + <span class="tfss-prediction">KL </span>${fact("divergence", divergence)} nats. Without smoothing the loss would be −ln p = ${format(hard, 3)}, a perplexity of ${scientific(Math.exp(hard))}.</p>`;
}

function verdict({ epsilon, spread, target, prediction, losses }) {
  if (epsilon === 0)
    return "A one-hot target has entropy 0: cross-entropy and KL are the same number. It is 0 only for a prediction that is infinitely sure.";
  const floor = format(losses.entropy, 3);
  if (losses.divergence < 0.0005)
    return `The prediction is the target. The loss is as low as it can get, ${floor}: the entropy of the target is its floor.`;
  const other = spread === SPREADS[1] ? "ε / (V − 1)" : "ε / V";
  const pull =
    prediction[0].mass > target.right + 0.0005
      ? "“Hund” gets more than its target: the loss pulls it down."
      : "training can only shrink the KL part.";
  return `Each other piece gets ${other} = ${scientific(target.other)}, “Hund” keeps ${Number(target.right.toFixed(6))}. The floor of the loss is ${floor}; ${pull}`;
}

// What is shown: the settings, and what follows from them.
function stateOf(get) {
  const [epsilon, size, spread] = ["epsilon", "vocab_size", "spread"].map(get);
  const target = targetOf(epsilon, size, spread);
  const prediction = predictionOf(get("logits"), size);
  return {
    epsilon,
    size,
    spread,
    isLog: get("log_bars"),
    rest: size - NAMED.length,
    target,
    prediction,
    masses: prediction.map(({ count }, i) => (i ? target.other : target.right) * count),
    losses: lossesOf(target, prediction),
  };
}

export function smoothingPart(get, bound, live) {
  const { commit } = bound;
  const node = h("div", { class: "tfss-part" });
  const controls = controlsOf(get, bound);
  // What was dragged, for a link: one number for each bar that has a handle.
  const held = kept("logits", (text) => {
    const logits = text.split(",").map(Number);
    if (logits.length === get("logits").length && logits.every(Number.isFinite))
      commit({ logits });
  });
  const moves = {
    target(p) {
      const V = get("vocab_size");
      const found = get("spread") === SPREADS[1] ? 1 - p : (1 - p) / (1 - 1 / V);
      commit({ epsilon: Math.min(0.5, Math.max(0, Math.round(100 * found) / 100)) });
    },
    prediction(i, p) {
      const mass = draggedTo(p, get("log_bars"));
      commit({ logits: withMass(get("logits"), get("vocab_size"), i, mass) });
    },
  };

  function update(speak = true) {
    const s = stateOf(get);
    const rounded = get("logits").map((x) => Number(x.toPrecision(5)));
    held.show(rounded.join(","));
    controls.show(s);
    render(
      html`${controls.node}${LEGEND}${drawing(s, moves)}${table(s)}${sum(s.losses)}
        <p class="tfss-verdict">${verdict(s)}</p>${held.node}`,
      node,
    );
    const { cross, entropy, divergence } = s.losses;
    const text = `Cross-entropy ${format(cross)}, entropy of the target ${format(entropy)}, KL ${format(divergence)}.`;
    if (speak) live.announce(text);
  }
  return { node, update };
}
