// Teacher forcing beside decoding: in training the decoder reads the given translation,
// all positions in one pass; in use it reads its own pieces, one step at a time.
// `align` and `moved` are all of the logic; they run in Node, and the tests hold them to
// `tformer.decode`.
import { within } from "../kit/arrows.js";
import { button, h, liveRegion, put, say, slider, textTable } from "../kit/kit.js";
import { chance, format } from "../kit/numbers.js";
import { shown, spoken, written } from "../kit/pieces.js";
import { player } from "../kit/player.js";
import { distributions } from "./sides.js";
import { positionsTable } from "./table.js";
import { tracks } from "./tracks.js";

const BEAT = 900; // ms between two steps while it plays
const SAME = 1e-3; // how far the engine rounds: a change below this is none

// Position by position: what both read, what they say, how probable it is.
//   positions  of the given translation (`Translator.score`); steps of greedy search
//   before     positions of the translation that was given before, or null
// -> [{ reads, label, p, best, agrees, moved (see there), own: null or { reads, piece, p },
//       same: whether both have read the same so far }]
export function align(positions, steps, before = null) {
  const taken = steps.map(({ candidates: [each], hypotheses: [from] }) => ({
    ...each,
    p: Math.exp(each.logProbability - from.logProbability),
  }));
  const length = Math.max(positions.length, taken.length);
  const shifts = before ? moved(before, positions) : [];
  let same = true;
  return Array.from({ length }, (_, t) => {
    const given = positions[t];
    const mine = taken[t];
    const row = {
      reads: given && (t ? positions[t - 1].piece : "<s>"),
      label: given?.piece,
      p: given && Math.exp(given.logProbability),
      best: given?.next[0].piece,
      agrees: given && given.next[0].id === given.id,
      moved: shifts[t] ?? null,
      own: mine
        ? { reads: t ? taken[t - 1].piece : "<s>", piece: mine.piece, p: mine.p }
        : null,
      same: same && Boolean(given && mine),
    };
    same = row.same && given.id === mine.id;
    return row;
  });
}

// How far the next piece's distribution moved at each position: the largest change of a
// probability, or the least that it can be where one of the two does not show it. Null
// where there was no such position.
export function moved(before, after) {
  return after.map(({ next }, t) => {
    if (!before[t]) return null;
    const [was, is] = [before[t].next, next].map(
      (list) => new Map(list.map((each) => [each.id, each.probability])),
    );
    const least = (list) => Math.min(...list.values());
    let largest = 0;
    for (const [id, p] of is)
      largest = Math.max(
        largest,
        was.has(id) ? Math.abs(p - was.get(id)) : p - least(was),
      );
    for (const [id, p] of was)
      if (!is.has(id)) largest = Math.max(largest, p - least(is));
    return largest < SAME ? 0 : largest;
  });
}

// Where the two first say different pieces; -1: nowhere.
const splitOf = (rows) => rows.findIndex((row) => row.own?.piece !== row.label);

// Where the model first takes another piece than the teacher; the end, if it never does.
export function parting(rows) {
  const at = splitOf(rows);
  return at < 0 ? rows.length - 1 : at;
}

// The figure, given an engine (or null).
//   initial   { step }: counted from 0; -1 is where the two part
//   onState   hears { text, translation, step } when the reader changes something
//   onNeed    is called when something must be computed; it should call run(text)
// -> { node,
//      run(text, { signal, onProgress }): decode a sentence, and score what the reader gives,
//      show(text, { translation, scored, steps, other }): what was recorded; scored as
//        `Translator.score` answers, steps of greedy search, other = { translation, scored },
//      set({ step }), teach(translation): score another German, state(), stop() }
/**
 * @param {any} engine
 * @param {object} [options]
 * @param {Record<string, any>} [options.initial]
 * @param {(state: any) => void} [options.onState]
 * @param {(() => void) | null} [options.onNeed]
 */
