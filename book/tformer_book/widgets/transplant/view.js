// The map of transplants, and what the model writes with the chosen one. It knows no
// engine: `show` takes what engine.transplants() gives.
import { grid } from "../kit/grid.js";
import { h, kept, liveRegion, textTable } from "../kit/kit.js";
import { brief, plural } from "../kit/numbers.js";
import { shown } from "../kit/pieces.js";
import { html, render } from "../kit/vendor/lit.js";
import { changedWords } from "../kit/words.js";
import {
  cellAt,
  depthsOf,
  isNew,
  nearest,
  positionsOf,
  sentence,
  verdict,
} from "./maths.js";

// What the view shows; Python has traits of the same names.
export const STATE = { depth: 3, position: 3 };

// -> { node, show(result), set(state), stop() }
/**
 * @param {object} options
 * @param {Record<string, any>} options.initial
 * @param {(changes: any) => void} options.onState
 */
export function transplantView({ initial, onState }) {
  const state = { ...STATE, ...initial };
  const node = h("div", { class: "tftp-view" });
  const live = liveRegion();
  const behind = textTable("What it writes with each, as a table", "after");
  const map = grid("How far each transplanted state moves the translation", {
    rowAxis: "layers",
    columnAxis: "position",
    onPick: pick,
    onMove: pick,
  });
  const place = kept("place", (text) => pick(...text.split("-").map(Number)));
  const parts = { map, place, behind, live };
  let found = null;

  function pick(depth, position) {
    if (depth === state.depth && position === state.position) return;
    set({ depth, position });
    onState({ depth, position });
    live.announce(sentence(found, nearest(found, state)));
  }

  function update() {
    const now = nearest(found, state);
    const [depths, positions] = [depthsOf(found), positionsOf(found)];
    place.show(`${now.depth}-${now.position}`);
    map.show({
      rows: depths.map(String),
      columns: positions.map((position) => heading(found, position)),
      cell: (depth, position) => cellOf(found, cellAt(found, depth, position), now),
    });
    const textAt = (depth, position) => cellAt(found, depth, position).text ?? "–";
    behind.show(
      positions.map((position) => shown(found.donorPieces[position])),
      depths.map((depth) => [
        plural(depth, "layer"),
        ...positions.map((position) => textAt(depth, position)),
      ]),
    );
    render(template(found, now, parts), node);
  }

  function show(given) {
    found = given;
    update();
  }
  function set(changes) {
    Object.assign(state, changes);
    update();
  }
  return { node, show, set, stop: live.stop };
}

function cellOf(found, cell, now) {
  const { depth, position, moved, text } = cell;
  const isNow = depth === now.depth && position === now.position;
  const marks = [isNow && "tftp-now", isNew(found, cell) && "tftp-new"];
  return {
    text: text === undefined ? "" : moved === null ? "–" : brief(moved),
    label: sentence(found, cell),
    share: Math.min(1, Math.max(0, moved ?? 0)),
    mark: marks.filter(Boolean).join(" "),
    exact: moved,
  };
}

// A position's piece, and, where it is another, that of the other sentence.
function heading({ sourcePieces, donorPieces }, position) {
  const [own, other] = [sourcePieces[position], donorPieces[position]].map(shown);
  return own === other
    ? own
    : html`${own}<br><small class="tftp-donor">${other}</small>`;
}

// The translation with words marked that the own one doesn't have.
const marked = (before, after) =>
  changedWords(before, after)[1].map(([word, isChanged]) =>
    isChanged ? html`<mark>${word}</mark> ` : `${word} `,
  );

function template(found, now, { map, place, behind, live }) {
  const piece = html`<b>${shown(found.donorPieces[now.position])}</b>`;
  const written = now.text === undefined ? "–" : marked(found.text, now.text);
  return html`
    ${map.node}
    <p class="tftp-hint">Each cell takes one state of the other sentence and puts it in at the same place. The number says how far the model goes over: 0 not at all, 1 wholly. In a framed cell it writes what neither sentence alone gives.</p>
    <dl class="tftp-said">
      <dt>Alone</dt><dd lang="de" data-german="own">${found.text}</dd>
      <dt>The other</dt><dd lang="de" data-german="other">${found.other}</dd>
      <dt>With ${piece} after ${plural(now.depth, "layer")}</dt>
      <dd lang="de" data-german="patched">${written}</dd>
    </dl>
    <p class="tftp-verdict" data-verdict>${verdict(found, now)}</p>
    ${place.node}${behind.node}${live.node}`;
}
