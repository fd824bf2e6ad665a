// Small maps of all heads, by place (layers down, heads across, the mean of each layer
// last), the sharpest first, or those first that look where the reader has clicked.
import { GRID, onArrows, within } from "../kit/arrows.js";
import { scaleAt } from "../kit/colours.js";
import { h, oneOf } from "../kit/kit.js";
import { same } from "../kit/lists.js";
import { format } from "../kit/numbers.js";
import { html, nothing, render } from "../kit/vendor/lit.js";
import {
  byPlace,
  byWorth,
  cellText,
  headMap,
  headsAt,
  isOut,
  nameOf,
  sharpnessOf,
  TITLES,
  weightAt,
  whatOf,
} from "./weights.js";

const ORDERS = {
  place: "place",
  sharpness: "sharpness",
  cell: "the kept cell",
};
const keyOf = (layer, head) => `${layer}-${head ?? "mean"}`;

// canKnock: whether there is a model to ask. onPreview hears the layer and head that the
// reader points at or walks to, and null.
// -> { node, sort (the choice of an order), show({ attention, state, kept: the cell that
//      the reader keeps, or null }) }
export function overviewOf({ canKnock, onShow, onKnock, onPreview }) {
  const node = h("div");
  const sort = oneOf(
    "sort",
    "Sort by",
    Object.keys(ORDERS),
    (name) => {
      order = name;
      show(now);
    },
    Object.values(ORDERS),
  );
  let order = "place";
  let now = null; // what is shown
  let rows = []; // of [layer, head]; head null: the mean
  let at = [0, 0]; // the tile that Tab reaches
  const tools = { canKnock, onKey, onGo: go, onPick, onKnock, onPoint };
  // Without a cell there is nothing to sort by.
  const sorted = () => (order === "cell" && !now.kept ? "place" : order);
  const draw = () =>
    render(
      html`${tableOf(now, { rows, at, order: sorted() }, tools)}
        ${order === sorted() ? nothing : html`<p class="tfh-hint">No cell is kept yet: click one in the large map.</p>`}`,
      node,
    );

  function go(i, j) {
    const row = within(i, rows.length);
    at = [row, within(j, rows[row].length)];
    draw();
  }
  const focus = () => node.querySelector('[tabindex="0"]').focus();
  const pickedBy = (act) => act(...rows[at[0]][at[1]]);
  const keys = { Enter: onShow, " ": onShow, k: onKnock, K: onKnock };
  function onKey(event) {
    onArrows({ ...GRID, ...keys }, (move, { target }) => {
      if (target.tagName === "BUTTON") return false;
      if (typeof move === "function") return pickedBy(move);
      go(at[0] + move[0], at[1] + move[1]);
      return focus();
    })(event);
  }
  function onPick(i, j) {
    go(i, j);
    focus();
    pickedBy(onShow);
  }
  // A finger points only where it taps.
  function onPoint({ pointerType }, head) {
    if (pointerType !== "touch") onPreview(head);
  }
  node.addEventListener("focusin", ({ target }) => {
    if (/** @type {Element} */ (target).matches("[data-head]"))
      onPreview(rows[at[0]][at[1]]);
  });
  node.addEventListener("focusout", () => onPreview(null));
  node.addEventListener("pointerleave", () => onPreview(null));

  function show(given) {
    now = given;
    const { state } = now;
    rows = inOrder(sorted(), now);
    sort.show(order);
    const isChosen = (each) => same(each, [state.layer, state.head]);
    const i = rows.findIndex((row) => row.some(isChosen));
    if (node.contains(document.activeElement) || i < 0) go(...at);
    else go(i, rows[i].findIndex(isChosen));
    paintAll(node, rows, now);
  }
  return { node, sort: sort.set, show };
}

function inOrder(order, { attention, state: { site }, kept }) {
  if (order === "place") return byPlace(attention, site);
  const worth = order === "cell" ? weightAt : sharpnessOf;
  return byWorth(attention, site, (...head) => worth(attention, site, ...head, kept));
}

