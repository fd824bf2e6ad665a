// Pieces per word against the size of the vocabulary: the text's own as a staircase, the
// recorded curves, and a line to drag where the reader is.
import { commas, format } from "../kit/numbers.js";
import { scaleLinear, scaleLog } from "../kit/vendor/d3.js";
import { html, svg } from "../kit/vendor/lit.js";
import { perWord } from "./maths.js";

const HEIGHT = 166;
const [LEFT, RIGHT, TOP, BOTTOM] = [34, 14, 22, HEIGHT - 38];
const APART = 44; // px between two sizes on the axis

// Where a vocabulary of some size stands between two ends of an axis.
export const sizeScale = ({ base, total }, ends) =>
  scaleLog()
    .domain([base, base + Math.max(1, total)])
    .range(ends);
// The same for the drawing.
export const acrossOf = (s, width) => sizeScale(s, [LEFT, width - RIGHT]);

const dots = (points) =>
  points.map((point) => point.map((each) => each.toFixed(1))).join(" ");
const tick = (text, x, y, anchor = "middle") =>
  svg`<text class="tfmm-tick" x=${x} y=${y} text-anchor=${anchor}>${text}</text>`;

// grip: a directive for the area in which the line is dragged.
export function curve(s, grip) {
  const { width } = s;
  const right = width - RIGHT;
  const highest = [perWord(s.steps[0]), ...s.curves.flatMap(({ values }) => values)];
  const top = Math.ceil(Math.max(2, ...highest));
  const x = acrossOf(s, width);
  const y = scaleLinear().domain([1, top]).range([BOTTOM, TOP]);
  const at = x(s.base + s.n).toFixed(1);
  const stairs = s.steps.flatMap((step, i) => {
    const end = (s.steps[i + 1]?.rank ?? s.total - 1) + 1;
    return [step.rank + 1, end].map((n) => [x(s.base + n), y(perWord(step))]);
  });
  const lines = [
    ["tfmm-own", "your text", stairs],
    ...s.curves.map(({ name, at, values }, i) => [
      `tfmm-line-${i}`,
      name,
      at.map((n, j) => [x(s.base + n), y(values[j])]),
    ]),
  ];
  const all = Array.from({ length: top }, (_, i) => i + 1);
  const levels = all.filter((v) => top <= 9 || v % 2);
  return html`<svg class="tfmm-curve" role="img" viewBox="0 0 ${width} ${HEIGHT}"
      aria-label="Pieces per word against vocabulary size. The numbers are in the table below.">
    ${levels.map(
      (v) => svg`
        <line class="tfmm-grid" x1=${LEFT} x2=${right} y1=${y(v)} y2=${y(v)} />
        ${tick(v, LEFT - 6, y(v) + 4, "end")}`,
    )}
    ${sizesOf(s, x).map((v) => tick(commas(v), x(v), BOTTOM + 16))}
    ${tick("vocabulary size, on a logarithmic scale", (LEFT + right) / 2, HEIGHT - 6)}
    ${tick("pieces per word", 4, 12, "start")}
    ${[...lines.slice(1), lines[0]].map(
      ([kind, , points]) =>
        svg`<polyline class="tfmm-line ${kind}" points=${dots(points)} />`,
    )}
    ${lines.map(([kind, name], i) => legend(kind, name, width, TOP + 8 + 17 * i))}
    <line class="tfmm-now" x1=${at} x2=${at} y1=${TOP} y2=${BOTTOM} />
    <circle class="tfmm-dot" r="6" cx=${at} cy=${y(perWord(s)).toFixed(1)} />
    <rect class="tfmm-grip" data-handle="size" x=${LEFT - 10} y=${TOP}
      width=${right - LEFT + 20} height=${BOTTOM - TOP} ${grip} />
  </svg>`;
}

const legend = (kind, name, width, y) =>
  svg`<line class="tfmm-line ${kind}" x1=${width - 146} x2=${width - 122} y1=${y} y2=${y} />
    ${tick(name, width - 116, y + 4, "start")}`;

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
      return [
        commas(s.base + n),
        format(perWord(own)),
        ...others.map((value) => (value === undefined ? "–" : format(value))),
      ];
    });
  return [["your text", ...s.curves.map(({ name }) => name)], rows];
}
