// A chart of a few curves that grow.
import {
  bottomAxis,
  leftAxis,
  linear,
  plotOf,
  pointsOf,
  roundUp,
  viewBox,
} from "../kit/chart.js";
import { html, svg } from "../kit/vendor/lit.js";

const BOX = { width: 360, height: 170, left: 44, right: 8, top: 8, bottom: 30 };
const MOST_POINTS = 180;

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

// curves: a list of [step, value] for each of the names, and one of an earlier run; most: of
// the upright axis, null to follow the curves.
export function chart({ title, names, text, most = null }, curves, earlier = []) {
  const all = [...curves.flat(), ...earlier];
  const last = roundUp(Math.max(10, ...all.map(([step]) => step)));
  const top = most ?? roundUp(Math.max(0.1, ...all.map(([, y]) => y)));
  const plot = plotOf(BOX, linear(0, last), linear(0, top).clamp(true));
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
      ${leftAxis(plot, [0, top / 2, top], { text })}
      ${bottomAxis(plot, [0, last], {
        gap: 16,
        anchor: (step) => (step ? "end" : "start"),
        title: "step",
        centred: true,
      })}
      ${line("tfpg-before", earlier)}
      ${curves.map((points, i) => line(`tfpg-curve-${i}`, points))}
    </svg>
  </figure>`;
}
