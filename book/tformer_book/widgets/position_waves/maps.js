// A table as a heat map: positions down, dimensions across.
import { dragIn, linear, plotOf, viewBox } from "../kit/chart.js";
import { scaleAt } from "../kit/colours.js";
import { html, ref, svg } from "../kit/vendor/lit.js";
import { LENGTH, pairOf } from "./maths.js";

// A canvas that shows a table; for `ref`, which hears of it before it is on the page, where
// it has no colours yet.
export const painted = (table) => (canvas) => {
  if (canvas) queueMicrotask(() => paint(canvas, table));
};
function paint(canvas, table) {
  const [pen, colour] = [canvas.getContext("2d"), scaleAt(canvas.parentElement)];
  table.forEach((row, y) =>
    row.forEach((number, x) => {
      pen.fillStyle = colour(number);
      pen.fillRect(x, y, 1, 1);
    }),
  );
}

// kind: "right" or "wrong"; onPick(dimension, position) hears where it is pressed.
export function heatMap(kind, variant, paint, { d, p, k, i }, onPick) {
  const plot = plotOf(
    { width: d, height: LENGTH },
    linear(-0.5, d - 0.5),
    linear(LENGTH - 0.5, -0.5),
  );
  const row = (y, name) => mark(0, y, d, 1, name);
  const column = (x) => mark(x, 0, 1, LENGTH, "pair");
  return html`<figure class="tfp-map">
    <figcaption class="tfp-name tfp-${kind}">${variant}</figcaption>
    <div class="tfp-ticks-y" aria-hidden="true">${[0, 32, 64, 96, 127].map((tick) => {
      const top = ((100 * (tick + 0.5)) / LENGTH).toFixed(2);
      return html`<span style="top: ${top}%">${tick}</span>`;
    })}</div>
    <div class="tfp-stack">
      <canvas class="tfp-canvas" width=${d} height=${LENGTH} aria-hidden="true"
        ${ref(paint)}></canvas>
      <svg class="tfp-over" preserveAspectRatio="none" role="img" viewBox=${viewBox(plot)}
        aria-label="Heat map, ${variant}: positions 0 to 127 from top to bottom, dimensions 0 to ${d - 1} from left to right. Marked: positions ${p} and ${p + k}, pair ${i}.">
        ${pairOf(variant, d, i).map(column)} ${row(p, "here")} ${row(p + k, "there")}
        <rect class="tfp-grip" x="0" y="0" width=${d} height=${LENGTH}
          data-handle="map-${kind}" @pointerdown=${dragIn(plot, onPick, { atOnce: true })} />
      </svg>
    </div>
    <div class="tfp-ticks-x" aria-hidden="true">
      <span>0</span><span>dimension →</span><span>${d - 1}</span>
    </div>
  </figure>`;
}

const mark = (x, y, width, height, name) =>
  svg`<rect class="tfp-mark tfp-${name}" vector-effect="non-scaling-stroke"
    x=${x} y=${y} width=${width} height=${height} />`;
