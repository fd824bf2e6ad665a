// The map itself: dots with names, joined to their neighbours.
import { viewBox } from "../kit/chart.js";
import { placeIn } from "../kit/kit.js";
import { byteAsCharacter, spoken } from "../kit/pieces.js";
import { html, nothing, svg } from "../kit/vendor/lit.js";
import { bare, KINDS, leastOf } from "./maths.js";

const REACH = 16; // how near a pointer must come to a dot
const LEADS = 26; // a name further from its dot than this gets a line to it

// s: what is shown, as `shownOf` gives it, with `room`, the `places` of its dots, the
// `offsets` of their names, and which dot is `pointed` at (-1: none).
export function map(s, { onPoint, onChoose, onKey }) {
  const [x, y] = s.places[s.pointed] ?? [];
  const j = s.ids[s.pointed];
  return html`<figure class="tfem-figure">
    <svg class="tfem-map" tabindex="0" role="application" aria-roledescription="map"
      data-control="map" viewBox=${viewBox(s.room)} style="--name: ${s.room.font}px"
      aria-label="${s.words.length} words as dots, joined to their nearest. Chosen: ${spoken(s.names[s.i])}. Arrow keys go to the next dot in their direction. The list beside it has its nearest by cosine."
      @pointermove=${(event) => onPoint(dotAt(event, s))}
      @pointerleave=${() => onPoint(-1)} @keydown=${onKey}
      @click=${(event) => onChoose(s.ids[dotAt(event, s)])}>
      <path class="tfem-grey" d=${greyOf(s) || nothing} />
      <g>${joins(s)}</g>
      <circle class="tfem-under-ring" r="8" cx=${x ?? nothing} cy=${y ?? nothing}
        visibility=${s.pointed < 0 ? "hidden" : nothing} />
      <g>${marks(s)}</g>
    </svg>
    <p class="tfem-under ${s.pointed < 0 ? "tfk-how" : ""}" aria-hidden="true">${
      s.pointed < 0
        ? "Point at a dot to read it, click to choose it."
        : `Here: ${s.names[j]} (id ${j}, ${KINDS[s.kinds[j]]})`
    }</p>
  </figure>`;
}

function dotAt(event, { room, places }) {
  const zoom = room.width / event.currentTarget.getBoundingClientRect().width;
  const [px, py] = placeIn(event.currentTarget, event);
  const far = places.map(([x, y]) =>
    Math.hypot(x - px * room.width, y - py * room.height),
  );
  return leastOf(far.map((each) => (each < REACH * zoom ? each : Infinity)));
}

const tenths = (place) => place.map((each) => each.toFixed(1));
const greyOf = ({ places, named }) =>
  places
    .slice(named)
    .map((place) => `M${tenths(place).join(" ")}h0`)
    .join("");

// Lines from each word to the one that its family is named after, and from the chosen
// piece to its neighbours.
function joins({ ids, i, near, words, homes, lost, places }) {
  const line = (kind, a, b, link = nothing) => {
    const [[x1, y1], [x2, y2]] = [a, b].map((id) => tenths(places[ids.indexOf(id)]));
    return svg`<line class=${kind} x1=${x1} y1=${y1} x2=${x2} y2=${y2} data-link=${link} />`;
  };
  const families = words
    .map((id, k) => [words[homes[k]], id])
    .filter(([head, id]) => head !== id)
    .map(([head, id]) => line("tfem-family", head, id));
  const links = near.map(([id]) =>
    line(`tfem-link${lost.has(id) ? " tfem-lost" : ""}`, i, id, id),
  );
  return [...families, ...links];
}

// The chosen one last, so that it lies on top.
function marks({ ids, names, named, i, near, seeds, places, offsets }) {
  const nearest = new Set(near.map(([id]) => id));
  const mark = (id, k) => {
    const role = id === i ? " tfem-chosen" : nearest.has(id) ? " tfem-neighbour" : "";
    const [x, y] = places[k];
    const [cx, cy] = tenths([x, y]);
    const dot = svg`<circle class="tfem-dot${role}" cx=${cx} cy=${cy} r=${role ? 5 : 3}
      data-mark=${id} />`;
    if (!offsets[k]) return dot;
    const [dx, dy] = offsets[k];
    const [tx, ty] = tenths([x + dx, y + dy]);
    const name = svg`<text class="tfem-name${role}${seeds.has(id) ? " tfem-seed" : ""}"
      x=${tx} y=${ty} text-anchor="middle" dominant-baseline="central"
      >${bare(byteAsCharacter(names[id]))}</text>`;
    if (Math.abs(dy) < LEADS) return [dot, name];
    const end = (y + dy - Math.sign(dy) * 7).toFixed(1);
    return svg`<line class="tfem-leader" x1=${cx} y1=${cy} x2=${tx} y2=${end} />${dot}${name}`;
  };
  return ids.slice(0, named).map(mark).reverse();
}
