// A search, step by step: the pieces it could take, the tree it grows, what it finds.
// `treeOf`, `statusAt`, `ranked` and `nextPieces` are all of its logic; they run in Node,
// and the tests hold them to `tformer.decode`. A step is one of `Translator.steps`.
import { lengthPenaltyOf } from "../engine/decode/beam.js";
import { USED, USUAL, used } from "../engine/decode/settings.js";
import { arrowKeys, GRID } from "../kit/arrows.js";
import { h, liveRegion, put, radios, say, slider, textTable } from "../kit/kit.js";
import { chance, format } from "../kit/numbers.js";
import { ending, meter, shown, spoken, written } from "../kit/pieces.js";
import { player } from "../kit/player.js";

const NAMES = { greedy: "greedy", sample: "sampling", beam: "beam search" };
export const SEARCHES = Object.keys(NAMES);
const ALL_K = 51; // the slider's place for "all"
const PAUSE = 900; // ms a step, when it plays

// What a search depends on; the length penalty only ranks what a beam has found.
export function keyOf({ search, beamSize, temperature, topK, topP, seed }) {
  if (search === "greedy") return "greedy";
  return search === "beam"
    ? `beam ${beamSize}`
    : `sample ${temperature} ${topK} ${topP} ${seed}`;
}

// All that the search looked at, parents first: node 0 is bos, the others are candidates.
// -> [{ column (the step), rank, parent (a node), piece, ids, logProbability, fate,
//       hypothesis: its place among those that the next step goes on from, or -1 }]
export function treeOf(steps) {
  const nodes = [
    {
      column: -1,
      rank: 0,
      parent: -1,
      piece: "<s>",
      pieces: [],
      ids: [],
      logProbability: 0,
      fate: "grown",
      hypothesis: 0,
    },
  ];
  let live = [0];
  for (const [column, { candidates }] of steps.entries()) {
    const grown = [];
    for (const [rank, { parent, ...each }] of candidates.entries()) {
      const from = nodes[live[parent]];
      const hypothesis = each.fate === "grown" ? grown.length : -1;
      if (hypothesis >= 0) grown.push(nodes.length);
      nodes.push({
        ...each,
        column,
        rank,
        parent: live[parent],
        hypothesis,
        ids: [...from.ids, each.id],
        pieces: [...from.pieces, each.piece],
      });
    }
    live = grown;
  }
  return nodes;
}

// What has become of each node after step `at` (0 the first): "live" (it, or something
// that grew from it, goes on), "finished" (only ended ones grew from it), "dropped", or
// null: not there yet.
export function statusAt(nodes, at) {
  const status = nodes.map(() => null);
  for (let i = nodes.length - 1; i >= 0; i--) {
    const { column, fate, parent } = nodes[i];
    if (column > at) continue;
    if (fate === "finished") status[i] = "finished";
    else if (fate === "grown" && column === at) status[i] = "live";
    else status[i] ??= "dropped";
    if (parent < 0) continue;
    if (status[i] === "live") status[parent] = "live";
    else if (status[i] === "finished") status[parent] ??= "finished";
  }
  return status;
}

// What has ended, the best first: score = log p / lp(length), eos counted.
export function ranked(finished, alpha) {
  return finished
    .map((each) => {
      const length = each.ids.length + 1;
      const penalty = lengthPenaltyOf(length, alpha);
      return { ...each, length, penalty, score: each.logProbability / penalty };
    })
    .sort((a, b) => b.score - a.score);
}

// The next pieces of one hypothesis: { rows: [{ piece, probability, drawn?, total, fate,
// rank }], rest: { probability, drawn? } }; fate is null for what was not among the best.
export function nextPieces(step, hypothesis, { temperature = 1 } = {}) {
  const { next, logProbability } = step.hypotheses[hypothesis];
  const chosen = new Map();
  step.candidates.forEach(
    (each, rank) =>
      each.parent === hypothesis && chosen.set(each.id, { ...each, rank }),
  );
  const rows = next.map((each) => {
    const { fate = null, rank = null } = chosen.get(each.id) ?? {};
    return { ...each, total: logProbability + Math.log(each.probability), fate, rank };
  });
  for (const { id, piece, fate, rank, logProbability: total } of chosen.values()) {
    if (fate === "dropped" || rows.some((row) => row.id === id)) continue;
    const row = {
      id,
      piece,
      probability: Math.exp(total - logProbability),
      total,
      fate,
      rank,
    };
    // Both were left after the cut, so their ratio tells how probable it became.
    if (rows[0].drawn !== undefined)
      row.drawn =
        rows[0].drawn * (row.probability / rows[0].probability) ** (1 / temperature);
    rows.push(row);
  }
  const left = (name) => Math.max(0, 1 - rows.reduce((sum, row) => sum + row[name], 0));
  const rest = { probability: left("probability") };
  if (rows[0].drawn !== undefined) rest.drawn = left("drawn");
  return { rows, rest };
}

