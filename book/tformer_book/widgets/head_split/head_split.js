// A matrix cut into heads, attended and merged, beside the same with a slip. Its numbers
// travel from step to step, and keep their colours.
import { within } from "../kit/arrows.js";
import {
  bind,
  figure,
  h,
  liveRegion,
  oneOf,
  say,
  showAll,
  slider,
  stopping,
  textTable,
} from "../kit/kit.js";
import { format } from "../kit/numbers.js";
import { player } from "../kit/player.js";
import { render as draw, html } from "../kit/vendor/lit.js";
import { board } from "./board.js";
import { MISTAKES, STAGES, through, times, WIDTHS, WORDS } from "./maths.js";
import { blocksOf, codeOf, tell } from "./words.js";

const NAMES = ["n_words", "d_model", "n_heads", "stage", "mistake", "word"];
const HEADS = [1, 2, 3, 4];
const BEAT = 3200; // ms from step to step, in which the numbers travel and may be read
const MERGED = 4; // the place of the step that puts the heads side by side
const HINT =
  "Go over a number, or into a table with Tab and the arrow keys, to see where it comes from.";

// What changes the state; `show` follows it.
function controlsOf({ read, commit, set }) {
  const moves = player({
    words: ["the first step", "one step back", "one step on", "the last step"],
    at: () => read().stage - 1,
    last: () => STAGES.length - 1,
    to: (i) => commit({ stage: within(i, STAGES.length) + 1 }),
    beat: BEAT,
    paper: () => MERGED, // the last matrix hides what went wrong
  });
  const whole = { min: 2, max: WORDS.length, step: 1, digits: 0 };
  const names = ["none", ...WORDS];
  const numbers = STAGES.map((_, i) => i + 1);
  const titles = STAGES.map((name, i) => `${i + 1} ${name}`);
  const to = (stage) => moves.go(stage - 1);
  const controls = {
    stage: oneOf("stage", "Step", numbers, to, titles),
    n_words: slider("words", "words T", whole, (x) =>
      commit({ n_words: x, word: Math.min(read().word, x - 1) }),
    ),
    mistake: oneOf("mistake", "No transpose", MISTAKES, set("mistake")),
    d_model: oneOf("width", "d_model", WIDTHS, set("d_model")),
    n_heads: oneOf("heads", "heads H", HEADS, set("n_heads")),
    word: oneOf("word", "Frame", [-1, ...WORDS.keys()], set("word"), names),
  };
  const frames = [...controls.word.set.querySelectorAll("label")];
  function show(state) {
    showAll(controls, state);
    moves.show();
    frames.forEach((label, i) => {
      label.hidden = i > state.n_words;
    });
  }
  const { stage, n_words, mistake, d_model, n_heads, word } = controls;
  const nodes = html`
    <div class="tfhs-row">${stage.set}<span class="tfhs-steps">${moves.nodes}</span></div>
    ${mistake.set}
    ${word.set}
    <details class="tfhs-sizes">
      <summary>Change the sizes</summary>
      <div class="tfhs-row">
        ${n_heads.set}${d_model.set}<div class="tfhs-slider">${n_words.box}</div>
      </div>
    </details>`;
  return { nodes, moves, show };
}

const refusal = ({ width, heads: n }) =>
  `ValueError: d_model=${width} must be a positive multiple of n_heads=${n}: each head gets d_model / n_heads dimensions. ` +
  `${width} numbers cannot be shared out among ${n} heads; ${width % n} would be left over.`;

function legend({ width, heads: n }) {
  const each = width / n;
  const columns = (k) => (each > 1 ? `${k * each}–${(k + 1) * each - 1}` : k * each);
  return times(
    n,
    (k) =>
      html`<span class="tfhs-key" style="--tfhs-paint: var(--tfhs-${k})">${`head ${k}: numbers ${columns(k)}`}</span>`,
  );
}

const sideView = ({ side, title, code, note, board }) => html`
  <section class="tfhs-side" data-side=${side}>
    <p class="tfhs-title tfhs-${side}">${title}</p>
    <code class="tfhs-code">${code}</code>
    <p class="tfhs-note">${note}</p>
    ${board.node}
  </section>`;

