// The numbers of the figure: a row for each key, the chosen key's own worked out in words.
import { format } from "../kit/numbers.js";
import { html, live } from "../kit/vendor/lit.js";

export const pair = (v) => `(${v.map((x) => format(x)).join(", ")})`;
const factor = (x) => (x < 0 ? `(${format(x)})` : format(x));
const isHidden = (s, j) => s.visible[j] === false;

// data-from: the step from which a column shows. onSee(j, input) hears that a key was
// ticked or not, onFollow(j) which row to follow.
export function weightTable(s, result, chosen, on) {
  const asker = s.tokens[s.selected];
  return html`<div class="tfk-scroll"><table data-step=${s.step}>
    <caption>What “${asker}” takes from each word. <span class="tfk-how">Untick one to hide it, choose a row to follow it.</span></caption>
    <thead><tr>
      <th scope="col">may see</th>
      <th scope="col" data-from="1">q · k</th>
      <th scope="col" data-from="2">scaled</th>
      <th scope="col" data-from="4">weight</th>
      <th scope="col" data-from="5">weight × value</th>
    </tr></thead>
    <tbody>
      ${s.tokens.map((token, j) => row(s, result, token, j, j === chosen, on))}
      <tr class="tfq-sum">
        <th scope="row">sum</th><td></td><td></td>
        <td data-from="4" class="tfq-weight"><span class="tfq-number">1.000</span></td>
        <td data-from="5" class="tfk-output" data-output="text"
          data-exact=${JSON.stringify(result.output)}>${pair(result.output)}</td>
      </tr>
    </tbody>
  </table></div>`;
}

function row(s, { scores, logits, divisor, weights }, token, j, isChosen, on) {
  const looks = `${isHidden(s, j) ? "tfq-off" : ""} ${isChosen ? "tfq-chosen" : ""}`;
  const share = s.values[j].map((v) => v * weights[j]);
  return html`<tr class=${looks} @click=${() => on.onFollow(j)}>
    <th scope="row"><label><input type="checkbox" data-control="see-${j}"
      .checked=${live(!isHidden(s, j))} @focus=${() => on.onFollow(j)}
      @change=${({ target }) => on.onSee(j, target)}><span>${token}</span></label></th>
    <td data-from="1">${format(scores[j])}</td>
    <td data-from="2">${format(s.step >= 3 ? logits[j] : scores[j] / divisor)}</td>
    <td data-from="4" class="tfq-weight"><span class="tfq-number" data-weight=${j}
      data-exact=${weights[j]}>${format(weights[j], 3)}</span>${track(weights[j])}</td>
    <td data-from="5">${pair(share)}</td>
  </tr>`;
}

const track = (weight) => html`<span class="tfq-track"><span class="tfq-bar"
  aria-hidden="true" style="width: ${(100 * weight).toFixed(2)}%"></span></span>`;

// The weights once more, as bars beside the planes: who gets how much, while one drags.
// (The table says the same to those who cannot see it.)
export const weightBars = (s, { weights }) => html`
  <div class="tfq-shares" aria-hidden="true" ?data-none=${s.step < 4}>
    <span class="tfq-shares-name">weights</span>
    ${s.tokens.map(
      (token, j) => html`<div class="tfq-share" ?data-hidden=${isHidden(s, j)}>
        <span>${token}</span><span class="tfq-much">${format(weights[j])}</span>
        ${track(weights[j])}
      </div>`,
    )}
  </div>`;

// The sentence under the steps: the chosen key's own numbers, worked out.
export function work(s, result, j) {
  const { tokens, query, keys, values, temperature } = s;
  const name = tokens[j];
  const score = format(result.scores[j]);
  const hidden = result.logits[j] === -Infinity;
  const scaledScore = format(result.scores[j] / result.divisor);
  const total = result.logits.reduce((sum, x) => sum + Math.exp(x), 0);
  const divisor =
    [s.scaled && "√2", temperature !== 1 && format(temperature, 1)]
      .filter(Boolean)
      .join(" × ") || "1";
  return [
    `Compare with “${name}”: ${query.map((x, c) => `${factor(x)} × ${factor(keys[j][c])}`).join(" + ")} = ${score}. ` +
      "The longer the key reaches along the query, the higher the score.",
    `Scale “${name}”: ${score} ÷ (${divisor.replace("√2", `√${query.length}`)}) = ${scaledScore}.` +
      (s.scaled ? "" : " The division by √d is switched off."),
    hidden
      ? `Mask: “${name}” is hidden. Its score becomes −∞, so its weight will be exactly 0.`
      : `Mask: “${name}” may be seen, so its score stays ${scaledScore}. Untick a word to hide it.`,
    hidden
      ? `Softmax: e to the power −∞ is 0, so “${name}” gets nothing and the others share everything.`
      : `Softmax for “${name}”: e to the power ${scaledScore} is ${Math.exp(result.logits[j]).toPrecision(3)}; ` +
        `divided by the sum over all words, ${total.toPrecision(3)}, it is ${format(result.weights[j], 3)}.`,
    `Mix: “${name}” gives ${format(result.weights[j], 3)} × ${pair(values[j])}. ` +
      `All of them add up to the output ${pair(result.output)}, inside the shaded area.`,
  ][s.step - 1];
}
