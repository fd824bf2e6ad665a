// A translation that appears piece by piece; each piece can be asked what else the model
// weighed there, and replaced by it.
import { ALONG, onArrows, within } from "../kit/arrows.js";
import { h } from "../kit/kit.js";
import { percent } from "../kit/numbers.js";
import { byteAsCharacter, written } from "../kit/pieces.js";
import { html, nothing, render } from "../kit/vendor/lit.js";
import { END, leastSure, weighedAt } from "./maths.js";
import { UNSURE } from "./remarks.js";

const NONE = {
  german: "",
  positions: [],
  prefix: [],
  note: "Not translated yet.",
  remarks: [],
};

const flag = (on) => (on ? "true" : nothing);
const isWord = (piece) => piece.startsWith("▁") || piece === END;
const named = (piece) =>
  piece === END ? "⟨eos⟩" : byteAsCharacter(piece).replaceAll("▁", "") || "␣";

// onChoose(pieces): the beginning that the reader wants; null where no model can be asked.
// onFree(): none any more.
// -> { node, panel (of the alternatives), grow(pieces), show({ german, positions, prefix,
//      note, remarks }), stale(why): it is the German of another English; "": it isn't,
//      close() (the alternatives), clear() }
export function translationView({ onChoose, onFree }) {
  const node = h("div");
  const panel = h("div");
  const now = {
    shown: NONE,
    growing: null, // the pieces of a search under way: they cannot be asked
    age: "",
    isStale: false,
    at: -1, // the piece whose alternatives are shown
    cursor: 0, // the one that Tab reaches
    isOurs: false, // nobody chose it: it is the one of which the model was least sure
  };

  function draw(changes = {}) {
    Object.assign(now, changes);
    render(germanOf(now, { onWalk, onPick, onFree }), node);
    render(panelOf(now, { onChoose: onChoose && choose, onLeave }), panel);
  }
  const chips = () => [...node.querySelectorAll(".tfl-piece")];
  const open = (t) => draw({ at: t, cursor: Math.max(0, t) });

  function go(t) {
    const cursor = within(t, chips().length);
    draw({ cursor });
    chips()[cursor]?.focus();
  }
  const onWalk = onArrows(ALONG, (by, { target }) => go(chips().indexOf(target) + by));
  function onPick(t) {
    now.isOurs = false;
    open(t);
  }
  function choose(pieces) {
    now.isOurs = false; // the reader goes on from here
    onChoose(pieces);
  }
  const onLeave = ({ key }) => key === "Escape" && go(now.at);

  draw();
  return {
    node,
    panel,
    grow(list) {
      draw({ growing: list, age: "Translating …", isStale: false });
    },
    show(given) {
      const isFocused = [node, panel].some((each) =>
        each.contains(document.activeElement),
      );
      const shown = { ...NONE, note: "", ...given };
      const { positions } = shown;
      Object.assign(now, { shown, growing: null, age: "", isStale: false });
      now.isOurs ||= now.at < 0;
      const at = now.isOurs ? leastSure(positions) : now.at;
      open(at < positions.length ? at : -1);
      if (isFocused && now.at >= 0) go(now.at);
    },
    stale(why) {
      draw({ age: why, isStale: Boolean(why) });
    },
    close: () => open(-1),
    clear() {
      Object.assign(now, { shown: NONE, growing: null, age: "", isStale: false });
      open(-1);
    },
  };
}

