// The one map of the model: every part with its shape and its number of parameters.
// `parts` is the whole arithmetic and runs in Node, too; the tests hold it to the
// package's models. `layout` places the boxes; `render` draws them and listens.
import { arrowKeys, within } from "../kit/arrows.js";
import {
  bind,
  check,
  figure,
  h,
  liveRegion,
  put,
  radios,
  say,
  slider,
  textTable,
} from "../kit/kit.js";
import { commas, percent } from "../kit/numbers.js";
import { player } from "../kit/player.js";
import { chapterOf, isInTheBook } from "./chapters.js";

export const sizesOf = (c) => ({
  B: c.batch,
  S: c.source_length,
  T: c.target_length,
  V: c.vocab_size,
  D: c.d_model,
  F: c.d_ff,
  H: c.n_heads,
  Dh: c.d_model / c.n_heads,
  1: 1,
});
const written = (letters) => `(${letters.join(", ")})`;

// Every part in the order of the pass. each: numbers in one; times: how many there are.
/** @param {Record<string, any>} c @returns {Record<string, any>[]} */
export function parts(c) {
  const { B, S, T, V, D, F, H, Dh } = sizesOf(c);
  const tied = c.tie_embeddings;
  const pre = c.norm === "pre";
  const none = { each: 0, formula: "nothing to train" };
  const table = { each: V * D, formula: "V · D", worked: `${V} · ${D}` };
  const shared = { each: 0, formula: "none: the source’s table once more" };
  const norm = {
    each: 2 * D,
    formula: "2 D (gain and bias)",
    worked: `2 · ${D}`,
    file: "norm.py",
  };
  const attention = {
    each: 4 * (D * D + D),
    formula: "4 (D² + D): query, key, value, output",
    worked: `4 (${D}² + ${D})`,
    file: "attention.py",
    kind: "attention",
  };
  const network = {
    each: 2 * D * F + F + D,
    formula: "2 D F + F + D",
    worked: `2 · ${D} · ${F} + ${F} + ${D}`,
    file: "feedforward.py",
    kind: "network",
  };
  const addNorm = pre ? "norm" : "add & norm";
  const aboutNorm = pre
    ? "Brings each vector to one size before the part above reads it. What that part says is added to the stream, which runs past."
    : "Adds what the part below has said to the stream, then brings each vector to one size.";
  const finalNorm = {
    ...norm,
    name: pre ? "final norm" : "(no final norm)",
    kind: "norm",
    times: 1,
    does: pre
      ? "Pre-norm only: the stream has grown with every layer; here it is brought to one size."
      : "Post-norm stacks end in a norm already. Choose pre-norm to see this one.",
    ...(pre ? {} : { each: 0, formula: "not there", worked: undefined }),
  };

  function side(name, length, depth, pick) {
    const encoder = name === "encoder";
    const L = length;
    const stream = [["B", L, "D"]];
    const all = [
      {
        id: `${pick}_ids`,
        name: `${pick} ids`,
        kind: "plain",
        out: ["B", L],
        ...none,
        file: "tokenization.py",
        takes: encoder ? "English text" : "the German so far, from <s> on",
        does: `A piece of text is a number. ${encoder ? "The source ends in </s>." : "In training this is the right German, shifted by one; while writing, what has been written."}`,
      },
      {
        id: `${pick}_embedding`,
        name: "embedding × √D",
        kind: "table",
        out: ["B", L, "D"],
        takes: `ids ${written(["B", L])}`,
        file: "embedding.py",
        ...(encoder || !tied ? table : shared),
        does: "Each id picks its row of the table, times the square root of D.",
      },
      {
        id: `${pick}_positions`,
        name: "+ positions",
        kind: "plain",
        out: ["B", L, "D"],
        takes: `embedded ids ${written(["B", L, "D"])}`,
        file: "positions.py",
        ...(!c.learned_positions
          ? none
          : encoder
            ? {
                each: c.learned_positions * D,
                formula: "max_len · D",
                worked: `${c.learned_positions} · ${D}`,
              }
            : shared),
        does: c.learned_positions
          ? "Adds the learned row of the position, then dropout. The same table on both sides."
          : "Adds sines and cosines of the position, then dropout. The same pattern on both sides.",
      },
    ];
    const layer = [];
    const norms = encoder ? 2 : 3;
    const add = (sublayer, mask) => {
      const number = layer.filter((p) => p.kind === "norm").length + 1;
      const box = {
        ...norm,
        id: `${name}.norm${number}`,
        name: addNorm,
        kind: "norm",
        out: ["B", L, "D"],
        times: depth,
        does: aboutNorm,
        takes: `the stream ${written(...stream)}${pre ? "" : " and the part’s output, of the same shape"}`,
      };
      layer.push(...(pre ? [box, sublayer, ...mask] : [sublayer, ...mask, box]));
    };
    const masked = (id, letters, text) => ({
      id,
      name: "mask",
      kind: "mask",
      out: letters,
      ...none,
      file: "masks.py",
      takes: `the ${text} ids`,
      does:
        text === "target"
          ? "True = may attend: not the future, not padding. It is what makes all positions train at once."
          : "True = may attend: every real source piece, no padding. One row serves all queries, so it broadcasts.",
    });
    add(
      {
        ...attention,
        id: `${name}.self_attention`,
        name: encoder ? "self-attention" : "masked self-attention",
        out: ["B", L, "D"],
        times: depth,
        weights: ["B", "H", L, L],
        takes: `the stream ${written(...stream)}: queries, keys and values`,
        does: encoder
          ? "Each source position takes from all others."
          : "Each target position takes from itself and from those before it.",
      },
      [
        masked(
          `${name}.mask`,
          encoder ? ["B", "1", "1", "S"] : ["B", "1", "T", "T"],
          encoder ? "source" : "target",
        ),
      ],
    );
    if (!encoder) {
      add(
        {
          ...attention,
          id: "decoder.cross_attention",
          name: "cross-attention",
          kind: "cross",
          out: ["B", "T", "D"],
          times: depth,
          weights: ["B", "H", "T", "S"],
          takes:
            "queries from the stream (B, T, D), keys and values from the memory (B, S, D)",
          does: "Each German position takes from the English ones. Every layer makes its own keys and values of the one memory.",
        },
        [masked("cross.mask", ["B", "1", "1", "S"], "source")],
      );
    }
    add(
      {
        ...network,
        id: `${name}.feed_forward`,
        name: "feed-forward",
        out: ["B", L, "D"],
        times: depth,
        inner: ["B", L, "F"],
        takes: `the stream ${written(...stream)}, position by position`,
        does: "Each position by itself: wider, max(0, ·), narrower. No position sees another.",
      },
      [],
    );
    console.assert(layer.filter((p) => p.kind === "norm").length === norms);
    all.push(...layer.map((p) => ({ ...p, layer: true })));
    all.push({
      ...finalNorm,
      id: `${name}.final_norm`,
      out: ["B", L, "D"],
      takes: `the stream ${written(...stream)}`,
    });
    return all.map((p) => ({ times: 1, ...p, side: name }));
  }

  const top = [
    {
      id: "unembedding",
      name: "unembedding",
      kind: "out",
      out: ["B", "T", "V"],
      takes: "the stream (B, T, D)",
      file: "embedding.py",
      ...(tied ? shared : table),
      does: "The dot product with every row of the table: a score, the logit, for each piece.",
    },
    {
      id: "softmax",
      name: "softmax",
      kind: "out",
      out: ["B", "T", "V"],
      takes: "logits (B, T, V)",
      file: "loss.py, decode.py",
      ...none,
      does: "Logits become probabilities of the next piece. In the code it is part of the loss and of decoding.",
    },
  ].map((p) => ({ times: 1, ...p, side: "decoder" }));
  const numbers = { B, S, T, V, D, F, H, Dh, 1: 1 };
  return [
    ...side("encoder", "S", c.n_encoder_layers, "source"),
    ...side("decoder", "T", c.n_decoder_layers, "target"),
    ...top,
  ].map((p) => ({
    ...p,
    total: p.each * p.times,
    letters: written(p.out),
    numbers: written(p.out.map((l) => numbers[l])),
  }));
}

