// The heads of a Transformer: all in small, one or two in large, and what the model says
// without some of them. It knows an engine (engine/client.js), no widget.
import { arrowKeys, DOWN, GRID, within } from "../kit/arrows.js";
import { grid } from "../kit/grid.js";
import {
  button,
  h,
  liveRegion,
  put,
  radios,
  say,
  select,
  textTable,
} from "../kit/kit.js";
import { requests } from "../kit/model.js";
import { format } from "../kit/numbers.js";

export const SITES = ["encoder", "decoder", "cross"];
const TITLES = {
  encoder: "Encoder self-attention",
  decoder: "Decoder self-attention",
  cross: "Cross-attention",
};
const ABOUT = {
  encoder:
    "Each English piece (a row, the query) looks at all English pieces (the columns, the keys).",
  decoder:
    "Each German piece (a row, the query) looks at itself and at the German pieces before it (the columns, the keys), and predicts the next piece.",
  cross:
    "Each German piece (a row, the query) looks at the English pieces (the columns, the keys), and predicts the next German piece.",
};
const COMPARISONS = ["alone", "beside", "difference"];
const FORMS = ["matrix", "lines"];
const FAINTEST = 0.01; // a weight below it gets no line
const ROW = 26; // px between pieces where lines are drawn

// What the view shows; Python has traits of the same names. head null: the layer's mean.
export const STATE = {
  site: "cross",
  layer: 0,
  head: 0,
  compare: "alone",
  /** @type {[number, number | null]} */
  other: [0, 0],
  form: "matrix",
  locked: -1,
  knocked_out: [],
};

// The names of rows and columns at a site; `predicted` is empty where nothing is predicted.
export function axes({ sourcePieces, targetPieces, predictedPieces }, site) {
  return {
    rows: site === "encoder" ? sourcePieces : targetPieces,
    columns: site === "decoder" ? targetPieces : sourcePieces,
    predicted: site === "encoder" ? [] : predictedPieces,
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

// The entries of a row that are largest and do not round to 0: [[index, value], …].
export function strongest(row, count = 3) {
  const order = [...row.entries()].sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
  return order.slice(0, count).filter(([, w]) => Math.abs(w) >= 0.005);
}

// Two texts as lists of [word, changed]: unchanged are those of a longest common part.
export function changedWords(before, after) {
  const [a, b] = [before, after].map((text) => text.split(/\s+/).filter(Boolean));
  const common = a.concat(null).map(() => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i][j] =
        a[i] === b[j]
          ? common[i + 1][j + 1] + 1
          : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const [left, right] = [a.map((word) => [word, true]), b.map((word) => [word, true])];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) left[i++][1] = right[j++][1] = false;
    else if (common[i + 1][j] >= common[i][j + 1]) i++;
    else j++;
  }
  return [left, right];
}

// How the probability of a translation changed, in words; log p before and after.
export function lessProbable(before, after) {
  const times = Math.exp(Math.abs(after - before));
  if (times < 1.05) return "about as probable as before";
  const shown =
    times >= 10000
      ? `10^${Math.floor(Math.log10(times))}`
      : times >= 10
        ? times.toFixed(0)
        : times.toFixed(1);
  return `${shown} times ${after < before ? "less" : "more"} probable than before`;
}

const upTo = (n) => Array.from({ length: n }, (_, i) => i);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const gainsOf = (heads) =>
  heads.map(([site, layer, head]) => ({ site, layer, head, gain: 0 }));
const nameOf = (layer, head) =>
  `layer ${layer}, ${head === null ? "mean of heads" : `head ${head}`}`;
const keyOf = (layer, head) => `${layer}-${head === null ? "mean" : head}`;

