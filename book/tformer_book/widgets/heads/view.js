// The heads of a Transformer: all in small, one or two in large, and what the model says
// without some of them. It knows an engine (engine/client.js), no widget.
import { CHAPTERS, chapterLink } from "../kit/chapters.js";
import { onColours } from "../kit/colours.js";
import { h, liveRegion, oneOf, showAll, stopping } from "../kit/kit.js";
import { same, upTo } from "../kit/lists.js";
import { tabs } from "../kit/tabs.js";
import { html, nothing, render } from "../kit/vendor/lit.js";
import { damageMap } from "./damage.js";
import { knockOutPanel } from "./knockout.js";
import { overviewOf } from "./overview.js";
import { picturesOf } from "./panes.js";
import * as heads from "./weights.js";

const ABOUT = {
  encoder:
    "Each English piece (a row, the query) looks at all English pieces (the columns, the keys).",
  decoder:
    "Each German piece (a row, the query) looks at itself and at the German pieces before it (the columns, the keys), and predicts the next piece.",
  cross:
    "Each German piece (a row, the query) looks at the English pieces (the columns, the keys), and predicts the next German piece.",
};
const COMPARISONS = ["alone", "beside", "difference"];
const COMPARED = ["one head", "two heads", "difference"];
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
// onState hears what the reader changed.
export class HeadsView {
  // What engine.attention() gives for a text, and the pieces that the translation was told
  // to begin with.
  #given = { attention: null, text: "", prefix: [] };
  #hovered = -1; // a row
  #previewed = null; // layer and head that the reader points at
  #column = -1; // of the row that is kept: where the reader clicked
  #tab = "knock";

