// Two tables: the pieces that may come next, and the translations that are finished.
import { chance, format } from "../kit/numbers.js";
import { ending, meter, shown, written } from "../kit/pieces.js";
import { html, nothing } from "../kit/vendor/lit.js";
import { nextPieces } from "./search.js";

const FATES = { grown: "● kept", finished: "✓ finished", dropped: "✗ dropped" };
const ROWS = 10; // next pieces, one that was drawn from beyond them, and all the rest

// The pieces that may follow the node `from` in a step; taken: the id of a row that stands
// out, or null; isLine: the search follows one hypothesis only.
export function nextTable({ from, step, taken, isLine }, settings) {
  const { rows, rest } = nextPieces(step, from.hypothesis, settings);
  const isSampled = rows[0].drawn !== undefined;
  const columns = [
    ...["piece", "p", ""],
    ...(isSampled ? ["p to draw from", ""] : []),
    ...(isLine ? [] : ["log p in all"]),
    isSampled ? "drawn" : isLine ? "taken" : "what became of it",
  ];
  /** @param {any} row */
  const numbers = ({ probability, drawn, total }) => html`
    ${bar(probability)}${isSampled ? bar(drawn) : nothing}
    ${isLine ? nothing : html`<td>${total === undefined ? "" : format(total)}</td>`}`;
  const look = ({ id, fate }) =>
    `${fate && fate !== "dropped" ? "tfd-taken" : ""} ${id === taken ? "tfd-row" : ""}`;
  const row = (each) => html`
    <tr class=${look(each)} data-piece=${each.piece}>
      <th scope="row">${shown(each.piece)}</th>${numbers(each)}
      <td class="tfd-fate">${fateText(each, isSampled, isLine)}</td>
    </tr>`;
  // Rows that keep the place of pieces, so that nothing below jumps.
  const blank = () =>
    html`<tr aria-hidden="true"><td colspan=${columns.length}> </td></tr>`;
  return html`
    <p class="tfd-heading">${from.pieces.length ? `After “${ending(written(from.pieces))}”` : "At the start"}, step ${from.column + 2}: the next piece</p>
    <table class="tfd-next">
      <thead><tr>${columns.map((name) => (name ? heading(name) : html`<td aria-hidden="true"></td>`))}</tr></thead>
      <tbody>
        ${rows.map(row)}
        <tr><th scope="row">all others</th>${numbers(rest)}<td></td></tr>
        ${Array.from({ length: Math.max(0, ROWS - rows.length - 1) }, blank)}
      </tbody>
    </table>`;
}

const heading = (name) => html`<th scope="col">${name}</th>`;
const bar = (p) => html`
  <td data-exact=${p ?? nothing}>${p === undefined ? "" : p === 0 ? "0" : chance(p)}</td>
  ${meter("tfd-meter", p)}`;

function fateText({ fate, rank }, isSampled, isLine) {
  if (fate === null) return "";
  if (isLine) return isSampled ? "● drawn" : "● taken";
  return `${FATES[fate]}${fate === "grown" ? ` (rank ${rank + 1})` : ""}`;
}

// What is finished, as `ranked` has found it; alpha null: there is one, and no score.
export function foundTable(found, alpha) {
  const isScored = alpha !== null;
  const columns = [
    "translation",
    "log p",
    "n",
    ...(isScored ? ["lp(n)", "score"] : []),
  ];
  const row = ({ ids, text, score, logProbability, length, penalty }, i) => html`
    <tr data-ids=${ids.join(" ")} data-score=${score} data-log-p=${logProbability}>
      <th scope="row" lang="de">${i === 0 && isScored ? "★ " : ""}${text}</th>
      <td>${format(logProbability, 3)}</td>
      <td>${length}</td>
      ${isScored ? html`<td>${format(penalty, 3)}</td><td>${format(score, 3)}</td>` : nothing}
    </tr>`;
  const none = () => html`
    <tr class="tfd-none"><th scope="row">none yet</th>${columns.slice(1).map(() => html`<td></td>`)}</tr>`;
  const formula = isScored
    ? `: score = log p / lp(n), lp(n) = ((5 + n) / 6)^α, α = ${format(alpha, 1)}`
    : "";
  return html`
    <p class="tfd-heading">Finished${formula}</p>
    <div class="tfd-found tfk-scroll" tabindex="0" role="region" aria-label="Finished translations">
      <table>
        <thead><tr>${columns.map(heading)}</tr></thead>
        <tbody>${found.length ? found.map(row) : none()}</tbody>
      </table>
    </div>`;
}