// engine may be null: then nothing can be knocked out. initial: a part of `STATE`.
// onState hears what the reader changed, onKnockOut the gains for the engine.
// -> { node, show(attention, text), set(state), state, stop() }; attention is what
// engine.attention() gives; with `knocked` it also holds what became of a knock-out.
/**
 * @param {any} engine
 * @param {object} [options]
 * @param {Record<string, any>} [options.initial]
 * @param {(changes: any) => void} [options.onState]
 * @param {(gains: any[]) => void} [options.onKnockOut]
 * @param {string} [options.note]
 */
export function headsView(
  engine,
  { initial = {}, onState = () => {}, onKnockOut = () => {}, note = "" } = {},
) {
  const state = { ...STATE, ...initial };
  let attention = null;
  let text = "";
  let result = null; // of a knock-out: { heads, translation, before, after }
  let hovered = -1;

  const live = liveRegion();
  const sites = radios(
    "site",
    "Where",
    SITES.map((site) => TITLES[site]),
    0,
    (i) => change({ site: SITES[i], locked: -1 }),
  );
  const about = h("p", { class: "tfh-about" });
  const overview = overviewOf({
    onShow: (layer, head) => change({ layer, head }),
    onKnock: (layer, head) => knock(layer, head),
  });
  const title = h("p", { class: "tfh-title" });
  const forms = radios("form", "As", ["matrix", "lines"], 0, (i) =>
    change({ form: FORMS[i] }),
  );
  const comparisons = radios(
    "compare",
    "Show",
    ["one head", "two heads", "difference"],
    0,
    (i) => change({ compare: COMPARISONS[i] }),
  );
  const withBox = h("span");
  const withLabel = h("label", { class: "tfh-with" }, h("span", {}, "with "), withBox);
  const tools = {
    // of both pictures
    onHover: (i) => {
      hovered = i;
      highlight();
    },
    onPick: (i) => change({ locked: state.locked === i ? -1 : i }),
  };
  const panes = [paneOf("first", tools), paneOf("second", tools)];
  const pictures = h("div", { class: "tfh-pictures" }, panes[0].node, panes[1].node);
  const where = h("p", { class: "tfh-where", "data-where": true });
  const behind = [
    textTable("The same as a table", "query"),
    textTable("The second head as a table", "query"),
  ];

  const knockButton = button("knock", "Knock out this head", () =>
    knock(state.layer, state.head),
  );
  const restore = button("restore", "Restore all", () => changeKnocked([]));
  const out = h("p", { class: "tfh-out", "data-out": true });
  const [whole, without] = [
    h("dd", { lang: "de", "data-german": "whole" }),
    h("dd", { lang: "de", "data-german": "without" }),
  ];
  const withoutName = h("dt");
  const odds = h("p", { class: "tfh-odds", "data-odds": true });
  const asked = requests(
    engine ? note : "Knocking heads out needs the model: run the cell in a notebook.",
    (busy) => {
      put(knockPanel, { "data-busy": busy && "true" });
      if (attention) updateKnockOut();
    },
  );
  const knockPanel = h(
    "div",
    {
      class: "tfh-knock",
      role: "group",
      "aria-label": "The translation without some heads",
    },
    h("div", { class: "tfh-row" }, knockButton, restore, out),
    h("dl", {}, h("dt", {}, "All heads"), whole, withoutName, without),
    odds,
    asked.node,
  );
  const node = h(
    "div",
    { class: "tfh-view" },
    sites.set,
    about,
    overview.node,
    knockPanel,
    title,
    h("div", { class: "tfh-row" }, forms.set, comparisons.set, withLabel),
    pictures,
    where,
    behind[0].node,
    behind[1].node,
    live.node,
  );
  node.addEventListener(
    "keydown",
    (event) => event.key === "Escape" && state.locked >= 0 && change({ locked: -1 }),
  );
  const endColours = onColours(overview.node, () => attention && drawOverview());

  function change(changes) {
    Object.assign(state, changes);
    update();
    onState({ ...changes });
    const head = changes.locked === undefined ? `${titleOf()}. ` : "";
    live.announce(head + rowText(active()));
  }

  function knock(layer, head) {
    const heads = head === null ? upTo(attention[state.site].shape[1]) : [head];
    const these = heads.map((each) => [state.site, layer, each]);
    const isOut = these.every(isKnockedOut);
    const others = state.knocked_out.filter(
      (each) => !these.some((one) => same(one, each)),
    );
    changeKnocked(isOut ? others : [...others, ...these]);
  }
  const isKnockedOut = (head) => state.knocked_out.some((each) => same(each, head));

  function changeKnocked(knocked_out) {
    if (!engine) return;
    Object.assign(state, { knocked_out });
    result = null;
    update();
    onState({ knocked_out });
    onKnockOut(gainsOf(knocked_out));
    askWithout();
  }

  // What the model says without the heads that are out.
  async function askWithout() {
    const heads = state.knocked_out;
    if (!heads.length || !attention) return asked.stop();
    const [source, { translation: whole }] = [text, attention];
    await asked.run(async ({ signal, onProgress }) => {
      const tools = { signal, onProgress, gains: gainsOf(heads) };
      const { text: translation } = await engine.translate(source, tools);
      const { logProbability: before } = await engine.score(source, whole, { signal });
      const { logProbability: after } = await engine.score(source, whole, tools);
      if (source !== text || !same(heads, state.knocked_out)) return; // too late
      result = { heads, translation, before, after };
    });
    if (result)
      live.announce(
        `${withoutName.textContent}: ${result.translation} ${odds.textContent}`,
        true,
      );
  }

  const active = () => (state.locked >= 0 ? state.locked : hovered);
  /** @param {[number, number | null]} place */
  const mapOf = ([layer, head]) => headMap(attention, state.site, layer, head);
  /** @returns {[number, number | null]} */
  const shown = () => [state.layer, state.head];
  const titleOf = () => {
    const [a, b] = [nameOf(...shown()), nameOf(...state.other)];
    return `${TITLES[state.site]}, ${{ alone: a, beside: `${a} beside ${b}`, difference: `${a} minus ${b}` }[state.compare]}`;
  };

  // The first map, and where two are compared, the second or the difference.
  function maps() {
    const first = mapOf(shown());
    if (state.compare === "alone") return [first];
    const second = mapOf(state.other);
    return state.compare === "beside"
      ? [first, second]
      : [first.map((row, i) => row.map((w, j) => w - second[i][j]))];
  }

  function rowText(i) {
    if (!attention || i < 0)
      return "Point at a row, or walk through it with the arrow keys; a click or Enter keeps it.";
    const { rows, columns, predicted } = axes(attention, state.site);
    const who = `“${rows[i]}”${predicted.length ? ` (next: “${predicted[i]}”)` : ""}`;
    const list = (map) =>
      strongest(map[i])
        .map(([j, w]) => `“${columns[j]}” ${format(w)}`)
        .join(", ") || "nothing";
    const [first, second] = maps();
    const kept = state.locked >= 0 ? " Kept; Escape lets it go." : "";
    if (state.compare === "difference")
      return `${who}: largest differences ${list(first)}.${kept}`;
    return `${who} attends most to ${list(first)}${second ? `; in the second head to ${list(second)}` : ""}.${kept}`;
  }

  function highlight() {
    for (const pane of panes) pane.highlight(active(), state.locked);
    say(where, rowText(active()));
  }

  function clamp() {
    // another model, another sentence
    const [nLayers, nHeads] = attention[state.site].shape;
    /** @returns {[number, number | null]} */
    const fit = ([layer, head]) => [
      Math.min(layer, nLayers - 1),
      head === null ? null : Math.min(head, nHeads - 1),
    ];
    [state.layer, state.head] = fit(shown());
    state.other = fit(state.other);
    if (state.locked >= axes(attention, state.site).rows.length) state.locked = -1;
  }

  function drawOverview() {
    const [nLayers, nHeads] = attention[state.site].shape;
    overview.show({
      label: `${TITLES[state.site]}: the maps of all heads`,
      nLayers,
      nHeads,
      locked: state.locked,
      chosen: shown(),
      canKnock: Boolean(engine),
      map: (layer, head) => headMap(attention, state.site, layer, head),
      isOut: (layer, head) => isKnockedOut([state.site, layer, head]),
    });
  }

  function update() {
    if (!attention) return;
    clamp();
    const [nLayers, nHeads] = attention[state.site].shape;
    const { rows, columns, predicted } = axes(attention, state.site);
    hovered = Math.min(hovered, rows.length - 1);
    sites.pick(SITES.indexOf(state.site));
    forms.pick(FORMS.indexOf(state.form));
    comparisons.pick(COMPARISONS.indexOf(state.compare));
    say(about, ABOUT[state.site]);
    drawOverview();
    const choices = upTo(nLayers).flatMap((layer) =>
      [...upTo(nHeads), null].map((head) => [layer, head]),
    );
    if (withBox.dataset.size !== `${nLayers} ${nHeads}`) {
      withBox.dataset.size = `${nLayers} ${nHeads}`;
      withBox.replaceChildren(
        select(
          "other",
          choices.map((each) => nameOf(...each)),
          (i) => change({ other: choices[i] }),
        ),
      );
    }
    withBox.firstChild.value = choices.findIndex((each) => same(each, state.other));
    put(withBox.firstChild, { disabled: state.compare === "alone" });
    say(title, titleOf());

    const pictured = maps();
    const signed = state.compare === "difference";
    pictures.classList.toggle("tfh-two", pictured.length === 2);
    panes.forEach((pane, k) => {
      put(pane.node, { hidden: k >= pictured.length });
      put(behind[k].node, { hidden: k >= pictured.length });
      if (k >= pictured.length) return;
      const name = k ? nameOf(...state.other) : signed ? titleOf() : nameOf(...shown());
      pane.show({
        name,
        caption: pictured.length === 2,
        form: state.form,
        map: pictured[k],
        rows,
        columns,
        predicted,
        signed,
        future: state.site === "decoder",
      });
      behind[k].show(
        [...columns, ...(predicted.length ? ["predicts"] : [])],
        rows.map((row, i) => [
          row,
          ...pictured[k][i].map((w) => format(w, 3)),
          ...(predicted.length ? [predicted[i]] : []),
        ]),
      );
    });
    highlight();
    updateKnockOut();
  }

  function updateKnockOut() {
    const { knocked_out } = state;
    const these =
      state.head === null ? upTo(attention[state.site].shape[1]) : [state.head];
    const isOut = these.every((head) => isKnockedOut([state.site, state.layer, head]));
    const what =
      state.head === null
        ? `all of layer ${state.layer}`
        : `layer ${state.layer}, head ${state.head}`;
    say(knockButton, isOut ? `Restore ${what}` : `Knock out ${what}`);
    put(knockButton, { disabled: !engine });
    put(restore, { disabled: !knocked_out.length });
    say(
      out,
      knocked_out.length
        ? `Out: ${listed(knocked_out)}. The maps stay those with all heads.`
        : "All heads are at work.",
    );
    const n = knocked_out.length;
    say(
      withoutName,
      n === 0 ? "Without a head" : n === 1 ? "Without this one" : `Without these ${n}`,
    );
    const [left, right] = changedWords(
      attention.translation,
      result?.translation ?? "",
    );
    spell(whole, result ? left : left.map(([word]) => [word, false]), "s");
    if (result) spell(without, right, "mark");
    else without.replaceChildren(asked.busy() ? "…" : "–");
    say(
      odds,
      result
        ? `log p of the first translation: ${format(result.before)} with all heads, ${format(result.after)} without. It is ${lessProbable(result.before, result.after)}.`
        : "",
    );
    put(odds, { "data-before": result?.before, "data-after": result?.after });
  }

  return {
    node,
    state,
    // The attention of another sentence; a knock-out is tried on it, too.
    show(given, sentence) {
      [attention, text] = [given, sentence];
      result =
        given.knocked && same(given.knocked.heads, state.knocked_out)
          ? given.knocked
          : null;
      hovered = -1;
      state.locked = -1;
      update();
      if (!result && engine) askWithout();
    },
    // State from elsewhere: nothing is said of it to onState.
    set(given) {
      if (same({ ...state, ...given }, state)) return;
      const others = given.knocked_out && !same(given.knocked_out, state.knocked_out);
      Object.assign(state, given);
      if (others) result = null;
      update();
      if (others && engine) askWithout();
    },
    stop() {
      asked.stop();
      live.stop();
      endColours();
    },
  };
}

