// One query's attention, re-computed in the page: compare, scale, mask, softmax, mix.
// One ES module, no imports. `attend` is the whole of the maths and runs in Node, too;
// the tests hold it to `tformer.attention`. The default export is an anywidget front end.

const dot = (a, b) => a.reduce((total, x, i) => total + x * b[i], 0);

// softmax(q K^T / (sqrt(d) * temperature)) V for a single query.
// visible[j] === false hides key j: its score becomes -Infinity, its weight exactly 0.
export function attend({ query, keys, values, visible, scaled = true, temperature = 1 }) {
  const divisor = (scaled ? Math.sqrt(query.length) : 1) * temperature;
  const scores = keys.map((key) => dot(query, key));
  const logits = scores.map((s, j) => (visible?.[j] === false ? -Infinity : s / divisor));
  const top = Math.max(...logits);
  const exps = logits.map((s) => Math.exp(s - top));
  const total = exps.reduce((a, b) => a + b, 0);
  const weights = exps.map((e) => e / total);
  const output = values[0].map((_, c) => dot(weights, values.map((v) => v[c])));
  return { scores, divisor, logits, weights, output };
}

// The corners of the smallest convex polygon around the points (monotone chain).
export function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
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

export function format(x, digits = 2) {
  if (x === -Infinity) return "−∞";
  const text = Math.abs(x).toFixed(digits);
  return (x < 0 && Number(text) !== 0 ? "−" : "") + text;
}
const pair = (v) => `(${v.map((x) => format(x)).join(", ")})`;
const factor = (x) => (x < 0 ? `(${format(x)})` : format(x));

const STEPS = ["Compare", "Scale", "Mask", "Softmax", "Mix"];

function h(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "line", "path", "circle", "text", "polygon", "title"].includes(tag);
  const node = svg
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}
const put = (node, attributes) => {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
};
const say = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};

function arrowHead(from, to, size = 9) {
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  const corner = (turn) => [
    to[0] - size * Math.cos(angle + turn),
    to[1] - size * Math.sin(angle + turn),
  ];
  return [to, corner(0.42), corner(-0.42)].map((p) => p.map((x) => x.toFixed(1)).join(",")).join(" ");
}

