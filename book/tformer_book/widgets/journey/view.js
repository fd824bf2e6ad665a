// The frame of the journey: the way from stop to stop, and the stop that is shown.
import { ALONG, arrowKeys, within } from "../kit/arrows.js";
import { onColours } from "../kit/colours.js";
import { h, liveRegion, stopping } from "../kit/kit.js";
import { placesOf, travel } from "../kit/motion.js";
import { html, nothing, render } from "../kit/vendor/lit.js";
import { STATE } from "./address.js";
import { fit } from "./facts.js";
import { PHASES, STOPS } from "./stops.js";
import { flow, paint } from "./strips.js";

const MOVE = 500; // ms, from stop to stop
// The keys of these have a meaning of their own.
const KEEPS = "input, select, table, .tfj-chips";

// linked: whether the chapters are there, beside this page. onState hears what the reader
// changes.
// -> { node, show(journey, text), set(state), stop() }
export function journeyView({ initial, linked, onState }) {
  const state = { ...STATE, ...initial, kind: "weights" };
  let journey = null;
  let text = "";
  let leave = () => {}; // what ends the picture that is shown
  const pictures = new Map(); // by stop, made at the first visit
  const node = h("div", { class: "tfj-view" });
  const live = liveRegion({ pause: 200 });
  const dot = (stop) => node.querySelector(`[data-control="stop-${stop}"]`);

  arrowKeys(node, ALONG, (by, { target }) => {
    if (target.closest(KEEPS)) return false;
    go(state.stop + by);
    if (target.closest(".tfj-dots")) dot(state.stop).focus();
  });
  const endColours = onColours(node, () => journey && draw());

  function go(stop) {
    const to = within(stop - 1, STOPS.length) + 1;
    if (to === state.stop) return;
    const held = /** @type {any} */ (document.activeElement);
    const before = flow(placesOf(node), to > state.stop);
    change({ stop: to });
    travel(node, before, { ms: MOVE, between: 0 });
    // At either end a button goes out of use: the focus does not go with it.
    if (node.contains(held) && (held.disabled || held.hidden)) dot(to).focus();
    showBeginning();
    live.announce(`Stop ${to} of ${STOPS.length}: ${STOPS[to - 1].title}`);
  }
  // Where a stop is higher than the window, to where it begins.
  function showBeginning() {
    const card = node.querySelector(".tfj-card");
    if (card.getBoundingClientRect().top < 0) card.scrollIntoView();
  }

  function change(changes) {
    Object.assign(state, changes);
    const { kind, ...kept } = changes; // scores or weights: for the moment only
    draw();
    onState(kept);
  }

  function pictureOf(stop) {
    if (!pictures.has(stop))
      pictures.set(stop, STOPS[stop - 1].picture({ change, go }));
    return pictures.get(stop);
  }

  function draw() {
    if (!journey) return;
    const now = fit(state, journey, text, STOPS.length);
    const picture = pictureOf(now.stop);
    if (leave !== picture.leave) leave?.();
    leave = picture.leave;
    const drawn = picture({ ...journey, text }, now);
    render(cardOf({ journey, now, drawn, linked, live }, go), node);
    paint(node);
  }

  return {
    node,
    show(given, sentence) {
      const isOther = journey && sentence !== text;
      [journey, text] = [given, sentence];
      if (isOther) Object.assign(state, { piece: -1, step: -1 });
      draw();
    },
    set(given) {
      Object.assign(state, given);
      draw();
    },
    stop: stopping(() => leave?.(), live, endColours),
  };
}

function cardOf({ journey, now, drawn, linked, live }, go) {
  const { title, phase, text, shape, book } = STOPS[now.stop - 1];
  const isLast = now.stop === STOPS.length;
  const [page, chapter] = book;
  const part = (each) =>
    each.lang ? html`<span lang=${each.lang}>${String(each)}</span>` : each;
  return html`
    <nav class="tfj-way" aria-label="Stops">
      <button type="button" class="tfk-do" data-control="previous" ?disabled=${now.stop === 1} @click=${() => go(now.stop - 1)}>◀ <span>Previous</span></button>
      <p class="tfj-here" aria-hidden="true">${now.stop} of ${STOPS.length} · ${title}</p>
      <div class="tfj-dots">${PHASES.map((name, k) => partOf(name, k, now, go))}</div>
      <button type="button" class="tfk-do" data-control="next" ?disabled=${isLast} @click=${() => go(now.stop + 1)}><span>Next</span> ▶</button>
    </nav>
    <section class="tfj-card tfj-phase-${phase}" data-stop=${now.stop}>
      <p class="tfj-where">Stop ${now.stop} of ${STOPS.length} · ${PHASES[phase]}</p>
      <p class="tfj-title" role="heading" aria-level="3">${title}</p>
      <p class="tfj-text" data-text>${text(journey, now).map(part)}</p>
      <div class="tfj-picture">${drawn}</div>
      <p class="tfj-foot">
        <span>What flows: <span class="tfj-shape" data-shape>${shape(journey, now)}</span></span>
        <span>Read on: ${linked ? html`<a class="tfj-book" href="${page}.html">${chapter}</a>` : html`<span class="tfj-book">${chapter}</span>`}</span>
        <button type="button" class="tfk-do" data-control="further" ?hidden=${isLast} @click=${() => go(now.stop + 1)}>${isLast ? "" : `${STOPS[now.stop].title} ▶`}</button>
      </p>
    </section>
    ${live.node}`;
}

// A part of the map: its stops as boxes, that of now lit.
const partOf = (name, phase, now, go) => html`
  <div class="tfj-part ${phase === STOPS[now.stop - 1].phase ? "tfj-lit" : ""}">
    <span class="tfj-part-name" aria-hidden="true">${name}</span>
    <div>${STOPS.map((stop, i) => (stop.phase === phase ? dotOf(stop, i + 1, now, go) : nothing))}</div>
  </div>`;

const dotOf = ({ title, short }, stop, now, go) => html`
  <button type="button" data-control="stop-${stop}" class="tfj-dot" title=${title} aria-label="Stop ${stop}, ${short}: ${title}"
    aria-current=${stop === now.stop ? "step" : nothing} tabindex=${stop === now.stop ? 0 : -1} @click=${() => go(stop)}>${stop}<small>${short}</small></button>`;
