// One position of a Transformer and the stream that runs through it: how long it is, what
// each part adds and in which direction, and what it would say there already. It knows
// no engine: `show` takes what engine.stream() gives.
import { DOWN, onArrows, within } from "../kit/arrows.js";
import { h, liveRegion, oneOf, radios, stopping, textTable } from "../kit/kit.js";
import { chance, format } from "../kit/numbers.js";
import { meter, shown, spoken } from "../kit/pieces.js";
import { html, nothing, render, svg } from "../kit/vendor/lit.js";
import { inWords, SIDES, triangle, way } from "./maths.js";
import { aboutText, arrowsText, headline, summary } from "./texts.js";
import { wordsView } from "./words.js";

// What the view shows; Python has traits of the same names. step -1: the last part.
export const STATE = { side: "decoder", position: 1, step: -1 };
const SIDE_NAMES = ["encoder (English)", "decoder (German)"];
const LISTED = 5; // pieces before a part and after it

// The numbers of a side: cosines to pieces, or their probabilities.
const KINDS = {
  encoder: {
    number: (x) => format(x, 2),
    unit: "cosine",
    column: "nearest piece, cosine",
    plural: "nearest pieces",
    lead: (part) => `After ${part}, nearest to`,
    spoken: "Nearest piece",
  },
  decoder: {
    number: chance,
    unit: "p",
    column: "would say, p",
    plural: "would say",
    lead: (part) => `If it ended after ${part}, the model would say`,
    spoken: "It would say",
  },
};

// Three arrows: the stream before, what is added, the stream after.
/** @type {(from: number[], to: number[], name: string) => any} */
const arrow = ([x, y], [u, v], name) => {
  const length = Math.hypot(u - x, v - y);
  if (length < 0.5) return nothing;
  const head = Math.min(9, 0.6 * length);
  const [a, b] = [((u - x) / length) * head, ((v - y) / length) * head];
  const wing = (side) => [u - a - (side * b) / 2, v - b + (side * a) / 2];
  const corner = (point) => point.map((c) => c.toFixed(1)).join(",");
  return svg`<g class="tfrs-arrow ${name}">
    <line x1=${x} y1=${y} x2=${u - a / 2} y2=${v - b / 2}></line>
    <polygon points=${[[u, v], wing(1), wing(-1)].map(corner).join(" ")}></polygon></g>`;
};
function drawing(row, norm) {
  const { from, tip, end } = triangle(row);
  const key = (look, name) => html`<span class="tfrs-key tfrs-${look}">${name}</span>`;
  return html`<div class="tfrs-triangle">
    <svg viewBox="0 0 200 200" class="tfrs-drawing" role="img" aria-label=${arrowsText(row, norm)}>
      ${arrow(from, tip, "tfrs-before")}${arrow(from, end, "tfrs-after")}${arrow(tip, end, "tfrs-added")}
    </svg>
    <p class="tfrs-legend">${key("before", "before")} ${key("added", "added")} ${key("after", "sum")}</p>
  </div>`;
}

// The likeliest pieces before a part or after it; always as many rows.
function list(name, caption, next, { number }) {
  const rows = Array.from({ length: LISTED }, (_, i) => next[i] ?? ["", null]);
  return html`<div class="tfrs-list" data-list=${name}>
    <p class="tfrs-caption">${caption}</p>
    <table><tbody>${rows.map(
      ([piece, value]) => html`<tr data-piece=${piece || nothing}>
        <th scope="row">${piece ? shown(piece) : " "}</th>
        <td data-exact=${value ?? nothing}>${value === null ? "" : number(value)}</td>
        ${meter("tfrs-meter", Math.max(0, value ?? 0))}</tr>`,
    )}</tbody></table>
  </div>`;
}

function line(row, i, now, most, { number }, onGo) {
  const share = (x) => `--share: ${((100 * x) / most).toFixed(1)}%`;
  const { title, length, added, cosine, next } = row;
  const [piece, value] = next[0];
  return html`<tr data-step=${i} class=${i === now ? "tfrs-now" : ""}
      aria-current=${i === now ? "step" : nothing} @click=${() => onGo(i)}>
    <th scope="row"><button type="button" tabindex=${i === now ? 0 : -1} data-row=${i}>${title}</button></th>
    <td data-exact=${length} style=${share(length)}>${format(length, 1)}</td>
    <td data-exact=${added} style=${share(added)}>${`+ ${format(added, 1)}`}</td>
    <td data-exact=${cosine ?? nothing}>${cosine === null ? "–" : format(cosine, 2)}</td>
    <td data-exact=${value} data-piece=${piece}>${`${shown(piece)} ${number(value)}`}</td></tr>`;
}
function table(rows, now, kind, { onGo, keys }) {
  const most = Math.max(...rows.flatMap(({ length, added }) => [length, added]));
  const heads = ["part", "stream", "adds", "cosine", kind.column];
  return html`<div class="tfrs-box tfk-scroll"><table class="tfrs-rows">
    <thead><tr>${heads.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody @keydown=${keys}>${rows.map((row, i) => line(row, i, now, most, kind, onGo))}</tbody>
  </table></div>`;
}

