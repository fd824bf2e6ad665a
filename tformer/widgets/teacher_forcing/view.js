// Teacher forcing beside decoding: in training the decoder reads the given translation,
// all positions in one pass; in use it reads its own pieces, one step at a time.
// `align` and `moved` are all of the logic; they run in Node, and the tests hold them to
// `tformer.decode`.
import { arrowKeys, DOWN, within } from "../kit/arrows.js";
import { button, h, liveRegion, put, say, slider, textTable } from "../kit/kit.js";
import { chance, format } from "../kit/numbers.js";
import { ending, meter, shown, spoken, written } from "../kit/pieces.js";
import { player } from "../kit/player.js";

const ROWS = 10; // next pieces, the label beyond them, and all the rest
const SAME = 1e-5; // float32 and its summation: a change below this is none

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

// Where the model first takes another piece than the teacher; the end, if it never does.
export function parting(rows) {
  const at = rows.findIndex((row) => row.own?.piece !== row.label);
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
  const live = liveRegion();
  let text = "";
  let translation = "";
  let positions = [];
  let before = null; // positions of what was given before
  let steps = []; // of greedy search
  let rows = [];
  let wanted = null; // pieces that the reader picked, to be scored
  let recorded = []; // translations that need no model
  let anchors = []; // a button in each row
  let turn = 0;

  const field = h("input", {
    type: "text",
    maxlength: 400,
    autocomplete: "off",
    spellcheck: "false",
    lang: "de",
    "data-control": "german",
  });
  const teachButton = button("teach", "Teach this", () => {});
  const form = h(
    "form",
    { class: "tfk-ask tft-form" },
    h(
      "label",
      {},
      "The German that the teacher gives",
      h("span", { class: "tfk-ask-line" }, field),
    ),
    teachButton,
  );
  teachButton.type = "submit";
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    teach(field.value);
  });
  const other = button("other", "", () => teach(other.dataset.german));
  const undo = h("p", { class: "tft-other" }, other);

  const walk = player({
    words: [
      "To the first position",
      "One position back",
      "One position forward",
      "To the last position",
    ],
    at: () => at(),
    last: () => rows.length - 1,
    to: go,
  });
  const stepper = slider(
    "step",
    "step",
    { min: 1, max: 1, step: 1, text: (k) => `${k} of ${rows.length}` },
    (k) => go(k - 1),
  );
  const bar = h("div", { class: "tft-steps" }, ...walk.nodes, stepper.box);

  const body = h("tbody");
  const heads = ["reads", "should say", "p", "likeliest", "moved"];
  const table = h(
    "table",
    { class: "tft-rows" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("td"),
        h(
          "th",
          { scope: "colgroup", colspan: heads.length, class: "tfk-key" },
          "Teacher forcing: one pass",
        ),
        h(
          "th",
          { scope: "colgroup", colspan: 3, class: "tfk-query" },
          "Decoding: a pass for each step",
        ),
      ),
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "#"),
        ...[...heads, "reads", "says", "p"].map((name) =>
          h("th", { scope: "col" }, name),
        ),
      ),
    ),
    body,
  );
  const scroller = h(
    "div",
    {
      class: "tft-scroll",
      tabindex: 0,
      role: "region",
      "aria-label": "Teacher forcing and decoding, position by position",
    },
    table,
  );
  const verdict = h("p", { class: "tft-verdict" });
  const sides = ["teacher", "own"].map((name) => {
    const title = h("p", { class: "tft-title" });
    const list = h("tbody");
    return {
      title,
      list,
      box: h(
        "div",
        { class: "tft-side", "data-side": name },
        title,
        h("table", {}, list),
      ),
    };
  });
  const behind = textTable("The whole distributions as a table", "position");
  const node = h(
    "div",
    { class: "tft-view" },
    form,
    undo,
    bar,
    scroller,
    verdict,
    h("div", { class: "tft-sides" }, sides[0].box, sides[1].box),
    behind.node,
    live.node,
  );

  const at = () => (place < 0 || place >= rows.length ? parting(rows) : place);
  const known = (german) => recorded.find((each) => each.translation === german);

  function go(to) {
    place = within(to, rows.length);
    update();
    tell();
  }

  // Score another German: a text, or its pieces.
  function teach(given) {
    if (typeof given === "string" && known(given)) {
      turn++;
      accept(given, known(given).scored.positions);
      return;
    }
    wanted = given;
    need();
  }

  function accept(german, scored) {
    before = positions;
    positions = scored;
    translation = german;
    field.value = german;
    refresh();
    tell();
  }

  function refresh() {
    rows = align(positions, steps, before);
    build();
    update();
  }

  async function run(asked, tools = {}) {
    if (!engine)
      throw new Error("this page does not have the model: run the cell in a notebook");
    const mine = ++turn;
    const german = wanted ?? field.value;
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
    field.value = translation;
    put(field, { disabled: !engine });
    put(teachButton, { disabled: !engine });
    refresh();
    return Promise.resolve();
  }

  function build() {
    anchors = rows.map((_, i) =>
      h(
        "button",
        {
          type: "button",
          tabindex: -1,
          "data-row": i,
          "aria-label": `${i + 1}: position in the sentence`,
        },
        String(i + 1),
      ),
    );
    body.replaceChildren(
      ...rows.map((_, i) => {
        const line = h(
          "tr",
          { "data-position": i },
          h("th", { scope: "row" }, anchors[i]),
          ...Array.from({ length: 8 }, () => h("td")),
        );
        line.addEventListener("click", () => go(i));
        return line;
      }),
    );
  }
  arrowKeys(body, DOWN, (by) => {
    go(at() + by);
    anchors[at()].focus({ preventScroll: true });
  });

  const cell = (x) => (x === undefined ? "" : shown(x));
  function update(speak = true) {
    if (!rows.length) return;
    const now = at();
    const split = rows.findIndex((row) => row.own?.piece !== row.label);
    put(stepper.input, { max: rows.length });
    stepper.show(now + 1);
    walk.show();
    const choice = recorded.find((each) => each.translation !== translation);
    put(undo, { "data-empty": choice ? null : "true" });
    put(other, { "data-german": choice?.translation });
    say(other, choice ? `Teach “${choice.translation}”` : "");

    [...body.children].forEach((line, i) => {
      const { reads, label, p, best, agrees, moved: shift, own, same } = rows[i];
      const told = own && i <= now;
      const cells = [...line.children].slice(1);
      const texts = [
        cell(reads),
        cell(label),
        p === undefined ? "" : chance(p),
        label === undefined ? "" : agrees ? "=" : `≠ ${cell(best)}`,
        label === undefined
          ? ""
          : shift === null
            ? "–"
            : shift === 0
              ? "0"
              : chance(shift),
        told ? cell(own.reads) : own ? "…" : "",
        told ? `${own.piece === label ? "=" : "≠"} ${cell(own.piece)}` : own ? "…" : "",
        told ? chance(own.p) : "",
      ];
      texts.forEach((words, j) => say(cells[j], words));
      cells[2].style.setProperty("--p", `${(100 * (p ?? 0)).toFixed(0)}%`);
      put(cells[2], { "data-exact": p });
      put(cells[4], { "data-exact": shift });
      put(cells[7], { "data-exact": own?.p });
      line.className = [
        i === now && "tft-now",
        !agrees && label !== undefined && "tft-differs",
        told && !same && "tft-apart",
        i === split && told && "tft-split",
      ]
        .filter(Boolean)
        .join(" ");
      put(line, { "aria-current": i === now ? "step" : null });
      put(anchors[i], { tabindex: i === now ? 0 : -1 });
    });
    keepInSight(body.children[now]);
    showSides(now);

    const ours = rows.filter((row) => row.own).length;
    const part =
      split < 0
        ? "The model takes what the teacher gives, at every position."
        : `The two part at position ${split + 1}: the teacher says ${quoted(rows[split].label)}, the model ${quoted(rows[split].own?.piece)}. From there they read different pieces.`;
    const changed =
      before &&
      rows.findIndex((_, i) => positions[i] && positions[i].id !== before[i]?.id);
    const shift = !before ? "" : changed < 0 ? "" : movedText(changed);
    say(
      verdict,
      `Teacher forcing: ${positions.length} positions in 1 pass, log p ${format(sum(positions))}. Decoding: ${Math.min(now + 1, ours)} of ${ours} passes. ${part}${shift}`,
    );
    behind.show(
      ["given", "its likeliest next", "own", "own likeliest next"],
      rows.map((row, i) => [
        String(i + 1),
        cell(row.label),
        positions[i] ? list(positions[i].next) : "",
        row.own && i <= now ? shown(row.own.piece) : "",
        steps[i] && i <= now ? list(steps[i].hypotheses[0].next) : "",
      ]),
    );
    if (speak) live.announce(`Position ${now + 1}. ${announced(now)}`);
  }

  const sum = (all) => all.reduce((total, each) => total + each.logProbability, 0);
  const quoted = (piece) =>
    piece === undefined
      ? "nothing more"
      : piece === "</s>"
        ? "the end"
        : `“${spoken(piece)}”`;
  const list = (next) =>
    next.map((each) => `${shown(each.piece)} ${chance(each.probability)}`).join(", ");

  function movedText(changed) {
    const moving = rows.filter((row) => row.moved > 0).length;
    const early = rows.slice(0, changed + 1).every((row) => !row.moved);
    return ` Since the change at position ${changed + 1}, ${moving} distributions moved: ${early ? "only later ones" : "earlier ones, too"}.`;
  }

  function announced(now) {
    const { label, p, best, agrees, own } = rows[now];
    const teacher =
      label === undefined
        ? "The given German is over. "
        : `The teacher says ${quoted(label)}, p ${chance(p)}${agrees ? ", the likeliest" : `; the likeliest is ${quoted(best)}`}. `;
    return (
      teacher +
      (own
        ? `Decoding takes ${quoted(own.piece)}, p ${chance(own.p)}.`
        : "Decoding has ended.")
    );
  }

  function keepInSight(line) {
    const { scrollTop, clientHeight } = scroller;
    const [top, bottom] = [line.offsetTop, line.offsetTop + line.offsetHeight];
    const head = table.tHead.offsetHeight;
    if (top - head < scrollTop) scroller.scrollTop = top - head;
    else if (bottom > scrollTop + clientHeight)
      scroller.scrollTop = bottom - clientHeight;
  }

  // Both distributions at this position.
  function showSides(now) {
    const [teacher, own] = sides;
    const given = positions[now];
    const step = steps[now];
    const after = (pieces) =>
      pieces.length ? `after “${ending(written(pieces), 40)}”` : "at the start";
    say(
      teacher.title,
      given
        ? `Teacher forcing, ${after(positions.slice(0, now).map((each) => each.piece))}`
        : "Teacher forcing: the German is over",
    );
    say(
      own.title,
      step
        ? `Decoding, ${after(step.hypotheses[0].pieces)}`
        : "Decoding: the translation is over",
    );
    bars(
      teacher.list,
      given?.next,
      given && { ...given, probability: Math.exp(given.logProbability) },
      "label",
      engine &&
        ((piece) => {
          teach(
            [
              ...positions.slice(0, now),
              { piece },
              ...(piece === "</s>" ? [] : positions.slice(now + 1)),
            ]
              .map((each) => each.piece)
              .filter((each) => each !== "</s>"),
          );
        }),
    );
    bars(own.list, step?.hypotheses[0].next, step?.candidates[0], "taken", null);
  }

  function bars(target, next, chosen, mark, onPick) {
    if (!next) return target.replaceChildren(...blank(ROWS));
    const entries = next.some((each) => each.id === chosen.id)
      ? next
      : [...next, chosen];
    const rest = Math.max(
      0,
      1 - entries.reduce((all, each) => all + each.probability, 0),
    );
    target.replaceChildren(
      ...entries.map((each) => {
        const mine = each.id === chosen.id;
        const name =
          onPick && !mine
            ? button("give", shown(each.piece), () => onPick(each.piece))
            : shown(each.piece);
        if (name.nodeType)
          put(name, {
            title: "Teach this piece instead",
            "aria-label": `${shown(each.piece)}: teach this piece instead`,
          });
        return h(
          "tr",
          { class: mine ? "tft-taken" : "", "data-piece": each.piece },
          h("th", { scope: "row" }, name),
          h("td", { "data-exact": each.probability }, chance(each.probability)),
          meter("tft-meter", each.probability),
          h("td", { class: "tft-mark" }, mine ? `● ${mark}` : ""),
        );
      }),
      h(
        "tr",
        {},
        h("th", { scope: "row" }, "all others"),
        h("td", {}, chance(rest)),
        meter("tft-meter", rest),
        h("td"),
      ),
      ...blank(ROWS - entries.length - 1),
    );
  }
  const blank = (count) =>
    Array.from({ length: count }, () =>
      h("tr", { "aria-hidden": "true" }, h("td", { colspan: 4 }, " ")),
    );

  const state = () => ({ text, translation, step: place });
  const tell = () => onState(state());
  function set({ step }) {
    if (step === undefined || step === place) return;
    place = step;
    update();
  }
  const stop = () => {
    turn++;
    live.stop();
  };
  return { node, run, show, set, teach, state, stop };
}
