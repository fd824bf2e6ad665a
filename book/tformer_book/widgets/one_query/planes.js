// The two planes of the figure: the query among the keys, the output among the values.
import { dragIn, linear, plotOf, segment, viewBox } from "../kit/chart.js";
import { holdsPage } from "../kit/kit.js";
import { html, nothing, svg } from "../kit/vendor/lit.js";
import { dot, hull, LIMIT } from "./maths.js";

const SIZE = 300; // a plane's viewBox, in its own units
const [LOW, HIGH] = [-LIMIT - 0.5, LIMIT + 0.5];
const axis = () => linear(LOW, HIGH);
const PLOT = plotOf({ width: SIZE, height: SIZE }, axis(), axis());
const ZERO = [0, 0];
/** @type {(point: number[]) => [number, number]} */
const place = ([x, y]) => [PLOT.x(x), PLOT.y(y)];
const within = (x, low, high) => Math.min(high, Math.max(low, x)).toFixed(1);

// The query and all keys as arrows. result as `attend` gives it; chosen: the key whose
// shadow is shown. onQuery and onKey hear where one was dragged, onChoose which key is held.
export function keyPlane(s, result, chosen, { onQuery, onKey, onChoose }) {
  // The chosen key's shadow on the query's line: the dot product as a length.
  const square = dot(s.query, s.query);
  const along = square > 0 ? result.scores[chosen] / square : 0;
  const shadow = s.query.map((each) => each * along);
  const keys = s.keys.map((key, j) => {
    const marks = `${hiddenAt(s, j)}${j === chosen ? " tfq-chosen" : ""}`;
    return [
      arrow(`tfk-key${marks}`, key, 1.6 + 4 * result.weights[j]),
      labelBeside(`tfk-key${marks}`, s.tokens[j], key, 21),
    ];
  });
  const handles = s.keys.map((key, j) => {
    const [onMove, onHold] = [(to) => onKey(j, to), () => onChoose(j)];
    return handle(`key-${j}`, "tfk-key", key, onMove, onHold);
  });
  const [x, y] = place(s.query);
  const below = y + (s.query[1] < 0 ? 22 : -12);
  return plane(
    html`Query and keys<span class="tfk-how">: drag a ringed tip</span>`,
    "A plane with the query and all keys as arrows. The numbers are in the table below.",
    svg`${line("tfq-ray", ZERO, shadow)} ${line("tfq-foot", s.keys[chosen], shadow)}
      ${keys} ${arrow("tfk-query", s.query)}
      ${label("tfk-query", "query", within(x, 22, SIZE - 22), within(below, 12, SIZE - 6))}
      ${handles} ${handle("query", "tfk-query", s.query, onQuery)}`,
  );
}

const MIX = 5; // the step from which the output is there

// All values as dots, and their mix, the output, inside their hull.
export function valuePlane(s, result) {
  const corners = hull(s.values.filter((_, j) => s.visible[j] !== false)).map(place);
  const pulls = s.values.map((value, j) =>
    line("tfq-pull", value, result.output, 8 * result.weights[j]),
  );
  const dots = s.values.map((value, j) => {
    const looks = `tfk-value${hiddenAt(s, j)}`;
    return [spot(looks, value, 5), labelBeside(looks, s.tokens[j], value, 13)];
  });
  const [x, y] = place(result.output);
  const below = y + (result.output[1] > 0 ? 21 : -12);
  const mix = svg`${spot("tfk-output", result.output, 7, "dot")}
    ${label("tfk-output", "output", x.toFixed(1), below.toFixed(1))}`;
  const isMixed = s.step >= MIX;
  return plane(
    `Values${isMixed ? " and their mix, the output" : ": step 5 mixes them"}`,
    `A plane with all values as dots${isMixed ? " and the output among them" : ""}. The numbers are in the table below.`,
    svg`<polygon class="tfq-hull" points=${corners.join(" ")} />
      ${isMixed ? [pulls, dots, mix] : dots}`,
  );
}

function plane(title, description, drawing) {
  const units = Array.from({ length: 2 * LIMIT + 1 }, (_, i) => i - LIMIT);
  return html`<figure class="tfq-figure">
    <svg class="tfq-plane" role="img" viewBox=${viewBox(PLOT)} aria-label=${description}>
      ${units.map((i) => {
        const looks = i === 0 ? "tfq-axis" : "tfq-grid";
        return [
          line(looks, [i, -LIMIT], [i, LIMIT]),
          line(looks, [-LIMIT, i], [LIMIT, i]),
        ];
      })}
      ${drawing}
    </svg>
    <figcaption>${title}</figcaption>
  </figure>`;
}

const hiddenAt = (s, j) => (s.visible[j] === false ? " tfq-hidden" : "");

function line(looks, from, to, width) {
  const style = width === undefined ? undefined : `stroke-width: ${width.toFixed(2)}`;
  return segment(looks, place(from), place(to), style);
}

function spot(looks, point, r, name = null) {
  const [x, y] = place(point);
  return svg`<circle class="tfq-dot ${looks}" r=${r} cx=${x} cy=${y} data-output=${name ?? nothing} />`;
}

function arrow(looks, vector, width) {
  const [[x0, y0], [x, y]] = [place(ZERO), place(vector)];
  const angle = Math.atan2(y - y0, x - x0);
  const corners = [0.42, -0.42].map((turn) => [
    x - 9 * Math.cos(angle + turn),
    y - 9 * Math.sin(angle + turn),
  ]);
  return svg`${line(`tfq-arrow ${looks}`, ZERO, vector, width)}
    <polygon class="tfq-head ${looks}" points=${[[x, y], ...corners].join(" ")} />`;
}

const label = (looks, text, x, y, anchor = "middle") =>
  svg`<text class="tfq-label ${looks}" x=${x} y=${y} text-anchor=${anchor}>${text}</text>`;
// Further out than the tip of a vector.
function labelBeside(looks, text, vector, far) {
  const [x, y] = place(vector);
  const length = Math.hypot(...vector);
  const [ux, uy] = length < 1e-9 ? [0, 1] : vector.map((each) => each / length);
  const anchor = ux > 0.35 ? "start" : ux < -0.35 ? "end" : "middle";
  const left = within(x + ux * far, 4, SIZE - 4);
  return label(looks, text, left, within(y - uy * far + 4, 12, SIZE - 6), anchor);
}

// A ring to be dragged over the plane; onMove hears where to, in its coordinates.
function handle(name, looks, point, onMove, onHold = () => {}) {
  const [x, y] = place(point).map((each) => each.toFixed(1));
  const drag = dragIn(PLOT, (...to) => onMove(to));
  const onPress = (event) => {
    drag(event);
    onHold();
  };
  return svg`<circle class="tfq-ring ${looks}" r="9" cx=${x} cy=${y} />
    <circle class="tfq-grip" r="16" cx=${x} cy=${y} data-handle=${name}
      @touchstart=${holdsPage} @pointerdown=${onPress} />`;
}
