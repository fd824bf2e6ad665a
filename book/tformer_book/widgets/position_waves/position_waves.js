// Sinusoids in three steps: one pair as a hand and its wave, the table of all pairs, and
// the same beside what goes wrong.
// `columnsOf`, `tableOf`, `similarity` and `facts` are all of the maths and run in Node;
// the tests hold them to `tformer.positions.sinusoids`.
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
  textTable,
} from "../kit/kit.js";
import { commas, format } from "../kit/numbers.js";
import { player } from "../kit/player.js";

export const LENGTH = 128; // rows of the heat maps
export const REACH = 64; // positions and offsets on the sliders
export const STEPS = ["one wave", "all waves", "a wrong table beside it"];
const BEAT = 350; // ms from one position to the next
export const VARIANTS = ["doubled exponent", "sin | cos halves", "degrees", "no base"];
export const PAPER = "the paper’s";
const BASES = [
  2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000,
];
const STILL = 0.01; // a column that moves less over 64 positions hardly moves

// Each column is a sine or a cosine of position times speed, in radians per position.
export function columnsOf(variant, d, base) {
  return Array.from({ length: d }, (_, c) => {
    const pair = Math.floor(c / 2);
    const right = { sine: c % 2 === 0, speed: base ** ((-2 * pair) / d) };
    if (variant === "doubled exponent")
      return { ...right, speed: base ** ((-2 * c) / d) };
    if (variant === "sin | cos halves")
      return { sine: c < d / 2, speed: base ** ((-2 * (c % (d / 2))) / d) };
    if (variant === "degrees")
      return { ...right, speed: (right.speed * Math.PI) / 180 };
    if (variant === "no base") return { ...right, speed: 1 };
    return right;
  });
}
// The columns that belong together: [sine, cosine] of pair i.
export const pairOf = (variant, d, i) =>
  variant === "sin | cos halves" ? [i, i + d / 2] : [2 * i, 2 * i + 1];
export const at = (column, p) =>
  column.sine ? Math.sin(p * column.speed) : Math.cos(p * column.speed);
export const tableOf = (columns, length = LENGTH) =>
  Array.from({ length }, (_, p) => columns.map((column) => at(column, p)));

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
export const similarity = (table, p) =>
  Array.from({ length: REACH }, (_, k) => dot(table[p], table[p + k]));

// What tells a good table from a bad one, for offset k.
export function facts(variant, d, base, table, k) {
  const columns = columnsOf(variant, d, base);
  const lengths = columns.map((c) => (2 * Math.PI) / c.speed);
  const rows = table.slice(0, REACH);
  const still = columns.filter((_, c) => {
    const values = rows.map((row) => row[c]);
    return Math.max(...values) - Math.min(...values) < STILL;
  }).length;
  const products = rows.map((row, p) => dot(row, table[p + k]));
  let error = 0; // of turning every pair of row p by k times the sine's speed
  for (let i = 0; i < d / 2; i++) {
    const [s, c] = pairOf(variant, d, i);
    const [sin, cos] = [Math.sin(k * columns[s].speed), Math.cos(k * columns[s].speed)];
    rows.forEach((row, p) => {
      error = Math.max(
        error,
        Math.abs(row[s] * cos + row[c] * sin - table[p + k][s]),
        Math.abs(row[c] * cos - row[s] * sin - table[p + k][c]),
      );
    });
  }
  let nearest = { distance: Infinity, rows: [0, 0] };
  for (let p = 0; p < LENGTH; p++) {
    for (let q = p + 1; q < LENGTH; q++) {
      const squared = table[p].reduce((sum, x, c) => sum + (x - table[q][c]) ** 2, 0);
      if (squared < nearest.distance - 1e-9)
        nearest = { distance: squared, rows: [p, q] };
    }
  }
  nearest.distance = Math.sqrt(nearest.distance);
  return {
    shortest: Math.min(...lengths),
    longest: Math.max(...lengths),
    still,
    least: Math.min(...products),
    most: Math.max(...products),
    error,
    nearest,
  };
}

