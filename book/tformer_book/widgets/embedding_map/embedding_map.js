// The trained embedding as a map: forty words, each joined to its true neighbours.
// `decode`, `kindOf`, `matches`, `onMap`, `onward`, `windowOf` and `besideDots` are all of
// the maths and run in Node; the neighbours come from Python, since the whole table is too
// large.
import { AROUND, arrowKeys } from "../kit/arrows.js";
import {
  bind,
  button,
  figure,
  h,
  liveRegion,
  put,
  radios,
  say,
  textTable,
} from "../kit/kit.js";
import { motion } from "../kit/motion.js";
import { commas, format, percent } from "../kit/numbers.js";
import { byteAsCharacter, spoken } from "../kit/pieces.js";

export const KINDS = [
  "none",
  "all",
  "begins a word",
  "inside a word",
  "signs, digits",
  "bytes, special",
];
export const LEVELS = 1000;
const AXES = 4; // two of each map
// Printable ASCII without what HTML and JSON would have to escape.
const DIGITS = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).filter(
  (c) => !"\"&'<>\\".includes(c),
);
const VALUE = new Map(DIGITS.map((c, i) => [c, i]));

// Two digits for each number: first all high ones, then all low ones.
export function unpack(text) {
  const n = text.length / 2;
  return Array.from(
    { length: n },
    (_, i) => VALUE.get(text[i]) * DIGITS.length + VALUE.get(text[n + i]),
  );
}

// pieces: names; near: for each piece [[id, cosine], …]; at: for each axis the places.
/** @param {Record<string, any>} recorded @returns {Record<string, any>} */
export function decode({ pieces, links, drops, places, bound }) {
  const names = pieces.split("\n");
  const ids = unpack(links);
  const down = unpack(drops);
  const n = ids.length / names.length;
  const near = names.map((_, i) => {
    let hundredths = 100;
    return Array.from({ length: n }, (__, k) => {
      hundredths -= down[i * n + k];
      return [ids[i * n + k], hundredths / 100];
    });
  });
  const level = unpack(places);
  const at = Array.from({ length: AXES }, (_, a) =>
    level
      .slice(a * names.length, (a + 1) * names.length)
      .map((x) => ((2 * x) / (LEVELS - 1) - 1) * bound),
  );
  return { names, near, at, kinds: names.map(kindOf) };
}

// Which of KINDS a piece is, from 2 on: seen from its spelling alone.
export function kindOf(piece) {
  if (/^<.+>$/.test(piece)) return 5;
  if (!/\p{L}/u.test(piece)) return 4;
  return piece.startsWith("▁") ? 2 : 3;
}

// A piece without the mark of a word's beginning.
const bare = (piece) => piece.replace(/^▁(?=.)/, "");

// Ids of the pieces that a reader may mean: the word itself, then what begins like it.
export function matches(names, text, most = 8) {
  const typed = text.trim().replace(/^▁/, "");
  if (!typed) return [];
  const low = typed.toLowerCase();
  const found = [];
  names.forEach((name, i) => {
    const word = bare(name);
    if (!word.toLowerCase().startsWith(low)) return;
    const rank =
      (word === typed ? 0 : word.toLowerCase() === low ? 2 : 4) +
      (name === word ? 1 : 0);
    found.push([rank, word.length, i]);
  });
  return found
    .sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2])
    .slice(0, most)
    .map(([, , i]) => i);
}

// The dots nearest to dot i on the drawing, and the rank of each id asked for (1 is nearest).
export function onMap(x, y, i, ids, most) {
  const far = x.map((_, j) =>
    j === i ? Infinity : Math.hypot(x[j] - x[i], y[j] - y[i]),
  );
  const nearest = [...far.keys()]
    .sort((a, b) => far[a] - far[b] || a - b)
    .slice(0, most);
  const ranks = ids.map(
    (id) =>
      1 +
      far.reduce(
        (count, d, j) => count + (d < far[id] || (d === far[id] && j < id)),
        0,
      ),
  );
  return { nearest, ranks, far };
}

// The next dot from i in a direction (dx, dy), within 45° of it; i if there is none.
export function onward(x, y, i, [dx, dy]) {
  let best = i;
  let least = Infinity;
  x.forEach((_, j) => {
    const along = (x[j] - x[i]) * dx + (y[j] - y[i]) * dy;
    const aside = Math.abs((x[j] - x[i]) * dy - (y[j] - y[i]) * dx);
    if (j === i || along <= 0 || aside > along) return;
    const far = along + aside;
    if (far < least) [best, least] = [j, far];
  });
  return best;
}

