// Scores to powers to shares, in the 32 bits that models use: softmax to play with.
import { bind, button, check, figure, liveRegion, slider } from "../kit/kit.js";
import { format } from "../kit/numbers.js";
import { remembered } from "../kit/remembered.js";
import { render as draw, html } from "../kit/vendor/lit.js";
import { explain, exponent, short, softmax32 } from "./maths.js";

const NAMES = ["labels", "scores", "temperature", "added", "subtract"];
const SCORES = { min: -10, max: 10, step: 0.5, digits: 1 };

function render({ model, el }) {
  const root = figure(el, "tfsb", "Softmax: from scores to shares");
  const live = liveRegion();
  const { read, commit, stop } = bind(model, NAMES, () => update());
  const start = read();

  const temperature = slider(
    "temperature",
    "temperature",
    { min: 0.1, max: 5, step: 0.1, digits: 1 },
    (x) => commit({ temperature: x }),
  );
  const added = slider(
    "added",
    "add to all",
    { min: -120, max: 120, step: 5, digits: 0 },
    (x) => commit({ added: x }),
  );
  const subtract = check(
    "subtract",
    "subtract the largest first",
    start.subtract,
    (on) => commit({ subtract: on }),
  );
  const reset = button("reset", "Start again", () => commit(start));
  const controls = [temperature.box, added.box, subtract.box, reset];
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
    temperature.show(s.temperature);
    added.show(s.added);
    subtract.input.checked = s.subtract;
    const result = softmax32(s.scores, s);
    const isBad = !(result.total > 0 && result.total < Infinity);
    draw(
      html`${table(s, result, sliders)}
        <p class="tfsb-worked ${isBad ? "tfsb-bad" : ""}">${explain(s.labels, result, s)}</p>
        <div class="tfsb-controls">${controls}</div>
        ${live.node}`,
      root,
    );
    const shares = s.labels.map((label, j) => `${label} ${format(result.shares[j])}`);
    live.announce(isBad ? "The shares are not usable: overflow." : shares.join(", "));
  }
  update();
  live.stop();
  return () => {
    live.stop();
    stop();
  };
}

const table = (s, { powers, exponents, shares, total }, sliders) => html`
  <div class="tfk-scroll"><table>
    <caption>Move a score and watch all shares.</caption>
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
        <td class="tfsb-share" data-share="sum">${format(
          shares.reduce((a, b) => a + b, 0),
          3,
        )}</td>
      </tr>
    </tbody>
  </table></div>`;

export default { render };
