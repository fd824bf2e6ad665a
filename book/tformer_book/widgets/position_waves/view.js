// The page around the drawings: curves of similarity, comparison, texts.
import {
  bottomAxis,
  dragIn,
  leftAxis,
  linear,
  plotOf,
  pointsOf,
  segment,
  viewBox,
} from "../kit/chart.js";
import { commas, format, roughly } from "../kit/numbers.js";
import { html, nothing, svg } from "../kit/vendor/lit.js";
import { clock, TENS, wave } from "./hands.js";
import { heatMap } from "./maps.js";
import { facts, REACH, STILL } from "./maths.js";

const PAPER = "the paper’s";
const KINDS = ["right", "wrong"];
const SAYS = {
  "doubled exponent":
    "Wrong: i counted columns, not pairs. Sine and cosine of a pair run at different speeds, so the tip leaves the circle, the product depends on where you are, and too many columns stand still.",
  "sin | cos halves":
    "Not wrong, only another layout: the same columns in another order. Every product is the same. It matters only where weights were trained with the other order.",
  degrees:
    "Wrong: the angles were taken for degrees. Every wave is 57.3 times as long, so neighbours look alike and most columns stand still.",
  "no base":
    "Wrong: all pairs turn at the same speed. There are only two different columns, and after 44 positions, very nearly 7 turns, the rows come round again.",
};

// s: the state; both: the two tables, { columns, table, paint }; products: in each, of row
// p with those after it.
export function page(s, both, products, on, parts) {
  const shown = [PAPER, s.variant].slice(0, s.step);
  return html`
    ${parts.step.set}
    <div class="tfp-sliders">
      ${parts.p.box}<div class="tfp-buttons">${parts.moves.nodes}</div>
      ${parts.i.box} ${parts.k.box} ${parts.d.box} ${parts.base.box}
    </div>
    ${wave(both[0].columns, s, on.onPosition)}
    <p class="tfp-worked">${worked(s, both[0].columns[2 * s.i].speed)}</p>
    ${parts.variant.set} ${s.step ? legend : nothing}
    <div class="tfp-tables" ?hidden=${!s.step}>
      <div class="tfp-two">${shown.map((name, n) =>
        heatMap(KINDS[n], name, both[n].paint, s, (column, row) =>
          on.onPick(name, column, row),
        ),
      )}</div>
      <div class="tfp-three">
        ${s.step < 2 ? nothing : shown.map((name, n) => clock(KINDS[n], name, both[n], s))}
        <figure class="tfp-similar">
          ${chart(s, products, on.onOffset)}
          <figcaption>row p · row p + k, against the offset k</figcaption>
        </figure>
      </div>
    </div>
    ${s.step < 2 ? nothing : compared(s, both, products)}
    ${parts.behind.node} ${parts.live.node}`;
}

const legend = html`<p class="tfp-legend">
  <span class="tfp-key tfp-here">position p</span>
  <span class="tfp-key tfp-there">position p + k</span>
  <span class="tfp-key tfp-pair">pair i</span>
  <span class="tfp-scale" aria-hidden="true">−1<i></i>1</span>
</p>`;

function worked({ d, base, p, k, i, step }, speed) {
  const further = ` Going on by k = ${k} turns the hand by ${format(k * speed, 3)}, wherever it stands.`;
  return (
    `Pair ${i}: the angle at p = ${p} is p ÷ ${commas(base)}^(2·${i}/${d}) = ${p} ÷ ` +
    `${format(1 / speed, 2)} = ${format(p * speed, 3)} radians. ` +
    `One turn takes ${roughly((2 * Math.PI) / speed)} positions.${step ? further : ""}`
  );
}