function plane(title, description) {
  const svg = h("svg", {
    viewBox: `0 0 ${SIZE} ${SIZE}`, class: "tfq-plane", role: "img", "aria-label": description,
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
  const node = h("text", { class: `tfq-label tfq-${kind}` });
  svg.append(node);
  return node;
}
function moveLabel(node, text, vector, distance = 13) {
  const [x, y] = place(vector);
  const length = Math.hypot(...vector) || 1;
  const [ux, uy] = Math.hypot(...vector) < 1e-9 ? [0, 1] : [vector[0] / length, vector[1] / length];
  put(node, {
    x: Math.min(SIZE - 4, Math.max(4, x + ux * distance)).toFixed(1),
    y: Math.min(SIZE - 6, Math.max(12, y - uy * distance + 4)).toFixed(1),
    "text-anchor": ux > 0.35 ? "start" : ux < -0.35 ? "end" : "middle",
  });
  say(node, text);
}

function render({ model, el }) {
  const id = `tfq-${Math.random().toString(36).slice(2, 9)}`;
  const get = (name) => model.get(name);
  const root = h("div", { class: "tfq", "data-lm-suppress-shortcuts": "true" });
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", "Attention of one query, computed step by step");
  el.append(root);

  let parts; // the nodes that `update` writes to; rebuilt when the words change
  let chosen = 0; // the key that the worked line and the key sliders show
  let timer = 0;
  let writing = false; // while several traits change together, only the last one redraws

  const state = () => {
    const selected = Math.min(get("selected"), get("tokens").length - 1);
    return {
      tokens: get("tokens"), queries: get("query"), keys: get("key"), values: get("value"),
      selected, visible: get("visible"), scaled: get("scaled"), temperature: get("temperature"),
      query: get("query")[selected], step: get("step"),
    };
  };
  const commit = (changes) => {
    writing = true;
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    writing = false;
    model.save_changes();
    update();
  };
  const replaced = (rows, index, row) => rows.map((old, i) => (i === index ? row : old));
  const setQuery = (v) => {
    const s = state();
    commit({ query: replaced(s.queries, s.selected, v.map(snap)) });
  };
  const setKey = (v) => commit({ key: replaced(get("key"), chosen, v.map(snap)) });

  function slider(kind, name, onInput) {
    const input = h("input", {
      type: "range", min: -LIMIT, max: LIMIT, step: STEP, id: `${id}-${kind}-${name}`,
      class: `tfq-${kind}`, "data-control": `${kind}-${name}`,
    });
    const output = h("output", { for: input.id });
    input.addEventListener("input", () => onInput(Number(input.value)));
    const text = h("span", { class: "tfq-slider-name" }, name === "x" ? "across" : "up");
    const box = h("label", { for: input.id, class: "tfq-slider" }, text, input, output);
    return { input, output, box, text };
  }

  function draggable(node, onMove) {
    const svg = node.ownerSVGElement;
    node.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      node.setPointerCapture(event.pointerId);
      const move = (e) => {
        const box = svg.getBoundingClientRect();
        const unit = ((LIMIT + 0.5) * 2) / box.width;
        onMove([
          (e.clientX - box.left - box.width / 2) * unit,
          -(e.clientY - box.top - box.height / 2) * unit,
        ]);
      };
      const stop = () => {
        node.removeEventListener("pointermove", move);
        node.removeEventListener("pointerup", stop);
        node.removeEventListener("pointercancel", stop);
      };
      node.addEventListener("pointermove", move);
      node.addEventListener("pointerup", stop);
      node.addEventListener("pointercancel", stop);
    });
  }

  function radios(name, legend, items, current, onPick) {
    const set = h("fieldset", { class: "tfq-choice" }, h("legend", {}, legend));
    const inputs = items.map((text, i) => {
      const input = h("input", { type: "radio", name: `${id}-${name}`, value: i, "data-control": `${name}-${i}` });
      input.checked = i === current;
      input.addEventListener("change", () => input.checked && onPick(i));
      set.append(h("label", { class: "tfq-chip" }, input, h("span", {}, text)));
      return input;
    });
    return { set, inputs };
  }

  function build() {
    const s = state();
    const examples = get("examples");
    chosen = Math.min(chosen, s.tokens.length - 1);
    root.replaceChildren();

    const top = h("div", { class: "tfq-top" });
    let sentence;
    if (examples.length > 1) {
      sentence = radios("example", "Sentence", examples.map((e) => e.name), get("example"), load);
      top.append(sentence.set);
    }
    const words = radios("query", "Who asks?", s.tokens, s.selected, (i) => commit({ selected: i }));
    top.append(words.set);

    const left = plane(
      "Query and keys: drag an arrow’s tip",
      "A plane with the query and all keys as arrows. The numbers are in the table below.",
    );
    const foot = h("line", { class: "tfq-foot" });
    const ray = h("line", { class: "tfq-ray" });
    left.svg.append(ray, foot);
    const keyArrows = s.tokens.map((token, j) => {
      const line = h("line", { class: "tfq-arrow tfq-key" });
      const head = h("polygon", { class: "tfq-head tfq-key" });
      left.svg.append(line, head);
      return { line, head, text: label(left.svg, "key"), token, j };
    });
    const queryArrow = {
      line: h("line", { class: "tfq-arrow tfq-query" }), head: h("polygon", { class: "tfq-head tfq-query" }),
    };
    left.svg.append(queryArrow.line, queryArrow.head);
    queryArrow.text = label(left.svg, "query");
    const origin = place([0, 0]);
    keyArrows.forEach((arrow) => {
      arrow.grip = h("circle", { r: 16, class: "tfq-grip", "data-handle": `key-${arrow.j}` });
      left.svg.append(arrow.grip);
      draggable(arrow.grip, (v) => { chosen = arrow.j; setKey(v); });
      arrow.grip.addEventListener("pointerdown", () => { chosen = arrow.j; update(); });
    });
    queryArrow.grip = h("circle", { r: 16, class: "tfq-grip", "data-handle": "query" });
    left.svg.append(queryArrow.grip);
    draggable(queryArrow.grip, setQuery);

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
      d.dot = h("circle", { r: 5, class: "tfq-dot tfq-value" });
      right.svg.append(d.dot);
      d.text = label(right.svg, "value");
    });
    const outputDot = h("circle", { r: 7, class: "tfq-dot tfq-output", "data-output": "dot" });
    right.svg.append(outputDot);
    const outputText = label(right.svg, "output");
    say(outputText, "output");

    const queryX = slider("query", "x", (x) => setQuery([x, state().query[1]]));
    const queryY = slider("query", "y", (y) => setQuery([state().query[0], y]));
    const keyX = slider("key", "x", (x) => setKey([x, get("key")[chosen][1]]));
    const keyY = slider("key", "y", (y) => setKey([get("key")[chosen][0], y]));
    const queryLegend = h("legend", { class: "tfq-query" });
    const pick = h("select", { id: `${id}-pick`, "data-control": "key" });
    s.tokens.forEach((token, j) => pick.append(h("option", { value: j }, token)));
    pick.addEventListener("change", () => { chosen = Number(pick.value); update(); });
    const keyLegend = h("legend", { class: "tfq-key" }, h("label", { for: pick.id }, "Key of "), pick);

    const temperature = h("input", {
      type: "range", min: 0.1, max: 4, step: 0.1, id: `${id}-t`, "data-control": "temperature",
    });
    const temperatureOut = h("output", { for: temperature.id });
    temperature.addEventListener("input", () => commit({ temperature: Number(temperature.value) }));
    const scaled = h("input", { type: "checkbox", id: `${id}-scale`, "data-control": "scaled" });
    scaled.addEventListener("change", () => commit({ scaled: scaled.checked }));
    const reset = h("button", { type: "button", "data-control": "reset" }, "Start again");
    reset.addEventListener("click", () => load(get("example")));

    const controls = h("div", { class: "tfq-controls" },
      h("fieldset", {}, queryLegend, queryX.box, queryY.box),
      h("fieldset", {}, keyLegend, keyX.box, keyY.box),
      h("fieldset", {}, h("legend", {}, "Sharpness"),
        h("label", { for: temperature.id, class: "tfq-slider" },
          h("span", { class: "tfq-slider-name" }, "temperature"), temperature, temperatureOut),
        h("label", { class: "tfq-check" }, scaled,
          h("span", {}, `divide by √d = ${format(Math.sqrt(s.query.length))}`))));

    const step = radios("step", "Show up to", STEPS.map((name, i) => `${i + 1} ${name}`), s.step - 1,
      (i) => commit({ step: i + 1 }));

    const head = h("tr", {},
      h("th", { scope: "col" }, "may see"),
      h("th", { scope: "col", "data-from": 1 }, "q · k"),
      h("th", { scope: "col", "data-from": 2 }, "scaled"),
      h("th", { scope: "col", "data-from": 4 }, "weight"),
      h("th", { scope: "col", "data-from": 5 }, "weight × value"));
    const rows = s.tokens.map((token, j) => {
      const see = h("input", { type: "checkbox", "data-control": `see-${j}` });
      see.addEventListener("change", () => {
        const visible = state().tokens.map((_, i) => get("visible")[i] !== false);
        visible[j] = see.checked;
        if (!visible.some(Boolean)) {
          see.checked = true;
          announce("A query must see at least one key, so this one stays.", true);
          return;
        }
        commit({ visible });
      });
      const bar = h("span", { class: "tfq-bar", "aria-hidden": "true" });
      const cells = {
        score: h("td", { "data-from": 1 }), logit: h("td", { "data-from": 2 }),
        weight: h("span", { class: "tfq-number", "data-weight": j }), share: h("td", { "data-from": 5 }),
      };
      const row = h("tr", {},
        h("th", { scope: "row" }, h("label", {}, see, h("span", {}, token))),
        cells.score, cells.logit,
        h("td", { "data-from": 4, class: "tfq-weight" }, cells.weight, h("span", { class: "tfq-track" }, bar)),
        cells.share);
      const choose = () => { if (chosen !== j) { chosen = j; update(false); } };
      row.addEventListener("click", choose);
      see.addEventListener("focus", choose);
      return { row, see, bar, ...cells };
    });
    const totals = {
      weight: h("span", { class: "tfq-number" }, "1.000"),
      output: h("td", { "data-from": 5, class: "tfq-output", "data-output": "text" }),
    };
    const sum = h("tr", { class: "tfq-sum" }, h("th", { scope: "row" }, "sum"), h("td"), h("td"),
      h("td", { "data-from": 4, class: "tfq-weight" }, totals.weight), totals.output);
    const caption = h("caption");
    const table = h("table", {}, caption, h("thead", {}, head), h("tbody", {}, ...rows.map((r) => r.row), sum));

    const worked = h("p", { class: "tfq-worked" });
    const live = h("p", { class: "tfq-live", "aria-live": "polite" });

    root.append(top, h("div", { class: "tfq-planes" }, left.figure, right.figure), controls,
      h("div", { class: "tfq-steps" }, step.set, reset), worked, h("div", { class: "tfq-scroll" }, table), live);
    parts = {
      sentence, words, step, foot, ray, origin, keyArrows, queryArrow, area, valueDots, outputDot, outputText,
      queryX, queryY, keyX, keyY, queryLegend, pick, temperature, temperatureOut, scaled, rows, totals,
      caption, worked, live, table,
    };
    root.dataset.words = s.tokens.join(" ");
    update(false);
  }

  function load(index) {
    const examples = get("examples");
    const source = examples[index];
    chosen = 0;
    commit({
      example: index, tokens: source.tokens, query: source.query, key: source.key,
      value: source.value, selected: source.selected,
      visible: source.tokens.map(() => true), scaled: true, temperature: 1, step: STEPS.length,
    });
  }

  function announce(text, now = false) {
    clearTimeout(timer);
    timer = setTimeout(() => say(parts.live, text), now ? 0 : 700);
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
    const divisor = [s.scaled && "√2", temperature !== 1 && format(temperature, 1)].filter(Boolean).join(" × ") || "1";
    return [
      `Compare with “${name}”: ${query.map((x, c) => `${factor(x)} × ${factor(keys[j][c])}`).join(" + ")} = ${score}. ` +
        "The longer the key reaches along the query, the higher the score.",
      `Scale “${name}”: ${score} ÷ (${divisor.replace("√2", `√${query.length}`)}) = ${scaledScore}.` +
        (s.scaled ? "" : " The division by √d is switched off."),
      hidden ? `Mask: “${name}” is hidden. Its score becomes −∞, so its weight will be exactly 0.`
        : `Mask: “${name}” may be seen, so its score stays ${scaledScore}. Untick a word to hide it.`,
      hidden ? `Softmax: e to the power −∞ is 0, so “${name}” gets nothing and the others share everything.`
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

    p.words.inputs.forEach((input, i) => { input.checked = i === s.selected; });
    p.step.inputs.forEach((input, i) => { input.checked = i === s.step - 1; });
    p.sentence?.inputs.forEach((input, i) => { input.checked = i === get("example"); });

    const arrow = (parts_, vector) => {
      const tip = place(vector);
      put(parts_.line, { x1: p.origin[0], y1: p.origin[1], x2: tip[0].toFixed(1), y2: tip[1].toFixed(1) });
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
      y: Math.min(SIZE - 6, Math.max(12, queryY + (s.query[1] < 0 ? 22 : -12))).toFixed(1), "text-anchor": "middle",
    });

    // The chosen key's shadow on the query's line: the dot product as a length.
    const square = dot(s.query, s.query);
    const along = square > 0 ? result.scores[chosen] / square : 0;
    const shadow = place(s.query.map((x) => x * along));
    const tip = place(s.keys[chosen]);
    put(p.foot, { x1: tip[0], y1: tip[1], x2: shadow[0], y2: shadow[1] });
    put(p.ray, { x1: p.origin[0], y1: p.origin[1], x2: shadow[0], y2: shadow[1] });

    put(p.area, { points: hull(s.values.filter((_, j) => s.visible[j] !== false)).map((v) => place(v).join(",")).join(" ") });
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
    put(p.outputText, { x: out[0].toFixed(1), y: (out[1] + (result.output[1] > 0 ? 21 : -12)).toFixed(1), "text-anchor": "middle" });

    say(p.queryLegend, `Query of “${asker}”`);
    const sliders = [
      [p.queryX, s.query[0], `query of ${asker}`], [p.queryY, s.query[1], `query of ${asker}`],
      [p.keyX, s.keys[chosen][0], `key of ${s.tokens[chosen]}`], [p.keyY, s.keys[chosen][1], `key of ${s.tokens[chosen]}`],
    ];
    for (const [control, value, owner] of sliders) {
      if (Number(control.input.value) !== value) control.input.value = value;
      control.input.setAttribute("aria-label", `${owner}, ${control.text.textContent}`);
      say(control.output, format(value));
    }
    p.pick.value = String(chosen);
    if (Number(p.temperature.value) !== s.temperature) p.temperature.value = s.temperature;
    say(p.temperatureOut, format(s.temperature, 1));
    p.scaled.checked = s.scaled;

    s.tokens.forEach((token, j) => {
      const row = p.rows[j];
      const hidden = s.visible[j] === false;
      row.see.checked = !hidden;
      row.row.classList.toggle("tfq-off", hidden);
      row.row.classList.toggle("tfq-chosen", j === chosen);
      say(row.score, format(result.scores[j]));
      say(row.logit, format(s.step >= 3 ? result.logits[j] : result.scores[j] / result.divisor));
      say(row.weight, format(result.weights[j], 3));
      row.weight.dataset.exact = result.weights[j];
      row.bar.style.width = `${(100 * result.weights[j]).toFixed(2)}%`;
      say(row.share, pair(s.values[j].map((v) => v * result.weights[j])));
    });
    say(p.totals.output, pair(result.output));
    p.totals.output.dataset.exact = JSON.stringify(result.output);
    say(p.caption, `What “${asker}” takes from each word. Untick one to hide it, choose a row to follow it.`);
    p.table.dataset.step = s.step;
    say(p.worked, work(s, result));

    if (speak) {
      const ranked = s.tokens.map((token, j) => [result.weights[j], token]).sort((a, b) => b[0] - a[0]);
      const best = ranked.slice(0, 2).map(([w, token]) => `${token} ${(100 * w).toFixed(0)} %`).join(", ");
      announce(`${asker} attends to ${best}. Output ${pair(result.output)}.`);
    }
  }

  const names = ["tokens", "query", "key", "value", "selected", "visible", "scaled", "temperature", "step", "example"];
  const heard = () => writing || update();
  for (const name of names) model.on(`change:${name}`, heard);
  build();
  return () => {
    clearTimeout(timer);
    for (const name of names) model.off(`change:${name}`, heard);
  };
}

export default { render };