const SAYS = {
  "doubled exponent":
    "Wrong: i counted columns, not pairs. Sine and cosine of a pair run at different speeds, so the tip leaves the circle, the product depends on where you are, and too many columns stand still.",
  "sin | cos halves":
    "Not wrong, only another layout: the same columns in another order. Every product is the same. It matters only where weights were trained with the other order.",
  degrees:
    "Wrong: the angles were taken for degrees. Every wave is 57.3 times as long, so neighbours look alike and most columns stand still.",
  "no base":
    "Wrong: all pairs turn at the same speed. There are only two different columns, and after 44 positions, very nearly 7 turns, the rows come round again.",
};

// Orange for −1, white between, blue for 1: seen on light and dark, by colour-blind, too.
const LOW = [184, 84, 10];
const HIGH = [8, 74, 131];
const PALE = [242, 242, 238];
export function colour(x) {
  const end = x < 0 ? LOW : HIGH;
  const share = Math.min(1, Math.abs(x));
  return PALE.map((c, i) => Math.round(c + (end[i] - c) * share));
}

const wave = (x) => (x < 100 ? format(x, 1) : commas(Math.round(x)));
const SIZE = 220; // a clock's viewBox
const RADIUS = 68;

function heatMap(kind, onPick) {
  const canvas = h("canvas", {
    class: "tfp-canvas",
    height: LENGTH,
    "aria-hidden": "true",
  });
  const grip = h("rect", {
    x: 0,
    y: 0,
    width: 1,
    height: LENGTH,
    class: "tfp-grip",
    "data-handle": `map-${kind}`,
  });
  const mark = () => h("rect", { "vector-effect": "non-scaling-stroke" });
  const pairs = [mark(), mark()];
  const [here, there] = [mark(), mark()];
  pairs.forEach((node) => node.setAttribute("class", "tfp-mark tfp-pair"));
  here.setAttribute("class", "tfp-mark tfp-here");
  there.setAttribute("class", "tfp-mark tfp-there");
  const svg = h(
    "svg",
    { class: "tfp-over", preserveAspectRatio: "none", role: "img" },
    ...pairs,
    here,
    there,
    grip,
  );
  const name = h("figcaption", { class: `tfp-name tfp-${kind}` });
  const last = h("span");
  const node = h(
    "figure",
    { class: "tfp-map" },
    name,
    h(
      "div",
      { class: "tfp-ticks-y", "aria-hidden": "true" },
      ...[0, 32, 64, 96, 127].map((p) =>
        h(
          "span",
          { style: `top: ${((100 * (p + 0.5)) / LENGTH).toFixed(2)}%` },
          String(p),
        ),
      ),
    ),
    h("div", { class: "tfp-stack" }, canvas, svg),
    h(
      "div",
      { class: "tfp-ticks-x", "aria-hidden": "true" },
      h("span", {}, "0"),
      h("span", {}, "dimension →"),
      last,
    ),
  );
  draggable(grip, (x, y) => onPick(x, y));
  grip.addEventListener("pointerdown", (event) => {
    const box = svg.getBoundingClientRect();
    onPick(
      (event.clientX - box.left) / box.width,
      (event.clientY - box.top) / box.height,
    );
  });
  let drawn = "";
  const show = (variant, table, { d, p, k, i }, key) => {
    if (drawn !== key) {
      drawn = key;
      canvas.width = d;
      const context = canvas.getContext("2d");
      const image = context.createImageData(d, LENGTH);
      table.forEach((row, r) =>
        row.forEach((x, c) => image.data.set([...colour(x), 255], 4 * (r * d + c))),
      );
      context.putImageData(image, 0, 0);
    }
    put(svg, {
      viewBox: `0 0 ${d} ${LENGTH}`,
      "aria-label": `Heat map, ${variant}: positions 0 to 127 from top to bottom, dimensions 0 to ${d - 1} from left to right. Marked: positions ${p} and ${p + k}, pair ${i}.`,
    });
    put(grip, { width: d });
    put(here, { x: 0, width: d, y: p, height: 1 });
    put(there, { x: 0, width: d, y: p + k, height: 1 });
    const [s, c] = pairOf(variant, d, i);
    put(pairs[0], { x: s, width: 1, y: 0, height: LENGTH });
    put(pairs[1], { x: c, width: 1, y: 0, height: LENGTH });
    say(name, variant);
    say(last, String(d - 1));
  };
  return { node, show };
}