// "encoder layer 0: 3; cross layer 1: 0, 2"
function listed(heads) {
  const groups = new Map();
  for (const [site, layer, head] of [...heads].sort()) {
    const name = `${site} layer ${layer}`;
    groups.set(name, [...(groups.get(name) ?? []), head]);
  }
  return [...groups]
    .map(([name, numbers]) => `${name}: ${numbers.join(", ")}`)
    .join("; ");
}

function spell(node, words, tag) {
  node.replaceChildren(
    ...words.flatMap(([word, changed]) => [changed ? h(tag, {}, word) : word, " "]),
  );
}

// Small maps of all heads: layers down, heads across, the mean of each layer last.
function overviewOf({ onShow, onKnock }) {
  const table = h("table", { class: "tfh-overview", role: "grid" });
  const hint = h("p", { class: "tfh-hint" });
  const node = h("div", {}, table, hint);
  let tiles = [];
  let at = [0, 0];
  const columnOf = (head, nHeads) => (head === null ? nHeads : head);
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
      heads.map((head) => {
        const canvas = h("canvas", { "aria-hidden": "true" });
        const key = keyOf(layer, head);
        const knock =
          head === null ? null : button(`knock-${key}`, "", () => onKnock(layer, head));
        if (knock) put(knock, { tabindex: -1 });
        const cell = h(
          "td",
          { role: "gridcell", tabindex: -1, "data-head": key },
          canvas,
          ...(knock ? [knock] : []),
        );
        cell.addEventListener("focus", () => go(layer, columnOf(head, nHeads)));
        cell.addEventListener("click", (event) => {
          if (event.target === knock) return;
          go(layer, columnOf(head, nHeads)).focus();
          onShow(layer, head);
        });
        return { layer, head, cell, canvas, knock };
      }),
    );
    const names = heads.map((head) =>
      h(
        "th",
        { scope: "col", role: "columnheader" },
        head === null ? "mean" : h("span", {}, "head "),
        head === null ? "" : String(head),
      ),
    );
    table.replaceChildren(
      h(
        "thead",
        { role: "rowgroup" },
        h("tr", { role: "row" }, h("td", { role: "presentation" }), ...names),
      ),
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
      ),
    );
    at = [0, 0];
  }

  // locked: a row that stands out in all maps, or -1.
  function show({ label, nLayers, nHeads, map, isOut, chosen, locked, canKnock }) {
    if (tiles.length !== nLayers || tiles[0].length !== nHeads + 1)
      build(nLayers, nHeads);
    put(table, { "aria-label": label });
    say(
      hint,
      `Layers down, heads across. A click shows a map large. By keyboard: arrows, Enter${canKnock ? ", K to knock out" : ""}.`,
    );
    const style = getComputedStyle(table);
    const ink = style.getPropertyValue("--tf-high").trim() || "#084a83";
    for (const { layer, head, cell, canvas, knock } of tiles.flat()) {
      const weights = map(layer, head);
      const out = head !== null && isOut(layer, head);
      const isShown = same([layer, head], chosen);
      draw(canvas, weights, ink, locked);
      const sharp =
        weights.reduce((sum, row) => sum + Math.max(...row), 0) / weights.length;
      put(cell, {
        "aria-label": `${nameOf(layer, head)}${out ? ", knocked out" : ""}; largest weight of a row, on average ${format(sharp)}`,
        "aria-selected": String(isShown),
        class: `${isShown ? "tfh-chosen" : ""}${out ? " tfh-gone" : ""}`,
      });
      if (!knock) continue;
      say(knock, out ? "out" : "on");
      put(knock, {
        "aria-pressed": String(out),
        "aria-label": `${out ? "out" : "on"}: knock out ${nameOf(layer, head)}`,
        disabled: !canKnock,
      });
    }
    if (!table.contains(document.activeElement))
      go(chosen[0], columnOf(chosen[1], nHeads));
  }
  return { node, show };
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

