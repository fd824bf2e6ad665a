// The batches as bars, and every method's cost in a table.

import { percent } from "../kit/numbers.js";
import { heads, scrolling } from "../kit/table.js";
import { html, nothing, svg } from "../kit/vendor/lit.js";
import { CUTS, explain, ORDERS, pack } from "./maths.js";

const HEIGHT = 424;
const HEAD = 20;
const [LEFT, RIGHT, BETWEEN] = [10, 44, 14]; // of the two columns of bars
const LINE = 11; // what a number needs

// Where all is drawn, given the width of the drawing: for each pair the bars of its two
// sides, for each batch its edge and where its number goes.
function layout({ lengths }, { batches, steps }, width) {
  const widest = [0, 1].map((side) => Math.max(...lengths.map((pair) => pair[side])));
  const unit = (width - LEFT - RIGHT - BETWEEN) / (widest[0] + widest[1]);
  const starts = [LEFT, LEFT + widest[0] * unit + BETWEEN];
  const space = HEIGHT - HEAD;
  const gap = Math.min(10, (0.4 * space) / steps);
  const high = Math.min(12, (space - gap * steps) / lengths.length);
  const thin = Math.max(0.5, high > 4 ? high - 1 : high * 0.85);
  const bars = [];
  let y = HEAD;
  const edges = batches.map(({ rows, source, target, tokens }) => {
    const top = y;
    for (const row of rows) {
      bars[row] = [source, target].map((all, side) => {
        const real = lengths[row][side];
        return { x: starts[side], y, real: real * unit, padding: (all - real) * unit };
      });
      y += high;
    }
    const edge = { top, bottom: y - (high - thin), middle: (top + y) / 2 };
    const hasRoom = y - top + gap >= LINE;
    y += gap;
    return { ...edge, tokens: hasRoom ? tokens : "" };
  });
  return { starts, bars, edges, thin };
}

// hatch: an id that no other figure has.
function drawing(s, found, width, hatch) {
  const { starts, bars, edges, thin } = layout(s, found, width);
  // Each pair keeps its bars, so that one whose place changes glides there.
  const bar = ({ x, y, real, padding }, pair, side) => svg`
    <rect class=${side ? "tfbp-target" : "tfbp-source"} data-pair=${pair}
      x=${x} y=${y} width=${real} height=${thin} />
    <rect class="tfbp-padding" fill="url(#${hatch})" ?data-none=${!padding}
      x=${x + real} y=${y} width=${padding} height=${thin} />`;
  return html`<svg class="tfbp-drawing" role="img" height=${HEIGHT}
      viewBox="0 0 ${width} ${HEIGHT}" aria-label=${explain(s, found)}
      data-batches=${JSON.stringify(found.batches.map(({ rows }) => rows))}>
    <defs><pattern id=${hatch} width="6" height="6" patternUnits="userSpaceOnUse"
      patternTransform="rotate(45)"><rect width="2" height="6" class="tfbp-stroke" /></pattern></defs>
    <g class="tfbp-bars">
      ${bars.map((sides, pair) => sides.map((each, side) => bar(each, pair, side)))}
    </g>
    <text x=${starts[0]} y="12" class="tfbp-head tfk-one">source</text>
    <text x=${starts[1]} y="12" class="tfbp-head tfk-two">target</text>
    <text x=${width} y="12" class="tfbp-head" text-anchor="end">tokens</text>
    ${edges.map(
      ({ top, bottom, middle, tokens }) => svg`
        <line class="tfbp-edge" x1="3" x2="3" y1=${top} y2=${bottom} />
        <text class="tfbp-tokens" x=${width} y=${middle + 4} text-anchor="end">${tokens}</text>`,
    )}
  </svg>`;
}

const METHODS = ORDERS.flatMap((order) => CUTS.map((cut) => ({ order, cut })));

function method(s, { order, cut }) {
  const { steps, waste, largest, smallest } = pack({ ...s, order, cut });
  const isNow = order === s.order && cut === s.cut;
  const name = `${ORDERS.indexOf(order)}-${CUTS.indexOf(cut)}`;
  const cell = (exact, text = exact) => html`<td data-exact=${exact}>${text}</td>`;
  return html`<tr data-method=${name} class=${isNow ? "tfbp-now" : ""}
    aria-current=${isNow ? "true" : nothing}>
    <th scope="row">${order.split(" by ")[0]}, ${cut}</th>
    ${cell(steps)}${cell(waste, percent(waste))}${cell(largest)}${cell(smallest)}
  </tr>`;
}

// s: the state, with the drawing's `width`; found: its batches, as `pack` gives them.
export const page = (s, found, parts) => html`
  ${parts.order.set} ${parts.cut.set}
  <div class="tfbp-controls">${parts.sentences.box}${parts.tokens.box}</div>
  ${drawing(s, found, s.width, parts.hatch)}
  <p class="tfbp-said">${explain(s, found)}</p>
  ${scrolling(
    "All methods compared",
    html`<table>${heads(["method", "steps", "padding", "largest batch", "smallest"])}
      <tbody>${METHODS.map((each) => method(s, each))}</tbody></table>`,
  )}
  ${parts.behind.node} ${parts.live.node}`;

// Columns and rows of the batches as a table.
export function tableOf({ batches }) {
  const rows = batches.map(({ rows, source, target, tokens, padding }, i) =>
    [i + 1, rows.length, source, target, tokens, padding].map(String),
  );
  return [["pairs", "S", "T", "tokens", "padding"], rows];
}