function clock(kind) {
  const svg = h("svg", {
    viewBox: `0 0 ${SIZE} ${SIZE}`,
    class: "tfp-clock",
    role: "img",
  });
  const middle = SIZE / 2;
  const place = ([cos, sin], far = 1) => [
    middle + far * RADIUS * cos,
    middle - far * RADIUS * sin,
  ];
  svg.append(
    h("line", {
      x1: middle - RADIUS - 12,
      y1: middle,
      x2: middle + RADIUS + 12,
      y2: middle,
      class: "tfp-axis",
    }),
    h("line", {
      x1: middle,
      y1: 18,
      x2: middle,
      y2: middle + RADIUS + 12,
      class: "tfp-axis",
    }),
    h("circle", { cx: middle, cy: middle, r: RADIUS, class: "tfp-circle" }),
    h(
      "text",
      { x: SIZE - 4, y: middle + 16, class: "tfp-small", "text-anchor": "end" },
      "cos",
    ),
    h("text", { x: middle, y: 12, class: "tfp-small", "text-anchor": "middle" }, "sin"),
  );
  const trail = h("polyline", { class: "tfp-trail" });
  svg.append(trail);
  const hand = (who) => {
    const line = h("line", { x1: middle, y1: middle, class: `tfp-hand tfp-${who}` });
    const tip = h("circle", {
      r: 4.5,
      class: `tfp-tip tfp-${who}`,
      "data-tip": `${kind}-${who}`,
    });
    const text = h("text", { class: `tfp-label tfp-${who}` });
    svg.append(line, tip, text);
    return (point, name, far = 0.25) => {
      const [x, y] = place(point);
      put(line, { x2: x.toFixed(1), y2: y.toFixed(1) });
      put(tip, {
        cx: x.toFixed(1),
        cy: y.toFixed(1),
        "data-exact": JSON.stringify(point),
      });
      const size = Math.hypot(...point) || 1;
      const [lx, ly] = place(point, 1 + far / size);
      put(text, {
        x: Math.min(SIZE - 12, Math.max(12, lx)).toFixed(1),
        y: (ly + 4).toFixed(1),
        "text-anchor": "middle",
      });
      say(text, name);
    };
  };
  const there = hand("there");
  const here = hand("here");
  const caption = h("figcaption", { class: `tfp-${kind}` });
  const node = h("figure", { class: "tfp-dial" }, svg, caption);
  const show = (variant, columns, table, { d, p, k, i }) => {
    const [s, c] = pairOf(variant, d, i);
    const tip = (row) => [table[row][c], table[row][s]];
    here(tip(p), String(p));
    const close =
      Math.hypot(tip(p)[0] - tip(p + k)[0], tip(p)[1] - tip(p + k)[1]) < 0.4;
    there(tip(p + k), k ? String(p + k) : "", close ? 0.52 : 0.25);
    const steps = 24; // the way of the tip from p to p + k
    trail.setAttribute(
      "points",
      Array.from({ length: steps * Math.max(k, 1) + 1 }, (_, n) =>
        place([at(columns[c], p + n / steps), at(columns[s], p + n / steps)])
          .map((x) => x.toFixed(1))
          .join(","),
      ).join(" "),
    );
    say(
      caption,
      `dimensions ${s} and ${c}: sin ${format(tip(p)[1], 3)}, cos ${format(tip(p)[0], 3)}`,
    );
    put(svg, {
      "aria-label":
        `${variant}: pair ${i} as a hand. At position ${p} its tip is at cos ${format(tip(p)[0])}, sin ${format(tip(p)[1])}; ` +
        `at ${p + k}, cos ${format(tip(p + k)[0])}, sin ${format(tip(p + k)[1])}.`,
    });
  };
  return { node, show };
}