// One map in large, as a matrix or as lines.
function paneOf(name, { onHover, onPick }) {
  const caption = h("p", { class: "tfh-caption" });
  const map = grid("Weights", {
    rowAxis: "query",
    columnAxis: "key",
    onPick: (i) => onPick(i),
    onMove: (i) => onHover(i),
  });
  const lines = linesOf({ onHover, onPick });
  const node = h(
    "div",
    { class: "tfh-pane", "data-pane": name },
    caption,
    map.node,
    lines.node,
  );
  const rowOf = (event) =>
    [...(map.table.tBodies[0]?.rows ?? [])].indexOf(event.target.closest("tbody tr"));
  map.table.addEventListener(
    "pointerover",
    (event) => rowOf(event) >= 0 && onHover(rowOf(event)),
  );
  map.table.addEventListener(
    "click",
    (event) =>
      event.target.closest("th, .tfk-extra") &&
      rowOf(event) >= 0 &&
      onPick(rowOf(event)),
  );

  function show(given) {
    const {
      name,
      caption: named,
      form,
      map: weights,
      rows,
      columns,
      predicted,
      signed,
      future,
    } = given;
    say(
      caption,
      signed
        ? "Blue: the first gives more. Orange: the second does."
        : named
          ? name
          : "",
    );
    put(map.node, { hidden: form !== "matrix" });
    put(lines.node, { hidden: form !== "lines" });
    put(map.table, { "aria-label": `${name}: queries by keys` });
    if (form === "lines") return lines.show(given);
    const largest = signed ? Math.max(...weights.flat().map(Math.abs), 1e-9) : 1;
    map.show({
      rows,
      columns,
      extra: predicted.length ? ["predicts"] : [],
      beside: (i) => predicted.slice(i, i + 1),
      cell: (i, j) => {
        const w = weights[i][j];
        const off = future && j > i;
        return {
          text: off ? "" : Math.abs(w) < 0.005 ? "0" : format(w),
          exact: w,
          off,
          share: Math.abs(w) / largest,
          label: `query ${rows[i]}, key ${columns[j]}, ${off ? "in the future" : `${signed ? "difference" : "weight"} ${format(w, 3)}`}`,
          mark: w < 0 ? "tfh-less" : "",
        };
      },
    });
  }
  function highlight(active, locked) {
    [...(map.table.tBodies[0]?.rows ?? [])].forEach((row, i) => {
      row.classList.toggle("tfh-on", i === active);
      row.classList.toggle("tfh-locked", i === locked);
    });
    lines.highlight(active, locked);
  }
  return { node, show, highlight };
}

