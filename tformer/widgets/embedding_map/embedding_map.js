// The trained embedding as a map: every piece a dot, its nearest by cosine beside it.
// `decode`, `kindOf`, `matches`, `onMap`, `onward` and `windowOf` are all of the maths and
// run in Node; the neighbours come from Python, since the whole table is too large.
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
  slider,
  textTable,
} from "../kit/kit.js";
import { commas, format, percent } from "../kit/numbers.js";
import { spoken } from "../kit/pieces.js";

export const KINDS = [
  "all",
  "begins a word",
  "inside a word",
  "signs, digits",
  "bytes, special",
];
export const LEVELS = 1000;
const AXES = 4;
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

// Which of KINDS a piece is, from 1 on: seen from its spelling alone.
export function kindOf(piece) {
  if (/^<.+>$/.test(piece)) return 4;
  if (!/\p{L}/u.test(piece)) return 3;
  return piece.startsWith("▁") ? 1 : 2;
}

// Ids of the pieces that a reader may mean: the word itself, then what begins like it.
export function matches(names, text, most = 8) {
  const typed = text.trim().replace(/^▁/, "");
  if (!typed) return [];
  const low = typed.toLowerCase();
  const found = [];
  names.forEach((name, i) => {
    const bare = name.replace(/^▁/, "");
    if (!bare.toLowerCase().startsWith(low)) return;
    const rank =
      (bare === typed ? 0 : bare.toLowerCase() === low ? 2 : 4) +
      (name === bare ? 1 : 0);
    found.push([rank, bare.length, i]);
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
export function onward(x, y, i, [dx, dy], may) {
  let best = i;
  let least = Infinity;
  x.forEach((_, j) => {
    const along = (x[j] - x[i]) * dx + (y[j] - y[i]) * dy;
    const aside = Math.abs((x[j] - x[i]) * dy - (y[j] - y[i]) * dx);
    if (j === i || !may(j) || along <= 0 || aside > along) return;
    const far = along + aside;
    if (far < least) [best, least] = [j, far];
  });
  return best;
}

// What part of the plane is drawn: a square; zoomed in, around dot i but never outside.
export function windowOf(x, y, i, zoom) {
  const ends = [x, y].map((v) =>
    v.reduce(
      ([low, high], each) => [Math.min(low, each), Math.max(high, each)],
      [Infinity, -Infinity],
    ),
  );
  const whole = (1.06 * Math.max(...ends.map(([low, high]) => high - low))) / 2;
  const half = whole / zoom;
  const [cx, cy] = ends.map(([low, high], axis) => {
    const middle = (low + high) / 2;
    const slack = whole - half;
    return Math.max(middle - slack, Math.min(middle + slack, [x, y][axis][i]));
  });
  return { cx, cy, half };
}

const SIZE = 400; // of the drawing
const REACH = 14; // how near a pointer must come to a dot
const NAMES = [
  "chosen",
  "axes",
  "kind",
  "zoom",
  "pieces",
  "links",
  "drops",
  "places",
  "examples",
];

function render({ model, el }) {
  const root = figure(el, "tfem", "The trained embedding as a map of pieces");
  const get = (name) => model.get(name);
  const live = liveRegion();
  const { commit, stop } = bind(model, NAMES, () => update());

  /** @type {Record<string, any>} */
  let made = { key: null };
  function data() {
    if (made.key !== get("links")) {
      made = {
        key: get("links"),
        ...decode(
          Object.fromEntries(
            ["pieces", "links", "drops", "places", "bound"].map((name) => [
              name,
              get(name),
            ]),
          ),
        ),
      };
    }
    return made;
  }
  /** @returns {Record<string, any>} */
  function state() {
    const all = data();
    const [x, y] = [all.at[2 * get("axes")], all.at[2 * get("axes") + 1]];
    const kind = Math.max(0, KINDS.indexOf(get("kind")));
    const i = Math.min(get("chosen"), all.names.length - 1);
    return {
      ...all,
      x,
      y,
      i,
      kind,
      zoom: get("zoom"),
      may: (j) => !kind || all.kinds[j] === kind,
    };
  }
  const choose = (i) => commit({ chosen: i });

  // Looking for a piece
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
  input.addEventListener("input", look);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    const ids = look();
    if (ids.length) choose(ids[0]);
    else live.announce(found.textContent, true);
  });
  const search = h(
    "div",
    { class: "tfem-search" },
    h("label", {}, h("span", {}, "Find a piece"), input),
    found,
  );
  const examples = h("div", {
    class: "tfem-examples",
    role: "group",
    "aria-label": "Pieces of our sentence",
  });

  // The map
  const dots = KINDS.slice(1).map((_, k) =>
    h("path", { class: `tfem-dots tfem-kind-${k + 1}` }),
  );
  const off = h("path", { class: "tfem-dots tfem-off" });
  const cross = [h("line", { class: "tfem-axis" }), h("line", { class: "tfem-axis" })];
  const marks = h("g");
  const under = h("circle", { class: "tfem-under-ring", r: 7 });
  const svg = h(
    "svg",
    {
      class: "tfem-map",
      viewBox: `0 0 ${SIZE} ${SIZE}`,
      tabindex: 0,
      role: "application",
      "aria-roledescription": "map",
      "data-control": "map",
    },
    ...cross,
    off,
    ...dots,
    under,
    marks,
  );
  const readout = h("p", { class: "tfem-under", "aria-hidden": "true" });
  const names = [h("span"), h("span")];
  const map = h(
    "figure",
    { class: "tfem-figure" },
    svg,
    h("figcaption", {}, ...names),
    readout,
  );

  /** @type {(now: any, j: number) => number[]} */
  let place = () => [0, 0]; // from a dot to the drawing
  function dotAt(event) {
    const s = state();
    const box = svg.getBoundingClientRect();
    const [px, py] = [
      (SIZE * (event.clientX - box.left)) / box.width,
      (SIZE * (event.clientY - box.top)) / box.height,
    ];
    let best = -1;
    let least = (REACH * SIZE) / box.width;
    s.names.forEach((_, j) => {
      if (!s.may(j)) return;
      const [qx, qy] = place(s, j);
      const far = Math.hypot(qx - px, qy - py);
      if (far < least) [best, least] = [j, far];
    });
    return best;
  }
  function point(j) {
    const s = state();
    put(under, { visibility: j < 0 ? "hidden" : null });
    if (j >= 0) {
      const [px, py] = place(s, j);
      put(under, { cx: px.toFixed(1), cy: py.toFixed(1) });
    }
    say(
      readout,
      j < 0
        ? "Point at a dot to read it, click to choose it."
        : `Here: ${s.names[j]} (id ${j}, ${KINDS[s.kinds[j]]})`,
    );
  }
  svg.addEventListener("pointermove", (event) => point(dotAt(event)));
  svg.addEventListener("pointerleave", () => point(-1));
  svg.addEventListener("click", (event) => {
    const j = dotAt(event);
    if (j >= 0) choose(j);
  });
  arrowKeys(svg, AROUND, ([down, right]) => {
    const s = state();
    choose(onward(s.x, s.y, s.i, [right, -down], s.may));
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
        ...["", "piece", "cosine", "rank on the map"].map((name) =>
          h("th", { scope: "col" }, name),
        ),
      ),
    ),
    rows,
  );

  const axes = radios(
    "axes",
    "Map",
    ["axes 1 and 2", "axes 3 and 4"],
    get("axes"),
    (n) => commit({ axes: n }),
  );
  const kind = radios("kind", "Show", KINDS, 0, (n) => commit({ kind: KINDS[n] }));
  const zoom = slider(
    "zoom",
    "zoom",
    { min: 1, max: 6, step: 0.5, text: (x) => `× ${format(x, 1)}` },
    (x) => commit({ zoom: x }),
  );
  const facts = h("p", { class: "tfem-facts" });
  const behind = textTable(
    "The map as a table: the dots around the chosen one",
    "piece",
  );
  root.append(
    search,
    examples,
    kind.set,
    h("div", { class: "tfem-view" }, axes.set, zoom.box),
    h("div", { class: "tfem-two" }, map, h("div", { class: "tfem-list" }, table)),
    facts,
    behind.node,
    live.node,
  );

  let drawn = "";
  function draw(s) {
    const { cx, cy, half } = windowOf(s.x, s.y, s.i, s.zoom);
    place = (now, j) => [
      (SIZE * (1 + (now.x[j] - cx) / half)) / 2,
      (SIZE * (1 - (now.y[j] - cy) / half)) / 2,
    ];
    const key = [made.key.length, get("axes"), s.kind, s.zoom, cx, cy].join(" ");
    if (key === drawn) return;
    drawn = key;
    const paths = KINDS.map(() => []);
    s.names.forEach((_, j) => {
      const [px, py] = place(s, j);
      if (px < -4 || py < -4 || px > SIZE + 4 || py > SIZE + 4) return;
      paths[s.may(j) ? s.kinds[j] : 0].push(`M${px.toFixed(1)} ${py.toFixed(1)}h0`);
    });
    dots.forEach((node, k) => put(node, { d: paths[k + 1].join("") || null }));
    put(off, { d: paths[0].join("") || null });
    put(svg, { style: `--dot: ${(2.2 + 0.35 * (s.zoom - 1)).toFixed(2)}` });
    const [ox, oy] = [(SIZE * (1 - cx / half)) / 2, (SIZE * (1 + cy / half)) / 2];
    put(cross[0], { x1: 0, x2: SIZE, y1: oy.toFixed(1), y2: oy.toFixed(1) });
    put(cross[1], { x1: ox.toFixed(1), x2: ox.toFixed(1), y1: 0, y2: SIZE });
  }
  function mark(s) {
    const parts = [];
    const near = s.near[s.i];
    near.forEach(([j], k) => {
      const [px, py] = place(s, j);
      const label = h(
        "text",
        { class: "tfem-rank", x: (px + 8).toFixed(1), y: (py + 4).toFixed(1) },
        String(k + 1),
      );
      parts.push(
        h("circle", {
          class: "tfem-ring",
          cx: px.toFixed(1),
          cy: py.toFixed(1),
          r: 5.5,
          "data-mark": j,
        }),
        label,
      );
    });
    const [px, py] = place(s, s.i);
    const left = px > SIZE / 2;
    parts.push(
      h("circle", {
        class: "tfem-chosen",
        cx: px.toFixed(1),
        cy: py.toFixed(1),
        r: 6.5,
        "data-mark": s.i,
      }),
      h(
        "text",
        {
          class: "tfem-name",
          x: (left ? px - 11 : px + 11).toFixed(1),
          y: (py < 24 ? py + 20 : py - 9).toFixed(1),
          "text-anchor": left ? "end" : "start",
        },
        s.names[s.i],
      ),
    );
    marks.replaceChildren(...parts);
  }

  function update(speak = true) {
    const s = state();
    const near = s.near[s.i];
    const { nearest, ranks, far } = onMap(
      s.x,
      s.y,
      s.i,
      near.map(([j]) => j),
      near.length + 4,
    );
    axes.pick(get("axes"));
    kind.pick(s.kind);
    zoom.show(s.zoom);
    if (examples.dataset.ids !== JSON.stringify(get("examples"))) {
      examples.dataset.ids = JSON.stringify(get("examples"));
      examples.replaceChildren(
        h("span", { "aria-hidden": "true" }, "or of our sentence:"),
        ...get("examples").map((i, k) =>
          button(`example-${k}`, s.names[i], () => choose(i)),
        ),
      );
    }
    draw(s);
    mark(s);
    point(-1);

    const [one, two] = [2 * get("axes"), 2 * get("axes") + 1];
    say(names[0], `axis ${one + 1} → ${percent(get("shares")[one])}`);
    say(names[1], `axis ${two + 1} ↑ ${percent(get("shares")[two])}`);
    put(svg, {
      "aria-label": `${s.names.length} pieces as dots. Chosen: ${spoken(s.names[s.i])}. Arrow keys go to the next dot in their direction. The list beside it has its nearest by cosine.`,
    });

    const had = rows.contains(document.activeElement);
    say(caption, `Nearest to ${s.names[s.i]} (id ${s.i}) by cosine`);
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
            button(`near-${k}`, s.names[j], () => choose(j)),
          ),
          h("td", {}, bar, format(cosine)),
          h("td", {}, `${commas(ranks[k])}.`),
        );
      }),
    );
    if (had) rows.querySelector("button").focus();
    root.dataset.chosen = s.names[s.i];
    root.dataset.near = JSON.stringify(near.map(([j, cosine]) => [s.names[j], cosine]));

    const both = get("shares")[one] + get("shares")[two];
    const kept = ranks.filter((rank) => rank <= near.length).length;
    say(
      facts,
      `These two axes hold ${percent(both)} of what tells the ${commas(s.names.length)} rows apart; the other ${get("d_model") - 2} hold the rest. ` +
        `So the list is true and the map is a shadow: of the ${near.length} nearest by cosine, ${kept} ${kept === 1 ? "is" : "are"} among the ${near.length} nearest dots.`,
    );
    behind.show(
      [
        `axis ${one + 1}`,
        `axis ${two + 1}`,
        "distance on the map",
        "among the nearest by cosine",
      ],
      [s.i, ...nearest].map((j) => {
        const k = near.findIndex(([id]) => id === j);
        return [
          s.names[j],
          format(s.x[j], 3),
          format(s.y[j], 3),
          j === s.i ? "0.000" : format(far[j], 3),
          j === s.i ? "chosen" : k < 0 ? "no" : `number ${k + 1}`,
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
  return () => {
    live.stop();
    stop();
  };
}

export default { render };
