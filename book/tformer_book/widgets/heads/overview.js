// Small maps of all heads: layers down, heads across, the mean of each layer last.
import { arrowKeys, GRID, within } from "../kit/arrows.js";
import { button, h, put, say } from "../kit/kit.js";
import { format } from "../kit/numbers.js";
import { nameOf, same, upTo } from "./maps.js";

const keyOf = (layer, head) => `${layer}-${head === null ? "mean" : head}`;

export function overviewOf({ onShow, onKnock }) {
  const table = h("table", { class: "tfh-overview", role: "grid" });
  const hint = h("p", { class: "tfh-hint" });
  const node = h("div", {}, table, hint);
  let tiles = [];
  let at = [0, 0];
  const go = (i, j) => {
    put(tiles[at[0]]?.[at[1]]?.cell ?? node, { tabindex: tiles.length ? -1 : null });
    at = [within(i, tiles.length), within(j, tiles[0].length)];
    const { cell } = tiles[at[0]][at[1]];
    put(cell, { tabindex: 0 });
    return cell;
  };
  arrowKeys(table, GRID, ([down, right], { target }) => {
    if (target.tagName === "BUTTON") return false;
    return go(at[0] + down, at[1] + right).focus();
  });
  table.addEventListener("keydown", (event) => {
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.target.tagName === "BUTTON"
    )
      return;
    const { layer, head } = tiles[at[0]][at[1]];
    if (event.key === "Enter" || event.key === " ") onShow(layer, head);
    else if (event.key.toLowerCase() === "k") onKnock(layer, head);
    else return;
    event.preventDefault();
  });

  function build(nLayers, nHeads) {
    const heads = [...upTo(nHeads), null];
    tiles = upTo(nLayers).map((layer) =>
      heads.map((head, j) => {
        const tile = tileOf(layer, head, onKnock);
        tile.cell.addEventListener("focus", () => go(layer, j));
        tile.cell.addEventListener("click", (event) => {
          if (event.target === tile.knock) return;
          go(layer, j).focus();
          onShow(layer, head);
        });
        return tile;
      }),
    );
    table.replaceChildren(headOf(heads), bodyOf(tiles));
    at = [0, 0];
  }

  // locked: a row that stands out in all maps, or -1.
  function show({ label, nLayers, nHeads, map, isOut, chosen, locked, canKnock }) {
    if (tiles.length !== nLayers || tiles[0].length !== nHeads + 1)
      build(nLayers, nHeads);
    put(table, { "aria-label": label });
    say(
      hint,
      `Layers down, heads across. A click shows a map large, further down. The button below it knocks its head out; the one below a mean knocks out the whole layer. By keyboard: arrows, Enter${canKnock ? ", K to knock out" : ""}.`,
    );
    const style = getComputedStyle(table);
    const ink = style.getPropertyValue("--tf-high").trim() || "#084a83";
    const heads = (head) => (head === null ? upTo(nHeads) : [head]);
    for (const tile of tiles.flat()) {
      const { layer, head, canvas } = tile;
      const weights = map(layer, head);
      draw(canvas, weights, ink, locked);
      describe(tile, weights, {
        isShown: same([layer, head], chosen),
        out: heads(head).filter((each) => isOut(layer, each)).length,
        of: heads(head).length,
        canKnock,
      });
    }
    if (!table.contains(document.activeElement)) go(chosen[0], chosen[1] ?? nHeads);
  }
  return { node, show };
}

// A small map with its button; that of the mean is for the whole layer.
function tileOf(layer, head, onKnock) {
  const canvas = h("canvas", { "aria-hidden": "true" });
  const key = keyOf(layer, head);
  const knock = button(`knock-${key}`, "", () => onKnock(layer, head));
  put(knock, { tabindex: -1 });
  const cell = h(
    "td",
    { role: "gridcell", tabindex: -1, "data-head": key },
    canvas,
    knock,
  );
  return { layer, head, cell, canvas, knock };
}

function headOf(heads) {
  const names = heads.map((head) =>
    h(
      "th",
      { scope: "col", role: "columnheader" },
      head === null ? "mean" : h("span", {}, "head "),
      head === null ? "" : String(head),
    ),
  );
  return h(
    "thead",
    { role: "rowgroup" },
    h("tr", { role: "row" }, h("td", { role: "presentation" }), ...names),
  );
}

const bodyOf = (tiles) =>
  h(
    "tbody",
    { role: "rowgroup" },
    ...tiles.map((row, layer) =>
      h(
        "tr",
        { role: "row" },
        h(
          "th",
          { scope: "row", role: "rowheader" },
          h("span", {}, "layer "),
          String(layer),
        ),
        ...row.map(({ cell }) => cell),
      ),
    ),
  );

// Say of a tile what it is, and how many of its heads are out.
function describe(
  { layer, head, cell, knock },
  weights,
  { isShown, out, of, canKnock },
) {
  const isOut = out === of;
  const sharp =
    weights.reduce((sum, row) => sum + Math.max(...row), 0) / weights.length;
  put(cell, {
    "aria-label": `${nameOf(layer, head)}${isOut ? ", knocked out" : ""}; largest weight of a row, on average ${format(sharp)}`,
    "aria-selected": String(isShown),
    class: `${isShown ? "tfh-chosen" : ""}${isOut ? " tfh-gone" : ""}`,
  });
  const some = out && !isOut;
  const now = some
    ? `${out} of ${of} out`
    : `${head === null ? "layer " : ""}${isOut ? "out" : "on"}`;
  say(knock, now);
  put(knock, {
    "aria-pressed": some ? "mixed" : String(isOut),
    "aria-label": `${now}: knock out ${head === null ? `all of layer ${layer}` : nameOf(layer, head)}`,
    disabled: !canKnock,
  });
}

function draw(canvas, weights, ink, locked) {
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
