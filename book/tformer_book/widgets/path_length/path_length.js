// The way of a signal between two tokens, in five kinds of layers.
// `pathLength`, `multiplications` and `route` are the whole of the maths and run in Node,
// too; the tests hold them to `tformer.analysis.paths`, which is held to real layers.

import { ALONG, arrowKeys, within } from "../kit/arrows.js";
import {
  bind,
  draggable,
  figure,
  h,
  liveRegion,
  put,
  radios,
  say,
  slider,
} from "../kit/kit.js";
import { commas } from "../kit/numbers.js";
import { player } from "../kit/player.js";

export const KINDS = [
  "recurrent",
  "convolution",
  "dilated convolution",
  "self-attention",
  "restricted attention",
];

// Steps of trained weights between a token and the output of another.
export function pathLength(kind, distance, kernel) {
  if (kind === "recurrent") return distance + 1;
  if (kind === "self-attention") return 1;
  if (kind === "dilated convolution") {
    let layers = 1;
    while (kernel ** layers <= distance) layers++;
    return layers;
  }
  return Math.max(1, Math.ceil(distance / (kernel - 1)));
}

export const sequentialOperations = (kind, n) => (kind === "recurrent" ? n : 1);

// The leading term for one layer, as in the paper's table.
export function multiplications(kind, n, d, k) {
  if (kind === "recurrent") return n * d * d;
  if (kind === "self-attention") return n * n * d;
  return k * n * d * (kind === "restricted attention" ? 1 : d);
}

// The path itself: [place, row], from the input in row 0. Recurrence stays in row 1.
export function route(kind, start, end, kernel) {
  const way = Math.sign(end - start);
  const distance = Math.abs(end - start);
  const nodes = [[start, 0]];
  if (kind === "recurrent") {
    for (let i = 0; i <= distance; i++) nodes.push([start + way * i, 1]);
    return nodes;
  }
  if (kind === "self-attention") return [...nodes, [end, 1]];
  const layers = pathLength(kind, distance, kernel);
  let left = distance;
  let place = start;
  for (let layer = 0; layer < layers; layer++) {
    // Dilated: the digits of the distance in base k, the last digit first.
    const step =
      kind === "dilated convolution" ? left % kernel : Math.min(kernel - 1, left);
    place += way * step * (kind === "dilated convolution" ? kernel ** layer : 1);
    left = kind === "dilated convolution" ? Math.floor(left / kernel) : left - step;
    nodes.push([place, layer + 1]);
  }
  return nodes;
}

// All that the output of `end` hears of, from one side: edges [place, row] to the row above.
// Empty if there are more than `most`: then a drawing would show nothing but ink.
export function cone(kind, start, end, kernel, n, most = 900) {
  const way = end < start ? -1 : 1;
  const edges = [];
  if (kind === "recurrent") {
    if (n > most / 2) return [];
    for (let p = 0; p < n; p++) {
      edges.push([
        [p, 0],
        [p, 1],
      ]);
      if (p + way >= 0 && p + way < n)
        edges.push([
          [p, 1],
          [p + way, 1],
        ]);
    }
    return edges;
  }
  const layers = pathLength(kind, Math.abs(end - start), kernel);
  let above = [end];
  for (let layer = layers; layer > 0; layer--) {
    const below = new Set();
    const apart = kind === "dilated convolution" ? kernel ** (layer - 1) : 1;
    for (const place of above) {
      const sources =
        kind === "self-attention"
          ? Array.from({ length: n }, (_, p) => p)
          : Array.from({ length: kernel }, (_, m) => place - way * m * apart).filter(
              (p) => p >= 0 && p < n,
            );
      for (const p of sources) {
        edges.push([
          [p, layer - 1],
          [place, layer],
        ]);
        below.add(p);
      }
      if (edges.length > most) return [];
    }
    above = [...below];
  }
  return edges;
}

const LENGTHS = [
  2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256,
  384, 512, 768, 1024,
];
const WIDTHS = [8, 16, 32, 64, 128, 256, 512, 1024];
const nearest = (list, x) =>
  list.reduce(
    (best, y, i) => (Math.abs(y - x) < Math.abs(list[best] - x) ? i : best),
    0,
  );
const plural = (n, word) => `${commas(n)} ${word}${n === 1 ? "" : "s"}`;

