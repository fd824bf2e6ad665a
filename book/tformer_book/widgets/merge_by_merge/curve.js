// Pieces per word against the size of the vocabulary: the text's own as a staircase, the
// recorded curves, and a line to drag where the reader is.
import {
  bottomAxis,
  dragIn,
  leftAxis,
  linear,
  log,
  plotOf,
  pointsOf,
  viewBox,
} from "../kit/chart.js";
import { commas, format } from "../kit/numbers.js";
import { html, svg } from "../kit/vendor/lit.js";
import { perWord } from "./maths.js";

const SIZES = { height: 166, left: 34, right: 20, top: 22, bottom: 38 };
const APART = 44; // px between two sizes on the axis

// The sizes that a vocabulary can have here, as a scale.
export const sizeScale = ({ base, total }) => log(base, base + Math.max(1, total));

// width: of the drawing; onSize hears to what size the line is dragged.
export function curve(s, width, onSize) {
  const highest = [perWord(s.steps[0]), ...s.curves.flatMap(({ values }) => values)];
  const top = Math.ceil(Math.max(2, ...highest));
  const plot = plotOf({ ...SIZES, width }, sizeScale(s), linear(1, top));
  const { left, right, bottom } = plot;
  const now = plot.x(s.base + s.n);
  const all = Array.from({ length: top }, (_, i) => i + 1);
  const levels = all.filter((v) => top <= 9 || v % 2);
  const lines = linesOf(s);
  return html`<svg class="tfmm-curve" role="img" viewBox=${viewBox(plot)}
      aria-label="Pieces per word against vocabulary size. The numbers are in the table below.">
    ${leftAxis(plot, levels)}
    <text class="tfmm-tick" x="4" y="12">pieces per word</text>
    ${bottomAxis(plot, sizesOf(s, plot.x), { text: commas, gap: 16 })}
    <text class="tfmm-tick" x=${(left + right) / 2} y=${plot.height - 6}
      text-anchor="middle">vocabulary size, on a logarithmic scale</text>
    ${[...lines.slice(1), lines[0]].map(
      ([kind, , points]) =>
        svg`<polyline class="tfmm-line ${kind}" points=${pointsOf(plot, points)} />`,
    )}
    ${lines.map(([kind, name], i) => legend(kind, name, width, plot.top + 8 + 17 * i))}
    <line class="tfmm-now" x1=${now} x2=${now} y1=${plot.top} y2=${bottom} />
    <circle class="tfmm-dot" r="6" cx=${now} cy=${plot.y(perWord(s))} />
    <rect class="tfmm-grip" data-handle="size" x=${left - 10} y=${plot.top}
      width=${right - left + 20} height=${bottom - plot.top}
      @pointerdown=${dragIn(plot, onSize)} />
  </svg>`;
}

// The lines with their names, the text's own first.
function linesOf({ base, total, steps, curves }) {
  const stairs = steps.flatMap((step, i) => {
    const end = (steps[i + 1]?.rank ?? total - 1) + 1;
    return [step.rank + 1, end].map((n) => [base + n, perWord(step)]);
  });
  const others = curves.map(({ name, at, values }, i) => [
    `tfmm-line-${i}`,
    name,
    at.map((n, j) => [base + n, values[j]]),
  ]);
  return [["tfmm-own", "your text", stairs], ...others];
}

const legend = (kind, name, width, y) =>
  svg`<line class="tfmm-line ${kind}" x1=${width - 146} x2=${width - 122} y1=${y} y2=${y} />
    <text class="tfmm-tick" x=${width - 116} y=${y + 4}>${name}</text>`;

// Round sizes with room between them, the first and the last.
function sizesOf({ base, total }, x) {
  const sizes = [base];
  const room = (v) => x(v) - x(sizes.at(-1)) > APART;
  for (const ten of [10, 100, 1000, 10000]) {
    for (const v of [ten, 2 * ten, 5 * ten])
      if (v > base && v <= base + total && room(v)) sizes.push(v);
  }
  if (!total) return sizes;
  if (!room(base + total) && sizes.length > 1) sizes.pop();
  return [...sizes, base + total];
}

// Columns and rows of the same as a table.
export function tableOf(s) {
  const at = [...new Set([0, ...(s.curves[0]?.at ?? []), s.total])];
  const rows = at
    .sort((a, b) => a - b)
    .map((n) => {
      const own = s.steps.findLast(({ rank }) => rank < n) ?? s.steps[0];
      const others = s.curves.map((each) => each.values[each.at.indexOf(n)]);
      const texts = others.map((value) => (value === undefined ? "–" : format(value)));
      return [commas(s.base + n), format(perWord(own)), ...texts];
    });
  return [["your text", ...s.curves.map(({ name }) => name)], rows];
}
