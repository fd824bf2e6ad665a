// The heads of a Transformer: all in small, one or two in large, and what the model says
// without some of them. It knows an engine (engine/client.js), no widget.
import { onColours } from "../kit/colours.js";
import { h, liveRegion, put, radios, say, select, textTable } from "../kit/kit.js";
import { format } from "../kit/numbers.js";
import { damageMap } from "./damage.js";
import { gainsOf, knockOutPanel } from "./knockout.js";
import {
  axes,
  headMap,
  headsAt,
  nameOf,
  SITES,
  same,
  strongest,
  TITLES,
  upTo,
} from "./maps.js";
import { overviewOf } from "./overview.js";
import { paneOf } from "./panes.js";

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

// engine may be null: then nothing can be knocked out. initial: a part of `STATE`.
// onState hears what the reader changed, onKnockOut the gains for the engine.
// -> { node, show(attention, text, prefix?), set(state), state, stop() }; attention is what
// engine.attention() gives; with `knocked` it also holds what became of a knock-out, with
// `damage` what a sweep found.
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
  let prefix = []; // the pieces that the translation was told to begin with
  let hovered = -1;

  const live = liveRegion();
  const controls = controlsOf(change);
  const about = h("p", { class: "tfh-about" });
  const overview = overviewOf({
    onShow: (layer, head) => change({ layer, head }),
    onKnock: knock,
  });
  const panel = knockOutPanel(engine, {
    note,
    onKnock: () => knock(state.layer, state.head),
    onKnockSite: () => toggle(allOf(state.site)),
    onRestore: () => changeKnocked([]),
    onAnswer(words) {
      drawDamage();
      live.announce(words, true);
    },
  });
  const damage = damageMap(engine, {
    onPick(...head) {
      if (engine) changeKnocked(same(state.knocked_out, [head]) ? [] : [head]);
    },
  });
  const title = h("p", { class: "tfh-title" });
  const pictures = picturesOf({
    onHover: (i) => {
      hovered = i;
      highlight();
    },
    onPick: (i) => change({ locked: state.locked === i ? -1 : i }),
  });
  const where = h("p", { class: "tfh-where", "data-where": true });
  const node = h(
    "div",
    { class: "tfh-view" },
    controls.site,
    about,
    overview.node,
    panel.node,
    damage.node,
    title,
    controls.row,
    pictures.node,
    where,
    ...pictures.tables,
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
    const head = changes.locked === undefined ? `${titleOf(state)}. ` : "";
    live.announce(head + rowText(attention, state, active()));
  }

  function knock(layer, head) {
    toggle(headsAt(attention, state.site, layer, head));
  }
  const allOf = (site) =>
    upTo(attention[site].shape[0]).flatMap((layer) =>
      headsAt(attention, site, layer, null),
    );

  // Knock these heads out; if all of them are, restore them.
  function toggle(these) {
    const others = state.knocked_out.filter(
      (each) => !these.some((one) => same(one, each)),
    );
    changeKnocked(these.every(isKnockedOut) ? others : [...others, ...these]);
  }
  const isKnockedOut = (head) => state.knocked_out.some((each) => same(each, head));

  function changeKnocked(knocked_out) {
    if (!engine) return;
    Object.assign(state, { knocked_out });
    panel.know(null);
    update();
    onState({ knocked_out });
    onKnockOut(gainsOf(knocked_out));
    panel.ask();
  }

  const active = () => (state.locked >= 0 ? state.locked : hovered);
  function highlight() {
    pictures.highlight(active(), state.locked);
    say(where, rowText(attention, state, active()));
  }

  function drawOverview() {
    const [nLayers, nHeads] = attention[state.site].shape;
    overview.show({
      label: `${TITLES[state.site]}: the maps of all heads`,
      nLayers,
      nHeads,
      locked: state.locked,
      chosen: [state.layer, state.head],
      canKnock: Boolean(engine),
      map: (layer, head) => headMap(attention, state.site, layer, head),
      isOut: (layer, head) => isKnockedOut([state.site, layer, head]),
    });
  }

  function drawDamage() {
    damage.show({
      text,
      translation: attention.translation,
      shapes: Object.fromEntries(
        SITES.map((site) => [site, attention[site].shape.slice(0, 2)]),
      ),
      knocked_out: state.knocked_out,
      without: panel.result()?.translation,
    });
  }

  function update() {
    if (!attention) return;
    clamp(state, attention);
    const { site, layer, head, knocked_out } = state;
    hovered = Math.min(hovered, axes(attention, site).rows.length - 1);
    controls.show(state, attention[site].shape);
    say(about, ABOUT[site]);
    drawOverview();
    say(title, titleOf(state));
    pictures.show(attention, state);
    highlight();
    panel.show({
      text,
      prefix,
      translation: attention.translation,
      knocked_out,
      site,
      layer,
      head,
      isOut: headsAt(attention, site, layer, head).every(isKnockedOut),
      shape: attention[site].shape,
      isSiteOut: allOf(site).every(isKnockedOut),
    });
    drawDamage();
  }

  return {
    node,
    state,
    // The attention of another sentence; a knock-out is tried on it, too.
    show(given, sentence, beginning = []) {
      [attention, text, prefix] = [given, sentence, beginning];
      const known = given.knocked && same(given.knocked.heads, state.knocked_out);
      panel.know(known ? given.knocked : null);
      damage.know(given.damage?.heads ? given.damage : null);
      hovered = -1;
      state.locked = -1;
      update();
      if (!known && engine) panel.ask();
    },
    // State from elsewhere: nothing is said of it to onState.
    set(given) {
      if (same({ ...state, ...given }, state)) return;
      const others = given.knocked_out && !same(given.knocked_out, state.knocked_out);
      Object.assign(state, given);
      if (others) panel.know(null);
      update();
      if (others && engine) panel.ask();
    },
    stop() {
      panel.stop();
      damage.stop();
      live.stop();
      endColours();
    },
  };
}