// One sentence on what is drawn.
export function explain({ kind, start, end, length, kernel, words }) {
  const name = (p) => (words.length >= length ? `“${words[p]}”` : `token ${p + 1}`);
  const distance = Math.abs(end - start);
  const steps = pathLength(kind, distance, kernel);
  const head =
    distance === 0
      ? `From ${name(start)} to its own output: `
      : `From ${name(start)} to ${name(end)}, ${plural(distance, "place")} apart: `;
  const what = {
    recurrent: `${plural(steps, "step")}, in ${distance ? "one layer, from state to state. Each state waits for the one before" : "one layer"}.`,
    convolution: `${plural(steps, "layer")} of kernels that see ${kernel} tokens: each moves the signal by at most ${plural(kernel - 1, "place")}.`,
    "dilated convolution": `${plural(steps, "layer")}. The gaps between the ${kernel} tokens of a kernel grow by ${kernel} with each layer, so reach grows as a power.`,
    "self-attention":
      "1 step, however far. Every output sees every token of the layer below.",
    "restricted attention": `${plural(steps, "layer")} of attention to ${kernel} tokens: cheap, and as slow as a convolution.`,
  }[kind];
  return head + what;
}

// The steps at which the pulse stops to be counted: all of them, if there are few.
export function stopsOf(steps, most = 24) {
  const count = Math.min(steps, most);
  return Array.from({ length: count + 1 }, (_, i) => Math.round((i * steps) / count));
}

const BEAT = 420; // ms for a step, or for one of the pulse's stops
const HEIGHT = 314;
const TOP = 36;
const FLOOR = 236; // row of inputs; names of tokens below