function germanOf({ shown, growing, age, isStale, at, cursor }, tools) {
  const { german, positions, prefix, note, remarks } = growing ? NONE : shown;
  const isWeak = ({ probability }, t) => probability < UNSURE && t >= prefix.length;
  const pieces = growing ? growing.map((piece) => ({ piece })) : positions;
  const chip = (each, t) => html`
    <button type="button" data-piece=${each.piece} data-control="piece-${t}"
      class="tfl-piece ${isWeak(each, t) ? "tfl-weak" : ""} ${isWord(each.piece) ? "tfl-word" : ""} ${t < prefix.length ? "tfl-forced" : ""}"
      aria-pressed=${String(!growing && t === at)} tabindex=${!growing && t === cursor ? 0 : -1}
      ?disabled=${growing} @click=${() => tools.onPick(t)}
    >${named(each.piece)}${isWeak(each, t) ? html`<small> ${percent(each.probability, 0)}</small>` : nothing}</button>`;
  return html`
    <div class="tfl-german" data-growing=${flag(growing)} data-stale=${flag(isStale)}>
      <div class="tfl-head">
        <p class="tfl-title">German</p>
        <p class="tfl-age" role="status" data-age>${age}</p>
      </div>
      <p class="tfl-text" lang="de" data-translation>${growing ? written(growing) : german}</p>
      <div class="tfl-pieces" role="toolbar" lang="de" aria-label="The German, piece by piece"
        @keydown=${tools.onWalk}>${pieces.map(chip)}</div>
      <p class="tfl-legend">${legendOf(positions, isWeak)}</p>
      <div class="tfl-remarks" role="status">${remarks.map((each) => html`<p>${each}</p>`)}</div>
      <p class="tfl-note">${growing ? "" : note}</p>
      <p class="tfl-given" ?hidden=${!prefix.length}>
        You gave the first ${prefix.length === 1 ? "piece" : `${prefix.length} pieces`}.
        <button type="button" class="tfk-do" data-control="free" @click=${tools.onFree}>Let the model begin freely</button>
      </p>
    </div>`;
}

function legendOf(positions, isWeak) {
  if (!positions.length) return "";
  return positions.some(isWeak)
    ? `Dashed, with a number: the model gave this piece less than ${percent(UNSURE, 0)} of the probability.`
    : `Every piece got at least ${percent(UNSURE, 0)} of the probability.`;
}

const panelOf = (now, tools) => html`
  <div class="tfl-panel" role="group" data-panel @keydown=${tools.onLeave}
    aria-label=${now.at < 0 ? "Alternatives" : `Alternatives to piece ${now.at + 1}`}
  >${
    now.at < 0
      ? html`<p class="tfl-hint">The pieces of the translation will stand above. Each can be asked what else the model weighed there.</p>`
      : alternatives(now, tools)
  }</div>`;

function alternatives({ shown: { positions }, at, isOurs }, { onChoose }) {
  const { rows, before, rest, isRedrawn } = weighedAt(positions, at);
  const row = ({ piece, probability, drawn }, i) => html`
    <li><button type="button" data-control="alternative-${i}" ?disabled=${!onChoose}
      aria-current=${flag(piece === positions[at].piece)} @click=${() => onChoose([...before, piece])}>
      <span class="tfl-name" lang="de">${nameOf(piece)}</span>
      <span class="tfl-bar" aria-hidden="true"><span style="width: ${100 * probability}%"></span></span>
      <span class="tfl-p" data-exact=${probability}>${percent(probability)}</span>
      ${isRedrawn ? html`<span class="tfl-p" data-drawn=${drawn ?? nothing}>${drawn === undefined ? "" : `→ ${percent(drawn)}`}</span>` : nothing}
    </button></li>`;
  return html`
    <p class="tfl-panel-title">${
      before.length
        ? html`After <span lang="de">“${written(before)}”</span>`
        : "At the beginning"
    } the model weighed:</p>
    <ol class="tfl-alternatives">${rows.map(row)}</ol>
    <p class="tfl-hint">${[
      `All other pieces together: ${percent(rest)}.`,
      isRedrawn ? "Behind each arrow: what the piece was drawn with." : "",
      onChoose ? "Choose one, and the model goes on from there." : "",
      isOurs
        ? "This is the piece that it was least sure of; to look at another one, choose it in the German above."
        : "",
    ].join(" ")}</p>`;
}

function nameOf(piece) {
  if (piece === END) return "the end";
  const name = byteAsCharacter(piece).replace("▁", "");
  return piece.startsWith("▁") ? name : `-${name}`;
}