function orderText(order, { attention, state: { site }, kept }) {
  return order === "cell"
    ? `layer, head and weight of ${cellText(attention, site, kept)}`
    : "sharpest first: layer, head";
}

/** @param {any} now @param {any} shown @param {any} tools */
function tableOf(now, { rows, at, order }, tools) {
  const { site } = now.state;
  const isPlace = order === "place";
  const nHeads = now.attention[site].shape[1];
  const column = ([, head]) =>
    html`<th scope="col" role="columnheader">${head === null ? "mean" : html`<span>head </span>${head}`}</th>`;
  const columns = isPlace
    ? rows[0].map(column)
    : html`<th class="tfh-order" scope="colgroup" role="columnheader" aria-colspan=${nHeads} colspan=${nHeads}>${orderText(order, now)}</th><td role="presentation"></td>`;
  const rowName = (i) => (isPlace ? ["layer ", i] : ["rank ", `#${1 + i * nHeads}`]);
  const row = (heads, i) => html`
    <tr role="row">
      <th scope="row" role="rowheader"><span>${rowName(i)[0]}</span>${rowName(i)[1]}</th>
      ${heads.map((head, j) => tile(now, head, { i, j, order, isAt: same(at, [i, j]), ...tools }))}
    </tr>`;
  return html`
    <table class="tfh-overview" role="grid" aria-label="${TITLES[site]}: the maps of all heads" @keydown=${tools.onKey}>
      <thead role="rowgroup"><tr role="row"><td role="presentation"></td>${columns}</tr></thead>
      <tbody role="rowgroup">${rows.map(row)}</tbody>
    </table>`;
}

// A small map with its button; that of the mean is for the whole layer.
/** @param {any} now @param {[number, number | null]} place @param {any} tools */
function tile({ attention, state, kept }, [layer, head], tools) {
  const heads = headsAt(attention, state.site, layer, head);
  const nOut = heads.filter((each) => isOut(state, each)).length;
  const isGone = nOut === heads.length;
  const isSome = nOut > 0 && !isGone;
  const word = isSome
    ? `${nOut}/${heads.length} out`
    : `${head === null ? "all " : ""}${isGone ? "out" : "on"}`;
  const seen = word === "all on" ? "all" : word.replace("all ", ""); // as it fits
  const isShown = same([layer, head], [state.layer, state.head]);
  const sharpness = format(sharpnessOf(attention, state.site, layer, head));
  const weight =
    tools.order === "cell" ? weightAt(attention, state.site, layer, head, kept) : null;
  return html`
    <td role="gridcell" tabindex=${tools.isAt ? 0 : -1} data-head=${keyOf(layer, head)}
      class="${isShown ? "tfh-chosen" : ""} ${isGone ? "tfh-gone" : ""}" aria-selected=${String(isShown)}
      aria-label="${nameOf(layer, head)}${isGone ? ", knocked out" : ""}; largest weight of a row, on average ${sharpness}"
      @focus=${() => tools.onGo(tools.i, tools.j)} @pointerenter=${(event) => tools.onPoint(event, [layer, head])}
      @click=${({ target }) => target.tagName === "BUTTON" || tools.onPick(tools.i, tools.j)}>
      ${tools.order === "place" ? nothing : html`<small>${layer}, ${head}${weight === null ? nothing : html`<br />${format(weight)}`}</small>`}
      <canvas aria-hidden="true"></canvas>
      <button type="button" tabindex="-1" data-control="knock-${keyOf(layer, head)}" ?disabled=${!tools.canKnock}
        aria-pressed=${isSome ? "mixed" : String(isGone)} aria-label="${word}: knock out ${whatOf(layer, head)}"
        @click=${() => tools.onKnock(layer, head)}>${seen}</button>
    </td>`;
}

function paintAll(node, rows, { attention, state: { site, locked } }) {
  const scale = scaleAt(node);
  const all = rows.flat();
  node.querySelectorAll("canvas").forEach((canvas, k) => {
    paint(canvas, headMap(attention, site, ...all[k]), scale, locked);
  });
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
