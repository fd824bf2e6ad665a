// Small maps of all heads: layers down, heads across, the mean of each layer last.
import { GRID, onArrows, within } from "../kit/arrows.js";
import { scaleAt } from "../kit/colours.js";
import { h } from "../kit/kit.js";
import { same, upTo } from "../kit/lists.js";
import { format } from "../kit/numbers.js";
import { html, render } from "../kit/vendor/lit.js";
import { headMap, headsAt, isOut, nameOf, TITLES, whatOf } from "./weights.js";

const keyOf = (layer, head) => `${layer}-${head ?? "mean"}`;
const headsOf = (nHeads) => [...upTo(nHeads), null];

// canKnock: whether there is a model to ask. -> { node, show({ attention, state }) }
export function overviewOf({ canKnock, onShow, onKnock }) {
  const node = h("div");
  let now = null; // what is shown
  let at = [0, 0]; // the tile that Tab reaches
  const draw = () =>
    render(tableOf(now, at, { canKnock, onKey, onGo: go, onPick, onKnock }), node);
  const size = () => now.attention[now.state.site].shape;

  function go(i, j) {
    at = [within(i, size()[0]), within(j, size()[1] + 1)];
    draw();
  }
  const focus = () => node.querySelector('[tabindex="0"]').focus();
  const pickedBy = (act) => act(at[0], headsOf(size()[1])[at[1]]);
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
    const { site, layer, head, locked } = now.state;
    if (node.contains(document.activeElement)) go(...at);
    else go(layer, head ?? size()[1]);
    const scale = scaleAt(node);
    for (const cell of node.querySelectorAll("[data-head]")) {
      const [layer, head] = cell.dataset.head.split("-");
      const number = head === "mean" ? null : Number(head);
      const weights = headMap(now.attention, site, Number(layer), number);
      paint(cell.querySelector("canvas"), weights, scale, locked);
    }
  }
  return { node, show };
}

function tableOf(now, at, { onKey, ...tools }) {
  const { site } = now.state;
  const [nLayers, nHeads] = now.attention[site].shape;
  const names = headsOf(nHeads).map((head) =>
    head === null ? "mean" : html`<span>head </span>${head}`,
  );
  const tileAt = (layer) => (head, j) =>
    tile(now, layer, head, { j, isAt: same(at, [layer, j]), ...tools });
  const row = (layer) => html`
    <tr role="row">
      <th scope="row" role="rowheader"><span>layer </span>${layer}</th>
      ${headsOf(nHeads).map(tileAt(layer))}
    </tr>`;
  return html`
    <table class="tfh-overview" role="grid" aria-label="${TITLES[site]}: the maps of all heads" @keydown=${onKey}>
      <thead role="rowgroup">
        <tr role="row"><td role="presentation"></td>${names.map((name) => html`<th scope="col" role="columnheader">${name}</th>`)}</tr>
      </thead>
      <tbody role="rowgroup">${upTo(nLayers).map(row)}</tbody>
    </table>
    <p class="tfh-hint">Layers down, heads across. A click shows a map large, further down. The button below it knocks its head out; the one below a mean knocks out the whole layer. By keyboard: arrows, Enter${tools.canKnock ? ", K to knock out" : ""}.</p>`;
}

// A small map with its button; that of the mean is for the whole layer.
/** @param {any} now @param {number} layer @param {number | null} head @param {any} tools */
function tile({ attention, state }, layer, head, tools) {
  const weights = headMap(attention, state.site, layer, head);
  const largest = weights.reduce((sum, row) => sum + Math.max(...row), 0);
  const heads = headsAt(attention, state.site, layer, head);
  const nOut = heads.filter((each) => isOut(state, each)).length;
  const isGone = nOut === heads.length;
  const isSome = nOut > 0 && !isGone;
  const word = isSome
    ? `${nOut} of ${heads.length} out`
    : `${head === null ? "layer " : ""}${isGone ? "out" : "on"}`;
  const isShown = same([layer, head], [state.layer, state.head]);
  return html`
    <td role="gridcell" tabindex=${tools.isAt ? 0 : -1} data-head=${keyOf(layer, head)}
      class="${isShown ? "tfh-chosen" : ""} ${isGone ? "tfh-gone" : ""}" aria-selected=${String(isShown)}
      aria-label="${nameOf(layer, head)}${isGone ? ", knocked out" : ""}; largest weight of a row, on average ${format(largest / weights.length)}"
      @focus=${() => tools.onGo(layer, tools.j)} @click=${({ target }) => target.tagName === "BUTTON" || tools.onPick(layer, tools.j)}>
      <canvas aria-hidden="true"></canvas>
      <button type="button" tabindex="-1" data-control="knock-${keyOf(layer, head)}" ?disabled=${!tools.canKnock}
        aria-pressed=${isSome ? "mixed" : String(isGone)} aria-label="${word}: knock out ${whatOf(layer, head)}"
        @click=${() => tools.onKnock(layer, head)}>${word}</button>
    </td>`;
}

function paint(canvas, weights, scale, locked) {
  [canvas.width, canvas.height] = [weights[0].length, weights.length]; // this empties it
  const pen = canvas.getContext("2d");
  weights.forEach((row, i) =>
    row.forEach((w, j) => {
      pen.fillStyle = scale(locked < 0 || locked === i ? w : 0.25 * w);
      pen.fillRect(j, i, 1, 1);
    }),
  );
}
