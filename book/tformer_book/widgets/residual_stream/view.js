// One position of a Transformer and the stream that runs through it: how long it is, what
// each part adds and in which direction, and what it would say there already. It knows
// no engine: `show` takes what engine.stream() gives. `way`, `triangle` and `settled` are
// all of its logic; they run in Node.
import { arrowKeys, DOWN, within } from "../kit/arrows.js";
import { h, liveRegion, put, radios, say, textTable } from "../kit/kit.js";
import { chance, format } from "../kit/numbers.js";
import { meter, shown, spoken } from "../kit/pieces.js";
import { inWords, wordsView } from "./words.js";

// What the view shows; Python has traits of the same names. step -1: the last part.
export const STATE = { side: "decoder", position: 1, step: -1 };
export const SIDES = ["encoder", "decoder"];
const NAMES = {
  word: "the word",
  position: "its position",
  self_attention: "self-attention",
  cross_attention: "cross-attention",
  feed_forward: "feed-forward",
};

// "layers.0.self_attention" -> "0 self-attention": layers count from 0, as in the code.
export function titleOf(name) {
  const [, layer, part] = name.match(/^layers\.(\d+)\.(\w+)$/) ?? [];
  return part ? `${layer} ${NAMES[part]}` : NAMES[name];
}

// The rows of one side at one position; angle in degrees, null where there was nothing
// before. `before` is the stream's length before the part.
export function way(stream, side, position) {
  let before = 0;
  return stream[side].map((part, i) => {
    const row = {
      name: part.name,
      title: titleOf(part.name),
      before,
      length: part.length[position],
      added: part.added[position],
      cosine: i ? part.cosine[position] : null,
      angle: i ? degrees(part.cosine[position]) : null,
      next: part.next[position],
      followed: part.followed[position],
    };
    before = row.length;
    return row;
  });
}
const degrees = (cosine) =>
  (Math.acos(Math.max(-1, Math.min(1, cosine))) * 180) / Math.PI;

// From which row on the first piece stays what it is at the end; counted from 0.
export function settled(rows) {
  const end = rows.at(-1).next[0][0];
  let from = rows.length - 1;
  while (from > 0 && rows[from - 1].next[0][0] === end) from--;
  return from;
}

// The stream before a part, drawn upwards, what it adds, at its true angle to that, and
// their sum: corners { from, tip, end } in a drawing of this size, y downwards.
export function triangle(
  { before, added, cosine },
  width = 200,
  height = 200,
  margin = 14,
) {
  const sine = Math.sqrt(Math.max(0, 1 - (cosine ?? 1) ** 2));
  const corners = [
    [0, 0],
    [0, before],
    [added * sine, before + added * (cosine ?? 1)],
  ];
  const [xs, ys] = [0, 1].map((axis) => corners.map((each) => each[axis]));
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const wide = Math.max(...xs);
  const scale = Math.min(
    (width - 2 * margin) / (wide || 1),
    (height - 2 * margin) / (high - low || 1),
  );
  const left = (width - wide * scale) / 2;
  /** @param {number[]} corner */
  const place = ([x, y]) => [left + x * scale, height - margin - (y - low) * scale];
  const [from, tip, end] = corners.map(place);
  return { from, tip, end };
}

// onState hears what the reader changed.
// -> { node, show(stream), set(state), state, stop() }
/**
 * @param {object} [options]
 * @param {Record<string, any>} [options.initial]
 * @param {(changes: any) => void} [options.onState]
 */
