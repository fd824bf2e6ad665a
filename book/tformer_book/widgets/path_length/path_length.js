// The way of a signal between two tokens: drawn, walked and counted.
import { within } from "../kit/arrows.js";
import {
  bind,
  figure,
  listSlider,
  liveRegion,
  oneOf,
  onWidth,
  put,
  slider,
} from "../kit/kit.js";
import { commas } from "../kit/numbers.js";
import { player } from "../kit/player.js";
import { render as draw, html } from "../kit/vendor/lit.js";
import { explain, KINDS, plural, route, stopsOf } from "./maths.js";
import { drawing, table } from "./view.js";

const LENGTHS = [
  2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256,
  384, 512, 768, 1024,
];
const WIDTHS = [8, 16, 32, 64, 128, 256, 512, 1024];
const NAMES = ["kind", "length", "start", "end", "width", "kernel", "words"];
const BEAT = 420; // ms for a step, or for one of the pulse's stops

function controlsOf(state, commit) {
  const kinds = oneOf("kind", "Layer", KINDS, (kind) => commit({ kind }));
  const place = (name, label, kind) =>
    slider(name, label, { min: 1, max: 12, step: 1, digits: 0, kind }, (x) =>
      commit({ [name]: x - 1 }),
    );
  const from = place("start", "from token", "tfk-query");
  const to = place("end", "to token", "tfk-output");
  // Both ends stay where they are, as shares of the length.
  const length = listSlider("length", "tokens n", LENGTHS, (n) => {
    const s = state();
    const fit = (p) => Math.round((p * (n - 1)) / (s.length - 1));
    commit({ length: n, start: fit(s.start), end: fit(s.end) });
  });
  const width = listSlider("width", "width d", WIDTHS, (x) => commit({ width: x }));
  const kernel = slider(
    "kernel",
    "kernel k",
    { min: 2, max: 9, step: 1, digits: 0 },
    (x) => commit({ kernel: x }),
  );
  const show = (s) => {
    kinds.show(s.kind);
    for (const { input } of [from, to]) put(input, { max: s.length });
    from.show(s.start + 1);
    to.show(s.end + 1);
    length.show(s.length);
    width.show(s.width);
    kernel.show(s.kernel);
  };
  const boxes = [from, to, length, width, kernel].map(({ box }) => box);
  return { kinds: kinds.set, boxes, show };
}

function render({ model, el }) {
  const root = figure(el, "tfpl", "The path of a signal between two tokens");
  const live = liveRegion();
  /** @type {() => any} */
  const state = () => {
    const s = Object.fromEntries(NAMES.map((name) => [name, model.get(name)]));
    const length = Math.max(2, s.length);
    const [start, end] = [s.start, s.end].map((p) => within(p, length));
    return { ...s, length, start, end };
  };
  const { commit, stop } = bind(model, NAMES, () => update());
  const controls = controlsOf(state, commit);
  let room = 700;
  let run = { key: "", stops: [0, 1] };
  let stopped = 0; // which stop the pulse is at
  const walk = player({
    words: ["Signal to its start", "One step back", "One step on", "Signal to its end"],
    at: () => stopped,
    last: () => run.stops.length - 1,
    to: (i) => {
      stopped = within(i, run.stops.length);
      show(state());
      if (stopped === run.stops.length - 1 || !walk.playing())
        live.announce(
          `The signal has gone ${plural(run.stops[stopped], "step")} of ${commas(run.stops.at(-1))}.`,
        );
    },
    beat: BEAT,
  });
  const move = (name, p) => {
    if (p !== state()[name]) commit({ [name]: p });
  };

  function show(s) {
    const step = run.stops[stopped];
    walk.show();
    draw(
      html`${controls.kinds}
        <div class="tfpl-steps">${walk.nodes}<span class="tfpl-count">${commas(step)} of ${plural(run.stops.at(-1), "step")}</span></div>
        ${drawing(s, { width: room, step, onMove: move })}
        <p class="tfpl-said">${explain(s)}</p>
        <div class="tfpl-controls">${controls.boxes}</div>
        ${table(s)}${live.node}`,
      root,
    );
  }

  function update(speak = true) {
    const s = state();
    controls.show(s);
    const path = route(s.kind, s.start, s.end, s.kernel);
    const key = JSON.stringify([s.kind, path]);
    if (run.key !== key) {
      // Another path: the signal is back at its start.
      walk.stop();
      stopped = 0;
      run = { key, stops: stopsOf(path.length - 1) };
    }
    show(s);
    if (speak) live.announce(explain(s));
  }

  const unwatch = onWidth(root, (width) => {
    room = width;
    show(state());
  });
  update(false);
  return () => {
    walk.stop();
    unwatch();
    live.stop();
    stop();
  };
}

export default { render };