  /** @param {any} engine @param {Record<string, any>} [options] */
  constructor(engine, { initial = {}, onState = () => {}, note = "" } = {}) {
    const state = { ...STATE, ...initial };
    this.engine = engine;
    this.onState = onState;
    this.state = state;
    this.live = liveRegion();
    this.controls = controlsOf((changes) => this.#change(changes));
    this.overview = overviewOf({
      canKnock: Boolean(engine),
      onShow: (layer, head) => this.#change({ layer, head }),
      onKnock: (layer, head) => this.#toggle(this.#headsAt(layer, head)),
      onPreview: (head) => this.#preview(head),
    });
    this.panel = knockOutPanel(engine, {
      note,
      onKnock: () => this.#toggle(this.#headsAt(state.layer, state.head)),
      onKnockSite: () => this.#toggle(heads.allAt(this.#given.attention, state.site)),
      onRestore: () => this.#knockOut([]),
      onChange: () => this.#draw(),
      onAnswer: (words) => {
        this.#drawDamage();
        this.live.announce(words, true);
      },
    });
    this.damage = damageMap(engine, {
      onPick: (...picked) => {
        const [site, layer, head] = picked;
        this.#change({ site, layer, head, locked: -1 });
        this.#knockOut(same(state.knocked_out, [picked]) ? [] : [picked]);
      },
    });
    this.pictures = picturesOf({
      onHover: (i) => {
        this.#hovered = i;
        this.#draw();
      },
      onPick: (i, j = -1) => {
        const isKept = state.locked === i && (j < 0 || j === this.#kept[1]);
        this.#column = j;
        this.#change({ locked: isKept ? -1 : i });
      },
    });
    this.tabs = tabs(
      "What heads are worth",
      [
        { key: "knock", title: "Without some heads", panel: this.panel.node },
        { key: "damage", title: "A map of damage", panel: this.damage.node },
      ],
      (key) => {
        this.#tab = key;
        this.#draw();
      },
    );
    this.node = h("div", { class: "tfh-view" });
    this.node.addEventListener("keydown", ({ key }) => {
      if (key === "Escape" && state.locked >= 0) this.#change({ locked: -1 });
    });
    this.endColours = onColours(this.overview.node, () => {
      if (this.#given.attention) this.overview.show(this.#scene);
    });
  }

  // The attention of another sentence; a knock-out is tried on it, too. With `knocked` it
  // also holds what became of a knock-out, with `damage` what a sweep found.
  show(attention, text, prefix = []) {
    this.#given = { attention, text, prefix };
    const { knocked, damage } = attention;
    const isKnown = knocked && same(knocked.heads, this.state.knocked_out);
    this.panel.know(isKnown ? knocked : null);
    this.damage.know(damage?.heads ? damage : null);
    this.#hovered = -1;
    this.#previewed = null;
    this.state.locked = -1;
    this.#update();
    if (!isKnown && this.engine) this.panel.ask();
  }

  // State from elsewhere: nothing is said of it to onState.
  set(given) {
    const { state } = this;
    if (same({ ...state, ...given }, state)) return;
    const others = given.knocked_out && !same(given.knocked_out, state.knocked_out);
    Object.assign(state, given);
    this.#previewed = null;
    if (others) this.panel.know(null);
    this.#update();
    if (others && this.engine) this.panel.ask();
  }

  stop() {
    stopping(this.panel, this.damage, this.live, this.endColours)();
  }

  #change(changes) {
    Object.assign(this.state, changes);
    if (changes.locked === undefined || changes.site) this.#previewed = null;
    this.#update();
    this.onState({ ...changes });
    const head = changes.locked === undefined ? `${heads.titleOf(this.state)}. ` : "";
    this.live.announce(head + this.#rowText());
  }

  // Show another head for as long as the reader points at it.
  #preview(head) {
    const { layer, head: chosen } = this.state;
    const next = head && !same(head, [layer, chosen]) ? head : null;
    if (same(next, this.#previewed)) return;
    this.#previewed = next;
    this.pictures.show(this.#given.attention, this.#shown);
    this.#draw();
  }

  // The state as the large map shows it.
  get #shown() {
    if (!this.#previewed) return this.state;
    const [layer, head] = this.#previewed;
    return { ...this.state, layer, head };
  }

  // The cell that the reader keeps: the one clicked, or the largest of its row.
  get #kept() {
    const { attention } = this.#given;
    const { site, layer, head, locked } = this.state;
    if (locked < 0) return null;
    const row = heads.headMap(attention, site, layer, head)[locked];
    const column = row[this.#column] === undefined ? -1 : this.#column;
    return [locked, column < 0 ? row.indexOf(Math.max(...row)) : column];
  }

  #headsAt(layer, head) {
    return heads.headsAt(this.#given.attention, this.state.site, layer, head);
  }

  // Knock these heads out; if all of them are, restore them.
  #toggle(these) {
    const others = this.state.knocked_out.filter(
      (each) => !these.some((one) => same(one, each)),
    );
    const areOut = these.every((each) => heads.isOut(this.state, each));
    this.#knockOut(areOut ? others : [...others, ...these]);
  }

  #knockOut(knocked_out) {
    if (!this.engine) return;
    this.state.knocked_out = knocked_out;
    this.panel.know(null);
    this.#update();
    this.onState({ knocked_out });
    this.panel.ask();
  }

  get #scene() {
    return { ...this.#given, state: this.state, kept: this.#kept };
  }

  #update() {
    const { attention } = this.#given;
    if (!attention) return;
    heads.clamp(this.state, attention);
    const { rows } = heads.axes(attention, this.state.site);
    this.#hovered = Math.min(this.#hovered, rows.length - 1);
    this.overview.show(this.#scene);
    this.pictures.show(attention, this.#shown);
    this.panel.show(this.#scene);
    this.#drawDamage();
    this.#draw();
  }

  #drawDamage() {
    const without = this.panel.result()?.translation;
    this.damage.show({ ...this.#scene, without });
  }

  #draw() {
    const { state, controls, overview, pictures, live } = this;
    const { attention } = this.#given;
    pictures.highlight(this.#active, state.locked, this.#kept);
    this.tabs.show(this.#tab);
    render(
      html`
        ${controls.sites}
        <p class="tfh-about">${ABOUT[state.site]}</p>
        <div class="tfh-stage ${state.compare === "beside" ? "tfh-pair" : ""}" style=${roomFor(attention)}>
          <div class="tfh-choices tfk-how">${overview.sort}${controls.row(state, attention[state.site].shape)}</div>
          <div class="tfh-all">${overview.node}${this.panel.line()}</div>
          <details class="tfh-hint">
            <summary>How to use the small maps</summary>
            Layers down, heads across. Click or tap a small map to enlarge it (hovering shows a preview). The button below a map knocks out its head; below a mean, the whole layer. By keyboard: arrows, Enter${this.engine ? ", K to knock out" : ""}. Sharpness is the largest weight of a row, on average. Which head goes from “Hund” to “dog”? Choose that cell in the large map, and sort by the kept cell. A cell in the row “Hund” finds heads that look at the word just written; one in the row before it, heads that look at the word about to come.
          </details>
          <div class="tfh-large" data-preview=${this.#previewed ? "true" : nothing}>
            <div class="tfh-head">
              <p class="tfh-title">${heads.headTitle(this.#shown)}${this.#previewed ? html` <small>preview</small>` : nothing}</p>
              ${legendOf(state)}
            </div>
            ${pictures.node}
            <p class="tfh-where ${this.#active < 0 ? "tfk-how" : ""}" data-where>${this.#rowText()}</p>
          </div>
        </div>
        ${this.tabs.node}
        <p class="tfh-hint">All of this is about one sentence. ${chapterLink(CHAPTERS.inside)} counts what each head of our model is worth over hundreds of sentences.</p>
        ${pictures.tables}${live.node}`,
      this.node,
    );
  }

  get #active() {
    return this.state.locked >= 0 ? this.state.locked : this.#hovered;
  }
  #rowText() {
    return heads.rowText(this.#given.attention, this.#shown, this.#active);
  }
}

// Room for the largest map of any site, so that nothing moves when another is shown.
function roomFor({ sourcePieces, targetPieces }) {
  const all = [...sourcePieces, ...targetPieces];
  const rows = Math.max(sourcePieces.length, targetPieces.length);
  return `--rows: ${rows}; --columns: ${rows}; --longest: ${Math.max(...all.map((each) => each.length))}`;
}

// What the colours of all maps mean.
function legendOf({ site, compare }) {
  const isSigned = compare === "difference";
  const [from, to] = isSigned ? ["the second more", "the first more"] : ["0", "1"];
  return html`
    <p class="tfh-legend">${isSigned ? "" : "weight "}${from} <span class="tfh-scale ${isSigned ? "tfh-signed" : ""}"></span> ${to}${
      site === "decoder"
        ? html`; <span class="tfh-unseen"></span> in the future`
        : nothing
    }</p>`;
}

// What the reader chooses: the site, and how it is pictured.
function controlsOf(change) {
  const set = (name) => (value) => change({ [name]: value });
  const toSite = (site) => change({ site, locked: -1 });
  const controls = {
    site: oneOf("site", "Where", heads.SITES, toSite, Object.values(heads.TITLES)),
    form: oneOf("form", "As", ["matrix", "lines"], set("form")),
    compare: oneOf("compare", "Show", COMPARISONS, set("compare"), COMPARED),
  };
  // With this list the row says what it compares with.
  function row(state, [nLayers, nHeads]) {
    showAll(controls, state);
    const choices = upTo(nLayers).flatMap((layer) =>
      [...upTo(nHeads), null].map((head) => [layer, head]),
    );
    const option = (each, i) =>
      html`<option value=${i} .selected=${same(each, state.other)}>${heads.nameOf(...each)}</option>`;
    return html`
      ${controls.form.set}${controls.compare.set}
        <label class="tfh-with">with <select data-control="other" ?disabled=${state.compare === "alone"}
          @change=${({ target }) => change({ other: choices[target.value] })}>${choices.map(option)}</select></label>`;
  }
  return { sites: controls.site.set, row };
}