// Bring a state into the range of another model, another sentence.
function clamp(state, attention) {
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

// What the reader chooses: the site, and a row of how it is pictured.
function controlsOf(change) {
  const sites = radios(
    "site",
    "Where",
    SITES.map((site) => TITLES[site]),
    0,
    (i) => change({ site: SITES[i], locked: -1 }),
  );
  const forms = radios("form", "As", FORMS, 0, (i) => change({ form: FORMS[i] }));
  const comparisons = radios(
    "compare",
    "Show",
    ["one head", "two heads", "difference"],
    0,
    (i) => change({ compare: COMPARISONS[i] }),
  );
  const other = otherHead((head) => change({ other: head }));
  const row = h("div", { class: "tfh-row" }, forms.set, comparisons.set, other.node);
  function show(state, [nLayers, nHeads]) {
    sites.pick(SITES.indexOf(state.site));
    forms.pick(FORMS.indexOf(state.form));
    comparisons.pick(COMPARISONS.indexOf(state.compare));
    other.show(nLayers, nHeads, state.other, state.compare === "alone");
  }
  return { site: sites.set, row, show };
}

// The list of heads to compare with.
function otherHead(onPick) {
  const box = h("span");
  const node = h("label", { class: "tfh-with" }, h("span", {}, "with "), box);
  let list = null;
  function show(nLayers, nHeads, chosen, disabled) {
    const choices = upTo(nLayers).flatMap((layer) =>
      [...upTo(nHeads), null].map((head) => [layer, head]),
    );
    if (box.dataset.size !== `${nLayers} ${nHeads}`) {
      box.dataset.size = `${nLayers} ${nHeads}`;
      const names = choices.map((each) => nameOf(...each));
      list = select("other", names, (i) => onPick(choices[i]));
      box.replaceChildren(list);
    }
    list.value = choices.findIndex((each) => same(each, chosen));
    put(list, { disabled });
  }
  return { node, show };
}

// The large pictures, and the same as tables.
function picturesOf(tools) {
  const panes = [paneOf("first", tools), paneOf("second", tools)];
  const tables = [
    textTable("The same as a table", "query"),
    textTable("The second head as a table", "query"),
  ];
  const node = h("div", { class: "tfh-pictures" }, panes[0].node, panes[1].node);
  function show(attention, state) {
    const { rows, columns, predicted } = axes(attention, state.site);
    const maps = mapsOf(attention, state);
    const signed = state.compare === "difference";
    const names = [
      signed ? titleOf(state) : nameOf(state.layer, state.head),
      nameOf(...state.other),
    ];
    node.classList.toggle("tfh-two", maps.length === 2);
    panes.forEach((pane, k) => {
      put(pane.node, { hidden: k >= maps.length });
      put(tables[k].node, { hidden: k >= maps.length });
      if (k >= maps.length) return;
      pane.show({
        name: names[k],
        caption: maps.length === 2,
        form: state.form,
        map: maps[k],
        rows,
        columns,
        predicted,
        signed,
        future: state.site === "decoder",
      });
      tables[k].show(
        [...columns, ...(predicted.length ? ["predicts"] : [])],
        rows.map((row, i) => [
          row,
          ...maps[k][i].map((w) => format(w, 3)),
          ...(predicted.length ? [predicted[i]] : []),
        ]),
      );
    });
  }
  function highlight(active, locked) {
    for (const pane of panes) pane.highlight(active, locked);
  }
  return { node, tables: tables.map((each) => each.node), show, highlight };
}

// The first map, and where two are compared, the second or the difference.
function mapsOf(attention, { site, layer, head, compare, other }) {
  const first = headMap(attention, site, layer, head);
  if (compare === "alone") return [first];
  const [otherLayer, otherHead] = other;
  const second = headMap(attention, site, otherLayer, otherHead);
  return compare === "beside"
    ? [first, second]
    : [first.map((row, i) => row.map((w, j) => w - second[i][j]))];
}

function titleOf({ site, layer, head, compare, other }) {
  const [a, b] = [nameOf(layer, head), nameOf(...other)];
  const what = { alone: a, beside: `${a} beside ${b}`, difference: `${a} minus ${b}` };
  return `${TITLES[site]}, ${what[compare]}`;
}

// What a query attends to most; -1: no query.
function rowText(attention, state, i) {
  if (!attention || i < 0)
    return "Point at a row, or walk through it with the arrow keys; a click or Enter keeps it.";
  const { rows, columns, predicted } = axes(attention, state.site);
  const who = `“${rows[i]}”${predicted.length ? ` (next: “${predicted[i]}”)` : ""}`;
  const list = (map) =>
    strongest(map[i])
      .map(([j, w]) => `“${columns[j]}” ${format(w)}`)
      .join(", ") || "nothing";
  const [first, second] = mapsOf(attention, state);
  const kept = state.locked >= 0 ? " Kept; Escape lets it go." : "";
  if (state.compare === "difference")
    return `${who}: largest differences ${list(first)}.${kept}`;
  return `${who} attends most to ${list(first)}${second ? `; in the second head to ${list(second)}` : ""}.${kept}`;
}
