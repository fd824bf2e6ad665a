// A search, step by step: the pieces it could take, the tree it grows, what it finds.
// A step is one of `Translator.steps`; `search.js` has the logic.
import { USUAL, used } from "../engine/decode/settings.js";
import { GRID, onArrows } from "../kit/arrows.js";
import { h, liveRegion, put, textTable } from "../kit/kit.js";
import { walker } from "../kit/player.js";
import { html, nothing, render } from "../kit/vendor/lit.js";
import { searchControls } from "./controls.js";
import { sceneOf } from "./scene.js";
import { endedIn, keyOf, neighbour, treeOf } from "./search.js";
import { foundTable, nextTable } from "./tables.js";
import { reveal, treePicture, treeRows } from "./tree.js";

const PAUSE = 900; // ms a step, when it plays
const SEARCHES = { greedy: "greedy", sample: "sampling", beam: "beam search" };
const isBeam = ({ key }) => key?.startsWith("beam");

// The figure, given an engine (or null). Settings: those of USUAL; topK and topP may be
// null: no cut. `step` counts from 0; -1 is the end.
//   initial   settings to begin with, and step
//   onState   hears { ...settings, step, found } when the reader changes something
//   onNeed    is called when the settings need a new search; it should call run()
export class DecodingView {
  #text = "";
  #runs = new Map(); // steps of this text, by key of the settings
  #search = { key: null, steps: [], nodes: [] }; // that is shown
  #picked = null; // the node that the reader picked
  #isReady = false; // the model has answered once
  #waiting = 0;
  #frame = 0;
  #sight = 0;
  #turn = 0; // counts searches

