// Charts: scales with round ticks, axes, curves, and dragging in a chart's own numbers.
// A plot knows where its numbers are drawn; templates draw with it, in an <svg> of its
// size:
//
//   const plot = plotOf({ width: 400, height: 236, left: 42 }, linear(0, 14000), linear(0, 8));
//   svg`${leftAxis(plot, plot.y.ticks(4))} <path d=${pathOf(plot, points)} />`
import { follow, placeIn } from "./kit.js";
import { line, scaleLinear, scaleLog } from "./vendor/d3.js";
import { nothing, svg } from "./vendor/lit.js";

// Scales: scale(value) is a place, scale.invert(place) a value, scale.ticks(n) about n
// round values.
export const linear = (from, to) => scaleLinear().domain([from, to]);
export const log = (from, to) => scaleLog().domain([from, to]);

// The least round number that is no less, for the end of an axis: 1, 2 or 5, and zeros.
export function roundUp(x) {
  if (!(x > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(x));
  return [1, 2, 5, 10].map((k) => k * unit).find((each) => each >= x * (1 - 1e-9));
}

// A drawing of width × height, margins around its plot, and the scales of both directions.
// -> the same sizes, where the plot's four sides are, and the scales in the drawing's units
export function plotOf(
  { width, height, left = 0, right = 0, top = 0, bottom = 0 },
  x,
  y,
) {
  const sides = { left, right: width - right, top, bottom: height - bottom };
  x.range([sides.left, sides.right]);
  y.range([sides.bottom, sides.top]);
  return { width, height, ...sides, x, y };
}
export const viewBox = ({ width, height }) => `0 0 ${width} ${height}`;

// Points [x, y] of a plot as a path's `d` and as a polyline's `points`, to tenths.
/** @param {any} plot @param {number[][]} points */
const placesOf = (plot, points) =>
  points.map(([x, y]) => [plot.x(x), plot.y(y)].map((v) => Number(v.toFixed(1))));
export const pathOf = (plot, points) =>
  line()(/** @type {[number, number][]} */ (placesOf(plot, points)));
export const pointsOf = (plot, points) => placesOf(plot, points).join(" ");

/**
 * @typedef {object} Axis
 * @property {(tick: any) => any} [text] of a tick
 * @property {number} [gap] between the plot and its numbers
 * @property {string} [title] what they count
 * @property {boolean} [centred] the title, which else ends where the plot does (below it)
 * @property {number} [mark] the length of a mark at each tick (below a plot)
 * @property {(tick: any) => string} [anchor] of a text at its tick (below a plot)
 */

// The numbers below a plot.
/** @param {any} plot @param {any[]} ticks @param {Axis} options */
export function bottomAxis(
  plot,
  ticks,
  {
    text = String,
    gap = 20,
    title = "",
    centred = false,
    mark = 0,
    anchor = () => "middle",
  } = {},
) {
  const { x, left, right, bottom } = plot;
  return svg`<g class="tfk-axis">
    ${ticks.map(
      (tick) => svg`
        ${mark ? svg`<line x1=${x(tick)} x2=${x(tick)} y1=${bottom} y2=${bottom + mark} />` : nothing}
        <text x=${x(tick)} y=${bottom + gap} text-anchor=${anchor(tick)}>${text(tick)}</text>`,
    )}
    <text x=${centred ? (left + right) / 2 : right} y=${plot.height - 3}
      text-anchor=${centred ? "middle" : "end"}>${title}</text>
  </g>`;
}

// The numbers left of a plot, each with a line across it.
/** @param {any} plot @param {any[]} ticks @param {Axis} options */
export function leftAxis(plot, ticks, { text = String, gap = 6, title = "" } = {}) {
  const { left, right, y } = plot;
  return svg`<g class="tfk-axis">
    ${ticks.map(
      (tick) => svg`
        <line x1=${left} x2=${right} y1=${y(tick)} y2=${y(tick)} />
        <text x=${left - gap} y=${y(tick)} dy="0.32em" text-anchor="end">${text(tick)}</text>`,
    )}
    <text x="4" y="15">${title}</text>
  </g>`;
}

// A line from place to place, in the drawing's units.
/** @param {any} looks @param {number[]} from @param {number[]} to @param {any} [style] */
export const segment = (looks, [x1, y1], [x2, y2], style = nothing) =>
  svg`<line class=${looks} x1=${x1} y1=${y1} x2=${x2} y2=${y2} style=${style} />`;

// The plot's area, to press and drag in; `name` is its data-handle.
export const ground = (plot, name, onPress) => svg`<rect
  class="tfk-ground" data-handle=${name} x=${plot.left} y=${plot.top}
  width=${plot.right - plot.left} height=${plot.bottom - plot.top} @pointerdown=${onPress} />`;

// What hears the press of a handle (@pointerdown, beside @touchstart=${holdsPage}): onMove
// gets the pointer's place in the plot's numbers, never outside of them; with `atOnce` that
// of the press itself, too.
export function dragIn(plot, onMove, { atOnce = false } = {}) {
  const inside = (scale, place) => {
    const [a, b] = scale.domain();
    return Math.min(Math.max(a, b), Math.max(Math.min(a, b), scale.invert(place)));
  };
  const move = (x, y) =>
    onMove(inside(plot.x, x * plot.width), inside(plot.y, y * plot.height));
  return (event) => {
    follow(event, move);
    if (atOnce) move(...placeIn(event.currentTarget.ownerSVGElement, event));
  };
}
