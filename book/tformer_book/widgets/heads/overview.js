// Small maps of all heads: layers down, heads across, the mean of each layer last.
import { GRID, onArrows, within } from "../kit/arrows.js";
import { h } from "../kit/kit.js";
import { format } from "../kit/numbers.js";
import { html, render } from "../kit/vendor/lit.js";
import { nameOf, same, upTo } from "./maps.js";

const keyOf = (layer, head) => `${layer}-${head ?? "mean"}`;
const headsOf = (nHeads) => [...upTo(nHeads), null];

// -> { node, show({ label, nLayers, nHeads, map, isOut, chosen, locked, canKnock }) };
// locked: a row that stands out in all maps, or -1.
export function overviewOf({ onShow, onKnock }) {
  const node = h("div");
  let now = null; // what is shown
  let at = [0, 0]; // the tile that Tab reaches
  const draw = () =>
    render(tableOf(now, at, { onKey, onGo: go, onPick, onKnock }), node);

  function go(i, j) {
    at = [within(i, now.nLayers), within(j, now.nHeads + 1)];
    draw();
  }
  const focus = () => node.querySelector('[tabindex="0"]').focus();
  const pickedBy = (act) => act(at[0], headsOf(now.nHeads)[at[1]]);
  const keys = { Enter: onShow, " ": onShow, k: onKnock, K: onKnock };
  const onKey = onArrows({ ...GRID, ...keys }, (move, { target }) => {
    if (target.tagName === "BUTTON") return false;
    if (typeof move === "function") return pickedBy(move);
    go(at[0] + move[0], at[1] + move[1]);
    return focus();
  });
  function onPick(i, j) {
    go(i, j);
    focus();
    pickedBy(onShow);
  }

  function show(given) {
    now = given;
    const [layer, head] = now.chosen;
    if (node.contains(document.activeElement)) go(...at);
    else go(layer, head ?? now.nHeads);
    const ink = getComputedStyle(node).getPropertyValue("--tf-high").trim();
    for (const cell of node.querySelectorAll("[data-head]")) {
      const [layer, head] = cell.dataset.head.split("-");
      const weights = now.map(Number(layer), head === "mean" ? null : Number(head));
      paint(cell.querySelector("canvas"), weights, ink || "#084a83", now.locked);
    }
  }
  return { node, show };
}

function tableOf(now, at, { onKey, ...tools }) {
  const { label, nLayers, nHeads, canKnock } = now;
  const names = headsOf(nHeads).map((head) =>
    head === null ? "mean" : html`<span>head </span>${head}`,
  );
  const row = (layer) => html`
    <tr role="row">
      <th scope="row" role="rowheader"><span>layer </span>${layer}</th>
      ${headsOf(nHeads).map((head, j) => tile(now, layer, head, { j, isAt: same(at, [layer, j]), ...tools }))}
    </tr>`;
  return html`
    <table class="tfh-overview" role="grid" aria-label=${label} @keydown=${onKey}>
      <thead role="rowgroup">
        <tr role="row"><td role="presentation"></td>${names.map((name) => html`<th scope="col" role="columnheader">${name}</th>`)}</tr>
      </thead>
      <tbody role="rowgroup">${upTo(nLayers).map(row)}</tbody>
    </table>
    <p class="tfh-hint">Layers down, heads across. A click shows a map large, further down. The button below it knocks its head out; the one below a mean knocks out the whole layer. By keyboard: arrows, Enter${canKnock ? ", K to knock out" : ""}.</p>`;
}

// A small map with its button; that of the mean is for the whole layer.
/** @param {any} now @param {number} layer @param {number | null} head @param {any} tools */
function tile(now, layer, head, { j, isAt, onGo, onPick, onKnock }) {
  const weights = now.map(layer, head);
  const sharp =
    weights.reduce((sum, row) => sum + Math.max(...row), 0) / weights.length;
  const heads = head === null ? upTo(now.nHeads) : [head];
  const nOut = heads.filter((each) => now.isOut(layer, each)).length;
  const isOut = nOut === heads.length;
  const isSome = nOut > 0 && !isOut;
  const state = isSome
    ? `${nOut} of ${heads.length} out`
    : `${head === null ? "layer " : ""}${isOut ? "out" : "on"}`;
  const isShown = same([layer, head], now.chosen);
  const what = head === null ? `all of layer ${layer}` : nameOf(layer, head);
  return html`
    <td role="gridcell" tabindex=${isAt ? 0 : -1} data-head=${keyOf(layer, head)}
      class="${isShown ? "tfh-chosen" : ""} ${isOut ? "tfh-gone" : ""}" aria-selected=${String(isShown)}
      aria-label="${nameOf(layer, head)}${isOut ? ", knocked out" : ""}; largest weight of a row, on average ${format(sharp)}"
      @focus=${() => onGo(layer, j)} @click=${({ target }) => target.tagName === "BUTTON" || onPick(layer, j)}>
      <canvas aria-hidden="true"></canvas>
      <button type="button" tabindex="-1" data-control="knock-${keyOf(layer, head)}" ?disabled=${!now.canKnock}
        aria-pressed=${isSome ? "mixed" : String(isOut)} aria-label="${state}: knock out ${what}"
        @click=${() => onKnock(layer, head)}>${state}</button>
    </td>`;
}

function paint(canvas, weights, ink, locked) {
  [canvas.width, canvas.height] = [weights[0].length, weights.length]; // this empties it
  const pen = canvas.getContext("2d");
  pen.fillStyle = ink;
  weights.forEach((row, i) =>
    row.forEach((w, j) => {
      pen.globalAlpha = locked < 0 || locked === i ? w : 0.25 * w;
      pen.fillRect(j, i, 1, 1);
    }),
  );
}
