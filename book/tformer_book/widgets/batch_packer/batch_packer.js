// Sentence pairs packed into batches: what padding costs, by order and by cut.
// `arrange`, `cutByPairs`, `cutByTokens` and `measure` are the whole of the maths and run
// in Node, too; the tests hold them to `tformer.data`.
import {
  bind,
  figure,
  h,
  liveRegion,
  put,
  radios,
  say,
  slider,
  textTable,
  uid,
} from "../kit/kit.js";
import { percent } from "../kit/numbers.js";

export const ORDERS = ["as they come", "sorted by length"];
export const CUTS = ["by pairs", "by tokens"];

// Indices of pairs [source, target]; sorted by target, then source, equal ones as they come.
export function arrange(lengths, order) {
  const rows = lengths.map((_, i) => i);
  if (order !== ORDERS[1]) return rows;
  return rows.sort(
    (a, b) => lengths[a][1] - lengths[b][1] || lengths[a][0] - lengths[b][0] || a - b,
  );
}

export function cutByPairs(rows, size) {
  const batches = [];
  for (let i = 0; i < rows.length; i += size) batches.push(rows.slice(i, i + size));
  return batches;
}

// A batch is closed when the next pair would make B·(S + T) larger than the budget.
export function cutByTokens(rows, lengths, budget) {
  const batches = [];
  let batch = [];
  let source = 0;
  let target = 0;
  for (const row of rows) {
    source = Math.max(source, lengths[row][0]);
    target = Math.max(target, lengths[row][1]);
    if (batch.length && (batch.length + 1) * (source + target) > budget) {
      batches.push(batch);
      batch = [];
      [source, target] = lengths[row];
    }
    batch.push(row);
  }
  if (batch.length) batches.push(batch);
  return batches;
}

/** @param {Record<string, any>} state */
export function pack({ lengths, order, cut, sentences, tokens }) {
  const rows = arrange(lengths, order);
  return measure(
    cut === CUTS[1] ? cutByTokens(rows, lengths, tokens) : cutByPairs(rows, sentences),
    lengths,
  );
}

// Shape, tokens and padding of each batch, and of all.
export function measure(batches, lengths) {
  const each = batches.map((rows) => {
    const source = Math.max(...rows.map((row) => lengths[row][0]));
    const target = Math.max(...rows.map((row) => lengths[row][1]));
    const tokens = rows.length * (source + target);
    const real = rows.reduce((sum, row) => sum + lengths[row][0] + lengths[row][1], 0);
    return { rows, source, target, tokens, padding: tokens - real };
  });
  const sum = (name) => each.reduce((total, batch) => total + batch[name], 0);
  const sizes = each.map((batch) => batch.tokens);
  return {
    batches: each,
    steps: each.length,
    tokens: sum("tokens"),
    padding: sum("padding"),
    waste: sum("padding") / sum("tokens"),
    largest: Math.max(...sizes),
    smallest: Math.min(...sizes),
  };
}

const plural = (n, word, many = `${word}s`) => `${n} ${n === 1 ? word : many}`;

/** @param {Record<string, any>} state @param {any} found */
export function explain({ order, cut, sentences, tokens }, found) {
  const how =
    cut === CUTS[1]
      ? `at most ${tokens} tokens in a batch`
      : `${plural(sentences, "pair")} in a batch`;
  return (
    `${order[0].toUpperCase()}${order.slice(1)}, ${how}: ${plural(found.steps, "step")}. ` +
    `Of ${found.tokens} tokens computed, ${found.padding} are padding: ${percent(found.waste)}. ` +
    (found.steps === 1
      ? `The batch has ${found.largest} tokens.`
      : `The largest batch has ${found.largest} tokens, the smallest ${found.smallest}.`)
  );
}

const HEIGHT = 424;
const HEAD = 20;

