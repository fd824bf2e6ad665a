// A chart of a few curves that grow.
import {
  bottomAxis,
  leftAxis,
  linear,
  log,
  plotOf,
  pointsOf,
  roundUp,
  viewBox,
} from "../kit/chart.js";
import { html, nothing, svg } from "../kit/vendor/lit.js";

const BOX = { width: 360, height: 200, left: 44, right: 8, top: 8, bottom: 30 };
const MOST_POINTS = 180;
const LEAST = 0.001; // where an axis of logarithms ends at the latest

// The mean of each run of neighbours, so that a long curve has no more points than pixels.
export function thinned(points) {
  const size = Math.ceil(points.length / MOST_POINTS);
  if (size <= 1) return points;
  const found = [];
  for (let i = 0; i < points.length; i += size) {
    const part = points.slice(i, i + size);
    const sum = part.reduce(([a, b], [x, y]) => [a + x, b + y], [0, 0]);
    found.push([sum[0] / part.length, sum[1] / part.length]);
  }
  return found;
}

// The least end of an axis of steps that leaves little of it empty: 532 -> 550.
export function lastStep(step) {
  const unit = 10 ** Math.floor(Math.log10(Math.max(10, step))) / 2;
  return unit * Math.ceil(Math.max(10, step) / unit);
}

// The upright axis, as far as the values reach -> its scale and its ticks.
function uprightOf(values, { most = null, isLog = false }) {
  const top = most ?? roundUp(Math.max(0.1, ...values));
  if (!isLog) return { scale: linear(0, top), ticks: [0, top / 2, top] };
  const low = 1 / roundUp(1 / Math.max(LEAST, Math.min(top / 10, ...values)));
  const inside = [1e-2, 1e-1, 1, 10].filter((x) => x > 1.5 * low && x < top / 1.5);
  return { scale: log(low, top), ticks: [low, ...inside, top] };
}

// curves: a list of [step, value] for each of the names, and one of an earlier run; last: a
// step that the axis has to reach. most: of the upright axis, null to follow the curves;
// isLog: whether it counts in powers of ten; awaits: what a chart says before the first step.
export function chart(
  { title, names, text, awaits = "", ...axis },
  curves,
  earlier = [],
  last = 0,
) {
  const all = [...curves.flat(), ...earlier];
  const end = lastStep(Math.max(last, ...all.map(([step]) => step)));
  const values = all.map(([, y]) => y);
  const { scale, ticks } = uprightOf(values, axis);
  const plot = plotOf(BOX, linear(0, end), scale.clamp(true));
  const line = (look, points) =>
    svg`<polyline class=${look} points=${pointsOf(plot, thinned(points))} />`;
  const said = names.map((name, i) => {
    const end = curves[i].at(-1);
    return end ? `${name} ${text(end[1])} at step ${Math.round(end[0])}` : `no ${name}`;
  });
  return html`<figure class="tfpg-chart">
    <figcaption><strong>${title}</strong> ${names.map(
      (name, i) => html`<span class="tfpg-key tfpg-key-${i}">${name}</span>`,
    )}</figcaption>
    <svg viewBox=${viewBox(plot)} role="img" aria-label="${title}: ${said.join("; ")}.">
      ${leftAxis(plot, ticks, { text })}
      ${bottomAxis(plot, [0, end], {
        gap: 16,
        anchor: (step) => (step ? "end" : "start"),
        title: "step",
        centred: true,
      })}
      ${all.some(([step]) => step > 0) ? nothing : svg`<text class="tfpg-awaits" x=${(BOX.left + BOX.width - BOX.right) / 2} y="60" text-anchor="middle">${awaits}</text>`}
      ${line("tfpg-before", earlier)}
      ${curves.map((points, i) => line(`tfpg-curve-${i}`, points))}
    </svg>
  </figure>`;
}
