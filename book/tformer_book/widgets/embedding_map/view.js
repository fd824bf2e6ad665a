// The page around the map: the search above it, the list beside it, facts, a table.
import { commas, format, percent } from "../kit/numbers.js";
import { byteAsCharacter, spoken } from "../kit/pieces.js";
import { heads } from "../kit/table.js";
import { html, live } from "../kit/vendor/lit.js";
import { map } from "./map.js";
import { matches } from "./maths.js";

// s: as for the map, with what is `typed`, the numbers of d_model, shares, kept and
// compared, and the examples.
export const page = (s, on, parts) => html`
  <div class="tfem-search">
    <label><span>Find a word</span><input type="text" maxlength="40" spellcheck="false"
      autocomplete="off" autocapitalize="off" data-control="search" .value=${live(s.typed)}
      @input=${on.onType} @keydown=${on.onEnter}></label>
    <div class="tfem-found">${found(s, on.onChoose)}</div>
  </div>
  ${parts.axes.set}
  <div class="tfem-two">${map(s, on)}<div class="tfem-list">${list(s, on)}</div></div>
  <p class="tfem-facts">${facts(s)}</p>
  <details class="tfem-others">
    <summary>Other pieces: of our sentence, or all of them as grey dots</summary>
    <div class="tfem-examples" role="group" aria-label="Pieces of our sentence">
      <span aria-hidden="true">Choose one of our sentence:</span>
      ${s.examples.map((i, k) => choice(`example-${k}`, s.names[i], () => on.onChoose(i)))}
    </div>
    ${parts.kind.set}
  </details>
  ${parts.behind.node} ${parts.announcer.node}`;

const choice = (name, text, onClick) =>
  html`<button type="button" class="tfk-do" data-control=${name} @click=${onClick}>${text}</button>`;

function found({ names, typed }, onChoose) {
  const ids = matches(names, typed);
  if (ids.length)
    return ids.map((i, k) => choice(`match-${k}`, names[i], () => onChoose(i)));
  return html`<span class="tfem-none">${nothingFound(typed)}</span>`;
}
export const nothingFound = (typed) =>
  typed.trim()
    ? `No piece begins with “${typed.trim()}”. Try fewer letters.`
    : "Type the beginning of a word, English or German.";

// The neighbours by cosine, each with its rank among the dots.
const list = ({ names, i, near, ranks, lost, d_model }, { onFollow }) => html`
  <table class="tfem-near">
    <caption>Nearest to ${names[i]} in all ${d_model} dimensions</caption>
    ${heads(["", "piece", "cosine", "on map"])}
    <tbody>${near.map(([j, cosine], k) => {
      const share = (100 * Math.max(0, cosine)).toFixed(0);
      const name = byteAsCharacter(names[j]);
      return html`<tr>
        <td>${k + 1}</td>
        <th scope="row">${choice(`near-${k}`, name, () => onFollow(j))}</th>
        <td><span class="tfem-bar" style="--share: ${share}%"></span>${format(cosine)}</td>
        <td class=${lost.has(j) ? "tfem-far" : ""}>${commas(ranks[k])}.</td>
      </tr>`;
    })}</tbody>
  </table>`;

function facts({ names, i, near, lost, words, axes, ...s }) {
  const still = near.length - lost.size;
  const pairs = words.length * s.compared;
  return (
    `Of the ${near.length} true neighbours of ${names[i]}, ${still} ${still === 1 ? "is" : "are"} among its ${near.length} nearest dots: solid lines; dashed ones are lost. ` +
    `Of ${s.d_model} dimensions this map keeps two, and with them ${percent(s.shares[axes])} of the variance of the ${words.length} words and ${commas(s.kept[axes])} of their ${commas(pairs)} pairs of neighbours.`
  );
}

// Columns and rows of the table behind the map: the chosen dot and those around it.
export function tableOf({ names, ids, near, nearest, x, y, far }) {
  const rows = [0, ...nearest].map((k) => {
    const order = near.findIndex(([id]) => id === ids[k]);
    const places = [x[k], y[k], k && far[k]].map((each) => format(each, 3));
    const which = !k ? "chosen" : order < 0 ? "no" : `number ${order + 1}`;
    return [names[ids[k]], ...places, which];
  });
  return [["across", "up", "distance on the map", "among the nearest by cosine"], rows];
}

export function heard({ names, i, near }) {
  const first = near.slice(0, 3).map(([j, c]) => `${spoken(names[j])}, ${format(c)}`);
  return `${spoken(names[i])}: nearest are ${first.join("; ")}.`;
}