const MARKS = { live: "●", finished: "✓", dropped: "✗" };
const FATES = { grown: "● kept", finished: "✓ finished", dropped: "✗ dropped" };

const WIDTH = 84; // of a node, and its height, in CSS pixels; then the space between
const HEIGHT = 36;
const ACROSS = 20;
const DOWN = 5;
const ROWS = 10; // next pieces, one that was drawn from beyond them, and all the rest

// The figure, given an engine (or null). Settings: those of USUAL; topK and topP may be
// null: no cut. `step` counts from 0; -1 is the end.
//   initial   settings to begin with, and step
//   onState   hears { ...settings, step, found } when the reader changes something
//   onNeed    is called when the settings need a new search; it should call run()
// -> { node,
//      run(text, { signal, onProgress }): search with the engine; show the steps as they come,
//      show(text, runs): show a sentence with what was recorded, [{ ...settings, steps }],
//        or, given an array of steps, those as a search with the present settings, or,
//        given null, search for it,
//      set({ ...settings, step }), state(), stop() }
/**
 * @param {any} engine
 * @param {object} [options]
 * @param {Record<string, any>} [options.initial]
 * @param {(state: any) => void} [options.onState]
 * @param {(() => void) | null} [options.onNeed]
 */
export function decodingView(
  engine,
  { initial = {}, onState = () => {}, onNeed = null } = {},
) {
  const { step: first = -1, ...given } = initial;
  const settings = { ...USUAL, ...given };
  const need = onNeed ?? (() => run(text).catch(() => {}));
  const live = liveRegion();
  let text = "";
  let runs = new Map(); // steps of this text, by key of the settings
  let key = null; // of what is shown
  let steps = [];
  let nodes = [];
  let items = []; // the elements of the nodes
  let place = first;
  let at = null; // the node that the reader picked
  let ready = false; // the model has answered once
  let waiting = 0;
  let frame = 0;
  let turn = 0; // counts searches
  let sight = 0;

  const searches = radios(
    "search",
    "Search",
    SEARCHES.map((name) => NAMES[name]),
    SEARCHES.indexOf(settings.search),
    (i) => change({ search: SEARCHES[i] }),
  );
  const sliders = {
    beamSize: slider(
      "beam_size",
      "beam size",
      { min: 1, max: 6, step: 1, digits: 0 },
      (beamSize) => change({ beamSize }),
    ),
    lengthPenalty: slider(
      "length_penalty",
      "penalty α",
      { min: 0, max: 3, step: 0.1, digits: 1 },
      (lengthPenalty) => change({ lengthPenalty }),
    ),
    temperature: slider(
      "temperature",
      "temperature",
      { min: 0.1, max: 2, step: 0.1, digits: 1 },
      (temperature) => change({ temperature }),
    ),
    topK: slider(
      "top_k",
      "top-k",
      { min: 1, max: ALL_K, step: 1, text: (k) => (k >= ALL_K ? "all" : String(k)) },
      (k) => change({ topK: k >= ALL_K ? null : k }),
    ),
    topP: slider(
      "top_p",
      "top-p",
      { min: 0.05, max: 1, step: 0.05, text: (p) => (p >= 1 ? "all" : format(p)) },
      (p) => change({ topP: p >= 1 ? null : p }),
    ),
    seed: slider("seed", "seed", { min: 0, max: 30, step: 1, digits: 0 }, (seed) =>
      change({ seed }),
    ),
  };
  const about = h("p", { class: "tfd-about" });
  const options = h(
    "div",
    { class: "tfd-options" },
    ...Object.values(sliders).map(({ box }) => box),
    about,
  );
  const note = h("p", { class: "tfd-note", role: "status", "data-note": true });

  const walk = player({
    words: ["To the first step", "One step back", "One step forward", "To the end"],
    at: () => position(),
    last: () => steps.length - 1,
    to: moveTo,
    beat: PAUSE,
  });
  const stepper = slider(
    "step",
    "step",
    { min: 1, max: 1, step: 1, text: (k) => `${k} of ${steps.length}` },
    (k) => walk.go(k - 1),
  );
  const bar = h("div", { class: "tfd-steps" }, ...walk.nodes, stepper.box);

  const lines = h("svg", { "aria-hidden": "true", class: "tfd-lines" });
  const tree = h("div", {
    class: "tfd-tree",
    role: "tree",
    "aria-label":
      "What the search looked at: one column for each step; arrow keys move, and show the next pieces",
  });
  const scroller = h("div", { class: "tfd-scroll" }, tree);
  const legend = h(
    "p",
    { class: "tfd-legend" },
    "● goes on   ✓ finished   ✗ dropped   ★ best by score; below each piece: log p of all up to it",
  );

  const heading = h("p", { class: "tfd-heading" });
  const head = h("tr");
  const body = h("tbody");
  const table = h("table", { class: "tfd-next" }, h("thead", {}, head), body);
  const foundHeading = h("p", { class: "tfd-heading" });
  const foundHead = h("tr");
  const foundBody = h("tbody");
  const foundBox = h(
    "div",
    {
      class: "tfd-found tfk-scroll",
      tabindex: 0,
      role: "region",
      "aria-label": "Finished translations",
    },
    h("table", {}, h("thead", {}, foundHead), foundBody),
  );
  const behind = textTable("The tree as a table", "written so far");
  const node = h(
    "div",
    { class: "tfd-view" },
    searches.set,
    options,
    note,
    bar,
    legend,
    scroller,
    heading,
    table,
    foundHeading,
    foundBox,
    behind.node,
    live.node,
  );

  arrowKeys(tree, GRID, (_, { key: pressed }) => {
    const next = neighbour(pressed);
    if (next !== null) pick(next);
  });

  const position = () =>
    place < 0 ? steps.length - 1 : Math.min(place, steps.length - 1);
  const isLine = () => !key?.startsWith("beam");

  function change(changes) {
    Object.assign(settings, changes);
    find();
    tell();
  }

  // Show the search of these settings, if it is known; else ask for it.
  function find() {
    clearTimeout(waiting);
    const wanted = keyOf(settings);
    if (runs.has(wanted)) {
      if (key !== wanted) showSteps(wanted, runs.get(wanted));
      else update();
    } else {
      update();
      if (ready && text) waiting = setTimeout(need, 200);
    }
  }

  function showSteps(name, found) {
    if (name !== key) at = null;
    key = name;
    steps = found;
    nodes = treeOf(steps);
    if (at !== null && at >= nodes.length) at = null;
    build();
    update();
  }

  /** @param {string} asked @param {{ signal?: AbortSignal, onProgress?: (p: any) => void }} [tools] */
  async function run(asked, { signal, onProgress } = {}) {
    clearTimeout(waiting);
    walk.stop();
    if (!engine)
      throw new Error("this page does not have the model: run the cell in a notebook");
    const wanted = keyOf(settings);
    const isNew = asked !== text;
    const mine = ++turn;
    const found = [];
    const draw = () => {
      frame = 0;
      showSteps(wanted, [...found]);
    };
    const onStep = (step) => {
      if (mine !== turn) return; // another search has begun
      if (!found.length && isNew) {
        text = asked;
        runs = new Map();
        place = -1;
        at = null;
      }
      found.push(step);
      frame ||= requestAnimationFrame(draw);
    };
    try {
      await engine.translate(asked, { ...used(settings), onStep, onProgress, signal });
    } finally {
      if (mine === turn) {
        cancelAnimationFrame(frame);
        frame = 0;
      }
    }
    if (mine !== turn) return;
    ready = true;
    runs.set(wanted, found);
    if (keyOf(settings) === wanted) showSteps(wanted, found);
    find();
    tell();
  }

  function show(sentence, recorded = null) {
    if (recorded === null) return run(sentence);
    walk.stop();
    text = sentence;
    const all =
      recorded.length && recorded[0].hypotheses
        ? [{ ...settings, steps: recorded }]
        : recorded;
    runs = new Map(all.map((each) => [keyOf({ ...USUAL, ...each }), each.steps]));
    key = null;
    if (!runs.size) return Promise.resolve();
    const [name, found] = runs.has(keyOf(settings))
      ? [keyOf(settings), runs.get(keyOf(settings))]
      : [...runs][0];
    showSteps(name, found);
    return Promise.resolve();
  }

  function moveTo(to) {
    place = to < 0 || to >= steps.length - 1 ? -1 : to;
    at = null;
    update();
    tell();
  }

  // The node that a key leads to; null is nowhere.
  function neighbour(pressed) {
    const from = current();
    const top = position();
    const near = (column, rank) => {
      const inColumn = nodes
        .map((each, i) => [each, i])
        .filter(([each]) => each.column === column && column <= top);
      return inColumn.find(([each]) => each.rank === rank)?.[1] ?? null;
    };
    const { column, rank, parent } = nodes[from];
    if (pressed === "ArrowLeft") return parent < 0 ? null : parent;
    if (pressed === "ArrowRight") {
      const child = nodes.findIndex(
        (each) => each.parent === from && each.column <= top,
      );
      return child < 0 ? null : child;
    }
    if (pressed === "ArrowUp") return near(column, rank - 1);
    if (pressed === "ArrowDown") return near(column, rank + 1);
    if (pressed === "Home") return 0;
    return near(top, 0); // End
  }

  // The node that is picked; unless told, the one that the best continuation grew from.
  function current() {
    if (at !== null && nodes[at].column <= position()) return at;
    const best = nodes.findIndex((each) => each.column === position());
    return best < 0 ? 0 : nodes[best].parent;
  }

  function pick(i) {
    at = i;
    update(false);
    items[i].focus({ preventScroll: true });
    reveal(items[i]);
  }

  // Scroll the tree, not the page, to a node.
  function reveal(item) {
    const [x, y] = [item.offsetLeft, item.offsetTop];
    const { clientWidth, clientHeight, scrollLeft, scrollTop } = scroller;
    if (x < scrollLeft) scroller.scrollLeft = x - ACROSS;
    else if (x + WIDTH > scrollLeft + clientWidth)
      scroller.scrollLeft = x + WIDTH + ACROSS - clientWidth;
    if (y < scrollTop) scroller.scrollTop = y - DOWN;
    else if (y + HEIGHT > scrollTop + clientHeight)
      scroller.scrollTop = y + HEIGHT + DOWN - clientHeight;
  }

  const left = ({ column }) => (column + 1) * (WIDTH + ACROSS) + 4;
  const top = ({ rank }) => rank * (HEIGHT + DOWN) + 4;

  // All elements of the tree, depth first: a screen reader hears children after parents.
  function build() {
    const height = Math.max(...nodes.map((each) => each.rank)) + 1;
    const width = left({ column: steps.length });
    tree.style.width = `${width}px`;
    tree.style.height = `${height * (HEIGHT + DOWN) + 8}px`;
    put(lines, { width, height: height * (HEIGHT + DOWN) + 8 });
    const paths = [];
    items = nodes.map((each, i) => {
      const item = h(
        "div",
        {
          class: "tfd-node",
          role: "treeitem",
          "aria-level": each.column + 2,
          tabindex: -1,
          "data-node": i,
        },
        h("span", { class: "tfd-piece" }),
        h("span", { class: "tfd-sum" }, format(each.logProbability)),
      );
      item.style.left = `${left(each)}px`;
      item.style.top = `${top(each)}px`;
      item.addEventListener("click", () => pick(i));
      if (each.parent >= 0) {
        const from = nodes[each.parent];
        const [x0, y0, x1, y1] = [
          left(from) + WIDTH,
          top(from) + HEIGHT / 2,
          left(each),
          top(each) + HEIGHT / 2,
        ];
        each.line = h("path", {
          d: `M${x0} ${y0} C${x0 + 10} ${y0} ${x1 - 10} ${y1} ${x1} ${y1}`,
        });
        paths.push(each.line);
      }
      return item;
    });
    lines.replaceChildren(...paths);
    const order = [];
    const children = nodes.map(() => []);
    nodes.forEach((each, i) => each.parent >= 0 && children[each.parent].push(i));
    const visit = (i) => {
      order.push(items[i]);
      children[i].forEach(visit);
    };
    visit(0);
    tree.replaceChildren(lines, ...order);
  }

  function update(speak = true) {
    const isKnown = keyOf(settings) === key;
    searches.pick(SEARCHES.indexOf(settings.search));
    sliders.beamSize.show(settings.beamSize);
    sliders.lengthPenalty.show(settings.lengthPenalty);
    sliders.temperature.show(settings.temperature);
    sliders.topK.show(settings.topK ?? ALL_K);
    sliders.topP.show(settings.topP ?? 1);
    sliders.seed.show(settings.seed);
    for (const [name, { box }] of Object.entries(sliders))
      put(box, { hidden: !USED[settings.search].includes(name) });
    put(about, { hidden: settings.search !== "greedy" });
    say(about, "The likeliest piece is taken, every time. There is nothing to set.");
    say(
      note,
      isKnown || !key
        ? ""
        : ready
          ? "The model is asked …"
          : engine
            ? "Still the search from before: these settings need the model. Press Translate."
            : "Still the search from before: other settings need the model, in a notebook.",
    );
    node.dataset.search = settings.search;
    node.dataset.stale = String(!isKnown);
    node.dataset.beam = isLine() ? "" : "true";
    if (!steps.length) return;

    const now = position();
    const status = statusAt(nodes, now);
    put(stepper.input, { max: steps.length });
    stepper.show(now + 1);
    walk.show();

    const found = ranked(steps[now].finished, isLine() ? 0 : settings.lengthPenalty);
    const winner = found[0]?.ids.join(" ");
    const here = current();
    const words = { live: "goes on", finished: "finished", dropped: "dropped" };
    const children = new Map();
    nodes.forEach(
      ({ parent, column }) =>
        column <= now && children.set(parent, (children.get(parent) ?? 0) + 1),
    );
    nodes.forEach((each, i) => {
      const item = items[i];
      const state = status[i];
      const hidden = state === null;
      put(item, {
        hidden,
        tabindex: i === here ? 0 : -1,
        "aria-selected": String(i === here),
        "aria-expanded": children.has(i) ? "true" : null,
        "data-status": state,
      });
      if (each.line) put(each.line, { class: hidden ? "tfd-hidden" : `tfd-${state}` });
      if (hidden) return;
      const best =
        !isLine() &&
        each.fate === "finished" &&
        each.ids.slice(0, -1).join(" ") === winner;
      item.className = `tfd-node tfd-${state}${i === here ? " tfd-here" : ""}`;
      say(item.firstChild, `${best ? "★" : MARKS[state]} ${shown(each.piece)}`);
      put(item, {
        "aria-label": `${spoken(each.piece)}, log p ${format(each.logProbability)}, ${best ? "finished, the best" : words[state]}`,
        title: shown(each.piece),
      });
    });
    if (at === null) {
      cancelAnimationFrame(sight); // the next frame: by then the host has put us on the page
      sight = requestAnimationFrame(() =>
        reveal(items[nodes.findIndex((each) => each.column === now)]),
      );
    }

    showNext(here, now);
    showFound(found);
    behind.show(
      ["next piece", "step", "log p", "now"],
      nodes
        .slice(1)
        .filter(({ column }) => column <= now)
        .map((each) => {
          const i = nodes.indexOf(each);
          return [
            written(each.pieces.slice(0, -1)) || "(nothing)",
            shown(each.piece),
            String(each.column + 1),
            format(each.logProbability, 3),
            words[status[i]],
          ];
        }),
    );
    if (speak && !walk.playing()) live.announce(summary(now, found));
  }

  function summary(now, found) {
    const { candidates } = steps[now];
    const count = (fate) => candidates.filter((each) => each.fate === fate).length;
    const best = nodes.find((each) => each.column === now);
    const begin = `Step ${now + 1} of ${steps.length}. `;
    if (isLine()) {
      const { piece, fate } = candidates[0];
      const how = key === "greedy" ? "The likeliest piece" : "The piece that was drawn";
      return `${begin}${how} is ${piece === "</s>" ? "the end of the sentence" : `“${spoken(piece)}”`}${fate === "finished" ? "." : `, so far: “${written(best.pieces)}”.`}`;
    }
    return (
      `${begin}${count("grown")} kept, ${count("finished")} finished, ${count("dropped")} dropped. ` +
      (found.length
        ? `Best of ${found.length} finished: “${found[0].text}”, score ${format(found[0].score)}.`
        : `Most probable: “${written(best.pieces)}”.`)
    );
  }

  // The bars: what may follow the picked node; where nothing grew from it, what it was
  // chosen among.
  function showNext(here, now) {
    const picked = nodes[here];
    const grew = picked.hypothesis >= 0 && picked.column < now;
    const from = grew ? picked : nodes[picked.parent];
    const step = steps[from.column + 1];
    const { rows, rest } = nextPieces(step, from.hypothesis, settings);
    const isSampled = rows[0].drawn !== undefined;
    const line = isLine();
    say(
      heading,
      `${from.pieces.length ? `After “${ending(written(from.pieces))}”` : "At the start"}, step ${from.column + 2}: the next piece`,
    );
    const columns = [
      "piece",
      "p",
      "",
      ...(isSampled ? ["p to draw from", ""] : []),
      ...(line ? [] : ["log p in all"]),
      isSampled ? "drawn" : line ? "taken" : "what became of it",
    ];
    head.replaceChildren(
      ...columns.map((name) =>
        name ? h("th", { scope: "col" }, name) : h("td", { "aria-hidden": "true" }),
      ),
    );
    const cells = (p) => [
      h("td", { "data-exact": p }, p === undefined ? "" : p === 0 ? "0" : chance(p)),
      meter("tfd-meter", p),
    ];
    const all = rows.map((row) => {
      const fate =
        row.fate === null
          ? ""
          : line
            ? isSampled
              ? "● drawn"
              : "● taken"
            : `${FATES[row.fate]}${row.fate === "grown" ? ` (rank ${row.rank + 1})` : ""}`;
      return h(
        "tr",
        {
          class: `${row.fate && row.fate !== "dropped" ? "tfd-taken" : ""}${!grew && row.id === picked.id ? " tfd-row" : ""}`,
          "data-piece": row.piece,
        },
        h("th", { scope: "row" }, shown(row.piece)),
        ...cells(row.probability),
        ...(isSampled ? cells(row.drawn) : []),
        ...(line ? [] : [h("td", {}, format(row.total))]),
        h("td", { class: "tfd-fate" }, fate),
      );
    });
    const others = h(
      "tr",
      {},
      h("th", { scope: "row" }, "all others"),
      ...cells(rest.probability),
      ...(isSampled ? cells(rest.drawn) : []),
      ...(line ? [] : [h("td")]),
      h("td"),
    );
    const empty = Array.from({ length: Math.max(0, ROWS - rows.length - 1) }, () =>
      h("tr", { "aria-hidden": "true" }, h("td", { colspan: columns.length }, " ")),
    );
    body.replaceChildren(...all, others, ...empty);
  }

  function showFound(found) {
    const line = isLine();
    say(
      foundHeading,
      line
        ? "Finished"
        : `Finished: score = log p / lp(n), lp(n) = ((5 + n) / 6)^α, α = ${format(settings.lengthPenalty, 1)}`,
    );
    const columns = line
      ? ["translation", "log p", "n"]
      : ["translation", "log p", "n", "lp(n)", "score"];
    foundHead.replaceChildren(
      ...columns.map((name) => h("th", { scope: "col" }, name)),
    );
    foundBody.replaceChildren(
      ...found.map((each, i) =>
        h(
          "tr",
          {
            "data-ids": each.ids.join(" "),
            "data-score": each.score,
            "data-log-p": each.logProbability,
          },
          h(
            "th",
            { scope: "row", lang: "de" },
            `${i === 0 && !line ? "★ " : ""}${each.text}`,
          ),
          h("td", {}, format(each.logProbability, 3)),
          h("td", {}, String(each.length)),
          ...(line
            ? []
            : [
                h("td", {}, format(each.penalty, 3)),
                h("td", {}, format(each.score, 3)),
              ]),
        ),
      ),
    );
    if (!found.length)
      foundBody.replaceChildren(
        h(
          "tr",
          {},
          h("th", { scope: "row" }, "none yet"),
          ...columns.slice(1).map(() => h("td")),
        ),
      );
  }

  // What Python and links read.
  function state() {
    const ended = [];
    const seen = new Set();
    steps.forEach(({ finished }, step) =>
      finished.forEach(({ ids, text: german, logProbability }) => {
        const name = ids.join(" ");
        if (!seen.has(name)) ended.push({ ids, text: german, logProbability, step });
        seen.add(name);
      }),
    );
    return {
      ...settings,
      step: place,
      found: { text, key, steps: steps.length, finished: ended },
    };
  }
  const tell = () => onState(state());

  function set({ step, ...changes }) {
    const same = Object.entries(changes).every(
      ([name, value]) => settings[name] === value,
    );
    if (same && (step === undefined || step === place)) return;
    Object.assign(settings, changes);
    if (step !== undefined && step !== place) {
      place = step;
      at = null;
    }
    find();
  }

  function stop() {
    walk.stop();
    clearTimeout(waiting);
    cancelAnimationFrame(frame);
    cancelAnimationFrame(sight);
    live.stop();
  }

  return { node, run, show, set, state, stop };
}
