// Scores to powers to shares, in the 32 bits that models use: softmax to play with.
import {
  bind,
  button,
  check,
  figure,
  liveRegion,
  showAll,
  slider,
  stopping,
} from "../kit/kit.js";
import { format } from "../kit/numbers.js";
import { remembered } from "../kit/remembered.js";
import { render as draw, html } from "../kit/vendor/lit.js";
import { explain, exponent, short, softmax32 } from "./maths.js";

const NAMES = ["labels", "scores", "temperature", "added", "subtract"];
const SCORES = { min: -10, max: 10, step: 0.5, digits: 1 };

function render({ model, el }) {
  const root = figure(el, "tfsb", "Softmax: from scores to shares");
  const live = liveRegion();
  const { read, commit, set, stop } = bind(model, NAMES, () => update());
  const start = read();

  const heat = { min: 0.1, max: 5, step: 0.1, digits: 1 };
  const sum = { min: -120, max: 120, step: 5, digits: 0 };
  const first = "subtract the largest first";
  const controls = {
    temperature: slider("temperature", "temperature", heat, set("temperature")),
    added: slider("added", "add to all", sum, set("added")),
    subtract: check("subtract", first, start.subtract, set("subtract")),
  };
  const reset = button("reset", "Start again", () => commit(start));
  const slidersOf = remembered((labels) =>
    labels.split("\n").map((label, j) => {
      const score = slider(`score-${j}`, label, SCORES, (x) =>
        commit({ scores: read().scores.with(j, x) }),
      );
      score.input.setAttribute("aria-label", `score of ${label}`);
      score.text.remove(); // the row's header says it already
      return score;
    }),
  );

  function update() {
    const s = read();
    if (s.labels.length !== s.scores.length) return; // a kernel sends one after the other
    const sliders = slidersOf(s.labels.join("\n"));
    sliders.forEach((each, j) => each.show(s.scores[j]));
    showAll(controls, s);
    const result = softmax32(s.scores, s);
    const isBad = !(result.total > 0 && result.total < Infinity);
    draw(
      html`${table(s, result, sliders)}
        <p class="tfsb-worked ${isBad ? "tfsb-bad" : ""}">${explain(s.labels, result, s)}</p>
        <div class="tfsb-controls">${Object.values(controls).map(({ box }) => box)}${reset}</div>
        ${live.node}`,
      root,
    );
    const shares = s.labels.map((label, j) => `${label} ${format(result.shares[j])}`);
    live.announce(isBad ? "The shares are not usable: overflow." : shares.join(", "));
  }
  update();
  live.stop();
  return stopping(live, stop);
}

const sumOf = (numbers) => numbers.reduce((a, b) => a + b, 0);
const table = (s, { powers, exponents, shares, total }, sliders) => html`
  <div class="tfk-scroll"><table>
    <caption class="tfk-how">Move a score and watch all shares.</caption>
    <thead><tr>
      <th scope="col"></th><th scope="col">score</th>
      <th scope="col">e<sup>${exponent(s)}</sup></th><th scope="col">share</th>
    </tr></thead>
    <tbody>
      ${s.labels.map(
        (label, j) => html`<tr>
          <th scope="row">${label}</th>
          <td class="tfsb-score">${sliders[j].box}</td>
          <td data-power=${j} data-exact=${powers[j]}
            class=${powers[j] === Infinity ? "tfsb-bad" : ""}
            title="e to the power ${format(exponents[j], 2)}">${short(powers[j])}</td>
          <td class="tfsb-share"><span data-share=${j} data-exact=${shares[j]}
            class="tfsb-number ${Number.isNaN(shares[j]) ? "tfsb-bad" : ""}"
            >${format(shares[j], 3)}</span><span class="tfsb-track"><span
            class="tfsb-bar" aria-hidden="true"
            style="width: ${(100 * (shares[j] || 0)).toFixed(2)}%"></span></span></td>
        </tr>`,
      )}
      <tr class="tfsb-sum">
        <th scope="row">sum</th><td></td><td data-power="sum">${short(total)}</td>
        <td class="tfsb-share" data-share="sum">${format(sumOf(shares), 3)}</td>
      </tr>
    </tbody>
  </table></div>`;

export default { render };
