// The table of positions: what the teacher's side and the model's own read and say.
import { DOWN, onArrows } from "../kit/arrows.js";
import { chance } from "../kit/numbers.js";
import { shown } from "../kit/pieces.js";
import { html, nothing } from "../kit/vendor/lit.js";
import { splitOf } from "./maths.js";

const TAUGHT = ["reads", "should say", "p", "likeliest", "moved"];
const OWN = ["reads", "says", "p"];

const column = (name) => html`<th scope="col">${name}</th>`;
const head = html`<thead>
  <tr><td></td>
    <th scope="colgroup" colspan=${TAUGHT.length} class="tfk-one">Teacher forcing: one pass</th>
    <th scope="colgroup" colspan=${OWN.length} class="tfk-two">Decoding: a pass for each step</th></tr>
  <tr><th scope="col">#</th>${[...TAUGHT, ...OWN].map(column)}</tr>
</thead>`;

function shiftText(moved) {
  if (moved === null) return "–";
  return moved === 0 ? "0" : chance(moved);
}

function taught({ reads, label, p, best, agrees, moved }) {
  const bar = `--p: ${(100 * (p ?? 0)).toFixed(0)}%`;
  const given = label !== undefined;
  return html`
    <td>${given ? shown(reads) : ""}</td>
    <td>${given ? shown(label) : ""}</td>
    <td data-exact=${p ?? nothing} style=${bar}>${given ? chance(p) : ""}</td>
    <td>${given ? (agrees ? "=" : `≠ ${shown(best)}`) : ""}</td>
    <td data-exact=${moved ?? nothing}>${given ? shiftText(moved) : ""}</td>`;
}

// What the model says itself is "…" until it is decoded.
function said({ label, own }, decoded) {
  const later = own ? "…" : "";
  const sign = own?.piece === label ? "=" : "≠";
  return html`
    <td>${decoded ? shown(own.reads) : later}</td>
    <td>${decoded ? `${sign} ${shown(own.piece)}` : later}</td>
    <td data-exact=${own?.p ?? nothing}>${decoded ? chance(own.p) : ""}</td>`;
}

function line(row, i, now, split, onGo) {
  const decoded = row.own && i <= now;
  const looks = [
    i === now && "tft-now",
    !row.agrees && row.label !== undefined && "tft-differs",
    decoded && !row.same && "tft-apart",
    decoded && i === split && "tft-split",
  ];
  return html`<tr data-position=${i} class=${looks.filter(Boolean).join(" ")}
      aria-current=${i === now ? "step" : nothing} @click=${() => onGo(i)}>
    <th scope="row"><button type="button" tabindex=${i === now ? 0 : -1} data-row=${i}
      aria-label="${i + 1}: position in the sentence">${i + 1}</button></th>
    ${taught(row)}${said(row, decoded)}</tr>`;
}

export function positionsTable(rows, now, { keys, onGo }) {
  const split = splitOf(rows);
  return html`<div class="tft-scroll" tabindex="0" role="region"
      aria-label="Teacher forcing and decoding, position by position">
    <table class="tft-rows">${head}
      <tbody @keydown=${keys}>${rows.map((row, i) => line(row, i, now, split, onGo))}</tbody>
    </table></div>`;
}

// at() is the row we are in; onGo(i) goes to another.
export const rowKeys = ({ at, onGo }) =>
  onArrows(DOWN, (by, { currentTarget }) => {
    onGo(at() + by);
    currentTarget.querySelector(`[data-row="${at()}"]`).focus({ preventScroll: true });
  });

// Scroll the table of a figure as little as shows a line.
export function keepInSight(root, now) {
  const scroller = root.querySelector(".tft-scroll");
  const line = scroller.querySelector(`[data-position="${now}"]`);
  const { scrollTop, clientHeight } = scroller;
  const [top, bottom] = [line.offsetTop, line.offsetTop + line.offsetHeight];
  const head = scroller.querySelector("thead").offsetHeight;
  if (top - head < scrollTop) scroller.scrollTop = top - head;
  else if (bottom > scrollTop + clientHeight)
    scroller.scrollTop = bottom - clientHeight;
}
