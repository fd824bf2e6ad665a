// One query's attention, re-computed in the page: compare, scale, mask, softmax, mix.
// `attend` is the whole of the maths and runs in Node, too; the tests hold it to
// `tformer.attention`. The default export is an anywidget front end.
import {
  bind,
  button,
  check,
  draggable,
  figure,
  h,
  liveRegion,
  put,
  radios,
  say,
  select,
  slider,
} from "../kit/kit.js";
import { format, percent } from "../kit/numbers.js";

const dot = (a, b) => a.reduce((total, x, i) => total + x * b[i], 0);

// softmax(q K^T / (sqrt(d) * temperature)) V for a single query.
// visible[j] === false hides key j: its score becomes -Infinity, its weight exactly 0.
export function attend({
  query,
  keys,
  values,
  visible,
  scaled = true,
  temperature = 1,
}) {
  const divisor = (scaled ? Math.sqrt(query.length) : 1) * temperature;
  const scores = keys.map((key) => dot(query, key));
  const logits = scores.map((s, j) =>
    visible?.[j] === false ? -Infinity : s / divisor,
  );
  const top = Math.max(...logits);
  const exps = logits.map((s) => Math.exp(s - top));
  const total = exps.reduce((a, b) => a + b, 0);
  const weights = exps.map((e) => e / total);
  const output = values[0].map((_, c) =>
    dot(
      weights,
      values.map((v) => v[c]),
    ),
  );
  return { scores, divisor, logits, weights, output };
}