export const total = (c) => parts(c).reduce((sum, p) => sum + p.total, 0);

// The bars: what belongs together, and its share of all.
export function shares(c) {
  const all = parts(c);
  const sum = (test) => all.filter(test).reduce((n, p) => n + p.total, 0);
  const is = (id) => (p) => p.id === id;
  /** @type {[string, string, number][]} */
  const rows = [
    [
      c.tie_embeddings ? "table, tied" : "three tables",
      "table",
      sum(
        (p) =>
          p.kind === "table" || p.id === "unembedding" || p.id.endsWith("positions"),
      ),
    ],
    ["encoder: self-attention", "attention", sum(is("encoder.self_attention"))],
    ["encoder: feed-forward", "network", sum(is("encoder.feed_forward"))],
    ["decoder: self-attention", "attention", sum(is("decoder.self_attention"))],
    ["decoder: cross-attention", "cross", sum(is("decoder.cross_attention"))],
    ["decoder: feed-forward", "network", sum(is("decoder.feed_forward"))],
    ["all norms", "norm", sum((p) => p.kind === "norm")],
  ];
  const n = total(c);
  return rows.map(([name, kind, count]) => ({ name, kind, count, share: count / n }));
}

// The divisor of d nearest to n, for heads that no longer divide the width.
export function nearestDivisor(d, n) {
  let best = 1;
  for (let x = 1; x <= d; x++)
    if (d % x === 0 && Math.abs(x - n) < Math.abs(best - n)) best = x;
  return best;
}

