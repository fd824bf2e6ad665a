// Byte-pair encoding to step through: the pieces of a text after each merge.
// `countPairs`, `mergePair`, `learn` and `replay` are all of the maths; they run in Node,
// and the tests hold them to `tformer.tokenization.byte_pairs`.
import {
  bind,
  button,
  draggable,
  figure,
  h,
  liveRegion,
  put,
  radios,
  say,
  slider,
  textTable,
} from "../kit/kit.js";
import { commas, format } from "../kit/numbers.js";
import { player } from "../kit/player.js";

export const END = "</w>";
const N_SPECIAL = 4; // pad, bos, eos, unk

export const split = (text) => text.split(/\s+/u).filter(Boolean);
const spell = (word) => [...word, END];
const keyOf = (left, right) => `${left} ${right}`; // no symbol holds a blank

// words: [symbols, how often][] -> Map from "left right" to its number of places.
export function countPairs(words) {
  const counts = new Map();
  for (const [symbols, n] of words) {
    for (let i = 0; i + 1 < symbols.length; i++) {
      const key = keyOf(symbols[i], symbols[i + 1]);
      counts.set(key, (counts.get(key) ?? 0) + n);
    }
  }
  return counts;
}

export function mergePair(symbols, left, right) {
  const merged = [];
  for (let i = 0; i < symbols.length; i++) {
    if (symbols[i] === left && symbols[i + 1] === right) {
      merged.push(left + right);
      i++;
    } else merged.push(symbols[i]);
  }
  return merged;
}

// Python's order of strings: by code points, where JavaScript's < goes by UTF-16 units.
function before(a, b) {
  const [x, y] = [[...a], [...b]];
  const i = x.findIndex((c, j) => c !== y[j]);
  return i < 0
    ? x.length < y.length
    : i < y.length && x[i].codePointAt(0) < y[i].codePointAt(0);
}
const pairBefore = ([a, b], [c, d]) => (a === c ? before(b, d) : before(a, c));

// Pairs with their counts, most frequent first; of equals, the first in the alphabet.
export function ranked(counts) {
  return [...counts]
    .map(([key, n]) => [key.split(" "), n])
    .sort(([p, n], [q, m]) => m - n || (pairBefore(p, q) ? -1 : 1));
}

// Learn merges from a text until every word is one piece.
export function learn(text) {
  const frequency = new Map();
  for (const word of split(text)) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  let words = [...frequency].map(([word, n]) => [spell(word), n]);
  const merges = [];
  const counts = [];
  for (;;) {
    const found = countPairs(words);
    if (!found.size) return { merges, counts };
    const [[left, right], n] = ranked(found)[0];
    merges.push(keyOf(left, right));
    counts.push(n);
    words = words.map(([symbols, k]) => [mergePair(symbols, left, right), k]);
  }
}

// The text's words before the first merge that fits, after it, …, after the last.
export function replay(text, merges) {
  const ranks =
    merges instanceof Map ? merges : new Map(merges.map((key, i) => [key, i]));
  let words = split(text).map(spell);
  const steps = [{ rank: -1, words }];
  for (;;) {
    let rank = Infinity;
    for (const symbols of words) {
      for (let i = 0; i + 1 < symbols.length; i++) {
        const found = ranks.get(keyOf(symbols[i], symbols[i + 1]));
        if (found < rank) rank = found;
      }
    }
    if (rank === Infinity) return steps;
    const [left, right] = keyAt(ranks, rank).split(" ");
    words = words.map((symbols) => mergePair(symbols, left, right));
    steps.push({ rank, left, right, words });
  }
}
const lists = new WeakMap(); // from a map of ranks to its keys in order
function keyAt(ranks, rank) {
  if (!lists.has(ranks)) lists.set(ranks, [...ranks.keys()]);
  return lists.get(ranks)[rank];
}

const many = (n, what) => `${commas(n)} ${what}${n === 1 ? "" : "s"}`;
const HEIGHT = 166;
const BEAT = 1100; // ms from merge to merge
const MARGIN = { left: 34, right: 14, top: 22, bottom: 38 };
const NOTCHES = 200; // of the slider, and so of the dragged line
const NAMES = [
  "text",
  "n_merges",
  "learned_here",
  "merges",
  "counts",
  "alphabet",
  "curves",
  "corpus",
];