// What part of the plane is drawn, one scale both ways: all dots, and room for names.
export function windowOf(x, y, { width, height }) {
  const ends = [x, y].map((v) =>
    v.reduce(
      ([low, high], each) => [Math.min(low, each), Math.max(high, each)],
      [Infinity, -Infinity],
    ),
  );
  const [wide, high] = ends.map(([low, top]) => Math.max(top - low, 1e-9));
  const scale = Math.min((width - 2 * SIDE) / wide, (height - 2 * EDGE) / high);
  const [cx, cy] = ends.map(([low, top]) => (low + top) / 2);
  return { cx, cy, scale };
}

// Where the names of dots go so that none covers another or a dot: for each dot, in this
// order, the first free place around it, near ones first; null where none is free.
// dots: [x, y][]; widths: of the names; room: { width, height, line } of drawing and name.
export function besideDots(dots, widths, { width, height, line }) {
  /** @type {number[][]} */
  const taken = dots.map(([x, y]) => [x - 4, y - 4, x + 4, y + 4]);
  /** @param {number[]} box */
  const meets = ([a, b, c, d]) =>
    taken.some(([e, f, g, i]) => a < g && e < c && b < i && f < d);
  return dots.map(([x, y], k) => {
    for (const far of [7, 14, 24, 36, 50, 66]) {
      for (const angle of [0, 180, 90, 270, 35, 145, 215, 325, 60, 120, 240, 300]) {
        const [cos, sin] = [Math.cos, Math.sin].map((f) => f((angle * Math.PI) / 180));
        const mx = x + cos * (far + widths[k] / 2);
        const my = y - sin * (far + line / 2);
        const box = [
          mx - widths[k] / 2,
          my - line / 2,
          mx + widths[k] / 2,
          my + line / 2,
        ];
        if (box[0] < 1 || box[1] < 1 || box[2] > width - 1 || box[3] > height - 1)
          continue;
        if (meets(box)) continue;
        taken.push(box);
        return [mx, my];
      }
    }
    return null;
  });
}

const SIDE = 44; // room for names at the sides of the map, and above and below
const EDGE = 20;
const REACH = 16; // how near a pointer must come to a dot
const GLIDE = 900; // ms from one map to the other
const STATE = ["pieces", "links", "drops", "places", "bound"];
const NAMES = [
  "chosen",
  "axes",
  "kind",
  "words",
  "homes",
  "shares",
  "kept",
  "compared",
  "examples",
  ...STATE,
];
const PAUSE = 500; // ms after which a typed word is taken
const MAPS = ["the words on the map", "all pieces"];