// Places for the boxes, from the bottom up; a compact map has names only.
const WIDTH = 380;
const BOX = 174;
export function layout(all, compact) {
  const tall = compact ? 24 : 62;
  const flat = compact ? 16 : 24;
  const step = compact ? 8 : 11;
  const heights = { norm: flat, plain: compact ? 22 : 44 };
  const columns = ["encoder", "decoder"].map((side) => {
    const boxes = [];
    let y = 2;
    let stack;
    for (const part of all.filter((p) => p.side === side)) {
      if (part.kind === "mask") {
        const owner = boxes.findLast((b) => b.part.layer && b.part.kind !== "norm");
        const w = compact ? 38 : 46;
        const height = compact ? 16 : 22;
        boxes.push({
          part,
          x: owner.x + BOX - w - 4,
          y: owner.y + (compact ? (owner.height - height) / 2 : -5),
          w,
          height,
        });
        continue;
      }
      if (part.layer && !stack) {
        y += 16;
        stack = { side, from: y - 8 };
      }
      if (!part.layer && stack && !stack.to) {
        stack.to = y - step + 8;
        y += 20;
      }
      const height =
        heights[part.kind] ?? (part.id === "softmax" ? heights.plain : tall);
      const hidden = part.kind === "norm" && !part.layer && part.each === 0;
      if (!hidden)
        boxes.push({ part, x: side === "encoder" ? 6 : 200, y, w: BOX, height });
      y += height + step;
    }
    return { boxes, stack, top: y };
  });
  const full = Math.max(...columns.map((column) => column.top)) + 2;
  // y counted from the bottom so far; from here on from the top, as SVG does
  const turn = (b) => ({ ...b, y: full - b.y - b.height });
  return {
    height: full,
    boxes: columns.flatMap((column) => column.boxes.map(turn)),
    stacks: columns.map(({ stack }) => ({
      side: stack.side,
      y: full - stack.to,
      height: stack.to - stack.from,
    })),
  };
}

function wires(placed) {
  const paths = [];
  const at = (id) => placed.boxes.find((b) => b.part.id === id);
  for (const side of ["encoder", "decoder"]) {
    const column = placed.boxes.filter(
      (b) => b.part.side === side && b.part.kind !== "mask",
    );
    column.slice(1).forEach((box, i) => {
      const x = box.x + BOX / 2;
      paths.push(`M${x} ${column[i].y}V${box.y + box.height}`);
    });
  }
  const encoder = placed.boxes
    .filter((b) => b.part.side === "encoder" && b.part.kind !== "mask")
    .at(-1);
  const cross = at("decoder.cross_attention");
  const from = encoder.x + BOX / 2;
  const middle = cross.y + cross.height / 2;
  const over = encoder.y - 12;
  paths.push(
    `M${from} ${encoder.y}V${over + 6}q0 -6 6 -6H184q6 0 6 6V${middle - 6}q0 6 6 6H200`,
  );
  return { paths, over, from };
}