// The corners of the smallest convex polygon around the points (monotone chain).
export function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (o, a, b) =>
    (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const half = (list) => {
    const chain = [];
    for (const p of list) {
      while (chain.length > 1 && turn(chain.at(-2), chain.at(-1), p) <= 0) chain.pop();
      chain.push(p);
    }
    return chain.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}

const LIMIT = 3; // coordinates run from -LIMIT to LIMIT
const STEP = 0.05;
const SIZE = 300; // a plane's viewBox, in its own units
const place = ([x, y]) => [
  SIZE / 2 + (x / (LIMIT + 0.5)) * (SIZE / 2),
  SIZE / 2 - (y / (LIMIT + 0.5)) * (SIZE / 2),
];
const snap = (x) => {
  const inside = Math.min(LIMIT, Math.max(-LIMIT, x));
  return Math.round(Math.round(inside / STEP) * STEP * 100) / 100;
};

const pair = (v) => `(${v.map((x) => format(x)).join(", ")})`;
const factor = (x) => (x < 0 ? `(${format(x)})` : format(x));

const STEPS = ["Compare", "Scale", "Mask", "Softmax", "Mix"];

function arrowHead(from, to, size = 9) {
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  const corner = (turn) => [
    to[0] - size * Math.cos(angle + turn),
    to[1] - size * Math.sin(angle + turn),
  ];
  return [to, corner(0.42), corner(-0.42)]
    .map((p) => p.map((x) => x.toFixed(1)).join(","))
    .join(" ");
}

function plane(title, description) {
  const svg = h("svg", {
    viewBox: `0 0 ${SIZE} ${SIZE}`,
    class: "tfq-plane",
    role: "img",
    "aria-label": description,
  });
  for (let i = -LIMIT; i <= LIMIT; i++) {
    const axis = i === 0 ? "tfq-axis" : "tfq-grid";
    const [[x0, y0], [x1, y1]] = [place([i, -LIMIT]), place([i, LIMIT])];
    svg.append(h("line", { x1: x0, y1: y0, x2: x1, y2: y1, class: axis }));
    const [[u0, v0], [u1, v1]] = [place([-LIMIT, i]), place([LIMIT, i])];
    svg.append(h("line", { x1: u0, y1: v0, x2: u1, y2: v1, class: axis }));
  }
  const figure = h("figure", { class: "tfq-figure" }, svg, h("figcaption", {}, title));
  return { svg, figure };
}

function label(svg, kind) {
  const node = h("text", { class: `tfq-label tfk-${kind}` });
  svg.append(node);
  return node;
}
function moveLabel(node, text, vector, distance = 13) {
  const [x, y] = place(vector);
  const length = Math.hypot(...vector) || 1;
  const [ux, uy] =
    Math.hypot(...vector) < 1e-9 ? [0, 1] : [vector[0] / length, vector[1] / length];
  put(node, {
    x: Math.min(SIZE - 4, Math.max(4, x + ux * distance)).toFixed(1),
    y: Math.min(SIZE - 6, Math.max(12, y - uy * distance + 4)).toFixed(1),
    "text-anchor": ux > 0.35 ? "start" : ux < -0.35 ? "end" : "middle",
  });
  say(node, text);
}

function render({ model, el }) {
  const get = (name) => model.get(name);
  const root = figure(el, "tfq", "Attention of one query, computed step by step");
  const live = liveRegion();

  let parts; // the nodes that `update` writes to; rebuilt when the words change
  let chosen = 0; // the key that the worked line and the key sliders show

  const state = () => {
    const selected = Math.min(get("selected"), get("tokens").length - 1);
    return {
      tokens: get("tokens"),
      queries: get("query"),
      keys: get("key"),
      values: get("value"),
      selected,
      visible: get("visible"),
      scaled: get("scaled"),
      temperature: get("temperature"),
      query: get("query")[selected],
      step: get("step"),
    };
  };
  const replaced = (rows, index, row) =>
    rows.map((old, i) => (i === index ? row : old));
  const setQuery = (v) => {
    const s = state();
    commit({ query: replaced(s.queries, s.selected, v.map(snap)) });
  };
  const setKey = (v) => commit({ key: replaced(get("key"), chosen, v.map(snap)) });

  const pull = (node, onMove) =>
    draggable(node, (x, y) => {
      const unit = (LIMIT + 0.5) * 2;
      onMove([(x - 0.5) * unit, (0.5 - y) * unit]);
    });
  const axis = (kind, name, onInput) =>
    slider(
      `${kind}-${name}`,
      name === "x" ? "across" : "up",
      { min: -LIMIT, max: LIMIT, step: STEP, kind: `tfk-${kind}` },
      onInput,
    );

  function build() {
    const s = state();
    const examples = get("examples");
    chosen = Math.min(chosen, s.tokens.length - 1);
    root.replaceChildren();

    const top = h("div", { class: "tfq-top" });
    let sentence;
    if (examples.length > 1) {
      sentence = radios(
        "example",
        "Sentence",
        examples.map((e) => e.name),
        get("example"),
        load,
      );
      top.append(sentence.set);
    }
    const words = radios("query", "Who asks?", s.tokens, s.selected, (i) =>
      commit({ selected: i }),
    );
    top.append(words.set);

    const left = plane(
      "Query and keys: drag an arrow’s tip",
      "A plane with the query and all keys as arrows. The numbers are in the table below.",
    );
    const foot = h("line", { class: "tfq-foot" });
    const ray = h("line", { class: "tfq-ray" });
    left.svg.append(ray, foot);
    const keyArrows = s.tokens.map((token, j) => {
      const line = h("line", { class: "tfq-arrow tfk-key" });
      const head = h("polygon", { class: "tfq-head tfk-key" });
      left.svg.append(line, head);
      return { line, head, text: label(left.svg, "key"), token, j };
    });
    const queryArrow = {
      line: h("line", { class: "tfq-arrow tfk-query" }),
      head: h("polygon", { class: "tfq-head tfk-query" }),
    };
    left.svg.append(queryArrow.line, queryArrow.head);
    queryArrow.text = label(left.svg, "query");
    const origin = place([0, 0]);
    keyArrows.forEach((arrow) => {
      arrow.grip = h("circle", {
        r: 16,
        class: "tfq-grip",
        "data-handle": `key-${arrow.j}`,
      });
      left.svg.append(arrow.grip);
      pull(arrow.grip, (v) => {
        chosen = arrow.j;
        setKey(v);
      });
      arrow.grip.addEventListener("pointerdown", () => {
        chosen = arrow.j;
        update();
      });
    });
    queryArrow.grip = h("circle", { r: 16, class: "tfq-grip", "data-handle": "query" });
    left.svg.append(queryArrow.grip);
    pull(queryArrow.grip, setQuery);

    const right = plane(
      "Values and their mix, the output",
      "A plane with all values as dots and the output among them. The numbers are in the table below.",
    );
    const area = h("polygon", { class: "tfq-hull" });
    right.svg.append(area);
    const valueDots = s.tokens.map(() => {
      const line = h("line", { class: "tfq-pull" });
      right.svg.append(line);
      return { line };
    });
    valueDots.forEach((d) => {
      d.dot = h("circle", { r: 5, class: "tfq-dot tfk-value" });
      right.svg.append(d.dot);
      d.text = label(right.svg, "value");
    });
    const outputDot = h("circle", {
      r: 7,
      class: "tfq-dot tfk-output",
      "data-output": "dot",
    });
    right.svg.append(outputDot);
    const outputText = label(right.svg, "output");
    say(outputText, "output");

    const queryX = axis("query", "x", (x) => setQuery([x, state().query[1]]));
    const queryY = axis("query", "y", (y) => setQuery([state().query[0], y]));
    const keyX = axis("key", "x", (x) => setKey([x, get("key")[chosen][1]]));
    const keyY = axis("key", "y", (y) => setKey([get("key")[chosen][0], y]));
    const queryLegend = h("legend", { class: "tfk-query" });
    const pick = select("key", s.tokens, (j) => {
      chosen = j;
      update();
    });
    const keyLegend = h(
      "legend",
      { class: "tfk-key" },
      h("label", { for: pick.id }, "Key of "),
      pick,
    );

    const temperature = slider(
      "temperature",
      "temperature",
      { min: 0.1, max: 4, step: 0.1, digits: 1 },
      (x) => commit({ temperature: x }),
    );
    const scaled = check(
      "scaled",
      `divide by √d = ${format(Math.sqrt(s.query.length))}`,
      s.scaled,
      (on) => commit({ scaled: on }),
    );
    const reset = button("reset", "Start again", () => load(get("example")));

    const controls = h(
      "div",
      { class: "tfq-controls" },
      h("fieldset", {}, queryLegend, queryX.box, queryY.box),
      h("fieldset", {}, keyLegend, keyX.box, keyY.box),
      h("fieldset", {}, h("legend", {}, "Sharpness"), temperature.box, scaled.box),
    );

    const step = radios(
      "step",
      "Show up to",
      STEPS.map((name, i) => `${i + 1} ${name}`),
      s.step - 1,
      (i) => commit({ step: i + 1 }),
    );

    const head = h(
      "tr",
      {},
      h("th", { scope: "col" }, "may see"),
      h("th", { scope: "col", "data-from": 1 }, "q · k"),
      h("th", { scope: "col", "data-from": 2 }, "scaled"),
      h("th", { scope: "col", "data-from": 4 }, "weight"),
      h("th", { scope: "col", "data-from": 5 }, "weight × value"),
    );
    const rows = s.tokens.map((token, j) => {
      const see = h("input", { type: "checkbox", "data-control": `see-${j}` });
      see.addEventListener("change", () => {
        const visible = state().tokens.map((_, i) => get("visible")[i] !== false);
        visible[j] = see.checked;
        if (!visible.some(Boolean)) {
          see.checked = true;
          live.announce("A query must see at least one key, so this one stays.", true);
          return;
        }
        commit({ visible });
      });
      const bar = h("span", { class: "tfq-bar", "aria-hidden": "true" });
      const cells = {
        score: h("td", { "data-from": 1 }),
        logit: h("td", { "data-from": 2 }),
        weight: h("span", { class: "tfq-number", "data-weight": j }),
        share: h("td", { "data-from": 5 }),
      };
      const row = h(
        "tr",
        {},
        h("th", { scope: "row" }, h("label", {}, see, h("span", {}, token))),
        cells.score,
        cells.logit,
        h(
          "td",
          { "data-from": 4, class: "tfq-weight" },
          cells.weight,
          h("span", { class: "tfq-track" }, bar),
        ),
        cells.share,
      );
      const choose = () => {
        if (chosen !== j) {
          chosen = j;
          update(false);
        }
      };
      row.addEventListener("click", choose);
      see.addEventListener("focus", choose);
      return { row, see, bar, ...cells };
    });
    const totals = {
      weight: h("span", { class: "tfq-number" }, "1.000"),
      output: h("td", { "data-from": 5, class: "tfk-output", "data-output": "text" }),
    };
    const sum = h(
      "tr",
      { class: "tfq-sum" },
      h("th", { scope: "row" }, "sum"),
      h("td"),
      h("td"),
      h("td", { "data-from": 4, class: "tfq-weight" }, totals.weight),
      totals.output,
    );
    const caption = h("caption");
    const table = h(
      "table",
      {},
      caption,
      h("thead", {}, head),
      h("tbody", {}, ...rows.map((r) => r.row), sum),
    );

    const worked = h("p", { class: "tfq-worked" });

    root.append(
      top,
      h("div", { class: "tfq-planes" }, left.figure, right.figure),
      controls,
      h("div", { class: "tfq-steps" }, step.set, reset),
      worked,
      h("div", { class: "tfk-scroll" }, table),
      live.node,
    );
    parts = {
      sentence,
      words,
      step,
      foot,
      ray,
      origin,
      keyArrows,
      queryArrow,
      area,
      valueDots,
      outputDot,
      outputText,
      queryX,
      queryY,
      keyX,
      keyY,
      queryLegend,
      pick,
      temperature,
      scaled,
      rows,
      totals,
      caption,
      worked,
      table,
    };
    root.dataset.words = s.tokens.join(" ");
    update(false);
  }

  function load(index) {
    const examples = get("examples");
    const source = examples[index];
    chosen = 0;
    commit({
      example: index,
      tokens: source.tokens,
      query: source.query,
      key: source.key,
      value: source.value,
      selected: source.selected,
      visible: source.tokens.map(() => true),
      scaled: true,
      temperature: 1,
      step: STEPS.length,
    });
  }

  // The sentence under the steps: the chosen key's own numbers, worked out.
  function work(s, result) {
    const { tokens, query, keys, values, temperature } = s;
    const j = chosen;
    const name = tokens[j];
    const score = format(result.scores[j]);
    const hidden = result.logits[j] === -Infinity;
    const scaledScore = format(result.scores[j] / result.divisor);
    const total = result.logits.reduce((sum, x) => sum + Math.exp(x), 0);
    const divisor =
      [s.scaled && "√2", temperature !== 1 && format(temperature, 1)]
        .filter(Boolean)
        .join(" × ") || "1";
    return [
      `Compare with “${name}”: ${query.map((x, c) => `${factor(x)} × ${factor(keys[j][c])}`).join(" + ")} = ${score}. ` +
        "The longer the key reaches along the query, the higher the score.",
      `Scale “${name}”: ${score} ÷ (${divisor.replace("√2", `√${query.length}`)}) = ${scaledScore}.` +
        (s.scaled ? "" : " The division by √d is switched off."),
      hidden
        ? `Mask: “${name}” is hidden. Its score becomes −∞, so its weight will be exactly 0.`
        : `Mask: “${name}” may be seen, so its score stays ${scaledScore}. Untick a word to hide it.`,
      hidden
        ? `Softmax: e to the power −∞ is 0, so “${name}” gets nothing and the others share everything.`
        : `Softmax for “${name}”: e to the power ${scaledScore} is ${Math.exp(result.logits[j]).toPrecision(3)}; ` +
          `divided by the sum over all words, ${total.toPrecision(3)}, it is ${format(result.weights[j], 3)}.`,
      `Mix: “${name}” gives ${format(result.weights[j], 3)} × ${pair(values[j])}. ` +
        `All of them add up to the output ${pair(result.output)}, inside the shaded area.`,
    ][s.step - 1];
  }

  function update(speak = true) {
    const s = state();
    const size = s.tokens.length; // a kernel may send its arrays one by one: wait for all
    if ([s.queries, s.keys, s.values].some((rows) => rows.length !== size)) return;
    if (root.dataset.words !== s.tokens.join(" ")) return build();
    const p = parts;
    const result = attend(s);
    const asker = s.tokens[s.selected];

    p.words.pick(s.selected);
    p.step.pick(s.step - 1);
    p.sentence?.pick(get("example"));

    const arrow = (parts_, vector) => {
      const tip = place(vector);
      put(parts_.line, {
        x1: p.origin[0],
        y1: p.origin[1],
        x2: tip[0].toFixed(1),
        y2: tip[1].toFixed(1),
      });
      put(parts_.head, { points: arrowHead(p.origin, tip) });
      put(parts_.grip, { cx: tip[0].toFixed(1), cy: tip[1].toFixed(1) });
    };
    p.keyArrows.forEach((a, j) => {
      arrow(a, s.keys[j]);
      moveLabel(a.text, s.tokens[j], s.keys[j]);
      const hidden = s.visible[j] === false;
      for (const node of [a.line, a.head, a.text]) {
        node.classList.toggle("tfq-hidden", hidden);
        node.classList.toggle("tfq-chosen", j === chosen);
      }
      a.line.style.strokeWidth = (1.6 + 4 * result.weights[j]).toFixed(2);
    });
    arrow(p.queryArrow, s.query);
    const [queryX, queryY] = place(s.query);
    say(p.queryArrow.text, "query");
    put(p.queryArrow.text, {
      x: Math.min(SIZE - 22, Math.max(22, queryX)).toFixed(1),
      y: Math.min(SIZE - 6, Math.max(12, queryY + (s.query[1] < 0 ? 22 : -12))).toFixed(
        1,
      ),
      "text-anchor": "middle",
    });

    // The chosen key's shadow on the query's line: the dot product as a length.
    const square = dot(s.query, s.query);
    const along = square > 0 ? result.scores[chosen] / square : 0;
    const shadow = place(s.query.map((x) => x * along));
    const tip = place(s.keys[chosen]);
    put(p.foot, { x1: tip[0], y1: tip[1], x2: shadow[0], y2: shadow[1] });
    put(p.ray, { x1: p.origin[0], y1: p.origin[1], x2: shadow[0], y2: shadow[1] });

    put(p.area, {
      points: hull(s.values.filter((_, j) => s.visible[j] !== false))
        .map((v) => place(v).join(","))
        .join(" "),
    });
    const out = place(result.output);
    p.valueDots.forEach((d, j) => {
      const [x, y] = place(s.values[j]);
      put(d.dot, { cx: x, cy: y });
      put(d.line, { x1: x, y1: y, x2: out[0], y2: out[1] });
      d.line.style.strokeWidth = (8 * result.weights[j]).toFixed(2);
      moveLabel(d.text, s.tokens[j], s.values[j]);
      const hidden = s.visible[j] === false;
      d.dot.classList.toggle("tfq-hidden", hidden);
      d.text.classList.toggle("tfq-hidden", hidden);
    });
    put(p.outputDot, { cx: out[0].toFixed(2), cy: out[1].toFixed(2) });
    put(p.outputText, {
      x: out[0].toFixed(1),
      y: (out[1] + (result.output[1] > 0 ? 21 : -12)).toFixed(1),
      "text-anchor": "middle",
    });

    say(p.queryLegend, `Query of “${asker}”`);
    const sliders = [
      [p.queryX, s.query[0], `query of ${asker}`],
      [p.queryY, s.query[1], `query of ${asker}`],
      [p.keyX, s.keys[chosen][0], `key of ${s.tokens[chosen]}`],
      [p.keyY, s.keys[chosen][1], `key of ${s.tokens[chosen]}`],
    ];
    for (const [control, value, owner] of sliders) {
      control.show(value);
      control.input.setAttribute("aria-label", `${owner}, ${control.text.textContent}`);
    }
    p.pick.value = String(chosen);
    p.temperature.show(s.temperature);
    p.scaled.input.checked = s.scaled;

    s.tokens.forEach((_, j) => {
      const row = p.rows[j];
      const hidden = s.visible[j] === false;
      row.see.checked = !hidden;
      row.row.classList.toggle("tfq-off", hidden);
      row.row.classList.toggle("tfq-chosen", j === chosen);
      say(row.score, format(result.scores[j]));
      say(
        row.logit,
        format(s.step >= 3 ? result.logits[j] : result.scores[j] / result.divisor),
      );
      say(row.weight, format(result.weights[j], 3));
      row.weight.dataset.exact = result.weights[j];
      row.bar.style.width = `${(100 * result.weights[j]).toFixed(2)}%`;
      say(row.share, pair(s.values[j].map((v) => v * result.weights[j])));
    });
    say(p.totals.output, pair(result.output));
    p.totals.output.dataset.exact = JSON.stringify(result.output);
    say(
      p.caption,
      `What “${asker}” takes from each word. Untick one to hide it, choose a row to follow it.`,
    );
    p.table.dataset.step = s.step;
    say(p.worked, work(s, result));

    if (speak) {
      const ranked = s.tokens
        .map((token, j) => [result.weights[j], token])
        .sort((a, b) => b[0] - a[0]);
      const best = ranked
        .slice(0, 2)
        .map(([w, token]) => `${token} ${percent(w, 0)}`)
        .join(", ");
      live.announce(`${asker} attends to ${best}. Output ${pair(result.output)}.`);
    }
  }

  const names = [
    "tokens",
    "query",
    "key",
    "value",
    "selected",
    "visible",
    "scaled",
    "temperature",
    "step",
    "example",
  ];
  const { commit, stop } = bind(model, names, update);
  build();
  return () => {
    live.stop();
    stop();
  };
}

export default { render };