const WIDE = 400; // the similarity chart's viewBox
const TALL = 250;
const INNER = { left: 36, right: 10, top: 10, bottom: 40 };

function chart(onPick) {
  const svg = h("svg", {
    viewBox: `0 0 ${WIDE} ${TALL}`,
    class: "tfp-chart",
    role: "img",
  });
  const x = (k) => INNER.left + (k / (REACH - 1)) * (WIDE - INNER.left - INNER.right);
  const y = (share) =>
    INNER.top +
    ((1.15 - Math.min(1.15, Math.max(-0.5, share))) / 1.65) *
      (TALL - INNER.top - INNER.bottom);
  const ticks = [1, 0.5, 0, -0.5].map((share) => {
    const text = h("text", {
      x: INNER.left - 6,
      y: y(share) + 4,
      class: "tfp-small",
      "text-anchor": "end",
    });
    svg.append(
      h("line", {
        x1: x(0),
        x2: x(REACH - 1),
        y1: y(share),
        y2: y(share),
        class: share ? "tfp-faint" : "tfp-axis",
      }),
      text,
    );
    return [share, text];
  });
  for (const k of [0, 10, 20, 30, 40, 50, 60])
    svg.append(
      h(
        "text",
        { x: x(k), y: TALL - 22, class: "tfp-small", "text-anchor": "middle" },
        String(k),
      ),
    );
  svg.append(
    h(
      "text",
      {
        x: (x(0) + x(REACH - 1)) / 2,
        y: TALL - 5,
        class: "tfp-small",
        "text-anchor": "middle",
      },
      "offset k",
    ),
  );
  const now = h("line", { y1: INNER.top, y2: TALL - INNER.bottom, class: "tfp-now" });
  const wrong = h("polyline", { class: "tfp-curve tfp-wrong" });
  const right = h("polyline", { class: "tfp-curve tfp-right" });
  const dots = [
    h("circle", { r: 5, class: "tfp-dot tfp-wrong" }),
    h("circle", { r: 5, class: "tfp-dot tfp-right" }),
  ];
  const grip = h("rect", {
    x: 0,
    y: 0,
    width: WIDE,
    height: TALL,
    class: "tfp-grip",
    "data-handle": "chart",
  });
  svg.append(now, wrong, right, ...dots, grip);
  const pick = (share) =>
    onPick(
      ((share * WIDE - INNER.left) / (WIDE - INNER.left - INNER.right)) * (REACH - 1),
    );
  draggable(grip, pick);
  grip.addEventListener("pointerdown", (event) => {
    const box = svg.getBoundingClientRect();
    pick((event.clientX - box.left) / box.width);
  });
  const show = (d, k, mine, other, variant) => {
    const points = (values) =>
      values.map((v, j) => `${x(j).toFixed(1)},${y((2 * v) / d).toFixed(1)}`).join(" ");
    put(right, { points: points(mine) });
    put(wrong, { points: points(other) });
    put(now, { x1: x(k), x2: x(k) });
    [other, mine].forEach((values, n) => {
      put(dots[n], { visibility: values.length ? null : "hidden" });
      if (values.length)
        put(dots[n], { cx: x(k).toFixed(1), cy: y((2 * values[k]) / d).toFixed(1) });
    });
    for (const [share, text] of ticks)
      say(text, format((share * d) / 2, Number.isInteger((share * d) / 2) ? 0 : 1));
    put(svg, {
      "aria-label": `Similarity against offset k from 0 to 63. At k = ${k}: the paper’s ${format(mine[k])}${other.length ? `, ${variant} ${format(other[k])}` : ""}.`,
    });
  };
  return { svg, show };
}