const LISTS = {
  batch: [1, 2, 4, 8, 16, 32, 64, 128],
  source_length: [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 32, 48, 64, 128, 256, 512,
  ],
  d_model: [
    4, 8, 16, 32, 64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 1024, 1280, 1536,
    2048,
  ],
  d_ff: [
    8, 16, 32, 64, 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192,
  ],
  vocab_size: [
    14, 100, 500, 1000, 2000, 4000, 6000, 8000, 10000, 16000, 20000, 32000, 37000,
    41000, 50000, 64000, 100000,
  ],
};
LISTS.target_length = LISTS.source_length;
// The model grows upwards: so do the keys.
const UPWARDS = {
  ArrowUp: 1,
  ArrowRight: 1,
  ArrowDown: -1,
  ArrowLeft: -1,
  Home: -Infinity,
  End: Infinity,
};
const LAYERS = Array.from({ length: 24 }, (_, i) => i + 1);
const SLIDERS = [
  ["d_model", "width D"],
  ["n_heads", "heads H"],
  ["d_ff", "feed-forward F"],
  ["n_encoder_layers", "encoder layers"],
  ["n_decoder_layers", "decoder layers"],
  ["vocab_size", "vocabulary V"],
  ["batch", "batch B"],
  ["source_length", "source S"],
  ["target_length", "target T"],
];
export const FIELDS = [
  ...SLIDERS.map(([name]) => name),
  "norm",
  "tie_embeddings",
  "learned_positions",
];

// The values that a slider steps through: its list, and the one that is set.
export function steps(name, c) {
  const list =
    name === "n_heads"
      ? Array.from({ length: Math.min(c.d_model, 64) }, (_, i) => i + 1).filter(
          (n) => c.d_model % n === 0,
        )
      : name.endsWith("layers")
        ? LAYERS
        : LISTS[name];
  return [...new Set([...list, c[name]])].sort((a, b) => a - b);
}

const short = (n) => (n < 1e7 ? commas(n) : `${(n / 1e6).toFixed(1)} M`);

function drawing(all, { compact, light }) {
  const placed = layout(all, compact);
  const svg = h("svg", { viewBox: `0 0 ${WIDTH} ${placed.height}`, class: "tfm-map" });
  const behind = h("g", { "aria-hidden": "true" });
  for (const s of placed.stacks)
    behind.append(
      h("rect", {
        x: s.side === "encoder" ? 1 : 195,
        y: s.y,
        width: BOX + 10,
        height: s.height,
        rx: 8,
        class: "tfm-stack",
      }),
    );
  const { paths, over, from } = wires(placed);
  for (const d of paths) behind.append(h("path", { d, class: "tfm-wire" }));
  behind.append(
    h(
      "text",
      { x: Math.max(from + 8, 112), y: over - 5, class: "tfm-small" }, // past “encoder, 24 ×”
      "memory",
    ),
  );
  const layers = placed.stacks.map((s) => {
    const node = h("text", {
      x: s.side === "encoder" ? 4 : 198,
      y: s.y - 5,
      class: "tfm-small tfm-bold",
    });
    behind.append(node);
    return { node, side: s.side };
  });
  svg.append(behind);
  const boxes = placed.boxes.map((b) => {
    const small = b.part.kind === "norm" || b.part.kind === "mask" || compact;
    const g = h(
      "g",
      { class: `tfm-part tfm-${b.part.kind}`, "data-part": b.part.id },
      h("rect", { x: b.x, y: b.y, width: b.w, height: b.height, rx: 5 }),
    );
    const line = (y, kind) => {
      const node = h("text", {
        x: small ? b.x + b.w / 2 : b.x + 8,
        y,
        class: kind,
        "text-anchor": small ? "middle" : "start",
      });
      g.append(node);
      return node;
    };
    const name = line(
      small ? b.y + b.height / 2 + 4.5 : b.y + 17,
      b.part.kind === "mask" || (small && !compact) ? "tfm-small" : "tfm-name",
    );
    if (compact && b.part.layer && b.part.kind !== "norm" && b.part.kind !== "mask")
      put(name, { x: b.x + 8, "text-anchor": "start" });
    const shape = small ? null : line(b.y + 34, "tfm-shape");
    const count = small || b.height < 60 ? null : line(b.y + 52, "tfm-shape");
    if (light)
      g.classList.toggle("tfm-dim", light.length > 0 && !light.includes(b.part.id));
    if (light?.includes(b.part.id)) g.classList.add("tfm-lit");
    svg.append(g);
    return { g, id: b.part.id, name, shape, count, kind: b.part.kind };
  });
  return { svg, boxes, layers };
}

