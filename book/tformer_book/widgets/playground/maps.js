// Every attention map of the model, small, and one of them large with its words.
import { onColours } from "../kit/colours.js";
import { h, put, say, uid } from "../kit/kit.js";
import { percent } from "../kit/numbers.js";

const SMALL = 44; // CSS pixels
const LARGE = 320;
const LETTERS = 7; // of a word beside the large map
const LINE = 13; // CSS pixels that a word beside it needs

const clipped = (word) =>
  word.length > LETTERS ? `${word.slice(0, LETTERS - 1)}…` : word;

// A map in words: where each row looks most.
export function inWords({ name, rows, columns, heads }, head) {
  const n = columns.length;
  const said = rows.map((row, i) => {
    const weights = heads[head].subarray(i * n, (i + 1) * n);
    const best = weights.indexOf(Math.max(...weights));
    return `${row} to ${columns[best]}, ${percent(weights[best], 0)}`;
  });
  return `${name}, head ${head + 1}. Each row’s largest weight: ${said.join("; ")}.`;
}

export function mapsOf(root) {
  const group = uid();
  const row = h("div", {
    class: "tfpg-small",
    role: "radiogroup",
    "aria-label": "Map shown large",
  });
  const canvas = h("canvas", { class: "tfpg-large", role: "img", hidden: true });
  const title = h("p", { class: "tfpg-map-title" });
  const node = h("div", { class: "tfpg-maps" }, row, h("div", {}, title, canvas));
  let maps = [];
  let chosen = ""; // "name head"
  let small = []; // [{ canvas, input, map: its index, head }]
  let built = "";
  let large = null; // the map shown large: { map, head, cell, left, top }

  const keyOf = (map, head) => `${map.name} ${head}`;

  function build() {
    small = maps.flatMap((map, m) =>
      map.heads.map((_, head) => {
        const picture = h("canvas", { "aria-hidden": "true" });
        const key = keyOf(map, head);
        const input = h("input", { type: "radio", name: group, value: key });
        input.addEventListener("change", () => {
          chosen = key;
          draw();
        });
        const label = h(
          "label",
          {},
          input,
          picture,
          h("span", {}, `${map.name}.${head + 1}`),
        );
        return { picture, input, label, m, head };
      }),
    );
    row.replaceChildren(...small.map(({ label }) => label));
    if (!small.some(({ input }) => input.value === chosen))
      chosen = small.at(-1)?.input.value ?? "";
  }

  // The colour of a weight, between the two ends of the scale, as the page has them.
  function painter() {
    const style = getComputedStyle(root);
    const parse = (name) => {
      const hex = style.getPropertyValue(name).trim();
      return [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));
    };
    const [low, high] = [parse("--tf-low"), parse("--tf-high")];
    return {
      of: (w) =>
        `rgb(${low.map((a, i) => Math.round(a + (high[i] - a) * w)).join(" ")})`,
      query: style.getPropertyValue("--tf-query"),
      key: style.getPropertyValue("--tf-key"),
    };
  }

  function paint(place, { rows, columns, heads }, head, paper, size, margins = [0, 0]) {
    const [left, top] = margins;
    const cell = Math.max(2, Math.floor(size / Math.max(rows.length, columns.length)));
    const [width, height] = [left + cell * columns.length, top + cell * rows.length];
    const scale = globalThis.devicePixelRatio || 1;
    if (place.width !== width * scale || place.height !== height * scale) {
      place.width = width * scale;
      place.height = height * scale;
      place.style.width = `${width}px`;
      place.style.aspectRatio = `${width} / ${height}`;
    }
    const pen = place.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    heads[head].forEach((weight, k) => {
      const [i, j] = [Math.floor(k / columns.length), k % columns.length];
      pen.fillStyle = paper.of(weight);
      const gap = cell > 8 ? 1 : 0;
      pen.fillRect(left + j * cell, top + i * cell, cell - gap, cell - gap);
    });
    return { pen, cell, left, top };
  }

  function draw() {
    const paper = painter();
    for (const { picture, input, m, head } of small) {
      input.checked = input.value === chosen;
      paint(picture, maps[m], head, paper, SMALL);
    }
    const shown = small.find(({ input }) => input.value === chosen);
    put(canvas, { hidden: !shown });
    say(title, shown ? "" : "Type a sequence above to see the maps.");
    if (!shown) return;
    const map = maps[shown.m];
    const letters = Math.max(
      ...[...map.rows, ...map.columns].map((w) => clipped(w).length),
    );
    const margin = 12 + 7.5 * letters;
    const drawn = paint(canvas, map, shown.head, paper, LARGE - margin, [
      margin,
      margin,
    ]);
    const { pen, cell, left, top } = drawn;
    pen.font = "12px ui-monospace, monospace";
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    pen.fillStyle = paper.query;
    const every = Math.ceil(LINE / cell); // where all words would overlap
    map.rows.forEach((word, i) => {
      if (i % every) return;
      pen.fillText(clipped(word), left - 5, top + (i + 0.5) * cell);
    });
    pen.fillStyle = paper.key;
    map.columns.forEach((word, j) => {
      if (j % every) return;
      pen.save();
      pen.translate(left + (j + 0.5) * cell, top - 5);
      pen.rotate(letters > 1 ? -Math.PI / 2 : 0);
      pen.textAlign = letters > 1 ? "left" : "center";
      if (letters === 1) pen.translate(0, -6);
      pen.fillText(clipped(word), 0, 0);
      pen.restore();
    });
    large = { map, head: shown.head, cell, left, top };
    sayTitle();
    put(canvas, { "aria-label": inWords(map, shown.head) });
  }

  // What the large map is, or the weight of the cell that is pointed at.
  function sayTitle(event) {
    if (!large) return;
    const { map, head, cell, left, top } = large;
    const which = `${map.name}, head ${head + 1}: `;
    const shrunk = canvas.clientWidth / Number.parseFloat(canvas.style.width);
    const at = (offset, margin) => Math.floor((offset / shrunk - margin) / cell);
    const [i, j] = event ? [at(event.offsetY, top), at(event.offsetX, left)] : [-1, -1];
    const [row, column] = [map.rows[i], map.columns[j]];
    say(
      title,
      row === undefined || column === undefined
        ? `${which}rows ask (query), columns are asked (key)`
        : `${which}${row} → ${column}, ${percent(map.heads[head][i * map.columns.length + j], 1)}`,
    );
  }
  canvas.addEventListener("pointermove", sayTitle);
  canvas.addEventListener("pointerdown", sayTitle);
  canvas.addEventListener("pointerleave", () => sayTitle());

  function show(found) {
    maps = found;
    const kind = maps.map((map) => `${map.name}×${map.heads.length}`).join();
    if (kind !== built) {
      built = kind;
      build();
    }
    draw();
  }
  const stop = onColours(node, () => maps.length && draw());
  return { node, show, stop };
}