// One pair over time: the hand at the left, and at the same height its sine as a wave.
function waveOf(narrow, onPick) {
  const svg = h("svg", { class: "tfp-wave", role: "img" });
  const grip = h("rect", { class: "tfp-grip", "data-handle": "wave" });
  const face = h("circle", { class: "tfp-circle" });
  const axes = [h("line", { class: "tfp-axis" }), h("line", { class: "tfp-axis" })];
  const sine = h("polyline", { class: "tfp-sine" });
  const cosine = h("polyline", { class: "tfp-cosine" });
  const across = h("line", { class: "tfp-across" });
  const now = h("line", { class: "tfp-now" });
  const hand = h("line", { class: "tfp-hand" });
  const foot = h("line", { class: "tfp-foot" });
  const rise = h("line", { class: "tfp-rise" });
  const tip = h("circle", { class: "tfp-tip", r: 5, "data-tip": "wave" });
  const dots = [
    h("circle", { class: "tfp-tip", r: 5 }),
    h("circle", { class: "tfp-tip tfp-open", r: 4.5 }),
  ];
  const texts = h("g", { class: "tfp-small" });
  svg.append(
    face,
    ...axes,
    texts,
    now,
    cosine,
    sine,
    across,
    foot,
    rise,
    hand,
    tip,
    ...dots,
    grip,
  );
  /** @type {Record<string, number>} */
  let room = { x0: 0, x1: 1, wide: 1 };
  const pick = (share) =>
    onPick(((share * room.wide - room.x0) / (room.x1 - room.x0)) * (REACH - 1));
  draggable(grip, pick);
  grip.addEventListener("pointerdown", (event) => {
    const box = svg.getBoundingClientRect();
    pick((event.clientX - box.left) / box.width);
  });
  const show = (columns, { d, p, i }) => {
    const small = narrow();
    const wide = small ? 356 : 700;
    const r = small ? 48 : 80;
    const tall = 2 * r + 56;
    const [mx, my] = [r + 14, r + 20];
    room = { wide, x0: 2 * r + (small ? 34 : 56), x1: wide - 10 };
    const x = (at_) => room.x0 + (at_ / (REACH - 1)) * (room.x1 - room.x0);
    const [s, c] = [columns[2 * i], columns[2 * i + 1]];
    const [sin, cos] = [at(s, p), at(c, p)];
    const curve = (column) =>
      Array.from({ length: 6 * (REACH - 1) + 1 }, (_, n) =>
        [x(n / 6), my - r * at(column, n / 6)].map((v) => v.toFixed(1)).join(","),
      ).join(" ");
    put(svg, { viewBox: `0 0 ${wide} ${tall}` });
    put(grip, { x: room.x0, y: 0, width: room.x1 - room.x0, height: tall });
    put(face, { cx: mx, cy: my, r });
    put(axes[0], { x1: mx - r - 8, x2: room.x1, y1: my, y2: my });
    put(axes[1], { x1: mx, x2: mx, y1: my - r - 6, y2: my + r + 6 });
    put(sine, { points: curve(s) });
    put(cosine, { points: curve(c) });
    const [tx, ty] = [mx + r * cos, my - r * sin];
    put(hand, { x1: mx, y1: my, x2: tx, y2: ty });
    put(foot, { x1: mx, y1: my, x2: tx, y2: my });
    put(rise, { x1: tx, y1: my, x2: tx, y2: ty });
    put(tip, { cx: tx, cy: ty, "data-exact": JSON.stringify([cos, sin]) });
    put(across, { x1: tx, y1: ty, x2: x(p), y2: ty });
    put(now, { x1: x(p), x2: x(p), y1: my - r - 6, y2: my + r + 6 });
    put(dots[0], { cx: x(p), cy: ty });
    put(dots[1], { cx: x(p), cy: my - r * cos });
    const word = (text, left, top, anchor = "middle") =>
      h("text", { x: left, y: top, "text-anchor": anchor }, text);
    texts.replaceChildren(
      word("sin", mx, 12),
      word("cos", mx + r + 4, my + 16, "start"),
      ...[0, 10, 20, 30, 40, 50, 60].map((k) => word(String(k), x(k), tall - 20)),
      word("position p", (room.x0 + room.x1) / 2, tall - 4),
      word("1", room.x0 - 6, my - r + 5, "end"),
      word("−1", room.x0 - 6, my + r + 5, "end"),
    );
    put(svg, {
      "aria-label": `Pair ${i} of ${d / 2}: at position ${p} the tip of its hand is ${format(sin)} up, its sine, and ${format(cos)} to the right, its cosine. Beside it both as waves over positions 0 to 63.`,
    });
  };
  return { svg, show };
}