function fill(drawn, all, c, compact) {
  for (const { node, side } of drawn.layers)
    say(
      node,
      compact
        ? `${side}, N ×`
        : `${side}, ${side === "encoder" ? c.n_encoder_layers : c.n_decoder_layers} ×`,
    );
  for (const box of drawn.boxes) {
    const part = all.find((p) => p.id === box.id);
    if (compact)
      say(box.name, part.name.replace("masked ", "")); // its mask says so
    else
      say(
        box.name,
        box.kind === "norm" ? `${part.name} · ${commas(part.each)}` : part.name,
      );
    if (box.shape) say(box.shape, part.numbers);
    if (box.count)
      say(
        box.count,
        part.each
          ? `${short(part.each)}${part.times > 1 ? ` × ${part.times}` : ""}`
          : part.id === "softmax"
            ? ""
            : "(shared)",
      );
  }
}

// Let each box lead to its chapter, with one stop for the Tab key and arrows within.
function navigable(drawn, all) {
  const links = drawn.boxes.map(({ g, id }) => {
    const part = all.find((each) => each.id === id);
    const { title, address, isHere } = chapterOf(part, location.pathname);
    const link = document.createElementNS("http://www.w3.org/2000/svg", "a");
    put(link, {
      href: address,
      class: "tfm-link",
      "aria-label": `${part.side}: ${part.name}, chapter ${title}`,
      "aria-current": isHere ? "page" : null,
    });
    g.replaceWith(link);
    link.append(g, h("title", {}, isHere ? `${title} (this chapter)` : title));
    return link;
  });
  const rest = (now) =>
    links.forEach((link, i) => put(link, { tabindex: i === now ? 0 : -1 }));
  rest(
    Math.max(
      0,
      links.findIndex((link) => link.hasAttribute("aria-current")),
    ),
  );
  arrowKeys(drawn.svg, UPWARDS, (by) => {
    const now = within(
      links.findIndex((each) => each.tabIndex === 0) + by,
      links.length,
    );
    rest(now);
    links[now].focus();
  });
}

