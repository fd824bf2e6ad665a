// Teacher forcing beside decoding: in training the decoder reads the given translation,
// all positions in one pass; in use it reads its own pieces, one step at a time.
import { within } from "../kit/arrows.js";
import { h, liveRegion, textTable } from "../kit/kit.js";
import { walker, wordsFor } from "../kit/player.js";
import { html, nothing, render } from "../kit/vendor/lit.js";
import { Lesson } from "./lesson.js";
import { align, parting } from "./maths.js";
import { distributions } from "./sides.js";
import { keepInSight, positionsTable, rowKeys } from "./table.js";
import { NEXT, nextLists, rowText, verdictText } from "./texts.js";
import { trackKeys, tracks } from "./tracks.js";

const BEAT = 900; // ms between two steps while it plays
const WALK = { name: "step", words: wordsFor("position", "forward"), beat: BEAT };

const germanField = () =>
  h("input", {
    type: "text",
    maxlength: 400,
    autocomplete: "off",
    spellcheck: "false",
    lang: "de",
    "data-control": "german",
  });

// What the teacher gives: a field, and a button that brings back what was recorded.
// offer: { translation }, the last that there was; hidden where there is none.
const desk = (field, offer, { isOffered, isAble, onTeach }) => html`
  <form class="tfk-ask tft-form" @submit=${(event) => {
    event.preventDefault();
    onTeach(field.value);
  }}>
    <label>The German that the teacher gives<span class="tfk-ask-line">${field}</span></label>
    <button type="submit" class="tfk-do" data-control="teach" ?disabled=${!isAble}>Teach this</button>
  </form>
  <p class="tft-other" data-empty=${isOffered ? nothing : "true"}>
    <button type="button" class="tfk-do" data-control="other" data-german=${isOffered ? offer.translation : nothing}
      @click=${() => onTeach(offer.translation)}>${offer ? `Teach “${offer.translation}”` : "Teach another"}</button></p>`;

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
  const lesson = new Lesson();
  const node = h("div", { class: "tft-view" });
  const field = germanField();
  const need = onNeed ?? (() => run(lesson.text).catch(() => {}));
  let place = initial.step ?? -1;
  let rows = [];
  let wanted = null; // a German that is to be scored: a text, or its pieces
  let offer; // of what was recorded, the last

  const at = () => (place in rows ? place : parting(rows));
  const last = () => rows.length - 1;
  const walk = walker({ ...WALK, at, last, to: go, paper: () => parting(rows) });
  const behind = textTable("The whole distributions as a table", "position");
  const live = liveRegion({ isShown: true });
  const lines = { keys: rowKeys({ at, onGo: go }), onGo: go };
  const tiles = { keys: trackKeys({ at, onGo: go }), onGo: go };
  const give = engine && ((piece) => teach(lesson.withPiece(piece, at())));

  function go(to) {
    place = within(to, rows.length);
    update();
    tell();
  }
  function teach(german) {
    if (lesson.recall(german)) return taken();
    wanted = german;
    need();
  }
  async function run(text, tools = {}) {
    if (!engine)
      throw new Error("this page does not have the model: run the cell in a notebook");
    const german = wanted ?? field.value;
    wanted = null;
    if (typeof german === "string" && !german.trim())
      throw new Error("there is nothing to teach: give a German sentence");
    const isNew = text !== lesson.text;
    if (!(await lesson.score(engine, text, german, tools))) return;
    if (isNew) place = -1;
    taken();
  }
  function taken() {
    refresh();
    tell();
  }
  function refresh() {
    field.value = lesson.translation;
    rows = align(lesson.positions, lesson.steps, lesson.before);
    update();
  }

  const template = (now) => html`
    ${desk(field, offer, { isOffered: Boolean(lesson.other), isAble: Boolean(engine), onTeach: teach })}
    <div class="tft-steps">${walk.nodes}</div>
    ${tracks(rows, now, tiles)}
    <p class="tft-verdict">${verdictText(rows, lesson, now)}</p>
    ${distributions(now, lesson, give)}
    <details class="tfk-table">
      <summary>Position by position, as a table</summary>${positionsTable(rows, now, lines)}
    </details>
    ${behind.node}${live.node}`;

  function update() {
    if (!rows.length) return;
    const now = at();
    offer = lesson.other ?? offer;
    field.disabled = !engine;
    walk.show();
    render(template(now), node);
    keepInSight(node, now);
    behind.show(NEXT, nextLists(rows, lesson, now));
    live.announce(`Position ${now + 1}. ${rowText(rows[now])}`);
  }

  const state = () => ({
    text: lesson.text,
    translation: lesson.translation,
    step: place,
  });
  const tell = () => onState(state());
  function show(text, example) {
    lesson.show(text, example);
    refresh();
  }
  function set({ step }) {
    if (step === undefined || step === place) return;
    place = step;
    update();
  }
  function stop() {
    lesson.stop();
    walk.stop();
    live.stop();
  }
  return { node, run, show, set, teach, state, stop };
}