const NAMES = ["d_model", "base", "position", "offset", "pair", "variant", "step"];

function render({ model, el }) {
  const root = figure(
    el,
    "tfp",
    "Sinusoidal positions, beside a wrong variant of them",
  );
  const live = liveRegion();
  const clamp = (x, end) => Math.max(0, Math.min(end - 1, Math.round(x)));
  const state = () => {
    const d = Math.max(2, Math.min(128, 2 * Math.round(model.get("d_model") / 2)));
    return {
      d,
      base: model.get("base"),
      p: clamp(model.get("position"), REACH),
      k: clamp(model.get("offset"), REACH),
      i: clamp(model.get("pair"), d / 2),
      variant: model.get("variant"),
      step: clamp(model.get("step"), STEPS.length),
    };
  };
  const { commit, stop } = bind(model, NAMES, () => update());

  const variants = radios("variant", "Beside it", VARIANTS, 0, (i) =>
    commit({ variant: VARIANTS[i] }),
  );
  const whole = { min: 0, step: 1, digits: 0 };
  const d = slider("d", "width d", { ...whole, min: 4, max: 128, step: 2 }, (x) =>
    commit({ d_model: x, pair: Math.min(state().i, x / 2 - 1) }),
  );
  let shownBase = 0;
  const base = slider(
    "base",
    "base",
    { ...whole, max: BASES.length - 1, text: () => commas(shownBase) },
    (x) => commit({ base: BASES[x] }),
  );
  const steps = radios("step", "Show", STEPS, 0, (i) => commit({ step: i }));
  const position = slider("position", "position p", { ...whole, max: REACH - 1 }, (x) =>
    moves.go(x),
  );
  const moves = player({
    words: [
      "position 0",
      "one position back",
      "one position on",
      `position ${REACH - 1}`,
    ],
    at: () => state().p,
    last: () => REACH - 1,
    to: (p) => commit({ position: p }),
    beat: BEAT,
  });
  const offset = slider("offset", "offset k", { ...whole, max: REACH - 1 }, (x) =>
    commit({ offset: x }),
  );
  const pair = slider("pair", "pair i", { ...whole, max: 1 }, (x) =>
    commit({ pair: x }),
  );

  const pick = (x, y) => {
    const s = state();
    moves.stop();
    commit({
      position: clamp(y * LENGTH - 0.5, REACH),
      pair: clamp((x * s.d) / 2 - 0.5, s.d / 2),
    });
  };
  const pickBeside = (x, y) => {
    const s = state();
    moves.stop();
    const column = clamp(x * s.d - 0.5, s.d);
    const i =
      s.variant === "sin | cos halves" ? column % (s.d / 2) : Math.floor(column / 2);
    commit({ position: clamp(y * LENGTH - 0.5, REACH), pair: i });
  };
  const maps = [heatMap("right", pick), heatMap("wrong", pickBeside)];
  const clocks = [clock("right"), clock("wrong")];
  const narrow = () => root.clientWidth > 0 && root.clientWidth < 544;
  const wave_ = waveOf(narrow, (p) => moves.go(clamp(p, REACH)));
  const curve = chart((k) => commit({ offset: clamp(k, REACH) }));
  const worked = h("p", { class: "tfp-worked" });
  const verdict = h("p", { class: "tfp-verdict" });
  const head = [
    h("th", { scope: "col", class: "tfp-right" }, PAPER),
    h("th", { scope: "col", class: "tfp-wrong" }),
  ];
  const cells = {};
  const row = (name) => {
    cells[name] = [
      h("td", { "data-fact": `${name}-right` }),
      h("td", { "data-fact": `${name}-wrong` }),
    ];
    cells[name].name = h("th", { scope: "row" });
    return h("tr", {}, cells[name].name, ...cells[name]);
  };
  const rows = ["product", "spread", "error", "waves", "still", "nearest"].map(row);
  const behind = textTable(
    "The same as a table: both rows, dimension by dimension",
    "dimension",
  );
  const legend = h(
    "p",
    { class: "tfp-legend" },
    h("span", { class: "tfp-key tfp-here" }, "position p"),
    h("span", { class: "tfp-key tfp-there" }, "position p + k"),
    h("span", { class: "tfp-key tfp-pair" }, "pair i"),
    h("span", { class: "tfp-scale", "aria-hidden": "true" }, "−1", h("i"), "1"),
  );
  const inAll = (node) => mark(node, 1);
  const inWrong = (node) => mark(node, 2);
  const later = [];
  function mark(node, step) {
    later.push([node, step]);
    return node;
  }
  const compared = h(
    "div",
    { class: "tfk-scroll" },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "compared"), ...head)),
      h("tbody", {}, ...rows),
    ),
  );
  const two = h("div", { class: "tfp-two" }, maps[0].node, inWrong(maps[1].node));
  const three = h(
    "div",
    { class: "tfp-three" },
    inWrong(clocks[0].node),
    inWrong(clocks[1].node),
    h(
      "figure",
      { class: "tfp-similar" },
      curve.svg,
      h("figcaption", {}, "row p · row p + k, against the offset k"),
    ),
  );
  // The table and its products stand side by side until there are two tables.
  const tables_ = h("div", { class: "tfp-tables" }, two, three);
  root.append(
    steps.set,
    h(
      "div",
      { class: "tfp-sliders" },
      position.box,
      h("div", { class: "tfp-buttons" }, ...moves.nodes),
      pair.box,
      inAll(offset.box),
      inAll(d.box),
      inAll(base.box),
    ),
    wave_.svg,
    worked,
    inWrong(variants.set),
    inAll(legend),
    inAll(tables_),
    inWrong(compared),
    inWrong(verdict),
    inAll(behind.node),
    live.node,
  );

  const cache = new Map(); // tables do not depend on p, k and i
  function tables(s) {
    const key = `${s.variant} ${s.d} ${s.base}`;
    if (!cache.has(key)) {
      if (cache.size > 20) cache.clear();
      cache.set(
        key,
        ["", s.variant].map((v) => {
          const columns = columnsOf(v, s.d, s.base);
          return { columns, table: tableOf(columns) };
        }),
      );
    }
    return { key, both: cache.get(key) };
  }

  function update(speak = true) {
    const s = state();
    const { key, both } = tables(s);
    const names = [PAPER, s.variant];
    const frequency = both[0].columns[2 * s.i].speed;
    shownBase = s.base;
    steps.pick(s.step);
    for (const [node, step] of later) node.hidden = s.step < step;
    put(wave_.svg, { hidden: s.step === 2 }); // there are two clocks below
    root.dataset.step = String(s.step);
    moves.show();
    wave_.show(both[0].columns, s);
    variants.pick(VARIANTS.indexOf(s.variant));
    d.show(s.d);
    const nearest = BASES.reduce(
      (best, b, n) =>
        Math.abs(Math.log(b / s.base)) < Math.abs(Math.log(BASES[best] / s.base))
          ? n
          : best,
      0,
    );
    base.show(nearest);
    position.show(s.p);
    offset.show(s.k);
    put(pair.input, { max: s.d / 2 - 1 });
    pair.show(s.i);

    both.forEach(({ columns, table }, n) => {
      maps[n].show(names[n], table, s, key);
      clocks[n].show(names[n], columns, table, s);
    });
    const [mine, other] = both.map(({ table }) => similarity(table, s.p));
    curve.show(s.d, s.k, mine, s.step === 2 ? other : [], s.variant);
    curve.svg.dataset.similarity = JSON.stringify([mine, other]);
    say(
      worked,
      `Pair ${s.i}: the angle at p = ${s.p} is p ÷ ${commas(s.base)}^(2·${s.i}/${s.d}) = ${s.p} ÷ ` +
        `${format(1 / frequency, 2)} = ${format(s.p * frequency, 3)} radians. ` +
        `One turn takes ${wave((2 * Math.PI) / frequency)} positions.` +
        (s.step
          ? ` Going on by k = ${s.k} turns the hand by ${format(s.k * frequency, 3)}, wherever it stands.`
          : ""),
    );

    if (s.step === 2) compare(s, both, [mine, other]);
    const four = [s.p, s.p + s.k].flatMap((r) =>
      names
        .slice(0, s.step === 2 ? 2 : 1)
        .map((name, n) => [`${name}, row ${r}`, both[n].table[r]]),
    );
    behind.show(
      four.map(([name]) => name),
      Array.from({ length: s.d }, (_, c) => [
        String(c),
        ...four.map(([, row_]) => format(row_[c], 3)),
      ]),
    );
    if (speak && !moves.playing()) live.announce(heard(s, both[0], mine, other));
  }
  function compare(s, both, products) {
    const found = both.map(({ table }, n) =>
      facts(n ? s.variant : "", s.d, s.base, table, s.k),
    );
    say(head[1], s.variant);
    say(cells.product.name, `product of rows ${s.p} and ${s.p + s.k}`);
    say(cells.spread.name, `its range over p = 0 … 63, same k`);
    say(cells.error.name, `error if each pair is just turned by k`);
    say(cells.waves.name, "waves, in positions");
    say(cells.still.name, `columns that move < ${STILL} in 64 positions`);
    say(cells.nearest.name, "the two rows most alike: distance");
    found.forEach((f, n) => {
      say(cells.product[n], format(products[n][s.k], 3));
      say(cells.spread[n], `${format(f.least)} … ${format(f.most)}`);
      say(cells.error[n], format(f.error, 3));
      say(cells.waves[n], `${wave(f.shortest)} … ${wave(f.longest)}`);
      say(cells.still[n], `${f.still} of ${s.d}`);
      say(
        cells.nearest[n],
        `${format(f.nearest.distance, 3)} (${f.nearest.rows.join(", ")})`,
      );
    });
    say(verdict, SAYS[s.variant]);
  }
  function heard(s, { table }, mine, other) {
    if (s.step === 0) {
      const [sin, cos] = [table[s.p][2 * s.i], table[s.p][2 * s.i + 1]];
      return `Position ${s.p}, pair ${s.i}: sine ${format(sin)}, cosine ${format(cos)}.`;
    }
    const beside = s.step === 2 ? `; ${s.variant} ${format(other[s.k])}` : "";
    return `Rows ${s.p} and ${s.p + s.k}: product ${format(mine[s.k])}${beside}.`;
  }

  update(false);
  // A wave that becomes narrow is drawn anew.
  let was = narrow();
  const watcher = new ResizeObserver(() => {
    if (narrow() === was) return;
    was = narrow();
    update(false);
  });
  watcher.observe(root);
  return () => {
    watcher.disconnect();
    moves.stop();
    live.stop();
    stop();
  };
}

export default { render };