function render({ model, el }) {
  const state = () => Object.fromEntries(FIELDS.map((name) => [name, model.get(name)]));
  const compact = model.get("compact");
  const root = figure(
    el,
    compact ? "tfm tfm-compact" : "tfm",
    compact ? "Where we are in the model" : "Map of the model: shapes and parameters",
  );

  const inTheBook = isInTheBook();
  if (compact) {
    const light = model.get("highlight");
    const all = parts(state());
    const drawn = drawing(all, { compact, light });
    fill(drawn, all, state(), true);
    const names = [
      ...new Set(
        all
          .filter((p) => light.includes(p.id))
          .map((p) =>
            p.kind === "mask" || p.kind === "norm" ? `${p.side} ${p.name}` : p.name,
          ),
      ),
    ];
    put(drawn.svg, {
      role: inTheBook ? "group" : "img",
      "aria-label": `Map of the Transformer: the encoder on the left, the decoder on the right, joined by the memory. ${names.length ? `Lit: ${names.join(", ")}.` : ""}${inTheBook ? " Arrow keys go from part to part; each leads to its chapter." : ""}`,
    });
    if (inTheBook) navigable(drawn, all);
    root.append(drawn.svg);
    return undefined;
  }

  const live = liveRegion({ isShown: true });
  let drawn;
  let sliders;
  const { commit, stop } = bind(model, [...FIELDS, "selected"], () => update());
  const presets = model.get("presets");
  const same = (p, c) =>
    Object.entries(p.sizes).every(([name, value]) => c[name] === value);
  const preset = radios(
    "preset",
    "Model",
    presets.map((p) => p.name),
    -1,
    (i) => commit({ ...presets[i].sizes }),
  );
  const place = radios("norm", "Norm", ["post", "pre"], 0, (i) =>
    commit({ norm: ["post", "pre"][i] }),
  );
  const tied = check("tied", "one tied table", true, (on) =>
    commit({ tie_embeddings: on }),
  );

  function set(name, index) {
    const c = state();
    const value = steps(name, c)[index];
    commit(
      name === "d_model"
        ? { d_model: value, n_heads: nearestDivisor(value, c.n_heads) }
        : { [name]: value },
    );
  }
  const box = h("div", { class: "tfm-sliders" });
  sliders = SLIDERS.map(([name, label]) => {
    const made = slider(
      name,
      label,
      { min: 0, max: 1, step: 1, text: (i) => commas(steps(name, state())[i] ?? 0) },
      (i) => set(name, i),
    );
    box.append(made.box);
    return { name, made };
  });

  const hold = h("div", { class: "tfm-hold" });
  const title = h("p", { class: "tfm-title" });
  const does = h("p");
  const facts = ["in", "out", "inside", "numbers", "file"].map((key) => {
    const value = h("dd", { "data-fact": key });
    return {
      key,
      name: h(
        "dt",
        {},
        {
          in: "Goes in",
          out: "Comes out",
          inside: "Inside",
          numbers: "Parameters",
          file: "Source",
        }[key],
      ),
      value,
    };
  });
  const detail = h(
    "div",
    { class: "tfm-detail", "data-control": "detail" },
    title,
    does,
    h("dl", {}, ...facts.flatMap((f) => [f.name, f.value])),
  );
  const chapter = h("a", { class: "tfm-chapter", "data-control": "chapter" });
  const leads = h("p", { class: "tfm-leads" }, "Its chapter: ", chapter);
  put(leads, { hidden: !inTheBook });
  const walker = player({
    words: ["To the first part", "One part back", "One part on", "To the last part"],
    at: () => drawn.boxes.findIndex((b) => b.g.classList.contains("tfm-lit")),
    last: () => drawn.boxes.length - 1,
    to: (i) => choose(drawn.boxes[within(i, drawn.boxes.length)].id, false),
  });
  const sum = h("p", { class: "tfm-sum" });
  const bars = h("div", { class: "tfm-bars" });
  const rows = shares(state()).map((s) => {
    const name = h("span");
    const bar = h("span", { class: `tfm-bar tfm-${s.kind}` });
    const number = h("span", { class: "tfm-number" });
    bars.append(
      h(
        "div",
        { class: "tfm-row" },
        name,
        h("span", { class: "tfm-track" }, bar),
        number,
      ),
    );
    return { name, bar, number };
  });
  const table = textTable("All parts as a table", "part");
  root.append(
    h("div", { class: "tfm-top" }, preset.set, place.set, tied.box),
    h(
      "div",
      { class: "tfm-both" },
      hold,
      h(
        "div",
        { class: "tfm-side" },
        h("div", { class: "tfm-steps" }, ...walker.nodes),
        detail,
        leads,
        sum,
        bars,
      ),
    ),
    box,
    live.node,
    table.node,
  );

  function choose(id, focus) {
    commit({ selected: id });
    if (focus) drawn.boxes.find((b) => b.id === id)?.g.focus();
  }
  function walk(by) {
    const ids = drawn.boxes.map((b) => b.id);
    choose(ids[within(ids.indexOf(model.get("selected")) + by, ids.length)], true);
  }
  function build(all) {
    drawn = drawing(all, { compact: false, light: null });
    put(drawn.svg, {
      role: "listbox",
      "aria-label": `Parts of the model: arrow keys go from part to part${inTheBook ? ", Enter opens a part’s chapter" : ""}`,
    });
    for (const b of drawn.boxes) {
      put(b.g, { role: "option" });
      b.g.addEventListener("click", () => choose(b.id, true));
    }
    arrowKeys(drawn.svg, UPWARDS, walk);
    if (inTheBook) arrowKeys(drawn.svg, { Enter: 0 }, () => chapter.click());
    hold.replaceChildren(drawn.svg);
    root.dataset.norm = model.get("norm");
  }

  function update(speak = true) {
    const c = state();
    if (c.d_model % c.n_heads) return; // a kernel sends its numbers one by one
    const all = parts(c);
    if (root.dataset.norm !== c.norm) build(all);
    fill(drawn, all, c, false);
    let chosen = all.find((p) => p.id === model.get("selected"));
    if (!drawn.boxes.some((b) => b.id === chosen?.id))
      chosen = all.find((p) => p.id === "decoder.cross_attention");
    for (const b of drawn.boxes) {
      const part = all.find((p) => p.id === b.id);
      const on = b.id === chosen.id;
      b.g.classList.toggle("tfm-lit", on);
      put(b.g, {
        tabindex: on ? 0 : -1,
        "aria-selected": on ? "true" : "false",
        "aria-label": `${part.side}: ${part.name}, out ${part.letters} = ${part.numbers}, ${part.each ? `${commas(part.each)} parameters` : "no parameters of its own"}`,
      });
    }
    preset.pick(presets.findIndex((p) => same(p, c)));
    place.pick(c.norm === "pre" ? 1 : 0);
    tied.input.checked = c.tie_embeddings;
    for (const { name, made } of sliders) {
      const list = steps(name, c);
      put(made.input, { max: list.length - 1 });
      made.show(list.indexOf(c[name]));
    }
    const size = sizesOf(c);
    const both = (letters) =>
      `${written(letters)} = ${written(letters.map((l) => size[l]))}`;
    say(title, `${chosen.side}: ${chosen.name}`);
    say(does, chosen.does);
    const inside = chosen.weights
      ? `weights ${both(chosen.weights)}`
      : chosen.inner
        ? both(chosen.inner)
        : "–";
    const worked = chosen.worked ? ` = ${chosen.worked} = ${commas(chosen.each)}` : "";
    const many =
      chosen.each && chosen.times > 1
        ? `; × ${chosen.times} layers = ${commas(chosen.total)}`
        : "";
    const texts = {
      in: chosen.takes,
      out: both(chosen.out),
      inside,
      numbers: `${chosen.formula}${worked}${many}`,
      file: `tformer/${chosen.file}`,
    };
    for (const f of facts) say(f.value, texts[f.key]);
    const { title: where, address } = chapterOf(chosen);
    say(chapter, where);
    put(chapter, { href: address });
    walker.show();
    const n = total(c);
    say(sum, `All together: ${commas(n)} parameters`);
    sum.dataset.exact = n;
    shares(c).forEach((s, i) => {
      say(rows[i].name, s.name);
      rows[i].bar.style.width = `${(100 * s.share).toFixed(2)}%`;
      say(
        rows[i].number,
        `${commas(s.count)} · ${percent(s.share, s.share < 0.1 ? 1 : 0)}`,
      );
    });
    table.show(
      ["shape", "numbers", "parameters", "how many", "together"],
      all.map((p) => [
        `${p.side}: ${p.name}`,
        p.letters,
        p.numbers,
        commas(p.each),
        String(p.times),
        commas(p.total),
      ]),
    );
    if (speak)
      live.announce(
        `${chosen.name}: out ${chosen.numbers}, ${commas(chosen.each)} parameters. All together ${commas(n)}.`,
      );
  }
  update(false);
  return () => {
    live.stop();
    stop();
  };
}

export default { render };
