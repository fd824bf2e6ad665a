// The two tracks of text: one line as long as the model writes what the teacher gives,
// two from where they part.
import { ALONG, onArrows } from "../kit/arrows.js";
import { chance } from "../kit/numbers.js";
import { shown, spoken } from "../kit/pieces.js";
import { html, nothing } from "../kit/vendor/lit.js";
import { laid, splitOf } from "./maths.js";

const CAPTIONS = {
  trunk: "Both alike",
  same: "Both alike, from the first piece to the last",
  teacher:
    "Given by the teacher, all in one pass (✗ what the model would have written)",
  own: "Written by the model, a pass for each piece",
};
const LINES = ["trunk", "teacher", "own"];

// A piece; below it what the model would have written in its place, or how sure it was.
function tile(line, { position, piece, wrote, p }, { now, isStop, parts, onGo }) {
  const isNow = position === now;
  const isLater = line === "own" && position > now;
  const name = line === "own" ? "the model writes it" : "the teacher gives it";
  const below = wrote ? `✗ ${shown(wrote)}` : chance(p);
  const other = wrote ? `, but the model would write ${spoken(wrote)}` : "";
  const fork = parts ? ". Here they part" : "";
  const words = isLater
    ? `Position ${position + 1}: not written yet`
    : `${shown(piece)} ${below}: position ${position + 1}, ${name}, p ${chance(p)}${other}${fork}`;
  return html`<button type="button" class="tft-tile ${parts ? "tft-parts" : ""}"
      tabindex=${isNow && isStop ? 0 : -1} data-tile=${position} data-piece=${piece}
      aria-current=${isNow ? "step" : nothing} data-later=${isLater || nothing}
      aria-label=${words} @click=${() => onGo(position)}>
    <span class="tft-piece">${shown(piece)}</span> <span class="tft-wrote">${below}</span></button>`;
}

const fork = html`<div class="tft-fork" aria-hidden="true">
  <svg viewBox="0 0 40 100" preserveAspectRatio="none">
    <path class="tfk-one" d="M0 50 C 26 50, 14 22, 40 22"></path>
    <path class="tfk-two" d="M0 50 C 26 50, 14 78, 40 78"></path>
  </svg>
  <span>≠<span class="tft-here"> here they part</span></span>
</div>`;

// The teacher's text is there at once; the model's comes piece by piece.
export function tracks(rows, now, { keys, onGo }) {
  const split = splitOf(rows);
  const isParted = split >= 0;
  const parts = laid(rows, split);
  const isHere = ({ position }) => position === now;
  const stop = LINES.find((name) => parts[name].some(isHere)); // of the Tab key
  const line = (name) =>
    html`<div class="tft-line" data-line=${name}>${parts[name].map((entry, i) =>
      tile(name, entry, {
        now,
        isStop: name === stop,
        parts: isParted && i === 0 && name !== "trunk",
        onGo,
      }),
    )}</div>`;
  const branch = (name, role) => html`<div class="tft-branch ${role}">
    <p class="tft-caption">${CAPTIONS[name]}</p>${line(name)}</div>`;
  return html`<div class="tft-tracks" role="group" data-parted=${isParted || nothing}
      aria-label="Two tracks of German: what the teacher gives, and what the model writes by itself"
      @keydown=${keys}>
    <div class="tft-trunk">
      <p class="tft-caption" ?hidden=${split === 0}>${isParted ? CAPTIONS.trunk : CAPTIONS.same}</p>
      ${line("trunk")}
    </div>
    ${fork}
    <div class="tft-branches">${branch("teacher", "tfk-one")}${branch("own", "tfk-two")}</div>
  </div>`;
}

// at() is the position we are in; onGo(i) goes to another: along the line that we are on.
export const trackKeys = ({ at, onGo }) =>
  onArrows(ALONG, (by, { currentTarget, target }) => {
    const line = target.closest("[data-line]");
    onGo(at() + by);
    const here = [...currentTarget.querySelectorAll(`[data-tile="${at()}"]`)];
    const next = here.find((each) => line?.contains(each)) ?? here[0];
    next?.focus({ preventScroll: true });
  });