function render({ model, el }) {
  const root = figure(el, "tfpl", "The path of a signal between two tokens");
  const get = (name) => model.get(name);
  const live = liveRegion();
  const state = () => {
    const length = Math.max(2, get("length"));
    const inside = (p) => Math.max(0, Math.min(length - 1, p));
    return {
      kind: get("kind"),
      length,
      start: inside(get("start")),
      end: inside(get("end")),
      width: get("width"),
      kernel: get("kernel"),
      words: get("words"),
    };
  };
  const names = ["kind", "length", "start", "end", "width", "kernel", "words"];
  const { commit, stop } = bind(model, names, () => update());

  const kinds = radios("kind", "Layer", KINDS, 0, (i) => commit({ kind: KINDS[i] }));
  const place = (name, label, kind) =>
    slider(name, label, { min: 1, max: 12, step: 1, digits: 0, kind }, (x) =>
      commit({ [name]: x - 1 }),
    );
  const from = place("start", "from token", "tfk-query");
  const to = place("end", "to token", "tfk-output");
  const indexed = (name, label, list) =>
    slider(
      name,
      label,
      {
        min: 0,
        max: list.length - 1,
        step: 1,
        digits: 0,
        text: (i) => commas(list[i]),
      },
      (i) => {
        const s = state();
        const now = list[i];
        const fit = (p) => Math.round((p * (now - 1)) / (s.length - 1));
        commit(
          name === "length"
            ? { length: now, start: fit(s.start), end: fit(s.end) }
            : { [name]: now },
        );
      },
    );
  const length = indexed("length", "tokens n", LENGTHS);
  const width = indexed("width", "width d", WIDTHS);
  const kernel = slider(
    "kernel",
    "kernel k",
    { min: 2, max: 9, step: 1, digits: 0 },
    (x) => commit({ kernel: x }),
  );

  let stopped = 0; // which stop the pulse is at
  let run = { key: "", stops: [0, 1], places: [] };
  const walk = player({
    words: ["Signal to its start", "One step back", "One step on", "Signal to its end"],
    at: () => stopped,
    last: () => run.stops.length - 1,
    to: (i) => {
      stopped = within(i, run.stops.length);
      showPulse();
      if (stopped === run.stops.length - 1 || !walk.playing())
        live.announce(
          `The signal has gone ${plural(run.stops[stopped], "step")} of ${commas(run.stops.at(-1))}.`,
        );
    },
    beat: BEAT,
  });
  const counted = h("span", { class: "tfpl-count" });

  const svg = h("svg", { class: "tfpl-drawing", role: "group", height: HEIGHT });
  const back = h("g", { class: "tfpl-back" });
  const dots = h("g", { class: "tfpl-dots" });
  const line = h("polyline", { class: "tfpl-path" });
  const stops = h("g", { class: "tfpl-stops" });
  const labels = h("g", { class: "tfpl-labels" });
  const hand = (kind) =>
    h("circle", {
      r: 10,
      tabindex: 0,
      role: "slider",
      "aria-label": kind === "tfk-query" ? "from token" : "to token",
      class: `tfpl-hand ${kind}`,
      "data-hand": kind === "tfk-query" ? "start" : "end",
    });
  const first = hand("tfk-query");
  const last = hand("tfk-output");
  const gone = h("polyline", { class: "tfpl-gone" });
  const pulse = h("circle", { class: "tfpl-pulse", r: 8 });
  svg.append(back, dots, line, gone, stops, labels, first, last, pulse);
  const said = h("p", { class: "tfpl-said" });
  const body = h("tbody");
  const heads = [
    "steps here",
    "longest path",
    "in sequence, per layer",
    "multiplications, per layer",
  ];
  const table = h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ...["layer", ...heads].map((name) => h("th", { scope: "col" }, name)),
      ),
    ),
    body,
  );
  const rows = KINDS.map((kind) => {
    const cells = heads.map(() => h("td"));
    const row = h(
      "tr",
      { "data-kind": kind },
      h("th", { scope: "row" }, kind),
      ...cells,
    );
    body.append(row);
    return { kind, row, cells };
  });
  root.append(
    kinds.set,
    h("div", { class: "tfpl-steps" }, ...walk.nodes, counted),
    svg,
    said,
    h(
      "div",
      { class: "tfpl-controls" },
      from.box,
      to.box,
      length.box,
      width.box,
      kernel.box,
    ),
    h(
      "div",
      {
        class: "tfk-scroll",
        tabindex: 0,
        role: "region",
        "aria-label": "All kinds of layers compared",
      },
      table,
    ),
    live.node,
  );

  let room = 700;
  const left = 24;
  const x = (p, n) => left + (p * (room - 2 * left)) / (n - 1);
  const grab = (node, name) =>
    draggable(
      node,
      (across) => {
        const n = state().length;
        const p = Math.round(((across * room - left) * (n - 1)) / (room - 2 * left));
        const now = Math.max(0, Math.min(n - 1, p));
        if (now !== state()[name]) commit({ [name]: now });
      },
      { holdsPage: true },
    );
  grab(first, "start");
  grab(last, "end");
  for (const [node, name] of [
    [first, "start"],
    [last, "end"],
  ])
    arrowKeys(node, { ...ALONG, ArrowUp: 1, ArrowDown: -1 }, (by) =>
      commit({ [name]: within(state()[name] + by, state().length) }),
    );

  function showPulse() {
    const step = run.stops[stopped];
    const [cx, cy] = run.places[step];
    put(pulse, { cx, cy, "data-idle": stopped === 0 });
    const points = run.places.slice(0, step + 1);
    put(gone, {
      points: points.map((each) => each.map((v) => v.toFixed(1)).join(",")).join(" "),
    });
    say(counted, `${commas(step)} of ${plural(run.stops.at(-1), "step")}`);
    walk.show();
  }

  function draw(s) {
    const path = route(s.kind, s.start, s.end, s.kernel);
    const height = path[path.length - 1][1];
    const gap = height === 1 ? 120 : Math.min(60, (FLOOR - TOP) / height);
    /** @param {number[]} place @returns {[number, number]} */
    const at = ([p, row]) => [x(p, s.length), FLOOR - row * gap];
    put(svg, { viewBox: `0 0 ${room} ${HEIGHT}`, "aria-label": explain(s) });
    const edges = cone(s.kind, s.start, s.end, s.kernel, s.length);
    back.replaceChildren(
      ...edges.map(([a, b]) => {
        const [[x1, y1], [x2, y2]] = [at(a), at(b)];
        return h("line", { x1, y1, x2, y2 });
      }),
    );
    const step = (room - 2 * left) / (s.length - 1);
    const many = s.length * (height + 1) > 1200;
    const drawn = [];
    for (let row = 0; row <= height && !many; row++) {
      for (let p = 0; p < s.length; p++) {
        const [cx, cy] = at([p, row]);
        drawn.push(h("circle", { cx, cy, r: Math.min(4, Math.max(1.2, step / 6)) }));
      }
    }
    if (many) {
      // one bar for each row that there is room for
      for (let row = 0; row <= height; row += Math.max(1, Math.ceil(height / 60))) {
        const [x1, y] = at([0, row]);
        drawn.push(h("line", { x1, x2: x(s.length - 1, s.length), y1: y, y2: y }));
      }
    }
    dots.replaceChildren(...drawn);
    put(line, {
      points: path
        .map((node) =>
          at(node)
            .map((v) => v.toFixed(1))
            .join(","),
        )
        .join(" "),
    });
    const key = JSON.stringify([s.kind, path]);
    if (run.key !== key) {
      // Another path: the signal is back at its start.
      walk.stop();
      stopped = 0;
    }
    run = { key, stops: stopsOf(path.length - 1), places: path.map(at) };
    showPulse();
    stops.replaceChildren(
      ...(path.length > 80
        ? []
        : path.map(at).map(([cx, cy]) => h("circle", { cx, cy, r: 5 }))),
    );
    const [sx, sy] = at(path[0]);
    const [ex, ey] = at(path[path.length - 1]);
    const ends = [
      { node: first, cx: sx, cy: sy, token: s.start },
      { node: last, cx: ex, cy: ey, token: s.end },
    ];
    for (const { node, cx, cy, token } of ends)
      put(node, {
        cx,
        cy,
        "aria-valuemin": 1,
        "aria-valuemax": s.length,
        "aria-valuenow": token + 1,
        "aria-valuetext":
          s.words.length >= s.length ? `${token + 1}, ${s.words[token]}` : token + 1,
      });
    const texts = [
      h(
        "text",
        { x: 2, y: at([0, height])[1] - 20, class: "tfpl-row" },
        s.kind === "recurrent"
          ? "states"
          : height === 1
            ? "outputs of the layer"
            : `outputs of layer ${commas(height - 1)}`,
      ),
    ];
    if (s.words.length >= s.length) {
      const slanted = step < 62;
      for (let p = 0; p < s.length; p++) {
        const [cx] = at([p, 0]);
        const style = p === s.start ? "tfk-query" : p === s.end ? "tfk-output" : "";
        texts.push(
          h(
            "text",
            {
              class: `tfpl-word ${style}`,
              "text-anchor": slanted ? "end" : "middle",
              transform: `translate(${(cx + (slanted ? 4 : 0)).toFixed(1)} ${FLOOR + (slanted ? 18 : 28)})${slanted ? " rotate(-60)" : ""}`,
            },
            s.words[p],
          ),
        );
      }
    } else {
      for (const [p, style] of [
        [s.start, "tfk-query"],
        [s.end, "tfk-output"],
      ]) {
        const [cx] = at([p, 0]);
        texts.push(
          h(
            "text",
            {
              class: `tfpl-word ${style}`,
              x: Math.max(18, Math.min(room - 18, cx)),
              y: FLOOR + (p === s.start ? 30 : 50),
              "text-anchor": "middle",
            },
            commas(p + 1),
          ),
        );
      }
    }
    labels.replaceChildren(...texts);
    svg.dataset.path = JSON.stringify(path);
  }

  function update(speak = true) {
    const s = state();
    kinds.pick(KINDS.indexOf(s.kind));
    for (const control of [from, to]) put(control.input, { max: s.length });
    from.show(s.start + 1);
    to.show(s.end + 1);
    for (const [control, list, value] of [
      [length, LENGTHS, s.length],
      [width, WIDTHS, s.width],
    ]) {
      control.show(nearest(list, value));
      say(control.output, commas(value));
      control.input.setAttribute("aria-valuetext", commas(value));
    }
    kernel.show(s.kernel);
    draw(s);
    const text = explain(s);
    say(said, text);
    for (const { kind, row, cells } of rows) {
      const numbers = [
        pathLength(kind, Math.abs(s.end - s.start), s.kernel),
        pathLength(kind, s.length - 1, s.kernel),
        sequentialOperations(kind, s.length),
        multiplications(kind, s.length, s.width, s.kernel),
      ];
      cells.forEach((cell, i) => {
        say(cell, commas(numbers[i]));
        cell.dataset.exact = numbers[i];
      });
      row.classList.toggle("tfpl-now", kind === s.kind);
      put(row, { "aria-current": kind === s.kind ? "true" : null });
    }
    if (speak) live.announce(text);
  }

  const watch = new ResizeObserver(() => {
    const now = Math.round(root.clientWidth);
    if (now && now !== room) {
      room = now;
      draw(state());
    }
  });
  watch.observe(root);
  update(false);
  return () => {
    walk.stop();
    watch.disconnect();
    live.stop();
    stop();
  };
}

export default { render };