export function teacherForcingView(
  engine,
  { initial = {}, onState = () => {}, onNeed = null } = {},
) {
  let place = initial.step ?? -1;
  const need = onNeed ?? (() => run(text).catch(() => {}));
  let text = "";
  let translation = "";
  let positions = [];
  let before = null; // positions of what was given before
  let steps = []; // of greedy search
  let rows = [];
  let wanted = null; // pieces that the reader picked, to be scored
  let recorded = []; // translations that need no model
  let turn = 0;

  const at = () => (place < 0 || place >= rows.length ? parting(rows) : place);
  const lesson = lessonOf(teach);
  const walk = walkOf({ at, length: () => rows.length, onGo: go });
  const both = tracks({ at, onGo: go });
  const table = positionsTable({ at, onGo: go });
  const verdict = h("p", { class: "tft-verdict" });
  const sides = distributions(engine && teachPiece);
  const behind = textTable("The whole distributions as a table", "position");
  const live = liveRegion({ isShown: true });
  const node = h(
    "div",
    { class: "tft-view" },
    lesson.form,
    lesson.other,
    walk.node,
    both.node,
    verdict,
    sides.node,
    h(
      "details",
      { class: "tfk-table" },
      h("summary", {}, "Position by position, as a table"),
      table.node,
    ),
    behind.node,
    live.node,
  );

  function go(to) {
    place = within(to, rows.length);
    update();
    tell();
  }

  // Score another German: a text, or its pieces.
  function teach(given) {
    const known = recorded.find((each) => each.translation === given);
    if (known) {
      turn++;
      accept(given, known.scored.positions);
      return;
    }
    wanted = given;
    need();
  }

  // Teach this piece at the position that is shown, and what was given around it.
  function teachPiece(piece) {
    const now = at();
    const later = piece === "</s>" ? [] : positions.slice(now + 1);
    teach(
      [...positions.slice(0, now), { piece }, ...later]
        .map((each) => each.piece)
        .filter((each) => each !== "</s>"),
    );
  }

  function accept(german, scored) {
    before = positions;
    positions = scored;
    translation = german;
    lesson.field.value = german;
    refresh();
    tell();
  }

  function refresh() {
    rows = align(positions, steps, before);
    table.build(rows.length);
    both.build(rows, splitOf(rows));
    update();
  }

  async function run(asked, tools = {}) {
    if (!engine)
      throw new Error("this page does not have the model: run the cell in a notebook");
    const mine = ++turn;
    const german = wanted ?? lesson.field.value;
    wanted = null;
    if (typeof german === "string" && !german.trim())
      throw new Error("there is nothing to teach: give a German sentence");
    let found = steps;
    let given = german;
    if (asked !== text) {
      found = [];
      await engine.translate(asked, {
        search: "greedy",
        onStep: (step) => found.push(step),
        ...tools,
      });
      // A teacher who still holds the old sentence's German takes the model's own.
      if (given === translation)
        given = found
          .map(({ candidates: [each] }) => each.piece)
          .filter((piece) => piece !== "</s>");
    }
    const scored = await engine.score(asked, given, tools);
    if (mine !== turn) return;
    if (asked !== text) {
      text = asked;
      steps = found;
      positions = null;
      recorded = [];
      place = -1;
    }
    const spelled =
      typeof given === "string"
        ? given
        : written(scored.positions.map((each) => each.piece));
    accept(spelled, scored.positions);
  }

  function show(sentence, example) {
    turn++;
    text = sentence;
    recorded = [example, example.other].filter(Boolean);
    [translation, positions, steps, before] = [
      example.translation,
      example.scored.positions,
      example.steps,
      null,
    ];
    lesson.field.value = translation;
    lesson.enable(Boolean(engine));
    refresh();
    return Promise.resolve();
  }

  function update() {
    if (!rows.length) return;
    const now = at();
    walk.show();
    lesson.offer(recorded.find((each) => each.translation !== translation));
    both.show(now);
    table.show(rows, now, splitOf(rows));
    sides.show(now, positions, steps);
    say(verdict, verdictText(rows, positions, before, now));
    behind.show(
      ["given", "its likeliest next", "own", "own likeliest next"],
      nextLists(rows, positions, steps, now),
    );
    live.announce(`Position ${now + 1}. ${rowText(rows[now])}`);
  }

  const state = () => ({ text, translation, step: place });
  const tell = () => onState(state());
  function set({ step }) {
    if (step === undefined || step === place) return;
    place = step;
    update();
  }
  const stop = () => {
    turn++;
    walk.stop();
    live.stop();
  };
  return { node, run, show, set, teach, state, stop };
}