function render({ model, el }) {
  const root = figure(el, "tfbp", "Sentence pairs packed into batches");
  const names = ["lengths", "order", "cut", "sentences", "tokens"];
  /** @returns {Record<string, any>} */
  const state = () => {
    const now = Object.fromEntries(names.map((name) => [name, model.get(name)]));
    const longest = Math.max(...now.lengths.map(([s, t]) => s + t));
    return {
      ...now,
      sentences: Math.max(1, now.sentences),
      tokens: Math.max(longest, now.tokens),
      longest,
    };
  };
  const live = liveRegion();
  const { commit, stop } = bind(model, names, () => update());

  const orders = radios("order", "Order", ORDERS, 0, (i) =>
    commit({ order: ORDERS[i] }),
  );
  const cuts = radios("cut", "Cut", CUTS, 0, (i) => commit({ cut: CUTS[i] }));
  const sentences = slider(
    "sentences",
    "pairs",
    { min: 1, max: 24, step: 1, digits: 0 },
    (x) => commit({ sentences: x }),
  );
  const tokens = slider(
    "tokens",
    "tokens",
    { min: 1, max: 640, step: 1, digits: 0 },
    (x) => commit({ tokens: x }),
  );

  const hatch = uid();
  const svgNode = (tag, attributes, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    put(node, attributes);
    node.append(...children);
    return node;
  };
  const pattern = svgNode(
    "pattern",
    {
      id: hatch,
      width: 6,
      height: 6,
      patternUnits: "userSpaceOnUse",
      patternTransform: "rotate(45)",
    },
    h("rect", { width: 2, height: 6, class: "tfbp-stroke" }),
  );
  const svg = h(
    "svg",
    { class: "tfbp-drawing", role: "img", height: HEIGHT },
    h("defs", {}, pattern),
  );
  const bars = h("g", { class: "tfbp-bars" });
  const drawing = h("g");
  svg.append(bars, drawing);
  // One bar and its padding for each side of each pair. They stay, so that a pair whose
  // place changes glides there.
  let built = "";
  let pairs = [];
  function build(lengths) {
    const key = JSON.stringify(lengths);
    if (key === built) return;
    built = key;
    pairs = lengths.map((_, row) =>
      [0, 1].map((side) => ({
        real: h("rect", {
          class: side ? "tfbp-target" : "tfbp-source",
          "data-pair": row,
        }),
        padding: h("rect", { class: "tfbp-padding", fill: `url(#${hatch})` }),
      })),
    );
    bars.replaceChildren(
      ...pairs.flat().flatMap(({ real, padding }) => [real, padding]),
    );
  }
  const said = h("p", { class: "tfbp-said" });
  const body = h("tbody");
  const heads = ["steps", "padding", "largest batch", "smallest"];
  const table = h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ...["method", ...heads].map((name) => h("th", { scope: "col" }, name)),
      ),
    ),
    body,
  );
  const methods = ORDERS.flatMap((order) =>
    CUTS.map((cut) => {
      const cells = heads.map(() => h("td"));
      const row = h(
        "tr",
        { "data-method": `${ORDERS.indexOf(order)}-${CUTS.indexOf(cut)}` },
        h("th", { scope: "row" }, `${order.split(" by ")[0]}, ${cut}`),
        ...cells,
      );
      body.append(row);
      return { order, cut, row, cells };
    }),
  );
  const behind = textTable("The batches as a table", "batch");
  root.append(
    orders.set,
    cuts.set,
    h("div", { class: "tfbp-controls" }, sentences.box, tokens.box),
    svg,
    said,
    h(
      "div",
      {
        class: "tfk-scroll",
        tabindex: 0,
        role: "region",
        "aria-label": "All methods compared",
      },
      table,
    ),
    behind.node,
    live.node,
  );

  let room = 700;
  function draw(s, found) {
    put(svg, { viewBox: `0 0 ${room} ${HEIGHT}`, "aria-label": explain(s, found) });
    const [left, right, between] = [10, 44, 14];
    const widest = [0, 1].map((side) =>
      Math.max(...s.lengths.map((pair) => pair[side])),
    );
    const unit = (room - left - right - between) / (widest[0] + widest[1]);
    const starts = [left, left + widest[0] * unit + between];
    const space = HEIGHT - HEAD;
    const gap = Math.min(10, (0.4 * space) / found.steps);
    const high = Math.min(12, (space - gap * found.steps) / s.lengths.length);
    const thin = Math.max(0.5, high > 4 ? high - 1 : high * 0.85);
    build(s.lengths);
    const parts = [];
    for (const [side, name] of ["source", "target"].entries()) {
      parts.push(
        h(
          "text",
          {
            x: starts[side],
            y: 12,
            class: `tfbp-head ${side ? "tfk-value" : "tfk-key"}`,
          },
          name,
        ),
      );
    }
    parts.push(
      h("text", { x: room, y: 12, class: "tfbp-head", "text-anchor": "end" }, "tokens"),
    );
    let y = HEAD;
    for (const batch of found.batches) {
      const tall = batch.rows.length * high;
      parts.push(
        h("line", {
          x1: 3,
          x2: 3,
          y1: y,
          y2: y + tall - (high - thin),
          class: "tfbp-edge",
        }),
      );
      for (const row of batch.rows) {
        for (const side of [0, 1]) {
          const real = s.lengths[row][side] * unit;
          const all = batch[side ? "target" : "source"] * unit;
          const bar = pairs[row][side];
          put(bar.real, { x: starts[side], y, width: real, height: thin });
          put(bar.padding, {
            x: starts[side] + real,
            y,
            width: all - real,
            height: thin,
            "data-none": all <= real,
          });
        }
        y += high;
      }
      if (tall + gap >= 11)
        parts.push(
          h(
            "text",
            {
              x: room,
              y: y - tall / 2 + 4,
              class: "tfbp-tokens",
              "text-anchor": "end",
            },
            batch.tokens,
          ),
        );
      y += gap;
    }
    drawing.replaceChildren(...parts);
    svg.dataset.batches = JSON.stringify(found.batches.map((batch) => batch.rows));
  }

  function update(speak = true) {
    const s = state();
    orders.pick(ORDERS.indexOf(s.order));
    cuts.pick(CUTS.indexOf(s.cut));
    put(tokens.input, { min: s.longest });
    sentences.show(s.sentences);
    tokens.show(s.tokens);
    sentences.box.classList.toggle("tfbp-idle", s.cut === CUTS[1]);
    tokens.box.classList.toggle("tfbp-idle", s.cut === CUTS[0]);
    const found = pack(s);
    draw(s, found);
    const text = explain(s, found);
    say(said, text);
    for (const { order, cut, row, cells } of methods) {
      const other = pack({ ...s, order, cut });
      const values = [other.steps, other.waste, other.largest, other.smallest];
      cells.forEach((cell, i) => {
        say(cell, i === 1 ? percent(values[i]) : String(values[i]));
        cell.dataset.exact = values[i];
      });
      const now = order === s.order && cut === s.cut;
      row.classList.toggle("tfbp-now", now);
      put(row, { "aria-current": now ? "true" : null });
    }
    behind.show(
      ["pairs", "S", "T", "tokens", "padding"],
      found.batches.map((batch, i) => [
        String(i + 1),
        ...[
          batch.rows.length,
          batch.source,
          batch.target,
          batch.tokens,
          batch.padding,
        ].map(String),
      ]),
    );
    if (speak) live.announce(text);
  }

  const watch = new ResizeObserver(() => {
    const now = Math.round(root.clientWidth);
    if (now && now !== room) {
      room = now;
      const s = state();
      draw(s, pack(s));
    }
  });
  watch.observe(root);
  update(false);
  return () => {
    watch.disconnect();
    live.stop();
    stop();
  };
}

export default { render };
