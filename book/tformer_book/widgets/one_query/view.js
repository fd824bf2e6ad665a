// The page: planes, controls, the worked line, the table.
import { percent } from "../kit/numbers.js";
import { html, nothing } from "../kit/vendor/lit.js";
import { keyPlane, valuePlane } from "./planes.js";
import { pair, weightBars, weightTable, work } from "./table.js";

// s: the state; result as `attend` gives it; chosen: the key that is followed; on: what
// hears the reader; parts: the controls.
export const page = (s, result, chosen, on, parts) => html`
  <div class="tfq-top">
    ${s.examples.length > 1 ? parts.sentences.set : nothing} ${parts.asks.set}
  </div>
  <div class="tfq-planes">
    ${keyPlane(s, result, chosen, on)} ${weightBars(s, result)} ${valuePlane(s, result)}
  </div>
  <div class="tfq-controls">
    <fieldset>
      <legend class="tfk-query">Query of “${s.tokens[s.selected]}”</legend>
      ${parts.axes.slice(0, 2).map(({ box }) => box)}
    </fieldset>
    <fieldset>
      <legend class="tfk-key"><label for=${parts.pick.id}>Key of </label>${parts.pick}</legend>
      ${parts.axes.slice(2).map(({ box }) => box)}
    </fieldset>
    <fieldset>
      <legend>Sharpness</legend>
      ${parts.temperature.box} ${parts.scaled.box}
    </fieldset>
  </div>
  <div class="tfq-steps">${parts.step.set} ${parts.reset}</div>
  <p class="tfq-worked">${work(s, result, chosen)}</p>
  ${weightTable(s, result, chosen, on)}
  ${parts.live.node} ${parts.dragged.node} ${parts.asked.node}`;

export function summary(s, result) {
  const best = s.tokens
    .map((token, j) => [result.weights[j], token])
    .sort((a, b) => b[0] - a[0])
    .slice(0, 2)
    .map(([w, token]) => `${token} ${percent(w, 0)}`);
  return `${s.tokens[s.selected]} attends to ${best.join(", ")}. Output ${pair(result.output)}.`;
}