// The text table behind it all.
const columnsOf = ({ plural }) => ["stream", "adds", "cosine", "angle", plural];
const cellsOf = ({ title, length, added, cosine, angle, next }, { number }) => [
  title,
  format(length, 2),
  format(added, 2),
  cosine === null ? "–" : format(cosine, 3),
  angle === null ? "–" : `${format(angle, 0)}°`,
  next.map(([name, value]) => `${shown(name)} ${number(value)}`).join(", "),
];

// onState hears what the reader changed.
// -> { node, show(stream), set(state), state, stop() }
/**
 * @param {object} [options]
 * @param {Record<string, any>} [options.initial]
 * @param {(changes: any) => void} [options.onState]
 */
export function residualStreamView({ initial = {}, onState = () => {} } = {}) {
  const state = { ...STATE, ...initial };
  const node = h("div", { class: "tfrs-view" });
  const live = liveRegion({ isShown: true });
  const behind = textTable("The whole way as a table", "part");
  let stream = null;
  let rows = [];
  let picker; // of a position; another for other pieces

  const at = () => (state.step in rows ? state.step : rows.length - 1);
  const pieces = () =>
    stream[state.side === "encoder" ? "sourcePieces" : "targetPieces"];
  const place = () => Math.min(state.position, pieces().length - 1);
  const go = (i) => change({ step: within(i, rows.length) });
  const onSide = (side) => change({ side, position: 0, step: -1 });
  const sides = oneOf("side", "Follow", SIDES, onSide, SIDE_NAMES);
  const says = wordsView({ at, last: () => rows.length - 1, onGo: go });
  const keys = onArrows(DOWN, (by) => {
    go(at() + by);
    node.querySelector(`[data-row="${at()}"]`).focus({ preventScroll: true });
  });

  function change(changes) {
    set(changes);
    onState(changes);
  }

  function pick() {
    const names = pieces().map(shown);
    if (picker?.names.join("\n") !== names.join("\n")) {
      says.stop();
      const onPick = (i) => change({ position: i });
      picker = { names, ...radios("position", "Position", names, place(), onPick) };
    }
    picker.pick(place());
  }

  function template(row, now, kind) {
    const { norm, predictedPieces } = stream;
    const piece = pieces()[place()];
    const lead = kind.lead(inWords(row.title));
    const number = (x) => `${kind.unit} ${kind.number(x)}`;
    const earlier = now ? "Before it" : "Before it there is nothing";
    return html`
      ${sides.set}
      <div class="tfrs-places">${picker.set}</div>
      <p class="tfrs-about">${aboutText(state.side, piece, norm)}</p>
      ${says.template(rows, now, { before: lead, number })}
      <p class="tfrs-title">${headline(row, norm)}</p>
      <div class="tfrs-detail">
        ${drawing(row, norm)}
        ${list("before", earlier, rows[now - 1]?.next ?? [], kind)}
        ${list("after", "After it", row.next, kind)}
      </div>
      <p class="tfrs-verdict">${summary(state.side, rows, piece, predictedPieces[place()])}</p>
      ${table(rows, now, kind, { onGo: go, keys })}
      ${behind.node}${live.node}`;
  }

  function update() {
    if (!stream) return;
    rows = way(stream, state.side, place());
    const now = at();
    const kind = KINDS[state.side];
    const row = rows[now];
    const [piece, value] = row.next[0];
    sides.show(state.side);
    pick();
    render(template(row, now, kind), node);
    says.show();
    const cells = rows.map((each) => cellsOf(each, kind));
    behind.show(columnsOf(kind), cells);
    live.announce(
      `${spoken(pieces()[place()])}, ${row.title}. ${headline(row, stream.norm)} ${kind.spoken} ${spoken(piece)}, ${kind.number(value)}.`,
    );
  }

  function show(given) {
    stream = given;
    picker = null;
    update();
  }
  function set(changes) {
    Object.assign(state, changes);
    update();
  }
  return { node, show, set, state, stop: stopping(says, live) };
}
