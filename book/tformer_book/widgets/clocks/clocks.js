// A position as the hands of several clocks: play it, or move it. `dials` is all of the
// maths and runs in Node; the tests hold it to `tformer.positions.sinusoids`.
import { sinusoids } from "../engine/positions.js";
import { row } from "../engine/tensor.js";
import { segment } from "../kit/chart.js";
import { bind, figure, liveRegion, slider, stopping } from "../kit/kit.js";
import { format, roughly } from "../kit/numbers.js";
import { player } from "../kit/player.js";
import { render as draw, html } from "../kit/vendor/lit.js";

export const LAST = 63; // positions of the slider
const BASE = 10_000;
const BEAT = 450; // ms from one position to the next
const SIZE = 120;
const MIDDLE = SIZE / 2;
const RADIUS = 46;

// For each hand: the sine and cosine of its angle at position p, and what a turn takes.
export function dials(dModel, p) {
  const numbers = row(sinusoids(p + 1, dModel, BASE), p);
  return Array.from({ length: dModel / 2 }, (_, i) => ({
    sin: numbers[2 * i],
    cos: numbers[2 * i + 1],
    turn: 2 * Math.PI * BASE ** ((2 * i) / dModel),
  }));
}

// The line `tfc-sin` falls from the tip to the axis and is as long as the sine; `tfc-cos`
// goes from the middle to its foot.
function dial({ sin, cos, turn }, i) {
  const [x, y] = [MIDDLE + RADIUS * cos, MIDDLE - RADIUS * sin];
  const label = `Hand ${i}: its tip is ${format(sin, 3)} up and ${format(cos, 3)} to the right of the middle.`;
  return html`<figure>
    <svg viewBox="0 0 ${SIZE} ${SIZE}" role="img" aria-label=${label}>
      <circle class="tfc-face" cx=${MIDDLE} cy=${MIDDLE} r=${RADIUS} />
      ${segment("tfc-cos", [MIDDLE, MIDDLE], [x, MIDDLE])}
      ${segment("tfc-sin", [x, MIDDLE], [x, y])} ${segment("tfc-hand", [MIDDLE, MIDDLE], [x, y])}
      <circle class="tfc-tip" r="4" cx=${x} cy=${y} data-tip=${i} data-exact=${JSON.stringify([sin, cos])} />
    </svg>
    <figcaption>
      <strong>hand ${i}</strong>
      <span>a turn: ${roughly(turn)} positions</span>
      <span class="tfc-numbers">sin ${format(sin, 3)} · cos ${format(cos, 3)}</span>
    </figcaption>
  </figure>`;
}

function render({ model, el }) {
  const root = figure(el, "tfc", "A position as the hands of clocks");
  const live = liveRegion();
  const { commit, stop } = bind(model, ["position", "d_model"], () => update());
  const at = () => model.get("position");
  const range = { min: 0, max: LAST, step: 1, digits: 0 };
  const position = slider("position", "position p", range, (p) => buttons.go(p));
  const buttons = player({
    words: ["position 0", "one position back", "one position on", `position ${LAST}`],
    at,
    last: () => LAST,
    to: (p) => commit({ position: p }),
    beat: BEAT,
  });

  function update(speak = true) {
    const hands = dials(model.get("d_model"), at());
    const numbers = hands.flatMap(({ sin, cos }) => [format(sin), format(cos)]);
    position.show(at());
    buttons.show();
    draw(
      html`<div class="tfc-controls">${position.box}<div class="tfc-buttons">${buttons.nodes}</div></div>
        <div class="tfc-dials">${hands.map(dial)}</div>
        <p class="tfc-vector">The vector of position ${at()}: (${numbers.join(", ")})</p>
        ${live.node}`,
      root,
    );
    if (speak && !buttons.playing()) live.announce(`Position ${at()}.`);
  }

  update(false);
  return stopping(buttons, live, stop);
}

export default { render };
