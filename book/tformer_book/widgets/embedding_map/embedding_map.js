// The trained embedding as a map: forty words, each joined to its true neighbours.
import { AROUND, onArrows } from "../kit/arrows.js";
import {
  bind,
  figure,
  liveRegion,
  oneOf,
  onWidth,
  radios,
  stopping,
  textTable,
} from "../kit/kit.js";
import { motion } from "../kit/motion.js";
import { remembered } from "../kit/remembered.js";
import { render as draw } from "../kit/vendor/lit.js";
import {
  bare,
  between,
  decode,
  KINDS,
  layout,
  matches,
  onward,
  shownOf,
} from "./maths.js";
import { heard, nothingFound, page, tableOf } from "./view.js";

const GLIDE = 900; // ms from one map to the other
const PAUSE = 500; // ms after which a typed word is taken
const MAPS = ["the words on the map", "all pieces"];
const WIDE = { width: 450, height: 410, line: 16, font: 13 };
const NARROW = { width: 356, height: 370, line: 15, font: 12 };
const TABLE = ["pieces", "links", "drops", "places", "bound"];
const NAMES = [
  ...[...TABLE, "chosen", "axes", "kind", "words", "homes"],
  ...["shares", "kept", "compared", "examples", "d_model"],
];

function render({ model, el }) {
  const root = figure(el, "tfem", "Words of the trained embedding on a map");
  const { read, commit, set, stop } = bind(model, NAMES, () => update());
  const isNarrow = () => root.clientWidth > 0 && root.clientWidth < 544;
  const table = remembered(decode);
  const choose = (i) => i !== undefined && commit({ chosen: i });

  const parts = {
    axes: radios("axes", "Laid flat to suit", MAPS, 0, set("axes")),
    kind: oneOf("kind", "Show as grey dots", KINDS, set("kind")),
    behind: textTable("The map as a table: the dots around the chosen one", "piece"),
    announcer: liveRegion(),
  };

  /** @type {Record<string, any>} */
  let scene = null; // what is drawn, and from where its dots come
  let pointed = -1;
  const glide = motion((t) => {
    scene.places = between(scene.from, scene.to, t);
    redraw();
  });
  const redraw = () =>
    draw(page({ ...scene, typed: search.text, pointed }, on, parts), root);
  const search = searchOf({
    find: (text) => matches(scene.names, text),
    nameOf: (i) => bare(scene.names[i]),
    choose,
    onChange: () => redraw(),
    tell: (text) => parts.announcer.announce(text, true),
  });

  const on = {
    ...search,
    onChoose: choose,
    // Onward from the list: the focus goes to its new first row.
    onFollow(i) {
      choose(i);
      root.querySelector('[data-control="near-0"]').focus();
    },
    onPoint(k) {
      if (k === pointed) return;
      pointed = k;
      redraw();
    },
    onKey: onArrows(AROUND, ([down, right]) => {
      choose(scene.ids[onward(scene.x, scene.y, 0, [right, -down])]);
    }),
  };

  function update(speak = true) {
    const given = read();
    const s = shownOf(table(...TABLE.map((name) => given[name])), given);
    const moves = scene && scene.axes !== s.axes;
    scene = { ...given, ...s, ...layout(s, isNarrow() ? NARROW : WIDE, scene) };
    pointed = -1;
    if (document.activeElement !== root.querySelector(".tfem-search input"))
      search.text = bare(s.names[s.i]);
    parts.axes.pick(s.axes);
    parts.kind.show(given.kind);
    parts.behind.show(...tableOf(s));
    redraw();
    if (moves) glide.run(GLIDE);
    else glide.end();
    root.dataset.chosen = s.names[s.i];
    root.dataset.near = JSON.stringify(s.near.map(([j, c]) => [s.names[j], c]));
    if (speak) parts.announcer.announce(heard(s));
  }

  update(false);
  const unwatch = onWidth(root, () => update(false));
  return stopping(unwatch, search, glide, parts.announcer, stop);
}

// What is typed: a word is chosen once it is complete and the reader pauses, or by Enter.
function searchOf({ find, nameOf, choose, onChange, tell }) {
  let pause = 0;
  const search = {
    text: "",
    onType({ target }) {
      search.text = target.value;
      onChange();
      const [first] = find(search.text);
      clearTimeout(pause);
      if (first !== undefined && nameOf(first) === search.text.trim())
        pause = setTimeout(() => choose(first), PAUSE);
    },
    onEnter(event) {
      if (event.key !== "Enter") return;
      event.preventDefault();
      clearTimeout(pause);
      const [first] = find(search.text);
      if (first === undefined) return tell(nothingFound(search.text));
      search.text = nameOf(first);
      choose(first);
    },
    stop: () => clearTimeout(pause),
  };
  return search;
}

export default { render };