function render({ model, el }) {
  const root = figure(el, "tfmm", "Byte-pair encoding, merge by merge");
  const get = (name) => model.get(name);
  const live = liveRegion();
  const { commit, stop } = bind(model, NAMES, () => update());

  // What follows from the text and the merges; made anew only when one of them changes.
  let made = {};
  let given = {};
  /** @returns {Record<string, any>} */
  function state() {
    if (given.merges !== get("merges")) {
      given = {
        merges: get("merges"),
        ranks: new Map(get("merges").map((key, i) => [key, i])),
      };
      made = {};
    }
    const here = get("learned_here") || !given.merges.length;
    if (made.text !== get("text") || made.here !== here) {
      const text = get("text");
      const rules = here
        ? learn(text)
        : { merges: given.merges, counts: get("counts") };
      const letters = here
        ? new Set([...split(text).join("")])
        : new Set(get("alphabet"));
      made = {
        text,
        here,
        letters,
        total: rules.merges.length,
        counts: rules.counts,
        steps: replay(text, here ? rules.merges : given.ranks),
        base: N_SPECIAL + 1 + letters.size,
      };
    }
    const n = Math.min(get("n_merges"), made.total);
    let index = 0;
    while (index + 1 < made.steps.length && made.steps[index + 1].rank < n) index++;
    return { ...made, n, index, words: made.steps[index].words };
  }
  const share = (s, n) =>
    s.total
      ? Math.log((s.base + n) / s.base) / Math.log((s.base + s.total) / s.base)
      : 0;
  const merged = (s, p) =>
    Math.round(s.base * ((s.base + s.total) / s.base) ** p - s.base);
  const goTo = (p) => {
    const s = state();
    moves.stop();
    commit({ n_merges: Math.max(0, Math.min(s.total, merged(s, p))) });
  };

  const area = h("textarea", {
    rows: 2,
    maxlength: 500,
    spellcheck: "false",
    id: `${live.node.id}text`,
    "data-control": "text",
  });
  area.addEventListener("input", () => {
    moves.stop();
    commit({ text: area.value });
  });
  const box = h("label", { class: "tfmm-text" }, h("span", {}, "Your text"), area);
  const examples = h(
    "div",
    { class: "tfk-choice tfmm-examples" },
    h("span", {}, "or"),
    ...get("examples").map(([name, text, here], i) =>
      button(`example-${i}`, name, () => {
        moves.stop();
        commit({
          text,
          learned_here: here || !get("merges").length,
          n_merges: here ? 0 : get("n_merges"),
        });
      }),
    ),
  );
  const from = radios(
    "from",
    "Merges learned from",
    [get("corpus"), "your text"],
    0,
    (i) => {
      moves.stop();
      commit({ learned_here: i === 1, n_merges: i === 1 ? 0 : get("n_merges") });
    },
  );

  const moves = player({
    words: ["characters only", "one merge back", "the next merge", "all merges"],
    at: () => state().index,
    last: () => state().steps.length - 1,
    to: (i) => {
      const { steps, total } = state();
      const merges = i === 0 ? 0 : steps[i].rank + 1;
      commit({ n_merges: i === steps.length - 1 ? total : merges });
    },
    beat: BEAT,
  });
  const size = slider(
    "size",
    "merges",
    { min: 0, max: NOTCHES, step: 1, text: () => many(state().n, "merge") },
    (p) => goTo(p / NOTCHES),
  );

  const pieces = h("div", {
    class: "tfmm-pieces",
    tabindex: 0,
    role: "region",
    "aria-label": "The pieces of each word",
  });
  const cost = h("p", { class: "tfmm-cost" });
  const next = h("p", { class: "tfmm-next" });
  const caption = h("caption");
  const rows = h("tbody");
  const table = h(
    "table",
    {},
    caption,
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ...["merge", "pair", "becomes", "count"].map((name) =>
          h("th", { scope: "col" }, name),
        ),
      ),
    ),
    rows,
  );

  const svg = h("svg", {
    class: "tfmm-curve",
    role: "img",
    "aria-label":
      "Pieces per word against vocabulary size. The numbers are in the table below.",
  });
  const behind = textTable("The curve as a table: pieces per word", "vocabulary");
  root.append(
    box,
    examples,
    ...(get("merges").length ? [from.set] : []),
    h(
      "div",
      { class: "tfmm-moves" },
      h("div", { class: "tfmm-steps" }, ...moves.nodes),
      size.box,
    ),
    h(
      "div",
      { class: "tfmm-two" },
      h("div", { class: "tfmm-now-pieces" }, pieces, cost, next),
      h("div", { class: "tfmm-table" }, table),
    ),
    h(
      "figure",
      { class: "tfmm-figure" },
      svg,
      h(
        "figcaption",
        {},
        "Drag the line, or move the slider, to another vocabulary size.",
      ),
    ),
    behind.node,
    live.node,
  );

  let before = { text: null, n: 0 }; // what was shown: what merges now, flashes
  function showPieces(s) {
    const flashes = s.text === before.text && s.n > before.n;
    before = { text: s.text, n: s.n };
    const fresh = s.index ? s.steps[s.index].left + s.steps[s.index].right : null;
    const coming = s.steps[s.index + 1];
    pieces.replaceChildren(
      ...s.words.map((symbols) =>
        h(
          "span",
          { class: "tfmm-word" },
          ...symbols.map((symbol, i) => {
            const left =
              coming && symbol === coming.left && symbols[i + 1] === coming.right;
            const right =
              coming && symbol === coming.right && symbols[i - 1] === coming.left;
            const unknown = [...symbol].length === 1 && !s.letters.has(symbol);
            const marks = [
              "tfmm-piece",
              symbol === fresh && "tfmm-fresh",
              symbol === fresh && flashes && "tfmm-flash",
              (left || right) && "tfmm-coming",
              unknown && "tfmm-unknown",
            ];
            const body = symbol.endsWith(END) ? symbol.slice(0, -END.length) : symbol;
            return h(
              "span",
              {
                class: marks.filter(Boolean).join(" "),
                title: unknown ? "not in the alphabet: the id of unk" : null,
              },
              body,
              ...(body === symbol ? [] : [h("span", { class: "tfmm-end" }, END)]),
            );
          }),
          " ",
        ),
      ),
    );
    pieces.dataset.pieces = JSON.stringify(s.words.flat());
    return s.words.flat().filter((x) => [...x].length === 1 && !s.letters.has(x))
      .length;
  }

  // Your text's pieces per word as a staircase, the recorded curves, and the line.
  let grip = null;
  let line = null;
  let dot = null;
  let drawn = "";
  function draw(s) {
    const width = Math.max(260, Math.round(svg.clientWidth) || 600);
    const plot = {
      w: width - MARGIN.left - MARGIN.right,
      h: HEIGHT - MARGIN.top - MARGIN.bottom,
    };
    const count = Math.max(1, s.words.length);
    const perWord = (step) => step.words.flat().length / count;
    const curves = s.here ? [] : get("curves");
    const top = Math.ceil(
      Math.max(2, perWord(s.steps[0]), ...curves.flatMap((c) => c.values)),
    );
    const x = (n) => MARGIN.left + plot.w * share(s, n);
    const y = (v) => MARGIN.top + plot.h * (1 - (v - 1) / (top - 1));
    const key = JSON.stringify([width, s.text, s.here, s.total, top]);
    if (key !== drawn) {
      drawn = key;
      put(svg, { viewBox: `0 0 ${width} ${HEIGHT}` });
      const parts = [];
      for (let v = 1; v <= top; v += top > 9 ? 2 : 1) {
        parts.push(
          h("line", {
            class: "tfmm-grid",
            x1: MARGIN.left,
            x2: width - MARGIN.right,
            y1: y(v),
            y2: y(v),
          }),
          h(
            "text",
            {
              class: "tfmm-tick",
              x: MARGIN.left - 6,
              y: y(v) + 4,
              "text-anchor": "end",
            },
            String(v),
          ),
        );
      }
      const sizes = [s.base];
      for (const step of [1, 2, 5]
        .flatMap((k) => [10, 100, 1000, 10000].map((t) => k * t))
        .sort((a, b) => a - b)) {
        if (
          step > s.base &&
          step <= s.base + s.total &&
          x(step - s.base) - x(sizes.at(-1) - s.base) > 44
        )
          sizes.push(step);
      }
      const end = s.base + s.total;
      if (x(s.total) - x(sizes.at(-1) - s.base) < 44 && sizes.length > 1) sizes.pop();
      if (s.total) sizes.push(end);
      for (const v of sizes) {
        parts.push(
          h(
            "text",
            {
              class: "tfmm-tick",
              x: x(v - s.base),
              y: HEIGHT - MARGIN.bottom + 16,
              "text-anchor": "middle",
            },
            commas(v),
          ),
        );
      }
      parts.push(
        h(
          "text",
          {
            class: "tfmm-tick",
            x: MARGIN.left + plot.w / 2,
            y: HEIGHT - 6,
            "text-anchor": "middle",
          },
          "vocabulary size, on a logarithmic scale",
        ),
        h("text", { class: "tfmm-tick", x: 4, y: 12 }, "pieces per word"),
      );
      curves.forEach((curve, i) => {
        const points = curve.at
          .map((n, j) => `${x(n).toFixed(1)},${y(curve.values[j]).toFixed(1)}`)
          .join(" ");
        parts.push(h("polyline", { class: `tfmm-line tfmm-line-${i}`, points }));
      });
      const path = [];
      s.steps.forEach((step, i) => {
        const v = y(perWord(step)).toFixed(1);
        const from = i ? x(step.rank + 1) : x(0);
        const to = i + 1 < s.steps.length ? x(s.steps[i + 1].rank + 1) : x(s.total);
        path.push(`${from.toFixed(1)},${v}`, `${to.toFixed(1)},${v}`);
      });
      parts.push(
        h("polyline", { class: "tfmm-line tfmm-own", points: path.join(" ") }),
      );
      const legend = [
        ["tfmm-own", "your text"],
        ...curves.map((c, i) => [`tfmm-line-${i}`, c.name]),
      ];
      legend.forEach(([kind, name], i) => {
        const at = MARGIN.top + 8 + 17 * i;
        parts.push(
          h("line", {
            class: `tfmm-line ${kind}`,
            x1: width - 146,
            x2: width - 122,
            y1: at,
            y2: at,
          }),
          h("text", { class: "tfmm-tick", x: width - 116, y: at + 4 }, name),
        );
      });
      line = h("line", {
        class: "tfmm-now",
        y1: MARGIN.top,
        y2: HEIGHT - MARGIN.bottom,
      });
      dot = h("circle", { class: "tfmm-dot", r: 6 });
      grip = h("rect", {
        class: "tfmm-grip",
        "data-handle": "size",
        x: MARGIN.left - 10,
        y: MARGIN.top,
        width: plot.w + 20,
        height: plot.h,
      });
      svg.replaceChildren(...parts, line, dot, grip);
      draggable(grip, (p) =>
        goTo(Math.max(0, Math.min(1, (p * width - MARGIN.left) / plot.w))),
      );
      const at = [...new Set([0, ...(curves[0]?.at ?? []), s.total])].sort(
        (a, b) => a - b,
      );
      behind.show(
        ["your text", ...curves.map((c) => c.name)],
        at.map((n) => {
          const own = s.steps.filter((step) => step.rank < n).at(-1) ?? s.steps[0];
          return [
            commas(s.base + n),
            format(perWord(own)),
            ...curves.map((c) =>
              c.at.includes(n) ? format(c.values[c.at.indexOf(n)]) : "–",
            ),
          ];
        }),
      );
    }
    const here = perWord(s.steps[s.index]);
    put(line, { x1: x(s.n).toFixed(1), x2: x(s.n).toFixed(1) });
    put(dot, { cx: x(s.n).toFixed(1), cy: y(here).toFixed(1) });
  }

  function update(speak = true) {
    const s = state();
    if (area.value !== s.text) area.value = s.text;
    from.pick(s.here ? 1 : 0);
    const coming = s.steps[s.index + 1];
    moves.show();
    size.show(Math.round(NOTCHES * share(s, s.n)));
    say(size.output, many(s.n, "merge"));
    size.input.disabled = !s.total;

    const unknown = showPieces(s);
    const n = s.words.flat().length;
    say(
      cost,
      s.words.length
        ? `${many(s.words.length, "word")}, ${many(n, "piece")}: ${format(n / s.words.length)} pieces per word. ` +
            `Vocabulary: ${commas(s.base + s.n)}.` +
            (unknown ? ` ${many(unknown, "character")} unknown.` : "")
        : "Nothing to cut yet. Type a sentence, or take one of those above.",
    );
    root.dataset.cost = JSON.stringify([s.words.length, n, s.base + s.n, unknown]);
    const where = s.here ? "in your text" : "in the training text, when it was merged";
    const told = coming
      ? `Next: merge ${commas(coming.rank + 1)} joins “${coming.left}” and “${coming.right}” to “${coming.left + coming.right}”. ` +
        `The pair stood ${s.counts[coming.rank] === undefined ? "?" : many(s.counts[coming.rank], "time")} ${where}.`
      : s.words.length
        ? s.here
          ? "Every word is one piece: there is nothing left to merge."
          : "None of the other merges fits this text."
        : "Even one word will do: its letters are the first pieces.";
    say(next, told);

    const top = s.here
      ? ranked(countPairs(s.words.map((symbols) => [symbols, 1])))
          .slice(0, 5)
          .map(([pair, k], i) => [i ? "" : "next", pair, k])
      : s.steps
          .slice(s.index + 1, s.index + 6)
          .map((step) => [
            commas(step.rank + 1),
            [step.left, step.right],
            s.counts[step.rank] ?? "?",
          ]);
    say(
      caption,
      s.here
        ? "The most frequent pairs in your text now"
        : "The next merges that change your text",
    );
    while (top.length < 5) top.push(["", null, ""]);
    rows.replaceChildren(
      ...top.map(([name, pair, k]) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, name),
          h("td", {}, pair ? `${pair[0]} + ${pair[1]}` : "\u00a0"),
          h("td", {}, pair ? pair[0] + pair[1] : ""),
          h("td", {}, commas(k)),
        ),
      ),
    );
    draw(s);
    if (speak && !moves.playing()) live.announce(`${cost.textContent} ${told}`);
  }

  update(false);
  const watch =
    typeof ResizeObserver === "undefined"
      ? null
      : new ResizeObserver(() => draw(state()));
  watch?.observe(svg);
  return () => {
    moves.stop();
    watch?.disconnect();
    live.stop();
    stop();
  };
}

export default { render };
