// The drawing of a path between two tokens, and the table of all kinds of layers.
import { ALONG, onArrows, within } from "../kit/arrows.js";
import { dragIn, linear, plotOf, pointsOf, segment, viewBox } from "../kit/chart.js";
import { holdsPage } from "../kit/kit.js";
import { commas } from "../kit/numbers.js";
import { heads, scrolling } from "../kit/table.js";
import { html, nothing, svg } from "../kit/vendor/lit.js";
import {
  cone,
  explain,
  KINDS,
  multiplications,
  pathLength,
  route,
  sequentialOperations,
} from "./maths.js";

const BOX = { height: 314, left: 24, right: 24, top: 36, bottom: 78 };
const TALL = BOX.height - BOX.top - BOX.bottom;
const FLOOR = BOX.height - BOX.bottom; // row of inputs; names of tokens below
const MOST_DOTS = 1200;
const MOST_STOPS = 80;
const ENDS = [
  { name: "start", label: "from token", style: "tfk-one", below: 30 },
  { name: "end", label: "to token", style: "tfk-two", below: 50 },
];

// Every token in every row; in their place, where there are too many, a bar for each row
// that there is room for.
function dots(plot, n, height) {
  const rows = Array.from({ length: height + 1 }, (_, row) => row);
  if (n * (height + 1) > MOST_DOTS) {
    const every = Math.max(1, Math.ceil(height / 60));
    return rows
      .filter((row) => row % every === 0)
      .map(plot.y)
      .map((y) => segment(nothing, [plot.left, y], [plot.right, y]));
  }
  const r = Math.min(4, Math.max(1.2, (plot.x(1) - plot.x(0)) / 6));
  return rows.flatMap((row) =>
    Array.from(
      { length: n },
      (_, p) => svg`<circle cx=${plot.x(p)} cy=${plot.y(row)} r=${r} />`,
    ),
  );
}

// The tokens below the drawing: all words, if there are any, or the numbers of both ends.
function names(plot, s) {
  if (s.words.length < s.length)
    return ENDS.map(({ name, style, below }) => {
      const x = Math.max(18, Math.min(plot.width - 18, plot.x(s[name])));
      return svg`<text class="tfpl-word ${style}" x=${x} y=${FLOOR + (s.start === s.end ? 30 : below)}
        text-anchor="middle">${commas(s[name] + 1)}</text>`;
    });
  const isSlanted = plot.x(1) - plot.x(0) < 62;
  const [anchor, across, down] = isSlanted ? ["end", 4, 18] : ["middle", 0, 28];
  return s.words.slice(0, s.length).map((word, p) => {
    const style = ENDS.find(({ name }) => s[name] === p)?.style ?? "";
    const turn = isSlanted ? " rotate(-60)" : "";
    return svg`<text class="tfpl-word ${style}" text-anchor=${anchor}
      transform="translate(${plot.x(p) + across} ${FLOOR + down})${turn}">${word}</text>`;
  });
}

function top(plot, kind, height) {
  const which = height === 1 ? "the layer" : `layer ${commas(height - 1)}`;
  const text = kind === "recurrent" ? "states" : `outputs of ${which}`;
  return svg`<text class="tfpl-row" x="2" y=${plot.y(height) - 20}>${text}</text>`;
}

// An end of the path, to drag or to move with the arrow keys.
function hand(plot, s, [place, row], { name, label, style }, onMove) {
  const token = s[name];
  const spoken =
    s.words.length >= s.length ? `${token + 1}, ${s.words[token]}` : token + 1;
  const keys = { ...ALONG, ArrowUp: 1, ArrowDown: -1 };
  return svg`<circle class="tfpl-hand ${style}" r="10" cx=${plot.x(place)} cy=${plot.y(row)}
    tabindex="0" role="slider" aria-label=${label} data-hand=${name}
    aria-valuemin="1" aria-valuemax=${s.length} aria-valuenow=${token + 1} aria-valuetext=${spoken}
    @pointerdown=${dragIn(plot, (p) => onMove(name, Math.round(p)))} @touchstart=${holdsPage}
    @keydown=${onArrows(keys, (by) => onMove(name, within(token + by, s.length)))} />`;
}

// step: how far along the path the signal has gone; onMove hears an end and its new place.
export function drawing(s, { width, step, onMove }) {
  const path = route(s.kind, s.start, s.end, s.kernel);
  const height = path.at(-1)[1];
  const gap = height === 1 ? 120 : Math.min(60, TALL / height);
  const plot = plotOf(
    { ...BOX, width },
    linear(0, s.length - 1),
    linear(0, TALL / gap),
  );
  /** @type {(point: number[]) => [number, number]} */
  const at = ([p, row]) => [plot.x(p), plot.y(row)];
  const edges = cone(s.kind, s.start, s.end, s.kernel, s.length).map(([a, b]) =>
    segment(nothing, at(a), at(b)),
  );
  const stops = path.length > MOST_STOPS ? [] : path.map(at);
  const [cx, cy] = at(path[step]);
  return html`<svg class="tfpl-drawing" role="group" height=${plot.height} viewBox=${viewBox(plot)}
    aria-label=${explain(s)} data-path=${JSON.stringify(path)}>
    <g class="tfpl-back">${edges}</g>
    <g class="tfpl-dots">${dots(plot, s.length, height)}</g>
    <polyline class="tfpl-path" points=${pointsOf(plot, path)} />
    <polyline class="tfpl-gone" points=${pointsOf(plot, path.slice(0, step + 1))} />
    <g class="tfpl-stops">${stops.map(([x, y]) => svg`<circle cx=${x} cy=${y} r="5" />`)}</g>
    <g class="tfpl-labels">${top(plot, s.kind, height)}${names(plot, s)}</g>
    ${hand(plot, s, path[0], ENDS[0], onMove)}
    ${hand(plot, s, path.at(-1), ENDS[1], onMove)}
    <circle class="tfpl-pulse" r="8" cx=${cx} cy=${cy} ?data-idle=${step === 0} />
  </svg>`;
}

const HEADS = [
  ...["layer", "steps here", "longest path"],
  ...["in sequence, per layer", "multiplications, per layer"],
];
function row(kind, s) {
  const numbers = [
    pathLength(kind, Math.abs(s.end - s.start), s.kernel),
    pathLength(kind, s.length - 1, s.kernel),
    sequentialOperations(kind, s.length),
    multiplications(kind, s.length, s.width, s.kernel),
  ];
  const isDrawn = kind === s.kind;
  return html`<tr data-kind=${kind} class=${isDrawn ? "tfpl-now" : ""} aria-current=${isDrawn ? "true" : nothing}>
    <th scope="row">${kind}</th>
    ${numbers.map((x) => html`<td data-exact=${x}>${commas(x)}</td>`)}
  </tr>`;
}

export const table = (s) =>
  scrolling(
    "All kinds of layers compared",
    html`<table>${heads(HEADS)}<tbody>${KINDS.map((kind) => row(kind, s))}</tbody></table>`,
  );