// Queries left, keys right, a line for each weight: the thicker, the larger.
function linesOf({ onHover, onPick }) {
  const left = h("div", {
    class: "tfh-queries",
    role: "group",
    "aria-label": "Queries: the arrow keys walk, Enter keeps one",
  });
  const right = h("div", { class: "tfh-keys" });
  const svg = h("svg", { "aria-hidden": "true", preserveAspectRatio: "none" });
  const queryName = h("p", { class: "tfk-query" });
  const node = h(
    "div",
    { class: "tfh-lines" },
    queryName,
    h("span"),
    h("p", { class: "tfk-key" }, "key"),
    left,
    svg,
    right,
  );
  let given = null;
  let at = 0;
  const go = (i) => {
    put(left.children[at], { tabindex: -1 });
    at = within(i, left.children.length);
    put(left.children[at], { tabindex: 0 });
    return left.children[at];
  };
  arrowKeys(left, DOWN, (by) => go(at + by).focus());
  node.addEventListener(
    "pointerleave",
    () => left.contains(document.activeElement) || onHover(-1),
  );

  function show({ map, rows, columns, predicted, signed }) {
    given = { map, rows, columns, signed };
    const height = ROW * Math.max(rows.length, columns.length);
    put(svg, { viewBox: `0 0 100 ${height}` });
    svg.style.height = `${height}px`;
    say(queryName, predicted.length ? "predicts ← query" : "query");
    const middle = (i) => ROW * (i + 0.5);
    const largest = signed ? Math.max(...map.flat().map(Math.abs), 1e-9) : 1;
    svg.replaceChildren(
      ...map.map((row, i) =>
        h(
          "g",
          {},
          ...row.flatMap((w, j) => {
            const share = Math.abs(w) / largest;
            return share < FAINTEST
              ? []
              : [
                  h("line", {
                    x1: 0,
                    y1: middle(i),
                    x2: 100,
                    y2: middle(j),
                    class: w < 0 ? "tfh-less" : "",
                    "stroke-opacity": share.toFixed(3),
                    "stroke-width": (0.5 + 4 * share).toFixed(2),
                    "vector-effect": "non-scaling-stroke",
                  }),
                ];
          }),
        ),
      ),
    );
    if (left.dataset.names !== JSON.stringify([rows, predicted])) {
      left.dataset.names = JSON.stringify([rows, predicted]);
      at = 0;
      left.replaceChildren(
        ...rows.map((name, i) => {
          const node = button(`query-${i}`, name, () => onPick(i));
          if (predicted.length) node.prepend(h("small", {}, `${predicted[i]} ← `));
          put(node, { tabindex: i ? -1 : 0 });
          node.addEventListener("focus", () => {
            go(i);
            onHover(i);
          });
          node.addEventListener("pointerenter", () => onHover(i));
          return node;
        }),
      );
    }
    right.replaceChildren(
      ...columns.map((name) => h("span", {}, h("span", {}, name), h("small"))),
    );
    [...left.children].forEach((node, i) =>
      put(node, {
        "aria-label": `query ${rows[i]}: ${strongest(map[i])
          .map(([j, w]) => `${columns[j]} ${format(w)}`)
          .join(", ")}`,
      }),
    );
  }
  function highlight(active, locked) {
    if (!given) return;
    const { map } = given;
    [...svg.children].forEach((group, i) =>
      put(group, { class: active < 0 || i === active ? "" : "tfh-dim" }),
    );
    [...left.children].forEach((node, i) =>
      put(node, {
        class: i === active ? "tfh-on" : "",
        "aria-pressed": String(i === locked),
      }),
    );
    [...right.children].forEach((node, j) => {
      const w = active < 0 || active >= map.length ? null : map[active][j];
      say(node.lastChild, w === null || Math.abs(w) < 0.005 ? "" : ` ${format(w)}`);
      put(node, { "data-exact": w });
      node.style.setProperty(
        "--share",
        `${w === null ? 0 : Math.round(60 * Math.abs(w))}%`,
      );
    });
  }
  return { node, show, highlight };
}

// Hear when a node gets colours, as it comes into the page, and when light becomes dark;
// returns what ends it.
function onColours(node, redraw) {
  const placed = new ResizeObserver(() => redraw());
  placed.observe(node);
  const changed = new MutationObserver(() => redraw());
  for (const each of [document.documentElement, document.body]) {
    changed.observe(each, {
      attributes: true,
      attributeFilter: ["data-theme", "theme", "data-jp-theme-light", "class"],
    });
  }
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", redraw);
  return () => {
    placed.disconnect();
    changed.disconnect();
    system.removeEventListener("change", redraw);
  };
}