export function residualStreamView({ initial = {}, onState = () => {} } = {}) {
  const state = { ...STATE, ...initial };
  let stream = null;
  let rows = [];
  let anchors = [];
  let built = "";

  const live = liveRegion({ isShown: true });
  const sides = radios(
    "side",
    "Follow",
    ["encoder (English)", "decoder (German)"],
    SIDES.indexOf(state.side),
    (i) => change({ side: SIDES[i], position: 0, step: -1 }),
  );
  const places = h("div", { class: "tfrs-places" });
  let picker = null;
  const about = h("p", { class: "tfrs-about" });

  const says = wordsView({
    at: () => at(),
    last: () => rows.length - 1,
    onGo: (i) => go(i),
  });
  const heads = ["part", "stream", "adds", "cosine", ""].map((name) =>
    h("th", { scope: "col" }, name),
  );
  const body = h("tbody");
  const table = h(
    "table",
    { class: "tfrs-rows" },
    h("thead", {}, h("tr", {}, ...heads)),
    body,
  );
  const box = h("div", { class: "tfrs-box tfk-scroll" }, table);

  const title = h("p", { class: "tfrs-title" });
  const drawing = drawingOf();
  const lists = ["before", "after"].map((name) => {
    const caption = h("p", { class: "tfrs-caption" });
    const list = h("tbody");
    return {
      caption,
      list,
      box: h(
        "div",
        { class: "tfrs-list", "data-list": name },
        caption,
        h("table", {}, list),
      ),
    };
  });
  const detail = h(
    "div",
    { class: "tfrs-detail" },
    drawing.node,
    lists[0].box,
    lists[1].box,
  );
  const verdict = h("p", { class: "tfrs-verdict" });
  const behind = textTable("The whole way as a table", "part");
  const node = h(
    "div",
    { class: "tfrs-view" },
    sides.set,
    places,
    about,
    says.node,
    title,
    detail,
    verdict,
    box,
    behind.node,
    live.node,
  );

  const at = () =>
    state.step < 0 || state.step >= rows.length ? rows.length - 1 : state.step;
  const pieces = () =>
    state.side === "encoder" ? stream.sourcePieces : stream.targetPieces;
  const place = () => Math.min(state.position, pieces().length - 1);
  const isEncoder = () => state.side === "encoder";
  const number = (x) => (isEncoder() ? format(x, 2) : chance(x));

  function change(changes) {
    Object.assign(state, changes);
    update();
    onState(changes);
  }

  const go = (i) => change({ step: within(i, rows.length) });
  arrowKeys(body, DOWN, (by) => {
    go(at() + by);
    anchors[at()].focus({ preventScroll: true });
  });

  function build() {
    const key = JSON.stringify([state.side, pieces()]);
    if (built === key) return;
    built = key;
    picker = radios("position", "Position", pieces().map(shown), place(), (i) =>
      change({ position: i }),
    );
    places.replaceChildren(picker.set);
    anchors = rows.map(({ title: name }, i) => {
      const anchor = h("button", { type: "button", tabindex: -1, "data-row": i }, name);
      anchor.addEventListener("click", () => go(i));
      return anchor;
    });
    says.build(rows.map((row) => row.title));
    body.replaceChildren(
      ...anchors.map((anchor, i) => {
        const line = h(
          "tr",
          { "data-step": i },
          h("th", { scope: "row" }, anchor),
          ...Array.from({ length: 4 }, () => h("td")),
        );
        line.addEventListener("click", () => go(i));
        return line;
      }),
    );
    say(heads[4], isEncoder() ? "nearest piece, cosine" : "would say, p");
  }

  function update() {
    if (!stream) return;
    rows = way(stream, state.side, place());
    build();
    sides.pick(SIDES.indexOf(state.side));
    picker.pick(place());
    const piece = pieces()[place()];
    say(
      about,
      isEncoder()
        ? `What the encoder makes of ${quoted(piece)}. It never has to name a piece; the words below only say which row of the embedding table points most nearly the same way.`
        : `The decoder has read ${quoted(piece)} and all before it. The words below say which piece would come next if the model ended there: last norm, table, softmax. (${stream.norm}-norm model)`,
    );

    const most = Math.max(...rows.map((row) => Math.max(row.length, row.added)));
    const now = at();
    rows.forEach((row, i) => {
      const line = body.children[i];
      const [length, added, cosine, ends] = [...line.children].slice(1);
      cells(length, row.length, format(row.length, 1), row.length / most);
      cells(added, row.added, `+ ${format(row.added, 1)}`, row.added / most);
      cells(cosine, row.cosine, row.cosine === null ? "–" : format(row.cosine, 2));
      const [best, value] = row.next[0];
      const text = `${shown(best)} ${number(value)}`;
      cells(ends, value, text);
      put(ends, { "data-piece": best });
      line.className = i === now ? "tfrs-now" : "";
      put(line, { "aria-current": i === now ? "step" : null });
      put(anchors[i], { tabindex: i === now ? 0 : -1 });
    });

    const row = rows[now];
    says.show(rows, now, {
      before: isEncoder()
        ? `After ${inWords(row.title)}, nearest to`
        : `If it ended after ${inWords(row.title)}, the model would say`,
      number: (x) => (isEncoder() ? `cosine ${number(x)}` : `p ${number(x)}`),
    });
    say(title, headline(row));
    drawing.show(row, stream.norm);
    listed(
      lists[0],
      now ? rows[now - 1].next : [],
      now ? "Before it" : "Before it there is nothing",
    );
    listed(lists[1], row.next, "After it");
    say(verdict, summary());
    behind.show(
      [
        "stream",
        "adds",
        "cosine",
        "angle",
        isEncoder() ? "nearest pieces" : "would say",
      ],
      rows.map((each) => [
        each.title,
        format(each.length, 2),
        format(each.added, 2),
        each.cosine === null ? "–" : format(each.cosine, 3),
        each.angle === null ? "–" : `${format(each.angle, 0)}°`,
        each.next.map(([name, value]) => `${shown(name)} ${number(value)}`).join(", "),
      ]),
    );
    const [best, value] = row.next[0];
    live.announce(
      `${spoken(piece)}, ${row.title}. ${headline(row)} ${isEncoder() ? "Nearest piece" : "It would say"} ${spoken(best)}, ${number(value)}.`,
    );
  }

  function cells(cell, exact, text, share = null) {
    say(cell, text);
    put(cell, { "data-exact": exact });
    if (share !== null)
      cell.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
  }

  const quoted = (piece) => `“${shown(piece)}”`;
  function headline({ title: name, before, added, length, angle }) {
    if (angle === null)
      return `The embedding begins the stream: length ${format(length, 1)}.`;
    const what =
      NAMES.position === name ? "The position" : `Layer ${name.replace(" ", ", ")},`;
    const post = stream.norm === "post" && name !== NAMES.position;
    return `${what} adds a vector of length ${format(added, 1)} at ${format(angle, 0)}° to the stream: ${format(before, 1)} becomes ${format(length, 1)}${post ? ", after the norm" : ""}.`;
  }

  function summary() {
    const from = settled(rows);
    const grown = rows.at(-1).length / rows[0].length;
    const growth = `On its way the stream grows to ${format(grown, 1)} times its length.`;
    if (isEncoder()) {
      const own = pieces()[place()];
      const lost = rows.findIndex((row) => row.next[0][0] !== own);
      return `${growth} ${lost < 0 ? `${quoted(own)} itself stays the nearest piece to the end` : `${quoted(own)} itself is the nearest piece until ${inWords(rows[lost].title)}`}, where its cosine is ${format(rows.at(lost).followed, 2)}.`;
    }
    const [end, p] = rows.at(-1).next[0];
    const given = stream.predictedPieces[place()];
    const other =
      given === end ? "" : ` The translation goes on with ${quoted(given)}.`;
    return `${growth} In the end it says ${quoted(end)}, p ${chance(p)}; that piece is ahead from ${inWords(rows[from].title)} on.${other}`;
  }

  function listed({ caption, list }, next, words) {
    say(caption, words);
    list.replaceChildren(
      ...Array.from({ length: 5 }, (_, i) => {
        const [piece, value] = next[i] ?? ["", null];
        return h(
          "tr",
          { "data-piece": piece || null },
          h("th", { scope: "row" }, piece ? shown(piece) : " "),
          h("td", { "data-exact": value }, value === null ? "" : number(value)),
          meter("tfrs-meter", Math.max(0, value ?? 0)),
        );
      }),
    );
  }

  function show(given) {
    stream = given;
    built = "";
    update();
  }
  function set(changes) {
    Object.assign(state, changes);
    update();
  }
  function stop() {
    says.stop();
    live.stop();
  }
  return { node, show, set, state, stop };
}