function render({ model, el }) {
  const root = figure(el, "tfem", "Words of the trained embedding on a map");
  const get = (name) => model.get(name);
  const live = liveRegion();
  const { commit, stop } = bind(model, NAMES, () => update());

  /** @type {Record<string, any>} */
  let made = { key: null };
  function data() {
    if (made.key !== get("links")) {
      const recorded = Object.fromEntries(STATE.map((name) => [name, get(name)]));
      made = { key: get("links"), ...decode(recorded) };
    }
    return made;
  }
  // ids: of all that is drawn, named ones first; `named` of them have names.
  /** @returns {Record<string, any>} */
  function state() {
    const all = data();
    const axes = get("axes");
    const i = Math.min(get("chosen"), all.names.length - 1);
    const kind = Math.max(0, KINDS.indexOf(get("kind")));
    const words = get("words");
    const named = [...new Set([i, ...all.near[i].map(([j]) => j), ...words])];
    const known = new Set(named);
    const grey = all.names
      .map((_, j) => j)
      .filter((j) => !known.has(j) && (kind === 1 || all.kinds[j] === kind));
    const ids = [...named, ...(kind ? grey : [])];
    const [x, y] = [all.at[2 * axes], all.at[2 * axes + 1]];
    return {
      ...all,
      axes,
      i,
      kind,
      words,
      ids,
      named: named.length,
      x: ids.map((j) => x[j]),
      y: ids.map((j) => y[j]),
    };
  }
  const choose = (i) => commit({ chosen: i });

  // Looking for a word
  const input = h("input", {
    type: "text",
    maxlength: 40,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    "data-control": "search",
  });
  const found = h("div", { class: "tfem-found" });
  function look() {
    const { names } = data();
    const ids = matches(names, input.value);
    const told = h(
      "span",
      { class: "tfem-none" },
      input.value.trim()
        ? `No piece begins with “${input.value.trim()}”. Try fewer letters.`
        : "Type the beginning of a word, English or German.",
    );
    found.replaceChildren(
      ...(ids.length
        ? ids.map((i, k) => button(`match-${k}`, names[i], () => choose(i)))
        : [told]),
    );
    return ids;
  }
  // A word is chosen once it is complete and the reader pauses, or by Enter.
  let pause = 0;
  function typed() {
    const [first] = look();
    const { names } = data();
    clearTimeout(pause);
    if (first !== undefined && bare(names[first]) === input.value.trim())
      pause = setTimeout(() => choose(first), PAUSE);
  }
  input.addEventListener("input", typed);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    clearTimeout(pause);
    const [first] = look();
    if (first === undefined) {
      live.announce(found.textContent, true);
      return;
    }
    input.value = bare(data().names[first]);
    choose(first);
  });
  const search = h(
    "div",
    { class: "tfem-search" },
    h("label", {}, h("span", {}, "Find a word"), input),
    found,
  );
  const examples = h("div", {
    class: "tfem-examples",
    role: "group",
    "aria-label": "Pieces of our sentence",
  });

  // The map
  const grey = h("path", { class: "tfem-grey" });
  const joins = h("g");
  const marks = h("g");
  const under = h("circle", { class: "tfem-under-ring", r: 8 });
  const svg = h(
    "svg",
    {
      class: "tfem-map",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "map",
      "data-control": "map",
    },
    grey,
    joins,
    under,
    marks,
  );
  const readout = h("p", { class: "tfem-under", "aria-hidden": "true" });
  const map = h("figure", { class: "tfem-figure" }, svg, readout);
  const narrow = () => root.clientWidth > 0 && root.clientWidth < 544;
  const sizes = () =>
    narrow()
      ? { width: 356, height: 370, line: 15, font: 12 }
      : { width: 450, height: 410, line: 16, font: 13 };

  /** @type {number[][]} */
  let places = []; // of s.ids, in the drawing, as they are now
  function dotAt(event) {
    const box = svg.getBoundingClientRect();
    const { width } = sizes();
    const zoom = width / box.width;
    const [px, py] = [
      zoom * (event.clientX - box.left),
      zoom * (event.clientY - box.top),
    ];
    let best = -1;
    let least = REACH * zoom;
    places.forEach(([qx, qy], k) => {
      const far = Math.hypot(qx - px, qy - py);
      if (far < least) [best, least] = [k, far];
    });
    return best;
  }
  function point(k) {
    const s = state();
    put(under, { visibility: k < 0 ? "hidden" : null });
    if (k >= 0) put(under, { cx: places[k][0], cy: places[k][1] });
    const j = s.ids[k];
    say(
      readout,
      k < 0
        ? "Point at a dot to read it, click to choose it."
        : `Here: ${s.names[j]} (id ${j}, ${KINDS[s.kinds[j]]})`,
    );
  }
  svg.addEventListener("pointermove", (event) => point(dotAt(event)));
  svg.addEventListener("pointerleave", () => point(-1));
  svg.addEventListener("click", (event) => {
    const k = dotAt(event);
    if (k >= 0) choose(state().ids[k]);
  });
  arrowKeys(svg, AROUND, ([down, right]) => {
    const s = state();
    choose(s.ids[onward(s.x, s.y, s.ids.indexOf(s.i), [right, -down])]);
  });

  // The list
  const caption = h("caption");
  const rows = h("tbody");
  const table = h(
    "table",
    { class: "tfem-near" },
    caption,
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ...["", "piece", "cosine", "on map"].map((name) =>
          h("th", { scope: "col" }, name),
        ),
      ),
    ),
    rows,
  );

  const axes = radios("axes", "Laid flat to suit", MAPS, get("axes"), (n) =>
    commit({ axes: n }),
  );
  const kind = radios("kind", "Show as grey dots", KINDS, 0, (n) =>
    commit({ kind: KINDS[n] }),
  );
  const facts = h("p", { class: "tfem-facts" });
  const behind = textTable(
    "The map as a table: the dots around the chosen one",
    "piece",
  );
  root.append(
    search,
    axes.set,
    h("div", { class: "tfem-two" }, map, h("div", { class: "tfem-list" }, table)),
    facts,
    h(
      "details",
      { class: "tfem-others" },
      h("summary", {}, "Other pieces: of our sentence, or all of them as grey dots"),
      examples,
      kind.set,
    ),
    behind.node,
    live.node,
  );

  // What is drawn: for each id its place; where its name is, from the dot.
  const glide = motion((t) => draw(t));
  /** @type {Record<string, any>} */
  let scene = { from: new Map(), to: new Map(), s: null, offsets: [], lost: new Set() };
  function draw(t) {
    const { s, from, to, offsets, lost } = scene;
    const far = 1 - t;
    places = s.ids.map((j) => {
      const [x, y] = to.get(j);
      const [a, b] = from.get(j) ?? [x, y];
      return [a * far + x * t, b * far + y * t];
    });
    const at = new Map(s.ids.map((j, k) => [j, places[k]]));
    const line = (name, a, b, extra = {}) => {
      const [[x1, y1], [x2, y2]] = [at.get(a), at.get(b)].map((each) =>
        each.map((v) => v.toFixed(1)),
      );
      return h("line", { class: name, x1, y1, x2, y2, ...extra });
    };
    const heads = get("homes");
    joins.replaceChildren(
      ...s.words
        .map((j, k) => [j, s.words[heads[k]]])
        .filter(([j, word]) => j !== word)
        .map(([j, word]) => line("tfem-family", word, j)),
      ...s.near[s.i].map(([j]) =>
        line(`tfem-link${lost.has(j) ? " tfem-lost" : ""}`, s.i, j, { "data-link": j }),
      ),
    );
    put(grey, {
      d:
        places
          .slice(s.named)
          .map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`)
          .join("") || null,
    });
    const nearest = new Set(s.near[s.i].map(([j]) => j));
    const seeds = new Set(s.words.filter((_, k) => heads[k] === k));
    // The chosen one last, so that it lies on top.
    const order = s.ids.slice(0, s.named).map((_, k) => k);
    marks.replaceChildren(
      ...order.reverse().flatMap((k) => {
        const j = s.ids[k];
        const [x, y] = places[k];
        const role =
          j === s.i ? " tfem-chosen" : nearest.has(j) ? " tfem-neighbour" : "";
        const dot = h("circle", {
          class: `tfem-dot${role}`,
          cx: x.toFixed(1),
          cy: y.toFixed(1),
          r: role ? 5 : 3,
          "data-mark": j,
        });
        if (!offsets[k]) return [dot];
        const [dx, dy] = offsets[k];
        const name = h(
          "text",
          {
            class: `tfem-name${role}${seeds.has(j) ? " tfem-seed" : ""}`,
            x: (x + dx).toFixed(1),
            y: (y + dy).toFixed(1),
            "text-anchor": "middle",
            "dominant-baseline": "central",
          },
          bare(byteAsCharacter(s.names[j])),
        );
        if (Math.abs(dy) < 26) return [dot, name];
        const leader = h("line", {
          class: "tfem-leader",
          x1: x.toFixed(1),
          y1: y.toFixed(1),
          x2: (x + dx).toFixed(1),
          y2: (y + dy - Math.sign(dy) * 7).toFixed(1),
        });
        return [leader, dot, name];
      }),
    );
  }
  function lay(s, lost, move) {
    const room = sizes();
    const { cx, cy, scale } = windowOf(s.x, s.y, room);
    put(svg, { viewBox: `0 0 ${room.width} ${room.height}` });
    svg.style.setProperty("--name", `${room.font}px`);
    const to = s.ids.map((_, k) => [
      room.width / 2 + scale * (s.x[k] - cx),
      room.height / 2 - scale * (s.y[k] - cy),
    ]);
    const heads = new Set(s.words.filter((_, k) => get("homes")[k] === k));
    const big = (j) => (j === s.i || heads.has(j) ? 1.14 : 1);
    const widths = s.ids
      .slice(0, s.named)
      .map((j) => 0.6 * room.font * big(j) * bare(s.names[j]).length + 4);
    const offsets = besideDots(to.slice(0, s.named), widths, room).map(
      (each, k) => each && [each[0] - to[k][0], each[1] - to[k][1]],
    );
    const from = new Map(scene.s ? scene.s.ids.map((j, k) => [j, places[k]]) : []);
    scene = { s, from, to: new Map(s.ids.map((j, k) => [j, to[k]])), offsets, lost };
    if (move) glide.run(GLIDE);
    else glide.end();
  }

  function update(speak = true) {
    const s = state();
    const near = s.near[s.i];
    const here = s.ids.indexOf(s.i);
    const { nearest, ranks, far } = onMap(
      s.x,
      s.y,
      here,
      near.map(([j]) => s.ids.indexOf(j)),
      near.length + 4,
    );
    axes.pick(s.axes);
    kind.pick(s.kind);
    if (document.activeElement !== input) {
      input.value = bare(s.names[s.i]);
      look();
    }
    if (examples.dataset.ids !== JSON.stringify(get("examples"))) {
      examples.dataset.ids = JSON.stringify(get("examples"));
      examples.replaceChildren(
        h("span", { "aria-hidden": "true" }, "Choose one of our sentence:"),
        ...get("examples").map((i, k) =>
          button(`example-${k}`, s.names[i], () => choose(i)),
        ),
      );
    }
    const lost = new Set(near.filter((_, k) => ranks[k] > near.length).map(([j]) => j));
    lay(s, lost, Boolean(scene.s) && scene.s.axes !== s.axes);
    point(-1);
    put(svg, {
      "aria-label": `${s.words.length} words as dots, joined to their nearest. Chosen: ${spoken(s.names[s.i])}. Arrow keys go to the next dot in their direction. The list beside it has its nearest by cosine.`,
    });

    const had = rows.contains(document.activeElement);
    say(caption, `Nearest to ${s.names[s.i]} in all ${get("d_model")} dimensions`);
    rows.replaceChildren(
      ...near.map(([j, cosine], k) => {
        const bar = h("span", {
          class: "tfem-bar",
          style: `--share: ${(100 * Math.max(0, cosine)).toFixed(0)}%`,
        });
        return h(
          "tr",
          {},
          h("td", {}, String(k + 1)),
          h(
            "th",
            { scope: "row" },
            button(`near-${k}`, byteAsCharacter(s.names[j]), () => choose(j)),
          ),
          h("td", {}, bar, format(cosine)),
          h("td", { class: lost.has(j) ? "tfem-far" : "" }, `${commas(ranks[k])}.`),
        );
      }),
    );
    if (had) rows.querySelector("button").focus();
    root.dataset.chosen = s.names[s.i];
    root.dataset.near = JSON.stringify(near.map(([j, cosine]) => [s.names[j], cosine]));

    const still = near.length - lost.size;
    const pairs = s.words.length * get("compared");
    say(
      facts,
      `Of the ${near.length} true neighbours of ${s.names[s.i]}, ${still} ${still === 1 ? "is" : "are"} among its ${near.length} nearest dots: solid lines; dashed ones are lost. ` +
        `Of ${get("d_model")} dimensions this map keeps two, and with them ${percent(get("shares")[s.axes])} of the variance of the ${s.words.length} words and ${commas(get("kept")[s.axes])} of their ${commas(pairs)} pairs of neighbours.`,
    );
    behind.show(
      ["across", "up", "distance on the map", "among the nearest by cosine"],
      [here, ...nearest].map((k) => {
        const order = near.findIndex(([id]) => id === s.ids[k]);
        const self = k === here;
        return [
          s.names[s.ids[k]],
          format(s.x[k], 3),
          format(s.y[k], 3),
          self ? "0.000" : format(far[k], 3),
          self ? "chosen" : order < 0 ? "no" : `number ${order + 1}`,
        ];
      }),
    );
    if (speak) {
      live.announce(
        `${spoken(s.names[s.i])}: nearest are ${near
          .slice(0, 3)
          .map(([j, c]) => `${spoken(s.names[j])}, ${format(c)}`)
          .join("; ")}.`,
      );
    }
  }

  look();
  update(false);
  // A map that becomes narrow is drawn anew.
  let was = narrow();
  const watcher = new ResizeObserver(() => {
    if (narrow() === was) return;
    was = narrow();
    update(false);
  });
  watcher.observe(root);
  return () => {
    watcher.disconnect();
    clearTimeout(pause);
    glide.stop();
    live.stop();
    stop();
  };
}

export default { render };
