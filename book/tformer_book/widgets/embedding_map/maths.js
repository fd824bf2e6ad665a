// What the map knows and where it draws it. Runs in Node; the neighbours come from Python,
// since the whole table is too large.
export const KINDS = [
  ...["none", "all", "begins a word", "inside a word"],
  ...["signs, digits", "bytes, special"],
];
export const LEVELS = 1000;
const AXES = 4; // two of each map
const SIDE = 44; // room for names at the sides of the map, and above and below
const EDGE = 20;
// Printable ASCII without what HTML and JSON would have to escape.
const DIGITS = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).filter(
  (c) => !"\"&'<>\\".includes(c),
);
// n whole numbers.
const upTo = (n, from = 0) => Array.from({ length: n }, (_, i) => from + i);
const VALUE = new Map(DIGITS.map((c, i) => [c, i]));

// Two digits for each number: first all high ones, then all low ones.
export function unpack(text) {
  const n = text.length / 2;
  const valueAt = (i) => VALUE.get(text[i]);
  return upTo(n).map((i) => valueAt(i) * DIGITS.length + valueAt(n + i));
}

// pieces: names; near: for each piece [[id, cosine], …]; at: for each axis the places.
export function decode(pieces, links, drops, places, bound) {
  const names = pieces.split("\n");
  const ids = unpack(links);
  const down = unpack(drops);
  const n = ids.length / names.length;
  const near = names.map((_, i) => {
    let hundredths = 100;
    return upTo(n, i * n).map((k) => {
      hundredths -= down[k];
      return [ids[k], hundredths / 100];
    });
  });
  const level = unpack(places).map((x) => ((2 * x) / (LEVELS - 1) - 1) * bound);
  const at = upTo(AXES).map((a) =>
    level.slice(a * names.length, (a + 1) * names.length),
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
export const bare = (piece) => piece.replace(/^▁(?=.)/, "");

// Ids of the pieces that a reader may mean: the word itself, then what begins like it.
export function matches(names, text, most = 8) {
  const typed = text.trim().replace(/^▁/, "");
  if (!typed) return [];
  const low = typed.toLowerCase();
  const found = names.flatMap((name, i) => {
    const word = bare(name);
    if (!word.toLowerCase().startsWith(low)) return [];
    const rank = word === typed ? 0 : word.toLowerCase() === low ? 2 : 4;
    return [[rank + (name === word ? 1 : 0), word.length, i]];
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
  const order = (a, b) => far[a] - far[b] || a - b;
  const nearest = [...far.keys()].sort(order);
  const ranks = ids.map((id) => 1 + nearest.indexOf(id));
  return { nearest: nearest.slice(0, most), ranks, far };
}

// Where the least of some numbers is; -1 if none is finite.
export function leastOf(values) {
  const least = values.reduce((low, each) => Math.min(low, each), Infinity);
  return least < Infinity ? values.indexOf(least) : -1;
}

// The next dot from i in a direction (dx, dy), within 45° of it; i if there is none.
export function onward(x, y, i, [dx, dy]) {
  const next = leastOf(
    x.map((_, j) => {
      const along = (x[j] - x[i]) * dx + (y[j] - y[i]) * dy;
      const aside = Math.abs((x[j] - x[i]) * dy - (y[j] - y[i]) * dx);
      return j === i || along <= 0 || aside > along ? Infinity : along + aside;
    }),
  );
  return next < 0 ? i : next;
}

// What part of the plane is drawn, one scale both ways: all dots, and room for names.
export function windowOf(x, y, { width, height }) {
  const ends = [x, y].map((v) =>
    [Math.min, Math.max].map((end) => v.reduce((a, b) => end(a, b))),
  );
  const [wide, high] = ends.map(([low, top]) => Math.max(top - low, 1e-9));
  const scale = Math.min((width - 2 * SIDE) / wide, (height - 2 * EDGE) / high);
  const [cx, cy] = ends.map(([low, top]) => (low + top) / 2);
  return { cx, cy, scale };
}

const ANGLES = [0, 180, 90, 270, 35, 145, 215, 325, 60, 120, 240, 300];
const AROUND = ANGLES.map((angle) => (angle * Math.PI) / 180).map((angle) => ({
  cos: Math.cos(angle),
  sin: Math.sin(angle),
}));
const PLACES = [7, 14, 24, 36, 50, 66].flatMap((far) =>
  AROUND.map((way) => ({ far, ...way })),
);

// Where the names of dots go so that none covers another or a dot: for each dot, in this
// order, the first free place around it, near ones first; null where none is free.
// dots: [x, y][]; widths: of the names; room: { width, height, line } of drawing and name.
export function besideDots(dots, widths, { width, height, line }) {
  const taken = dots.map(([x, y]) => [x - 4, y - 4, x + 4, y + 4]);
  /** @type {(box: number[]) => boolean} */
  const isFree = ([a, b, c, d]) =>
    Math.min(a, b) >= 1 &&
    c <= width - 1 &&
    d <= height - 1 &&
    !taken.some(([e, f, g, i]) => a < g && e < c && b < i && f < d);
  return dots.map(([x, y], k) => {
    for (const { far, cos, sin } of PLACES) {
      const [mx, my] = [x + cos * (far + widths[k] / 2), y - sin * (far + line / 2)];
      const [w, h] = [widths[k] / 2, line / 2];
      const box = [mx - w, my - h, mx + w, my + h];
      if (!isFree(box)) continue;
      taken.push(box);
      return [mx, my];
    }
    return null;
  });
}

// What is shown of all pieces, as `decode` gives them. ids: of all that is drawn, those
// with names first (`named` of them), and of these the chosen one, then its neighbours;
// on the map some of those are `lost`.
export function shownOf(all, { chosen, axes, kind, words, homes }) {
  const i = Math.min(chosen, all.names.length - 1);
  const near = all.near[i];
  const ofKind = Math.max(0, KINDS.indexOf(kind));
  const named = new Set([i, ...near.map(([j]) => j), ...words]);
  const grey = [...all.names.keys()].filter(
    (j) => ofKind && !named.has(j) && (ofKind === 1 || all.kinds[j] === ofKind),
  );
  const ids = [...named, ...grey];
  const [x, y] = [2 * axes, 2 * axes + 1].map((a) => ids.map((j) => all.at[a][j]));
  const found = onMap(x, y, 0, upTo(near.length, 1), near.length + 4);
  const lost = near.filter((_, k) => found.ranks[k] > near.length).map(([j]) => j);
  const seeds = new Set(words.filter((_, k) => homes[k] === k));
  const own = { kind: ofKind, named: named.size, lost: new Set(lost), seeds };
  return { ...all, ...found, i, near, axes, words, homes, ids, x, y, ...own };
}

// Where all of it lies in a drawing, and how far from its dot each name is, or null. Dots
// that were in the drawing before come `from` where they were.
export function layout(s, room, before) {
  const { cx, cy, scale } = windowOf(s.x, s.y, room);
  const to = s.ids.map((_, k) => [
    room.width / 2 + scale * (s.x[k] - cx),
    room.height / 2 - scale * (s.y[k] - cy),
  ]);
  const isBig = (j) => j === s.i || s.seeds.has(j);
  const widths = s.ids
    .slice(0, s.named)
    .map((j) => 0.6 * room.font * (isBig(j) ? 1.14 : 1) * bare(s.names[j]).length + 4);
  const offsets = besideDots(to.slice(0, s.named), widths, room).map(
    (each, k) => each && [each[0] - to[k][0], each[1] - to[k][1]],
  );
  const was = new Map(before?.ids.map((j, k) => [j, before.places[k]]));
  const from = s.ids.map((j, k) => was.get(j) ?? to[k]);
  return { room, offsets, from, to, places: from };
}

export const between = (from, to, t) =>
  from.map(([x, y], k) => [x * (1 - t) + to[k][0] * t, y * (1 - t) + to[k][1] * t]);