// sides: empty where the width cannot be shared out.
const template = (state, fits, sides, { controls, where, below }) => html`
  ${controls.nodes}
  <p class="tfhs-legend" ?hidden=${!fits}>${fits ? legend(state) : ""}</p>
  <p class="tfhs-refusal" data-refusal ?hidden=${fits}>${fits ? "" : refusal(state)}</p>
  <div class="tfhs-two ${state.width > 8 ? "tfhs-tight" : ""}" ?hidden=${!fits}
    data-made=${JSON.stringify(sides.map(({ made }) => numbersIn(made)))}>
    ${sides.map(sideView)}
  </div>
  ${where}${below}`;

// The bare numbers of a side's steps.
function numbersIn({ parts, weights, outputs, merged, output }) {
  const plain = (x) => (Array.isArray(x) ? x.map(plain) : x.value);
  return {
    split: plain(parts),
    weights,
    heads: plain(outputs),
    merged: plain(merged),
    output: plain(output),
  };
}

// Both sides at a step.
function sidesOf(state, boards) {
  const { stage, mistake } = state;
  const wrongSplit = mistake !== MISTAKES[2];
  const wrongMerge = mistake !== MISTAKES[1];
  const right = { ...state, wrongSplit: false, wrongMerge: false };
  const wrong = { ...state, wrongSplit, wrongMerge };
  return [right, wrong].map((options, k) => {
    const made = through(options);
    const differs = stage >= 5 || (stage >= 2 && wrongSplit);
    return {
      side: k ? "wrong" : "right",
      title: k ? `Wrong: view, ${mistake}` : "Right: transpose",
      code: codeOf(stage, options),
      note:
        k && !differs
          ? "Still the same as on the right way."
          : tell(stage, made, options),
      board: boards[k],
      blocks: blocksOf(stage, made, options),
      made,
    };
  });
}

function render({ model, el }) {
  const name = "Cutting into heads and merging them, beside the same with a mistake";
  const root = figure(el, "tfhs", name);
  const live = liveRegion();
  const state = bind(model, NAMES, () => update());
  const controls = controlsOf(state);
  const where = h("p", { class: "tfhs-where" });
  const boards = times(2, () => board((text) => say(where, text)));
  const behind = textTable("The same as a table: the outputs after W_O", "row");
  const tools = { controls, where, below: [behind.node, live.node] };
  let shownStage = 0;

  // The state, in range.
  function read() {
    const { stage, n_words, ...rest } = state.read();
    const words = Math.max(2, Math.min(WORDS.length, n_words));
    return { ...rest, stage: within(stage - 1, STAGES.length) + 1, n_words: words };
  }
  function update(speak = true) {
    const given = read();
    const { stage, n_words: words, d_model: width, n_heads: heads } = given;
    const now = { ...given, words, width, heads };
    const fits = width % heads === 0;
    const sides = fits ? sidesOf(now, boards) : [];
    const most = Math.max(words * (heads + 2), heads * (words + 2));
    controls.show(now);
    root.style.setProperty("--rows", String(most));
    draw(template(now, fits, sides, tools), root);
    if (!fits) {
      say(where, "");
      if (speak) live.announce(refusal(now));
      return;
    }
    for (const { board, blocks, title } of sides) board.show(blocks, title, now);
    if (stage !== shownStage) say(where, HINT);
    shownStage = stage;
    behind.show(times(width, String), sides.flatMap(rowsOf));
    if (speak && !controls.moves.playing())
      live.announce(
        `Step ${stage}, ${STAGES[stage - 1]}. Right: ${sides[0].note} Wrong: ${sides[1].note}`,
      );
  }
  update(false);
  return stopping(controls.moves, live, state);
}

const rowsOf = ({ side, made }) =>
  made.output.map((row, t) => [
    `${side}: ${WORDS[t]}`,
    ...row.map(({ value }) => format(value)),
  ]);

export default { render };
