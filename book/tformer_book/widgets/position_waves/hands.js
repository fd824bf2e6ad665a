// One pair of columns as a hand: over time beside its waves, and as a clock.
import {
  bottomAxis,
  dragIn,
  linear,
  plotOf,
  pointsOf,
  segment,
  viewBox,
} from "../kit/chart.js";
import { format } from "../kit/numbers.js";
import { html, svg } from "../kit/vendor/lit.js";
import { at, pairOf, REACH } from "./maths.js";

export const TENS = [0, 10, 20, 30, 40, 50, 60];

const line = (kind, from, to) => segment(`tfp-${kind}`, from, to);
const word = (text, x, y, anchor = "middle") =>
  svg`<text class="tfp-small" x=${x} y=${y} text-anchor=${anchor}>${text}</text>`;

// The hand at the left, and at the same height its sine as a wave; hidden where there are
// two clocks.
export function wave(columns, { d, p, i, step, isNarrow }, onPick) {
  const [r, width, gap] = isNarrow ? [48, 356, 34] : [80, 700, 56];
  const sides = { left: 2 * r + gap, right: 10, top: 20, bottom: 36 };
  const size = { width, height: 2 * r + 56, ...sides };
  const plot = plotOf(size, linear(0, REACH - 1), linear(-1, 1));
  const { x, y, left, right, height } = plot;
  const [mx, my] = [r + 14, y(0)];
  const [s, c] = [columns[2 * i], columns[2 * i + 1]];
  const [sin, cos] = [at(s, p), at(c, p)];
  const tip = [mx + r * cos, y(sin)];
  const [top, bottom] = [my - r - 6, my + r + 6];
  const sixths = Array.from({ length: 6 * (REACH - 1) + 1 }, (_, n) => n / 6);
  const along = (column) => sixths.map((time) => [time, at(column, time)]);
  const curve = (kind, column) =>
    svg`<polyline class="tfp-${kind}" points=${pointsOf(plot, along(column))} />`;
  return html`<svg class="tfp-wave" role="img" viewBox=${viewBox(plot)} ?hidden=${step === 2}
    aria-label="Pair ${i} of ${d / 2}: at position ${p} the tip of its hand is ${format(sin)} up, its sine, and ${format(cos)} to the right, its cosine. Beside it both as waves over positions 0 to 63.">
    <circle class="tfp-circle" cx=${mx} cy=${my} r=${r} />
    ${line("axis", [mx - r - 8, my], [right, my])} ${line("axis", [mx, top], [mx, bottom])}
    ${word("sin", mx, 12)} ${word("cos", mx + r + 4, my + 16, "start")}
    ${bottomAxis(plot, TENS, { gap: 16 })}
    ${word("position p", (left + right) / 2, height - 4)}
    ${word("1", left - 6, my - r + 5, "end")} ${word("−1", left - 6, my + r + 5, "end")}
    ${line("now", [x(p), top], [x(p), bottom])}
    ${curve("cosine", c)} ${curve("sine", s)}
    ${line("across", tip, [x(p), tip[1]])} ${line("foot", [mx, my], [tip[0], my])}
    ${line("rise", [tip[0], my], tip)} ${line("hand", [mx, my], tip)}
    <circle class="tfp-tip" r="5" data-tip="wave" cx=${tip[0]} cy=${tip[1]}
      data-exact=${JSON.stringify([cos, sin])} />
    <circle class="tfp-tip" r="5" cx=${x(p)} cy=${tip[1]} />
    <circle class="tfp-tip tfp-open" r="4.5" cx=${x(p)} cy=${y(cos)} />
    <rect class="tfp-grip" data-handle="wave" x=${left} y="0" width=${right - left}
      height=${height} @pointerdown=${dragIn(plot, onPick, { atOnce: true })} />
  </svg>`;
}

const SIZE = 220; // a clock's viewBox
const RADIUS = 68;
const MIDDLE = SIZE / 2;
const STEPS = 24; // points of a tip's way from one position to the next
const place = ([cos, sin], far = 1) => [
  MIDDLE + far * RADIUS * cos,
  MIDDLE - far * RADIUS * sin,
];

// kind: "right" or "wrong". The hand at positions p and p + k, and the way between.
export function clock(kind, variant, { columns, table }, { d, p, k, i }) {
  const [s, c] = pairOf(variant, d, i);
  const [here, there] = [p, p + k].map((row) => [table[row][c], table[row][s]]);
  const isClose = Math.hypot(here[0] - there[0], here[1] - there[1]) < 0.4;
  const trail = Array.from({ length: STEPS * Math.max(k, 1) + 1 }, (_, n) =>
    place([at(columns[c], p + n / STEPS), at(columns[s], p + n / STEPS)])
      .map((each) => each.toFixed(1))
      .join(","),
  );
  const [low, high] = [MIDDLE - RADIUS - 12, MIDDLE + RADIUS + 12];
  return html`<figure class="tfp-dial">
    <svg class="tfp-clock" role="img" viewBox="0 0 ${SIZE} ${SIZE}"
      aria-label="${variant}: pair ${i} as a hand. At position ${p} its tip is at cos ${format(here[0])}, sin ${format(here[1])}; at ${p + k}, cos ${format(there[0])}, sin ${format(there[1])}.">
      ${line("axis", [low, MIDDLE], [high, MIDDLE])} ${line("axis", [MIDDLE, 18], [MIDDLE, high])}
      <circle class="tfp-circle" cx=${MIDDLE} cy=${MIDDLE} r=${RADIUS} />
      ${word("cos", SIZE - 4, MIDDLE + 16, "end")} ${word("sin", MIDDLE, 12)}
      <polyline class="tfp-trail" points=${trail.join(" ")} />
      ${hand(kind, "there", there, k ? p + k : "", isClose ? 0.52 : 0.25)}
      ${hand(kind, "here", here, p, 0.25)}
    </svg>
    <figcaption class="tfp-${kind}"
      >dimensions ${s} and ${c}: sin ${format(here[1], 3)}, cos ${format(here[0], 3)}</figcaption>
  </figure>`;
}

// far: of its name from the tip, in radiuses.
function hand(kind, who, point, name, far) {
  const [x, y] = place(point).map((each) => each.toFixed(1));
  const [lx, ly] = place(point, 1 + far / (Math.hypot(...point) || 1));
  const inside = Math.min(SIZE - 12, Math.max(12, lx)).toFixed(1);
  return svg`
    <line class="tfp-hand tfp-${who}" x1=${MIDDLE} y1=${MIDDLE} x2=${x} y2=${y} />
    <circle class="tfp-tip tfp-${who}" r="4.5" cx=${x} cy=${y}
      data-tip="${kind}-${who}" data-exact=${JSON.stringify(point)} />
    <text class="tfp-label tfp-${who}" x=${inside} y=${(ly + 4).toFixed(1)}
      text-anchor="middle">${name}</text>`;
}
