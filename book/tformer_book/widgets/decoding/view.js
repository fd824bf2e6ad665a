// A search, step by step: the pieces it could take, the tree it grows, what it finds.
// A step is one of `Translator.steps`; `search.js` has the logic.
import { USUAL, used } from "../engine/decode/settings.js";
import { h, liveRegion, put, say, slider } from "../kit/kit.js";
import { player } from "../kit/player.js";
import { searchControls } from "./controls.js";
import { searchPicture } from "./picture.js";
import { endedIn, keyOf } from "./search.js";

const PAUSE = 900; // ms a step, when it plays

// The figure, given an engine (or null). Settings: those of USUAL; topK and topP may be
// null: no cut. `step` counts from 0; -1 is the end.
//   initial   settings to begin with, and step
//   onState   hears { ...settings, step, found } when the reader changes something
//   onNeed    is called when the settings need a new search; it should call run()
// -> { node,
//      run(text, { signal, onProgress }): search with the engine; show the steps as they come,
//      show(text, runs): show a sentence with what was recorded, [{ ...settings, steps }],
//        or, given an array of steps, those as a search with the present settings, or,
//        given null, search for it,
//      set({ ...settings, step }), state(), stop() }
/**
 * @param {any} engine
 * @param {object} [options]
 * @param {Record<string, any>} [options.initial]
 * @param {(state: any) => void} [options.onState]
 * @param {(() => void) | null} [options.onNeed]
 */
export function decodingView(
  engine,
  { initial = {}, onState = () => {}, onNeed = null } = {},
) {
  const { step: first = 0, ...given } = initial;
  const settings = { ...USUAL, ...given };
  const need = onNeed ?? (() => run(text).catch(() => {}));
  let text = "";
  let runs = new Map(); // steps of this text, by key of the settings
  let key = null; // of what is shown
  let steps = [];
  let place = first;
  let ready = false; // the model has answered once
  let waiting = 0;
  let frame = 0;
  let turn = 0; // counts searches

  const position = () =>
    place < 0 ? steps.length - 1 : Math.min(place, steps.length - 1);

  const controls = searchControls(settings.search, change);
  const note = h("p", { class: "tfd-note", role: "status", "data-note": true });
  const walk = walkOf({ at: position, length: () => steps.length, onMove: moveTo });
  const picture = searchPicture();
  const live = liveRegion({ isShown: true });
  const node = h(
    "div",
    { class: "tfd-view" },
    ...controls.nodes,
    note,
    walk.node,
    ...picture.nodes,
    live.node,
  );

  function change(changes) {
    Object.assign(settings, changes);
    find();
    tell();
  }

  // Show the search of these settings, if it is known; else ask for it.
  function find() {
    clearTimeout(waiting);
    const wanted = keyOf(settings);
    if (runs.has(wanted)) {
      if (key !== wanted) showSteps(wanted, runs.get(wanted));
      else update();
    } else {
      update();
      if (ready && text) waiting = setTimeout(need, 200);
    }
  }

  function showSteps(name, found) {
    if (name !== key) picture.forget();
    key = name;
    steps = found;
    picture.build(steps);
    update();
  }

  /** @param {string} asked @param {{ signal?: AbortSignal, onProgress?: (p: any) => void }} [tools] */
  async function run(asked, { signal, onProgress } = {}) {
    clearTimeout(waiting);
    walk.stop();
    if (!engine)
      throw new Error("this page does not have the model: run the cell in a notebook");
    const wanted = keyOf(settings);
    const isNew = asked !== text;
    const mine = ++turn;
    const found = [];
    const draw = () => {
      frame = 0;
      showSteps(wanted, [...found]);
    };
    const onStep = (step) => {
      if (mine !== turn) return; // another search has begun
      if (!found.length && isNew) {
        text = asked;
        runs = new Map();
        place = -1;
        picture.forget();
      }
      found.push(step);
      frame ||= requestAnimationFrame(draw);
    };
    try {
      await engine.translate(asked, { ...used(settings), onStep, onProgress, signal });
    } finally {
      if (mine === turn) {
        cancelAnimationFrame(frame);
        frame = 0;
      }
    }
    if (mine !== turn) return;
    ready = true;
    runs.set(wanted, found);
    if (keyOf(settings) === wanted) showSteps(wanted, found);
    find();
    tell();
  }

  function show(sentence, recorded = null) {
    if (recorded === null) return run(sentence);
    walk.stop();
    text = sentence;
    const all =
      recorded.length && recorded[0].hypotheses
        ? [{ ...settings, steps: recorded }]
        : recorded;
    runs = new Map(all.map((each) => [keyOf({ ...USUAL, ...each }), each.steps]));
    key = null;
    if (!runs.size) return Promise.resolve();
    const [name, found] = runs.has(keyOf(settings))
      ? [keyOf(settings), runs.get(keyOf(settings))]
      : [...runs][0];
    showSteps(name, found);
    return Promise.resolve();
  }

  function moveTo(to) {
    place = to < 0 || to >= steps.length - 1 ? -1 : to;
    picture.forget();
    update();
    tell();
  }

  function update() {
    const isKnown = keyOf(settings) === key;
    controls.show(settings);
    say(note, isKnown || !key ? "" : staleText(engine, ready));
    node.dataset.search = settings.search;
    node.dataset.stale = String(!isKnown);
    node.dataset.beam = key?.startsWith("beam") ? "true" : "";
    if (!steps.length) return;
    walk.show();
    picture.show(position(), key, settings);
    if (!walk.playing()) live.announce(picture.summary());
  }

  // What Python and links read.
  const state = () => ({
    ...settings,
    step: place,
    found: { text, key, steps: steps.length, finished: endedIn(steps) },
  });
  const tell = () => onState(state());

  /** @param {Record<string, any>} given */
  function set({ step, ...changes }) {
    const same = Object.entries(changes).every(
      ([name, value]) => settings[name] === value,
    );
    if (same && (step === undefined || step === place)) return;
    Object.assign(settings, changes);
    if (step !== undefined && step !== place) {
      place = step;
      picture.forget();
    }
    find();
  }

  function stop() {
    walk.stop();
    clearTimeout(waiting);
    cancelAnimationFrame(frame);
    picture.stop();
    live.stop();
  }

  return { node, run, show, set, state, stop };
}

// The buttons and the slider that go from step to step.
function walkOf({ at, length, onMove }) {
  const walk = player({
    words: ["To the first step", "One step back", "One step forward", "To the end"],
    at,
    last: () => length() - 1,
    to: onMove,
    beat: PAUSE,
  });
  const stepper = slider(
    "step",
    "step",
    { min: 1, max: 1, step: 1, text: (k) => `${k} of ${length()}` },
    (k) => walk.go(k - 1),
  );
  function show() {
    put(stepper.input, { max: length() });
    stepper.show(at() + 1);
    walk.show();
  }
  const node = h("div", { class: "tfd-steps" }, ...walk.nodes, stepper.box);
  return { node, show, stop: walk.stop, playing: walk.playing };
}

// Why what is shown does not have the present settings.
function staleText(engine, ready) {
  if (ready) return "The model is asked …";
  return engine
    ? "Still the search from before: these settings need the model. Press Translate."
    : "Still the search from before: other settings need the model, in a notebook.";
}
