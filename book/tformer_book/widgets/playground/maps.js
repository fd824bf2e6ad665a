// Every attention map of the model, small, and one of them large with its words; beside it
// that of the run to compare with.
import { colourAt, onColours, scaleAt } from "../kit/colours.js";
import { h, uid } from "../kit/kit.js";
import { percent } from "../kit/numbers.js";
import { html, live, nothing, render } from "../kit/vendor/lit.js";

const SMALL = 44; // CSS pixels
const LARGE = 320;
const HALF = 205; // of two, beside each other where there is room
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
  return `${name}, head ${head}. Each row’s largest weight: ${said.join("; ")}.`;
}

// The page's colours: of a weight, between the two ends of the scale, and of the words.
function coloursOf(root) {
  return {
    of: scaleAt(root),
    query: colourAt(root, "--tf-query"),
    key: colourAt(root, "--tf-key"),
  };
}

// The cells of a head's map; `margin` at the left and above is for its words.
// -> { pen, cell: its size }
function paint(canvas, { rows, columns, heads }, head, colours, size, margin = 0) {
  const cell = Math.max(2, Math.floor(size / Math.max(rows.length, columns.length)));
  const [width, height] = [margin + cell * columns.length, margin + cell * rows.length];
  const scale = globalThis.devicePixelRatio || 1;
  if (canvas.width !== width * scale || canvas.height !== height * scale) {
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.aspectRatio = `${width} / ${height}`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  const gap = cell > 8 ? 1 : 0;
  heads[head].forEach((weight, k) => {
    const [i, j] = [Math.floor(k / columns.length), k % columns.length];
    pen.fillStyle = colours.of(weight);
    pen.fillRect(margin + j * cell, margin + i * cell, cell - gap, cell - gap);
  });
  return { pen, cell };
}

// The words of rows and columns, in the margin; fewer where all would overlap.
function write(pen, { rows, columns }, colours, cell, margin) {
  const every = Math.ceil(LINE / cell);
  const isUpright = [...rows, ...columns].every((word) => clipped(word).length === 1);
  pen.font = "12px ui-monospace, monospace";
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  pen.fillStyle = colours.query;
  rows.forEach((word, i) => {
    if (i % every) return;
    pen.fillText(clipped(word), margin - 5, margin + (i + 0.5) * cell);
  });
  pen.textAlign = isUpright ? "center" : "left";
  pen.fillStyle = colours.key;
  columns.forEach((word, j) => {
    if (j % every) return;
    pen.save();
    pen.translate(margin + (j + 0.5) * cell, margin - (isUpright ? 11 : 5));
    if (!isUpright) pen.rotate(-Math.PI / 2);
    pen.fillText(clipped(word), 0, 0);
    pen.restore();
  });
}

function paintLarge(canvas, map, head, colours, size) {
  const words = [...map.rows, ...map.columns];
  const margin = 12 + 7.5 * Math.max(...words.map((word) => clipped(word).length));
  const { pen, cell } = paint(canvas, map, head, colours, size - margin, margin);
  write(pen, map, colours, cell, margin);
  return { cell, margin };
}

// What the large map is, or the weight of the cell that is pointed at.
function titleOf({ name, rows, columns, heads }, head, i, j) {
  const which = `${name}, head ${head}: `;
  const [row, column] = [rows[i], columns[j]];
  if (row === undefined || column === undefined)
    return `${which}rows ask (query), columns are asked (key)`;
  return `${which}${row} → ${column}, ${percent(heads[head][i * columns.length + j], 1)}`;
}

const NOWHERE = [-1, -1];

// onChoose hears that the reader chose a map.
export function mapsOf(root, onChoose) {
  const group = uid();
  const node = h("div", { class: "tfpg-maps" });
  let maps = [];
  let earlier = null; // { name, maps } of the run to compare with
  let all = []; // every head of every map: { key, map, head }
  let chosen = ""; // the key of the one shown large
  let picked = ""; // by the reader
  let at = NOWHERE; // the cell of it that is pointed at
  let layout = { cell: 1, margin: 0 }; // of it

  const small = ({ key, map, head }) => html`<label>
    <input type="radio" name=${group} value=${key} .checked=${live(key === chosen)} @change=${() => choose(key)} />
    <canvas aria-hidden="true"></canvas>
    <span>${map.name}.${head}</span>
  </label>`;

  // The same head in the run to compare with.
  function twinOf({ map: { name }, head }) {
    const map = earlier?.maps.find((each) => each.name === name);
    return map?.heads[head] ? { map, head } : null;
  }

  // -> the one shown large, and its twin
  function show() {
    const large = all.find(({ key }) => key === chosen);
    const twin = large && twinOf(large);
    const title = large
      ? titleOf(large.map, large.head, at[0], at[1])
      : "Type a sequence above to see the maps.";
    render(
      html`<div class="tfpg-small" role="radiogroup" aria-label="Map shown large">${all.map(small)}</div>
        <div>
          <p class="tfpg-map-title">${title}</p>
          <div class="tfpg-two">
            <figure><canvas class="tfpg-large" role="img" ?hidden=${!large}
              aria-label=${large ? inWords(large.map, large.head) : nothing}
              @pointermove=${point} @pointerdown=${point} @pointerleave=${() => point(null)}></canvas>
              <figcaption ?hidden=${!twin}>Now</figcaption></figure>
            <figure ?hidden=${!twin}><canvas class="tfpg-twin" role="img"
              aria-label=${twin ? `${earlier.name}: ${inWords(twin.map, twin.head)}` : nothing}></canvas>
              <figcaption>${earlier?.name}</figcaption></figure>
          </div>
        </div>`,
      node,
    );
    return { large, twin };
  }

  function draw() {
    at = NOWHERE;
    const { large, twin } = show();
    const colours = coloursOf(root);
    const canvas = (name) => node.querySelector(`canvas.tfpg-${name}`);
    node.querySelectorAll(".tfpg-small canvas").forEach((each, k) => {
      paint(each, all[k].map, all[k].head, colours, SMALL);
    });
    if (!large) return;
    const size = twin ? HALF : LARGE;
    const put = (name, { map, head }) =>
      paintLarge(canvas(name), map, head, colours, size);
    layout = put("large", large);
    if (twin) put("twin", twin);
  }

  function choose(key) {
    chosen = picked = key;
    draw();
    onChoose();
  }

  function point(event) {
    const canvas = event?.currentTarget;
    const shrunk = canvas?.clientWidth / Number.parseFloat(canvas?.style.width);
    const cell = (offset) =>
      Math.floor((offset / shrunk - layout.margin) / layout.cell);
    at = event ? [cell(event.offsetY), cell(event.offsetX)] : NOWHERE;
    show();
  }

  show();
  const stop = onColours(node, () => maps.length && draw());
  return {
    node,
    stop,
    chosen: () => picked,
    show(found, before) {
      maps = found;
      earlier = before;
      all = maps.flatMap((map) =>
        map.heads.map((_, head) => ({ key: `${map.name} ${head}`, map, head })),
      );
      const has = (key) => all.some((each) => each.key === key);
      if (has(picked))
        chosen = picked; // it was gone between two runs
      else if (!has(chosen)) chosen = all.at(-1)?.key ?? "";
      draw();
    },
  };
}
