// The two distributions of the next piece at one position, side by side as bars.
import { chance } from "../kit/numbers.js";
import { ending, meter, shown, written } from "../kit/pieces.js";
import { html } from "../kit/vendor/lit.js";

const ROWS = 10; // next pieces, the label beyond them, and all the rest

const after = (pieces) =>
  pieces.length ? `after “${ending(written(pieces), 40)}”` : "at the start";

const picker = (piece, onPick) =>
  html`<button type="button" class="tfk-do" data-control="give" title="Teach this piece instead"
    aria-label="${shown(piece)}: teach this piece instead" @click=${() => onPick(piece)}>${shown(piece)}</button>`;

const bar = ({ piece, probability }, name, mark) =>
  html`<tr class=${mark ? "tft-taken" : ""} data-piece=${piece}>
    <th scope="row">${name}</th><td data-exact=${probability}>${chance(probability)}</td>
    ${meter("tft-meter", probability)}<td class="tft-mark">${mark}</td></tr>`;

const blank = (count) =>
  Array.from(
    { length: count },
    () => html`<tr aria-hidden="true"><td colspan="4"> </td></tr>`,
  );

// The next pieces with the chosen one among them, and all others in one row. Always the
// same number of rows, so that nothing below jumps.
function bars(next, chosen, mark, onPick) {
  if (!next) return blank(ROWS);
  const entries = next.some(({ id }) => id === chosen.id) ? next : [...next, chosen];
  const listed = entries.reduce((all, { probability }) => all + probability, 0);
  const rest = Math.max(0, 1 - listed);
  return html`
    ${entries.map((each) => {
      if (each.id === chosen.id) return bar(each, shown(each.piece), `● ${mark}`);
      return bar(each, onPick ? picker(each.piece, onPick) : shown(each.piece), "");
    })}
    <tr><th scope="row">all others</th><td>${chance(rest)}</td>
      ${meter("tft-meter", rest)}<td></td></tr>
    ${blank(ROWS - entries.length - 1)}`;
}

const side = (name, title, list) => html`<div class="tft-side" data-side=${name}>
  <p class="tft-title">${title}</p><table><tbody>${list}</tbody></table></div>`;

// onGive(piece) hears which piece the reader wants taught; null: none can be.
export function distributions(now, { positions, steps }, onGive) {
  const given = positions[now];
  const step = steps[now];
  const label = given && { ...given, probability: Math.exp(given.logProbability) };
  const read = positions.slice(0, now).map(({ piece }) => piece);
  return html`<div class="tft-sides">
    ${side(
      "teacher",
      given ? `Teacher forcing, ${after(read)}` : "Teacher forcing: the German is over",
      bars(given?.next, label, "label", onGive),
    )}
    ${side(
      "own",
      step
        ? `Decoding, ${after(step.hypotheses[0].pieces)}`
        : "Decoding: the translation is over",
      bars(step?.hypotheses[0].next, step?.candidates[0], "taken", null),
    )}
  </div>`;
}
