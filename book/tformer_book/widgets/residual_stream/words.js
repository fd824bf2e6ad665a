// What the model would say, part by part: one word large, and all of them in a row.
import { ALONG, onArrows } from "../kit/arrows.js";
import { shown } from "../kit/pieces.js";
import { walker } from "../kit/player.js";
import { html, nothing } from "../kit/vendor/lit.js";
import { best, inWords, shortOf } from "./maths.js";

const BEAT = 900; // ms between two parts while it plays

function tile(rows, i, now, number, onPick) {
  const { title, next } = rows[i];
  const [layer, part] = shortOf(title);
  const piece = shown(best(rows[i]));
  const isOther = i > 0 && best(rows[i]) !== best(rows[i - 1]);
  const other = isOther ? ", another than before" : "";
  return html`<button type="button" class="tfrs-tile" data-tile=${i}
      tabindex=${i === now ? 0 : -1} aria-current=${i === now ? "step" : nothing}
      data-changed=${isOther || nothing} data-later=${i > now || nothing}
      aria-label="After ${inWords(title)}: ${piece}, ${number(next[0][1])}${other}"
      @click=${() => onPick(i)}>
    <span class="tfrs-small">${layer}</span><span class="tfrs-small">${part}</span>
    <span class="tfrs-piece">${piece}</span></button>`;
}

// at(), last() and onGo(i): where we are, where the end is, and how to go elsewhere.
// -> { template(rows, now, { before, number }), show(): after it was drawn, stop() }
export function wordsView({ at, last, onGo }) {
  const walk = walker({
    name: "part",
    words: [
      "To the first part",
      "One part back",
      "One part forward",
      "To the last part",
    ],
    at,
    last,
    to: onGo,
    beat: BEAT,
  });
  let said = "";
  let isOdd = false; // the same animation again begins only on another name
  const keys = onArrows(ALONG, (by, { currentTarget }) => {
    onGo(at() + by);
    currentTarget.children[at()].focus({ preventScroll: true });
  });

  function template(rows, now, { before, number }) {
    const word = shown(best(rows[now]));
    if (word !== said) isOdd = !isOdd;
    said = word;
    return html`
      <div class="tfrs-words">
        <div class="tfrs-steps">${walk.nodes}</div>
        <p class="tfrs-says"><span class="tfrs-lead">${before}</span>
          <strong class="tfrs-word ${isOdd ? "tfrs-pop" : "tfrs-pop-again"}">${word}</strong>
          <span class="tfrs-sure">${number(rows[now].next[0][1])}</span></p>
        <div class="tfrs-strip" role="group" aria-label="The word after each part"
            style="--parts: ${rows.length}" @keydown=${keys}>
          ${rows.map((_, i) => tile(rows, i, now, number, walk.go))}
        </div>
      </div>`;
  }
  return { template, show: walk.show, stop: walk.stop };
}