  /** @param {any} engine @param {Record<string, any>} [options] */
  constructor(engine, { initial = {}, onState = () => {}, onNeed = null } = {}) {
    const { step = 0, ...given } = initial;
    this.engine = engine;
    this.settings = { ...USUAL, ...given };
    this.place = step;
    this.onState = onState;
    this.onNeed = onNeed ?? (() => this.run(this.#text).catch(() => {}));
    this.controls = searchControls(SEARCHES, (changes) => {
      Object.assign(this.settings, changes);
      this.#find();
      this.#tell();
    });
    this.walk = walker({
      name: "step",
      words: ["To the first step", "One step back", "One step forward", "To the end"],
      at: () => this.#position,
      last: () => this.#last,
      to: (i) => this.#moveTo(i),
      beat: PAUSE,
      paper: () => (isBeam(this.#search) ? this.#last : this.#position),
    });
    this.behind = textTable("The tree as a table", "written so far");
    this.live = liveRegion({ isShown: true });
    this.node = h("div", { class: "tfd-view" });
    this.onKey = onArrows(GRID, (_, { key }) => {
      const { nodes } = this.#search;
      const next = neighbour(nodes, this.#scene().here, this.#position, key);
      if (next !== null) this.#pick(next);
    });
    this.#draw();
  }

  // Search with the engine; show the steps as they come.
  /** @param {string} asked @param {{ signal?: AbortSignal, onProgress?: (p: any) => void }} [tools] */
  async run(asked, { signal, onProgress } = {}) {
    clearTimeout(this.#waiting);
    this.walk.stop();
    if (!this.engine)
      throw new Error("this page does not have the model: run the cell in a notebook");
    const wanted = keyOf(this.settings);
    const isNew = asked !== this.#text;
    const mine = ++this.#turn;
    const found = [];
    const draw = () => {
      this.#frame = 0;
      this.#show(wanted, [...found]);
    };
    const onStep = (step) => {
      if (mine !== this.#turn) return; // another search has begun
      if (!found.length && isNew) {
        this.#text = asked;
        this.#runs = new Map();
        this.place = -1;
        this.#picked = null;
      }
      found.push(step);
      this.#frame ||= requestAnimationFrame(draw);
    };
    const options = { ...used(this.settings), onStep, onProgress, signal };
    try {
      await this.engine.translate(asked, options);
    } finally {
      if (mine === this.#turn) {
        cancelAnimationFrame(this.#frame);
        this.#frame = 0;
      }
    }
    if (mine !== this.#turn) return;
    this.#isReady = true;
    this.#runs.set(wanted, found);
    if (keyOf(this.settings) === wanted) this.#show(wanted, found);
    this.#find();
    this.#tell();
  }

  // Show a sentence with what was recorded, [{ ...settings, steps }], or, given an array of
  // steps, those as a search with the present settings, or, given null, search for it.
  show(sentence, recorded = null) {
    if (recorded === null) return this.run(sentence);
    this.walk.stop();
    this.#text = sentence;
    const all = recorded[0]?.hypotheses
      ? [{ ...this.settings, steps: recorded }]
      : recorded;
    this.#runs = new Map(all.map((each) => [keyOf({ ...USUAL, ...each }), each.steps]));
    this.#search.key = null;
    if (this.#runs.size) {
      const wanted = keyOf(this.settings);
      const name = this.#runs.has(wanted) ? wanted : [...this.#runs.keys()][0];
      this.#show(name, this.#runs.get(name));
    }
    return Promise.resolve();
  }

  /** @param {Record<string, any>} given settings, and step */
  set({ step = this.place, ...changes }) {
    const same = Object.entries(changes).every(
      ([name, value]) => this.settings[name] === value,
    );
    if (same && step === this.place) return;
    Object.assign(this.settings, changes);
    if (step !== this.place) this.#picked = null;
    this.place = step;
    this.#find();
  }

  // What Python and links read.
  get state() {
    const { key, steps } = this.#search;
    return {
      ...this.settings,
      step: this.place,
      found: { text: this.#text, key, steps: steps.length, finished: endedIn(steps) },
    };
  }

  stop() {
    this.walk.stop();
    clearTimeout(this.#waiting);
    cancelAnimationFrame(this.#frame);
    cancelAnimationFrame(this.#sight);
    this.live.stop();
  }

  #tell() {
    this.onState(this.state);
  }

  get #last() {
    return this.#search.steps.length - 1;
  }
  get #position() {
    return this.place < 0 ? this.#last : Math.min(this.place, this.#last);
  }

  #moveTo(to) {
    this.place = to < 0 || to >= this.#last ? -1 : to;
    this.#picked = null;
    this.#draw();
    this.#tell();
  }

  // Show the search of these settings, if it is known; else ask for it.
  #find() {
    clearTimeout(this.#waiting);
    const wanted = keyOf(this.settings);
    const known = this.#runs.get(wanted);
    if (known && this.#search.key !== wanted) return this.#show(wanted, known);
    this.#draw();
    if (!known && this.#isReady && this.#text)
      this.#waiting = setTimeout(this.onNeed, 200);
  }

  #show(key, steps) {
    const nodes = treeOf(steps);
    if (key !== this.#search.key || this.#picked >= nodes.length) this.#picked = null;
    this.#search = { key, steps, nodes };
    this.#draw();
  }

  #pick(i) {
    this.#picked = i;
    this.#draw();
    const item = this.node.querySelector(`[data-node="${i}"]`);
    item.focus({ preventScroll: true });
    reveal(item);
  }

  #scene() {
    const { lengthPenalty } = this.settings;
    return sceneOf(this.#search, this.#position, this.#picked, lengthPenalty);
  }

  #draw() {
    const { settings, node, controls, walk, live } = this;
    const { key, steps } = this.#search;
    const isKnown = keyOf(settings) === key;
    const scene = steps.length ? this.#scene() : null;
    controls.show(settings);
    put(node, {
      "data-search": settings.search,
      "data-stale": String(!isKnown),
      "data-beam": isBeam(this.#search) ? "true" : "",
    });
    render(
      html`
        ${controls.choice}
        <div class="tfd-options">
          ${controls.sliders}
          <p class="tfd-about" ?hidden=${settings.search !== "greedy"}>The likeliest piece is taken, every time. There is nothing to set.</p>
        </div>
        <p class="tfd-note" role="status" data-note>${isKnown || !key ? "" : staleText(this.engine, this.#isReady)}</p>
        <div class="tfd-steps">${walk.nodes}</div>
        ${scene ? this.#picture(scene) : nothing}${live.node}`,
      node,
    );
    if (!scene) return;
    walk.show();
    if (this.#picked === null) this.#lookAt(this.#position);
    if (!walk.playing()) live.announce(scene.summary);
  }

  #picture(scene) {
    const { behind, onKey, settings } = this;
    behind.show(["next piece", "step", "log p", "now"], treeRows(scene));
    return html`
      <p class="tfd-legend">● goes on   ✓ finished   ✗ dropped   ★ best by score; below each piece: log p of all up to it</p>
      ${treePicture(scene, { onPick: (i) => this.#pick(i), onKey })}
      ${nextTable(scene, settings)}${foundTable(scene.found, scene.alpha)}${behind.node}`;
  }

  // By the next frame the host has put us on the page.
  #lookAt(column) {
    const i = this.#search.nodes.findIndex((each) => each.column === column);
    cancelAnimationFrame(this.#sight);
    this.#sight = requestAnimationFrame(() =>
      reveal(this.node.querySelector(`[data-node="${i}"]`)),
    );
  }
}

// Why what is shown does not have the present settings.
function staleText(engine, isReady) {
  if (isReady) return "The model is asked …";
  return engine
    ? "Still the search from before: these settings need the model. Press Translate."
    : "Still the search from before: other settings need the model, in a notebook.";
}
