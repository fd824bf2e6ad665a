// The frame of the journey: the way from stop to stop, and the stop that is shown.
import { ALONG, arrowKeys, within } from "../kit/arrows.js";
import { onColours } from "../kit/colours.js";
import { button, h, liveRegion, put, say } from "../kit/kit.js";
import { STATE } from "./address.js";
import { followed, written } from "./facts.js";
import { PHASES, STOPS } from "./stops.js";

// A state in the range of a journey.
export function fit(state, journey, text) {
  const { n_encoder_layers, n_decoder_layers, n_heads } = journey.config;
  const { across } = state;
  return {
    ...state,
    text,
    stop: within(state.stop - 1, STOPS.length) + 1,
    piece: followed(journey.sourcePieces, state.piece),
    layer: within(state.layer, n_encoder_layers),
    head: within(state.head, n_heads),
    step: written(journey, state.step),
    across: across < 0 ? n_decoder_layers - 1 : within(across, n_decoder_layers),
  };
}

// linked: whether the chapters are there, beside this page. onState hears what the reader
// changes.
// -> { node, show(journey, text), set(state), stop() }
export function journeyView({ initial, linked, onState }) {
  const state = { ...STATE, ...initial, kind: "weights" };
  let journey = null;
  let text = "";
  const pictures = new Map(); // by stop, made at the first visit

  const dots = STOPS.map(({ title, phase }, i) => {
    const dot = button(`stop-${i + 1}`, String(i + 1), () => go(i + 1));
    put(dot, {
      "aria-label": `Stop ${i + 1}: ${title}`,
      title,
      class: `tfj-dot tfj-phase-${phase}`,
    });
    return dot;
  });
  const row = h("div", { class: "tfj-dots" }, ...dots);
  const back = button("previous", "◀ Previous", () => go(state.stop - 1));
  const on = button("next", "Next ▶", () => go(state.stop + 1));
  const way = h("nav", { class: "tfj-way", "aria-label": "Stops" }, back, row, on);
  const where = h("p", { class: "tfj-where" });
  const title = h("p", { class: "tfj-title", role: "heading", "aria-level": 3 });
  const words = h("p", { class: "tfj-text", "data-text": true });
  const place = h("div", { class: "tfj-picture" });
  const shape = h("span", { class: "tfj-shape", "data-shape": true });
  const book = h(linked ? "a" : "span", { class: "tfj-book" });
  const further = button("further", "", () => {
    go(state.stop + 1);
    way.scrollIntoView({ block: "nearest" }); // to where the next stop begins
  });
  const live = liveRegion({ pause: 200 });
  const node = h(
    "div",
    { class: "tfj-view" },
    way,
    h(
      "section",
      { class: "tfj-card", "data-stop": 1 },
      where,
      title,
      words,
      place,
      h(
        "p",
        { class: "tfj-foot" },
        h("span", {}, "What flows: ", shape),
        h("span", {}, "Read on: ", book),
        further,
      ),
    ),
    live.node,
  );

  // Left and right lead from stop to stop, but where they have a meaning of their own.
  const KEEPS = "input, select, table, .tfj-chips";
  arrowKeys(node, ALONG, (by, { target }) => {
    if (target.closest(KEEPS)) return false;
    go(state.stop + by);
    if (row.contains(target)) dots[state.stop - 1].focus();
  });
  const endColours = onColours(node, () => journey && draw());

  function go(stop) {
    const to = within(stop - 1, STOPS.length) + 1;
    if (to === state.stop) return;
    const held = /** @type {any} */ (document.activeElement);
    change({ stop: to });
    // At either end a button goes out of use: the focus does not go with it.
    if (node.contains(held) && (held.disabled || held.hidden)) dots[to - 1].focus();
    live.announce(`Stop ${to} of ${STOPS.length}: ${STOPS[to - 1].title}`);
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
    const now = fit(state, journey, text);
    const stop = STOPS[now.stop - 1];
    const picture = pictureOf(now.stop);
    dots.forEach((dot, i) => {
      put(dot, {
        "aria-current": i + 1 === now.stop ? "step" : null,
        tabindex: i + 1 === now.stop ? 0 : -1,
      });
    });
    put(back, { disabled: now.stop === 1 });
    put(on, { disabled: now.stop === STOPS.length });
    put(node.querySelector(".tfj-card"), {
      "data-stop": now.stop,
      class: `tfj-card tfj-phase-${stop.phase}`,
    });
    say(where, `Stop ${now.stop} of ${STOPS.length} · ${PHASES[stop.phase]}`);
    say(title, stop.title);
    words.replaceChildren(...stop.text(journey, now));
    if (place.firstChild !== picture.node) {
      for (const [other, each] of pictures) if (other !== now.stop) each.leave?.();
      place.replaceChildren(picture.node);
    }
    picture.show({ ...journey, text }, now);
    say(shape, stop.shape(journey, now));
    const [name, page] = stop.book;
    say(book, name);
    if (linked) put(book, { href: page });
    put(further, { hidden: now.stop === STOPS.length });
    say(further, now.stop < STOPS.length ? `${STOPS[now.stop].title} ▶` : "");
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
    stop() {
      for (const each of pictures.values()) each.leave?.();
      live.stop();
      endColours();
    },
  };
}
