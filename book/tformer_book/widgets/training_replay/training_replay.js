// A recorded training run to scrub and play: loss, translations, attention as it forms.
// Nothing is computed but where things stand.
import { within } from "../kit/arrows.js";
import { grid } from "../kit/grid.js";
import {
  bind,
  figure,
  liveRegion,
  put,
  select,
  slider,
  stopping,
  textTable,
  toggle,
  wantsStillness,
} from "../kit/kit.js";
import { commas, format } from "../kit/numbers.js";
import { player, wordsFor } from "../kit/player.js";
import { render as draw, html } from "../kit/vendor/lit.js";
import { sharpness } from "./maths.js";
import { bare, lossChart, rateText, readout, words } from "./view.js";

const PAUSE = 1400; // ms a frame, when it plays
const AXES = { rowAxis: "German, query", columnAxis: "English, key" };
const NOTES =
  "Translations: beam 4. The maps are those of the last decoder layer, mean of its heads, while it reads the translation of the person: the same German at each step, so that the maps can be compared.";

// What walks through the frames: buttons and a slider. commit hears { frame }.
function walking(frames, at, commit) {
  const last = frames.length - 1;
  const walk = player({
    words: wordsFor("checkpoint", "on"),
    at,
    last: () => last,
    to: (i) => commit({ frame: within(i, frames.length) }),
    beat: PAUSE,
  });
  // Who wants stillness steps by hand; nothing runs by itself.
  put(walk.play, { hidden: wantsStillness() });
  const text = (i) => `${commas(frames[i].step)} of ${commas(frames[last].step)}`;
  const scrub = slider("frame", "step", { min: 0, max: last, step: 1, text }, walk.go);
  return { walk, scrub };
}

// The map; onCell hears which of its cells is pointed at, or has the focus.
function mapOf(sentences, onCell) {
  const map = grid(
    "Cross-attention: rows are queries, the German pieces about to be written; columns are keys, the English pieces",
    { ...AXES, onMove: onCell, onPick: onCell, onHover: onCell },
  );
  const most = Math.max(...sentences.map((each) => each.target_pieces.length));
  map.node.style.setProperty("--rows", String(most));
  map.node.classList.add("tfrp-map");
  const show = (rows, columns, attention) =>
    map.show({
      rows,
      columns,
      cell: (r, c) => {
        const weight = attention[r][c];
        return {
          text: weight >= 0.095 ? format(weight, 1).replace(/^0/, "") : "",
          share: weight,
          exact: weight,
          label: `${rows[r]} to ${columns[c]}: ${format(weight, 2)}`,
        };
      },
    });
  return { node: map.node, show };
}

// All frames of a sentence, and one frame's map, as tables.
function tables(frames) {
  const behind = textTable("All checkpoints as a table", "step");
  const weights = textTable("The map as a table", "German \\ English");
  const show = (s, rows, columns, attention) => {
    behind.show(
      ["validation loss", "learning rate", "translation", "favourite gets"],
      frames.map(
        ({ step, valid_loss, learning_rate, translations, attention: maps }) => [
          ...[commas(step), format(valid_loss), rateText(learning_rate)],
          ...[translations[s], format(sharpness(maps[s]))],
        ],
      ),
    );
    weights.show(
      columns,
      attention.map((row, k) => [rows[k], ...row.map((w) => format(w, 2))]),
    );
  };
  return { nodes: [behind.node, weights.node], show };
}

function render({ model, el }) {
  const root = figure(el, "tfrp", "A recorded training run, to scrub and play");
  const given = ["frames", "sentences", "curve", "evaluations"];
  const [frames, sentences, curve, valid] = given.map((name) => model.get(name));
  const live = liveRegion();
  const { commit, set, stop } = bind(model, ["frame", "sentence"], () => update());
  let showRate = false;
  let cursor = [0, 0]; // the cell of the map that is told

  // Where we are, whatever a kernel has said.
  const frameNow = () => within(model.get("frame"), frames.length);
  const sentenceNow = () => within(model.get("sentence"), sentences.length);
  const { walk, scrub } = walking(frames, frameNow, commit);
  const sources = sentences.map(({ source }) => source);
  const pick = select("sentence", sources, set("sentence"));
  const rateBox = toggle("rate", "learning rate", false, (on) => {
    showRate = on;
    update(false);
  });
  const map = mapOf(sentences, (i, j) => {
    cursor = [i, j];
    show();
  });
  const behind = tables(frames);

  function show() {
    const [i, s] = [frameNow(), sentenceNow()];
    const { attention, step, translations } = frames[i];
    const [r, c] = cursor;
    const before = frames[i - 1]?.translations[s];
    draw(
      html`<label class="tfrp-pick" for=${pick.id}><span>Sentence</span>${pick}</label>
        <div class="tfrp-steps">${walk.nodes}${scrub.box}</div>
        <div class="tfrp-both">
          <div class="tfrp-curve">${lossChart({ curve, valid, frames }, i, showRate, walk.go)}</div>
          <div class="tfrp-right">
            <p class="tfrp-heading">Cross-attention at step ${commas(step)}: each row gives ${format(sharpness(attention[s]), 2)} to its favourite, on average</p>
            ${map.node}
          </div>
          <div class="tfrp-left">
            <p class="tfrp-legend">
              <span class="tfrp-key tfrp-train">training loss, smoothed target</span>
              <span class="tfrp-key tfrp-valid">validation loss; ● checkpoints</span>
              ${rateBox.box}
            </p>
            ${words(sentences[s], translations[s], before)}
            <p class="tfrp-note">Underlined: words that the checkpoint before did not say.</p>
            <p class="tfrp-readout">${readout(sentences[s], attention[s][r], r, c)}</p>
          </div>
        </div>
        ${behind.nodes}
        <p class="tfrp-source">${model.get("recorded")} ${NOTES}</p>
        ${live.node}`,
      root,
    );
  }

  function update(speak = true) {
    const [i, s] = [frameNow(), sentenceNow()];
    const { attention, step, translations, valid_loss } = frames[i];
    const sentence = sentences[s];
    const [rows, columns] = [sentence.target_pieces, sentence.source_pieces].map(
      (pieces) => pieces.map(bare),
    );
    cursor = [within(cursor[0], rows.length), within(cursor[1], columns.length)];
    scrub.show(i);
    pick.value = String(s);
    walk.show();
    rateBox.show(showRate);
    map.show(rows, columns, attention[s]);
    behind.show(s, rows, columns, attention[s]);
    show();
    const text = `Step ${commas(step)}, validation loss ${format(valid_loss)}: ${translations[s]}`;
    if (speak) live.announce(text);
  }

  update(false);
  return stopping(walk, live, stop);
}

export default { render };