// Three arrows: the stream before, what is added, the stream after.
function drawingOf() {
  const svg = h("svg", { viewBox: "0 0 200 200", class: "tfrs-drawing", role: "img" });
  const legend = h(
    "p",
    { class: "tfrs-legend" },
    h("span", { class: "tfrs-key tfrs-before" }, "before"),
    h("span", { class: "tfrs-key tfrs-added" }, "added"),
    h("span", { class: "tfrs-key tfrs-after" }, "sum"),
  );
  const node = h("div", { class: "tfrs-triangle" }, svg, legend);
  /** @type {(from: number[], to: number[], name: string) => Node} */
  const arrow = ([x, y], [u, v], name) => {
    const length = Math.hypot(u - x, v - y);
    if (length < 0.5) return h("g");
    const head = Math.min(9, 0.6 * length);
    const [a, b] = [((u - x) / length) * head, ((v - y) / length) * head];
    const points = [
      [u, v],
      [u - a - b / 2, v - b + a / 2],
      [u - a + b / 2, v - b - a / 2],
    ];
    return h(
      "g",
      { class: `tfrs-arrow ${name}` },
      h("line", { x1: x, y1: y, x2: u - a / 2, y2: v - b / 2 }),
      h("polygon", {
        points: points.map((p) => p.map((c) => c.toFixed(1)).join(",")).join(" "),
      }),
    );
  };
  function show(row, norm) {
    const { from, tip, end } = triangle(row);
    svg.replaceChildren(
      arrow(from, tip, "tfrs-before"),
      arrow(from, end, "tfrs-after"),
      arrow(tip, end, "tfrs-added"),
    );
    put(svg, {
      "aria-label":
        row.angle === null
          ? `One arrow: the embedding, of length ${format(row.added, 1)}.`
          : `The stream, of length ${format(row.before, 1)}, drawn upwards; at ${format(row.angle, 0)} degrees to it what is added, of length ${format(row.added, 1)}; and their sum${norm === "post" ? ", which is normalised afterwards" : ""}.`,
    });
  }
  return { node, show };
}