// Products as shares of a row's own, d / 2, against the offset.
function chart({ d, k, variant, step }, products, onOffset) {
  const plot = plotOf(
    { width: 400, height: 250, left: 36, right: 10, top: 10, bottom: 40 },
    linear(0, REACH - 1),
    linear(-0.5, 1.15).clamp(true),
  );
  const { x, y, left, right } = plot;
  const text = (share) => format((share * d) / 2, (share * d) % 2 ? 1 : 0);
  const placed = (values) => values.map((v, j) => [j, (2 * v) / d]);
  const curve = (values, n) => svg`<polyline class="tfp-curve tfp-${KINDS[n]}"
    points=${pointsOf(plot, placed(values))} />`;
  const dot = (values, n) => svg`<circle class="tfp-dot tfp-${KINDS[n]}" r="5"
    cx=${x(k)} cy=${y((2 * values[k]) / d)} />`;
  const shown = products.slice(0, Math.max(1, step));
  const beside = step === 2 ? `, ${variant} ${format(products[1][k])}` : "";
  return html`<svg class="tfp-chart" role="img" viewBox=${viewBox(plot)}
    data-similarity=${JSON.stringify(products)}
    aria-label="Similarity against offset k from 0 to 63. At k = ${k}: the paper’s ${format(products[0][k])}${beside}.">
    ${leftAxis(plot, [1, 0.5, 0, -0.5], { text })} ${bottomAxis(plot, TENS, { gap: 18 })}
    ${segment("tfp-axis", [left, y(0)], [right, y(0)])}
    <text class="tfp-small" x=${(left + right) / 2} y=${plot.height - 5}
      text-anchor="middle">offset k</text>
    ${segment("tfp-now", [x(k), plot.top], [x(k), plot.bottom])}
    ${shown.map(curve).reverse()} ${shown.map(dot).reverse()}
    <rect class="tfp-grip" data-handle="chart" x="0" y="0" width=${plot.width}
      height=${plot.height} @pointerdown=${dragIn(plot, onOffset, { atOnce: true })} />
  </svg>`;
}

function compared({ d, base, p, k, variant }, both, products) {
  const titles = {
    product: `product of rows ${p} and ${p + k}`,
    spread: "its range over p = 0 … 63, same k",
    error: "error if each pair is just turned by k",
    waves: "waves, in positions",
    still: `columns that move < ${STILL} in 64 positions`,
    nearest: "the two rows most alike: distance",
  };
  const cells = both.map(({ table }, n) => {
    const found = facts(n ? variant : "", d, base, table, k);
    const { distance, rows } = found.nearest;
    return {
      product: format(products[n][k], 3),
      spread: `${format(found.least)} … ${format(found.most)}`,
      error: format(found.error, 3),
      waves: `${roughly(found.shortest)} … ${roughly(found.longest)}`,
      still: `${found.still} of ${d}`,
      nearest: `${format(distance, 3)} (${rows.join(", ")})`,
    };
  });
  return html`<div class="tfk-scroll"><table>
      <thead><tr>
        <th scope="col">compared</th>
        <th scope="col" class="tfp-right">${PAPER}</th>
        <th scope="col" class="tfp-wrong">${variant}</th>
      </tr></thead>
      <tbody>${Object.entries(titles).map(
        ([name, title]) => html`<tr>
          <th scope="row">${title}</th>
          ${cells.map((each, n) => html`<td data-fact="${name}-${KINDS[n]}">${each[name]}</td>`)}
        </tr>`,
      )}</tbody>
    </table></div>
    <p class="tfp-verdict">${SAYS[variant]}</p>`;
}

// Columns and rows of the table behind: both rows of each table that is shown.
export function numbersOf({ d, p, k, variant, step }, both) {
  const columns = [p, p + k].flatMap((r) =>
    [PAPER, variant]
      .slice(0, Math.max(1, step))
      .map((name, n) => [`${name}, row ${r}`, both[n].table[r]]),
  );
  const rows = Array.from({ length: d }, (_, c) => [
    String(c),
    ...columns.map(([, row]) => format(row[c], 3)),
  ]);
  return [columns.map(([name]) => name), rows];
}

export function heard({ p, k, i, variant, step }, { table }, products) {
  if (step === 0) {
    const [sin, cos] = table[p].slice(2 * i);
    return `Position ${p}, pair ${i}: sine ${format(sin)}, cosine ${format(cos)}.`;
  }
  const beside = step === 2 ? `; ${variant} ${format(products[1][k])}` : "";
  return `Rows ${p} and ${p + k}: product ${format(products[0][k])}${beside}.`;
}
