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
  showAll,
  slider,
  stopping,
} from "../kit/kit.js";
import { commas, plural } from "../kit/numbers.js";
import { player } from "../kit/player.js";
import { render as draw, html } from "../kit/vendor/lit.js";
import { explain, KINDS, route, stopsOf } from "./maths.js";
import { drawing, table } from "./view.js";

const LENGTHS = [
  2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256,
  384, 512, 768, 1024,
];
const WIDTHS = [8, 16, 32, 64, 128, 256, 512, 1024];
const NAMES = ["kind", "length", "start", "end", "width", "kernel", "words"];
const BEAT = 420; // ms for a step, or for one of the pulse's stops

// Both ends stay where they are, as shares of the length, when that changes.
function controlsOf(state, commit, set) {
  const place = (name, label, kind) => {
    const range = { min: 1, max: 12, step: 1, digits: 0, kind };
    const made = slider(name, label, range, (x) => commit({ [name]: x - 1 }));
    return { ...made, show: (p) => made.show(p + 1) };
  };
  const kernels = { min: 2, max: 9, step: 1, digits: 0 };
  const controls = {
    kind: oneOf("kind", "Layer", KINDS, set("kind")),
    start: place("start", "from token", "tfk-one"),
    end: place("end", "to token", "tfk-two"),
    length: listSlider("length", "tokens n", LENGTHS, (n) => {
      const s = state();
      const fit = (p) => Math.round((p * (n - 1)) / (s.length - 1));
      commit({ length: n, start: fit(s.start), end: fit(s.end) });
    }),
    width: listSlider("width", "width d", WIDTHS, set("width")),
    kernel: slider("kernel", "kernel k", kernels, set("kernel")),
  };
  // Of the path that is drawn, and printed, these say nothing: they are for the table.
  for (const { box } of [controls.width, controls.kernel]) box.classList.add("tfk-how");
  const { kind, ...sliders } = controls;
  const show = (s) => {
    for (const { input } of [controls.start, controls.end])
      put(input, { max: s.length });
    showAll(controls, s);
  };
  return { kinds: kind.set, boxes: Object.values(sliders).map(({ box }) => box), show };
}

function render({ model, el }) {
  const root = figure(el, "tfpl", "The path of a signal between two tokens");
  const live = liveRegion();
  const state = () => {
    const s = read();
    const length = Math.max(2, s.length);
    const [start, end] = [s.start, s.end].map((p) => within(p, length));
    return { ...s, length, start, end };
  };
  const { read, commit, set, stop } = bind(model, NAMES, () => update());
  const controls = controlsOf(state, commit, set);
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
        <div class="tfpl-steps">${walk.nodes}<span class="tfpl-count tfk-how">${commas(step)} of ${plural(run.stops.at(-1), "step")}</span></div>
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
  return stopping(walk, unwatch, live, stop);
}

export default { render };
