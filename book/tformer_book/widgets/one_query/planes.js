// The two planes of the figure: the query among the keys, the output among the values.
import { draggable, h, put, say } from "../kit/kit.js";
import { dot, hull } from "./maths.js";

export const LIMIT = 3; // coordinates lie between -LIMIT and LIMIT
export const STEP = 0.05;
const SIZE = 300; // a plane's viewBox, in its own units
const place = ([x, y]) => [
  SIZE / 2 + (x / (LIMIT + 0.5)) * (SIZE / 2),
  SIZE / 2 - (y / (LIMIT + 0.5)) * (SIZE / 2),
];
const ORIGIN = place([0, 0]);

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

// Let a circle be dragged over the plane; onMove hears where to, in its coordinates.
function gripOf(svg, name, onMove) {
  const kind = name === "query" ? "tfk-query" : "tfk-key";
  const ring = h("circle", { r: 9, class: `tfq-ring ${kind}` });
  const grip = h("circle", { r: 16, class: "tfq-grip", "data-handle": name });
  svg.append(ring, grip);
  draggable(
    grip,
    (x, y) => {
      const unit = (LIMIT + 0.5) * 2;
      onMove([(x - 0.5) * unit, (0.5 - y) * unit]);
    },
    { holdsPage: true },
  );
  return { grip, ring };
}

function arrowOf(svg, kind) {
  const line = h("line", { class: `tfq-arrow tfk-${kind}` });
  const head = h("polygon", { class: `tfq-head tfk-${kind}` });
  svg.append(line, head);
  return { line, head, text: label(svg, kind), grip: null, ring: null };
}
function moveArrow({ line, head, grip, ring }, vector) {
  const tip = place(vector);
  const [x, y] = tip.map((each) => each.toFixed(1));
  put(line, { x1: ORIGIN[0], y1: ORIGIN[1], x2: x, y2: y });
  put(head, { points: arrowHead(ORIGIN, tip) });
  for (const circle of [grip, ring]) put(circle, { cx: x, cy: y });
}

// The query and all keys as arrows. onQuery and onKey hear where one was dragged, onChoose
// which key is held.
// -> { node, show(state, result, chosen) }; result as `attend` gives it
export function keyPlane(tokens, { onQuery, onKey, onChoose }) {
  const { svg, figure } = plane(
    "Query and keys: drag a ringed tip",
    "A plane with the query and all keys as arrows. The numbers are in the table below.",
  );
  const foot = h("line", { class: "tfq-foot" });
  const ray = h("line", { class: "tfq-ray" });
  svg.append(ray, foot);
  const keys = tokens.map(() => arrowOf(svg, "key"));
  const query = arrowOf(svg, "query");
  keys.forEach((arrow, j) => {
    Object.assign(
      arrow,
      gripOf(svg, `key-${j}`, (v) => onKey(j, v)),
    );
    arrow.grip.addEventListener("pointerdown", () => onChoose(j));
  });
  Object.assign(query, gripOf(svg, "query", onQuery));

  function show(s, result, chosen) {
    keys.forEach((arrow, j) => {
      moveArrow(arrow, s.keys[j]);
      moveLabel(arrow.text, s.tokens[j], s.keys[j], 21);
      for (const node of [arrow.line, arrow.head, arrow.text]) {
        node.classList.toggle("tfq-hidden", s.visible[j] === false);
        node.classList.toggle("tfq-chosen", j === chosen);
      }
      arrow.line.style.strokeWidth = (1.6 + 4 * result.weights[j]).toFixed(2);
    });
    moveArrow(query, s.query);
    const [x, y] = place(s.query);
    say(query.text, "query");
    put(query.text, {
      x: Math.min(SIZE - 22, Math.max(22, x)).toFixed(1),
      y: Math.min(SIZE - 6, Math.max(12, y + (s.query[1] < 0 ? 22 : -12))).toFixed(1),
      "text-anchor": "middle",
    });
    // The chosen key's shadow on the query's line: the dot product as a length.
    const square = dot(s.query, s.query);
    const along = square > 0 ? result.scores[chosen] / square : 0;
    const [x2, y2] = place(s.query.map((each) => each * along));
    const [x1, y1] = place(s.keys[chosen]);
    put(foot, { x1, y1, x2, y2 });
    put(ray, { x1: ORIGIN[0], y1: ORIGIN[1], x2, y2 });
  }
  return { node: figure, show };
}

// All values as dots, and their mix, the output, inside their hull.
// -> { node, show(state, result) }
export function valuePlane(tokens) {
  const { svg, figure } = plane(
    "Values and their mix, the output",
    "A plane with all values as dots and the output among them. The numbers are in the table below.",
  );
  const area = h("polygon", { class: "tfq-hull" });
  svg.append(area);
  const lines = tokens.map(() => {
    const line = h("line", { class: "tfq-pull" });
    svg.append(line);
    return line;
  });
  const values = lines.map((line) => {
    const spot = h("circle", { r: 5, class: "tfq-dot tfk-value" });
    svg.append(spot);
    return { line, spot, text: label(svg, "value") };
  });
  const output = h("circle", {
    r: 7,
    class: "tfq-dot tfk-output",
    "data-output": "dot",
  });
  svg.append(output);
  const outputText = label(svg, "output");
  say(outputText, "output");

  function show(s, result) {
    put(area, {
      points: hull(s.values.filter((_, j) => s.visible[j] !== false))
        .map((v) => place(v).join(","))
        .join(" "),
    });
    const out = place(result.output);
    values.forEach(({ line, spot, text }, j) => {
      const [x, y] = place(s.values[j]);
      put(spot, { cx: x, cy: y });
      put(line, { x1: x, y1: y, x2: out[0], y2: out[1] });
      line.style.strokeWidth = (8 * result.weights[j]).toFixed(2);
      moveLabel(text, s.tokens[j], s.values[j]);
      const hidden = s.visible[j] === false;
      spot.classList.toggle("tfq-hidden", hidden);
      text.classList.toggle("tfq-hidden", hidden);
    });
    put(output, { cx: out[0].toFixed(2), cy: out[1].toFixed(2) });
    put(outputText, {
      x: out[0].toFixed(1),
      y: (out[1] + (result.output[1] > 0 ? 21 : -12)).toFixed(1),
      "text-anchor": "middle",
    });
  }
  return { node: figure, show };
}