// What the teacher gives: a field, and a button that brings back what was recorded.
function lessonOf(onTeach) {
  const field = h("input", {
    type: "text",
    maxlength: 400,
    autocomplete: "off",
    spellcheck: "false",
    lang: "de",
    "data-control": "german",
  });
  const submit = button("teach", "Teach this", () => {});
  submit.type = "submit";
  const form = h(
    "form",
    { class: "tfk-ask tft-form" },
    h(
      "label",
      {},
      "The German that the teacher gives",
      h("span", { class: "tfk-ask-line" }, field),
    ),
    submit,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    onTeach(field.value);
  });
  const known = button("other", "Teach another", () => onTeach(known.dataset.german));
  const other = h("p", { class: "tft-other" }, known);

  function enable(able) {
    put(field, { disabled: !able });
    put(submit, { disabled: !able });
  }
  function offer(choice) {
    put(other, { "data-empty": choice ? null : "true" });
    put(known, { "data-german": choice?.translation });
    if (choice) say(known, `Teach “${choice.translation}”`); // without one it is hidden
  }
  return { form, other, field, enable, offer };
}

// The buttons and the slider that go from position to position.
function walkOf({ at, length, onGo }) {
  const walk = player({
    words: [
      "To the first position",
      "One position back",
      "One position forward",
      "To the last position",
    ],
    at,
    last: () => length() - 1,
    to: onGo,
    beat: BEAT,
  });
  const stepper = slider(
    "step",
    "step",
    { min: 1, max: 1, step: 1, text: (k) => `${k} of ${length()}` },
    (k) => walk.go(k - 1),
  );
  function show() {
    put(stepper.input, { max: length() });
    stepper.show(at() + 1);
    walk.show();
  }
  const node = h("div", { class: "tft-steps" }, ...walk.nodes, stepper.box);
  return { node, show, stop: walk.stop };
}

function quoted(piece) {
  if (piece === undefined) return "nothing more";
  return piece === "</s>" ? "the end" : `“${spoken(piece)}”`;
}

// Both passes in one line, up to the position `now`: how long they are, where they part,
// and what the last change of the German moved.
function verdictText(rows, positions, before, now) {
  const total = positions.reduce((sum, each) => sum + each.logProbability, 0);
  const ours = rows.filter((row) => row.own).length;
  const split = splitOf(rows);
  const part =
    split < 0
      ? "The model takes what the teacher gives, at every position."
      : `The two part at position ${split + 1}: the teacher says ${quoted(rows[split].label)}, the model ${quoted(rows[split].own?.piece)}. From there they read different pieces.`;
  return `Teacher forcing: ${positions.length} positions in 1 pass, log p ${format(total)}. Decoding: ${Math.min(now + 1, ours)} of ${ours} passes. ${part}${movedText(rows, positions, before)}`;
}

function movedText(rows, positions, before) {
  const changed = before
    ? positions.findIndex((each, i) => each.id !== before[i]?.id)
    : -1;
  if (changed < 0) return "";
  const moving = rows.filter((row) => row.moved > 0).length;
  const early = rows.slice(0, changed + 1).every((row) => !row.moved);
  return ` The change at position ${changed + 1} moved ${moving} distributions, ${early ? "all of them later ones" : "earlier ones among them"}.`;
}

function rowText({ label, p, best, agrees, own }) {
  const teacher =
    label === undefined
      ? "The given German is over."
      : `The teacher says ${quoted(label)}, p ${chance(p)}${agrees ? ", the likeliest" : `; the likeliest is ${quoted(best)}`}.`;
  const model = own
    ? `Decoding takes ${quoted(own.piece)}, p ${chance(own.p)}.`
    : "Decoding has ended.";
  return `${teacher} ${model}`;
}

// The rows of the table behind the figure: what may follow at each position.
function nextLists(rows, positions, steps, now) {
  const list = (next) =>
    next.map((each) => `${shown(each.piece)} ${chance(each.probability)}`).join(", ");
  return rows.map(({ label, own }, i) => [
    String(i + 1),
    label === undefined ? "" : shown(label),
    positions[i] ? list(positions[i].next) : "",
    own && i <= now ? shown(own.piece) : "",
    steps[i] && i <= now ? list(steps[i].hypotheses[0].next) : "",
  ]);
}
