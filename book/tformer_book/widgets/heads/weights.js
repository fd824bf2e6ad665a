// What the heads of a Transformer weigh, as rows of numbers and in words; no page: it runs
// in Node, too.
import { same, upTo } from "../kit/lists.js";
import { format } from "../kit/numbers.js";
import { shown } from "../kit/pieces.js";

export const SITES = ["encoder", "decoder", "cross"];
export const TITLES = {
  encoder: "Encoder self-attention",
  decoder: "Decoder self-attention",
  cross: "Cross-attention",
};

// The names of rows and columns at a site; `predicted` is empty where nothing is predicted.
export function axes({ sourcePieces, targetPieces, predictedPieces }, site) {
  const [source, target, predicted] = [sourcePieces, targetPieces, predictedPieces].map(
    (pieces) => pieces.map(shown),
  );
  return {
    rows: site === "encoder" ? source : target,
    columns: site === "decoder" ? target : source,
    predicted: site === "encoder" ? [] : predicted,
  };
}

// The weights of one head as rows, or their mean over the heads of a layer.
export function headMap(attention, site, layer, head) {
  const {
    shape: [, nHeads, nRows, nColumns],
    data,
  } = attention[site];
  const heads = head === null ? upTo(nHeads) : [head];
  return upTo(nRows).map((i) =>
    upTo(nColumns).map((j) => {
      const at = (each) => data[((layer * nHeads + each) * nRows + i) * nColumns + j];
      return heads.reduce((sum, each) => sum + at(each), 0) / heads.length;
    }),
  );
}

// How sharp a map is: the largest weight of a row, on average over the rows.
export function sharpnessOf(attention, site, layer, head) {
  const map = headMap(attention, site, layer, head);
  return map.reduce((sum, row) => sum + Math.max(...row), 0) / map.length;
}

export const weightAt = (attention, site, layer, head, [i, j]) =>
  headMap(attention, site, layer, head)[i][j];

// All heads in rows, as [layer, head]: those of each layer and their mean (null); or those
// of the largest worth(layer, head) first, in rows as long.
export const byPlace = (attention, site) => {
  const [nLayers, nHeads] = attention[site].shape;
  return upTo(nLayers).map((layer) =>
    [...upTo(nHeads), null].map((head) => [layer, head]),
  );
};
export function byWorth(attention, site, worth) {
  const [nLayers, nHeads] = attention[site].shape;
  const all = allAt(attention, site)
    .map(([, layer, head]) => ({ each: [layer, head], worth: worth(layer, head) }))
    .sort((a, b) => b.worth - a.worth)
    .map(({ each }) => each);
  return upTo(nLayers).map((i) => all.slice(i * nHeads, (i + 1) * nHeads));
}

// The first map, and where two are compared, the second or the difference.
export function mapsOf(attention, { site, layer, head, compare, other }) {
  const first = headMap(attention, site, layer, head);
  if (compare === "alone") return [first];
  const [otherLayer, otherHead] = other;
  const second = headMap(attention, site, otherLayer, otherHead);
  return compare === "beside"
    ? [first, second]
    : [first.map((row, i) => row.map((w, j) => w - second[i][j]))];
}

// The entries of a row that are largest and do not round to 0: [[index, value], …].
export function strongest(row, count = 3) {
  const order = [...row.entries()].sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
  return order.slice(0, count).filter(([, w]) => Math.abs(w) >= 0.005);
}

// All heads of a layer that `head` means (null: every one), as a knock-out names them; and
// all of a site.
export const headsAt = (attention, site, layer, head) =>
  (head === null ? upTo(attention[site].shape[1]) : [head]).map((each) => [
    site,
    layer,
    each,
  ]);
export const allAt = (attention, site) =>
  upTo(attention[site].shape[0]).flatMap((layer) =>
    headsAt(attention, site, layer, null),
  );
export const isOut = ({ knocked_out }, head) =>
  knocked_out.some((each) => same(each, head));

export const nameOf = (layer, head) =>
  `layer ${layer}, ${head === null ? "mean of heads" : `head ${head}`}`;
export const whatOf = (layer, head) =>
  head === null ? `all of layer ${layer}` : nameOf(layer, head);

// Bring a state into the range of another model, another sentence.
export function clamp(state, attention) {
  const [nLayers, nHeads] = attention[state.site].shape;
  /** @returns {[number, number | null]} */
  const fit = ([layer, head]) => [
    Math.min(layer, nLayers - 1),
    head === null ? null : Math.min(head, nHeads - 1),
  ];
  [state.layer, state.head] = fit([state.layer, state.head]);
  state.other = fit(state.other);
  if (state.locked >= axes(attention, state.site).rows.length) state.locked = -1;
}

export function headTitle({ layer, head, compare, other }) {
  const [a, b] = [nameOf(layer, head), nameOf(...other)];
  const what = { alone: a, beside: `${a} beside ${b}`, difference: `${a} minus ${b}` };
  return what[compare];
}
export const titleOf = (state) => `${TITLES[state.site]}, ${headTitle(state)}`;

// Who looks at whom in a cell.
export function cellText(attention, site, [i, j]) {
  const { rows, columns, predicted } = axes(attention, site);
  const next = predicted.length ? ` (next: “${predicted[i]}”)` : "";
  return `“${rows[i]}”${next} on “${columns[j]}”`;
}

// What a query attends to most; -1: no query.
export function rowText(attention, state, i) {
  if (i < 0)
    return "Point at a row, or walk through it with the arrow keys; a click, a tap or Enter keeps it.";
  const { rows, columns, predicted } = axes(attention, state.site);
  const who = `“${rows[i]}”${predicted.length ? ` (next: “${predicted[i]}”)` : ""}`;
  const list = (map) =>
    strongest(map[i])
      .map(([j, w]) => `“${columns[j]}” ${format(w)}`)
      .join(", ") || "nothing";
  const [first, second] = mapsOf(attention, state);
  const kept =
    state.locked >= 0
      ? " Kept: sort by the kept cell to see who else looks there. Choose it again, or press Escape, to release it."
      : "";
  if (state.compare === "difference")
    return `${who}: largest differences ${list(first)}.${kept}`;
  return `${who} attends most to ${list(first)}${second ? `; in the second head to ${list(second)}` : ""}.${kept}`;
}
