// A recorded training run to scrub and play: loss, translations, attention as it forms.
// Nothing is computed but where things stand; `newWords`, `nearestFrame`, `sharpness` and
// `axisOf` run in Node, and the tests ask them.
import { within } from "../kit/arrows.js";
import { grid } from "../kit/grid.js";
import {
  bind,
  draggable,
  figure,
  h,
  liveRegion,
  put,
  say,
  select,
  slider,
  textTable,
  toggle,
  wantsStillness,
} from "../kit/kit.js";
import { commas, format } from "../kit/numbers.js";
import { byteAsCharacter } from "../kit/pieces.js";
import { player } from "../kit/player.js";

const PAUSE = 1400; // ms a frame, when it plays

// The words of a sentence, each with whether the one before lacks it: those outside of
// their longest common subsequence.
export function newWords(before, after) {
  const [a, b] = [before, after].map((text) => text.split(" ").filter(Boolean));
  const length = Array.from({ length: a.length + 1 }, () =>
    new Array(b.length + 1).fill(0),
  );
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      length[i][j] =
        a[i] === b[j]
          ? 1 + length[i + 1][j + 1]
          : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  const found = [];
  for (let i = 0, j = 0; j < b.length; ) {
    if (i < a.length && a[i] === b[j]) {
      found.push([b[j], false]);
      i += 1;
      j += 1;
    } else if (i < a.length && length[i + 1][j] >= length[i][j + 1]) {
      i += 1;
    } else {
      found.push([b[j], true]);
      j += 1;
    }
  }
  return found;
}

// The frame whose step is nearest.
export const nearestFrame = (steps, step) =>
  steps.reduce(
    (best, each, i) =>
      Math.abs(each - step) < Math.abs(steps[best] - step) ? i : best,
    0,
  );

// How decided the rows of a map are: the mean of each row's largest weight.
export const sharpness = (map) =>
  map.reduce((sum, row) => sum + Math.max(...row), 0) / map.length;
export const strongest = (row) => row.indexOf(Math.max(...row));

// Round numbers from 0 to at least `most`.
export function axisOf(most, parts = 4) {
  const rough = most / parts;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((x) => x * power).find((x) => x * parts >= most);
  return Array.from({ length: parts + 1 }, (_, i) => i * step);
}

const BOX = { width: 400, height: 236, left: 42, right: 14, top: 12, bottom: 44 };
const INNER = {
  x: BOX.width - BOX.left - BOX.right,
  y: BOX.height - BOX.top - BOX.bottom,
};
const bare = (piece) =>
  piece === "</s>" ? "⟨eos⟩" : byteAsCharacter(piece).replace(/^▁/, "");
const rateText = (r) => `${format(r * 1000, 2)} × 10⁻³`;

// The loss of a run against its steps, and, if wanted, the learning rate; onFrame hears
// which frame is pointed at.
// -> { svg, show(i, showRate): frame i is marked }
function lossChart(curve, valid, frames, onFrame) {
  const steps = frames.map((each) => each.step);
  const end = Math.max(curve.at(-1)[0], valid.at(-1)[0]);
  const marks = axisOf(Math.max(...curve.map((each) => each[1])));
  const top = marks.at(-1);
  const most = Math.max(...curve.map((each) => each[2]));
  const X = (step) => BOX.left + (INNER.x * step) / end;
  const Y = (share) => BOX.height - BOX.bottom - INNER.y * share;
  const line = (points, name) =>
    h("path", {
      class: `tfrp-line tfrp-${name}`,
      d: points
        .map(([x, y], i) => `${i ? "L" : "M"}${X(x).toFixed(1)},${Y(y).toFixed(1)}`)
        .join(""),
    });
  const rateLine = line(
    curve.map((each) => [each[0], each[2] / most]),
    "rate",
  );
  const rateScale = h(
    "text",
    {
      class: "tfrp-small tfrp-scale",
      x: BOX.width - BOX.right,
      y: BOX.top + 16,
      "text-anchor": "end",
    },
    `learning rate: up to ${rateText(most)}`,
  );
  const now = h("line", {
    class: "tfrp-now",
    y1: BOX.top,
    y2: BOX.height - BOX.bottom,
  });
  const dots = frames.map((each, i) =>
    h("circle", {
      class: "tfrp-dot",
      r: 4.5,
      cx: X(each.step).toFixed(1),
      cy: Y(each.valid_loss / top).toFixed(1),
      "data-frame": i,
    }),
  );
  const ground = h("rect", {
    class: "tfrp-ground",
    x: BOX.left,
    y: BOX.top,
    width: INNER.x,
    height: INNER.y,
    "data-handle": "loss",
  });
  const svg = h(
    "svg",
    { viewBox: `0 0 ${BOX.width} ${BOX.height}`, class: "tfrp-chart", role: "img" },
    ...scaleOf(marks, end, X, Y),
    line(
      curve.map((each) => [each[0], each[1] / top]),
      "train",
    ),
    line(
      valid.map(([x, y]) => [x, y / top]),
      "valid",
    ),
    rateLine,
    rateScale,
    now,
    ...dots,
    ground,
  );
  const toFrame = (x) =>
    nearestFrame(steps, ((x * BOX.width - BOX.left) / INNER.x) * end);
  draggable(ground, (x) => onFrame(toFrame(x)));
  ground.addEventListener("pointerdown", (event) => {
    const box = svg.getBoundingClientRect();
    onFrame(toFrame((event.clientX - box.left) / box.width));
  });

  function show(i, showRate) {
    const shown = frames[i];
    put(now, { x1: X(shown.step), x2: X(shown.step) });
    dots.forEach((dot, k) => dot.classList.toggle("tfrp-here", k === i));
    for (const node of [rateLine, rateScale])
      put(node, { visibility: showRate ? null : "hidden" });
    put(svg, {
      "data-step": shown.step,
      "aria-label": `Loss against step. The training loss falls from ${format(curve[0][1], 1)} to ${format(curve.at(-1)[1], 2)}, the validation loss from ${format(valid[0][1], 2)} to ${format(valid.at(-1)[1], 2)}. Marked: step ${commas(shown.step)}, validation loss ${format(shown.valid_loss, 2)}.`,
    });
  }
  return { svg, show };
}

// The numbers along both axes, and the lines across. X and Y place a step and a share.
function scaleOf(marks, end, X, Y) {
  const top = marks.at(-1);
  return [
    ...marks.flatMap((x) => [
      h("line", {
        class: "tfrp-grid",
        x1: BOX.left,
        x2: BOX.width - BOX.right,
        y1: Y(x / top),
        y2: Y(x / top),
      }),
      h(
        "text",
        {
          class: "tfrp-small",
          x: BOX.left - 6,
          y: Y(x / top) + 4,
          "text-anchor": "end",
        },
        String(x),
      ),
    ]),
    ...axisOf(end)
      .filter((x) => x <= end)
      .map((x) =>
        h(
          "text",
          {
            class: "tfrp-small",
            x: X(x),
            y: BOX.height - BOX.bottom + 20,
            "text-anchor": X(x) > BOX.width - 50 ? "end" : "middle",
          },
          commas(x),
        ),
      ),
    h(
      "text",
      {
        class: "tfrp-small",
        x: BOX.width - BOX.right,
        y: BOX.height - 2,
        "text-anchor": "end",
      },
      "step →",
    ),
  ];
}

function render({ model, el }) {
  const root = figure(el, "tfrp", "A recorded training run, to scrub and play");
  const get = (name) => model.get(name);
  const frames = get("frames");
  const sentences = get("sentences");
  const steps = frames.map((each) => each.step);
  const last = frames.length - 1;
  const live = liveRegion();
  const { commit, stop } = bind(model, ["frame", "sentence"], () => update());
  let showRate = false;

  // Where we are, whatever a kernel has said.
  const frameNow = () => within(get("frame"), frames.length);
  const sentenceNow = () => within(get("sentence"), sentences.length);
  const walk = player({
    words: [
      "To the first checkpoint",
      "One checkpoint back",
      "One checkpoint on",
      "To the last checkpoint",
    ],
    at: frameNow,
    last: () => last,
    to: (i) => commit({ frame: within(i, frames.length) }),
    beat: PAUSE,
  });
  // Who wants stillness steps by hand; nothing runs by itself.
  put(walk.play, { hidden: wantsStillness() });
  const scrub = slider(
    "frame",
    "step",
    {
      min: 0,
      max: last,
      step: 1,
      text: (i) => `${commas(steps[i])} of ${commas(steps[last])}`,
    },
    walk.go,
  );
  const pick = select(
    "sentence",
    sentences.map((each) => each.source),
    (i) => commit({ sentence: i }),
  );
  const sentenceLine = h(
    "label",
    { class: "tfrp-pick", for: pick.id },
    h("span", {}, "Sentence"),
    pick,
  );
  const rateBox = toggle("rate", "learning rate", false, (on) => {
    showRate = on;
    update(false);
  });

  const chart = lossChart(get("curve"), get("evaluations"), frames, walk.go);
  const legend = h(
    "p",
    { class: "tfrp-legend" },
    h("span", { class: "tfrp-key tfrp-train" }, "training loss, smoothed target"),
    h("span", { class: "tfrp-key tfrp-valid" }, "validation loss; ● checkpoints"),
    rateBox.box,
  );

  // --- the sentence
  const words = {
    english: h("td", { lang: "en" }),
    person: h("td", { lang: "de" }),
    model: h("td", { lang: "de", class: "tfrp-said" }),
  };
  const names = { english: "English", person: "a person", model: "the model" };
  const said = h(
    "table",
    { class: "tfrp-words" },
    h(
      "tbody",
      {},
      ...Object.entries(words).map(([key, cell]) =>
        h("tr", {}, h("th", { scope: "row" }, names[key]), cell),
      ),
    ),
  );
  const note = h(
    "p",
    { class: "tfrp-note" },
    "Underlined: words that the checkpoint before did not say.",
  );

  // --- the map
  const heading = h("p", { class: "tfrp-heading" });
  const readout = h("p", { class: "tfrp-readout" });
  const map = grid(
    "Cross-attention: rows are queries, the German pieces about to be written; columns are keys, the English pieces",
    {
      rowAxis: "German, query",
      columnAxis: "English, key",
      onMove: read,
      onPick: read,
    },
  );
  map.node.style.setProperty(
    "--rows",
    Math.max(...sentences.map((each) => each.target_pieces.length)),
  );
  map.node.classList.add("tfrp-map");
  map.table.addEventListener("pointerover", (event) => {
    const cell = event.target.closest("[data-cell]");
    if (cell) read(...cell.dataset.cell.split("-").map(Number));
  });
  let cursor = null;
  function read(i, j) {
    cursor = [i, j];
    const { source_pieces: keys, target_pieces: queries } = sentences[sentenceNow()];
    const row = frames[frameNow()].attention[sentenceNow()][i];
    const best = strongest(row);
    say(
      readout,
      `About to write “${bare(queries[i])}”, the decoder gives ${format(row[j], 3)} of its attention to “${bare(keys[j])}”${best === j ? ", more than to any other." : `, most to “${bare(keys[best])}” (${format(row[best], 3)}).`}`,
    );
  }
  const behind = textTable("All checkpoints as a table", "step");
  const weights = textTable("The map as a table", "German \\ English");
  const source = h(
    "p",
    { class: "tfrp-source" },
    get("recorded"),
    " Translations: beam 4. The maps are those of the last decoder layer, mean of its heads, while it reads the translation of the person: the same German at each step, so that the maps can be compared.",
  );

  root.append(
    sentenceLine,
    h("div", { class: "tfrp-steps" }, ...walk.nodes, scrub.box),
    h(
      "div",
      { class: "tfrp-both" },
      h("div", { class: "tfrp-curve" }, chart.svg),
      h("div", { class: "tfrp-right" }, heading, map.node),
      h("div", { class: "tfrp-left" }, legend, said, note, readout),
    ),
    behind.node,
    weights.node,
    source,
    live.node,
  );

  function update(speak = true) {
    const [i, s] = [frameNow(), sentenceNow()];
    const shown = frames[i];
    const sentence = sentences[s];
    const attention = shown.attention[s];
    scrub.show(i);
    pick.value = s;
    walk.show();
    chart.show(i, showRate);
    rateBox.input.checked = showRate;

    say(words.english, sentence.source);
    say(words.person, sentence.reference);
    const translation = shown.translations[s];
    const found = i
      ? newWords(frames[i - 1].translations[s], translation)
      : translation.split(" ").map((word) => [word, false]);
    words.model.replaceChildren(
      ...found.flatMap(([word, isNew], k) => [
        k ? " " : "",
        isNew ? h("u", {}, word) : word,
      ]),
    );
    words.model.dataset.exact = translation;

    say(
      heading,
      `Cross-attention at step ${commas(shown.step)}: each row gives ${format(sharpness(attention), 2)} to its favourite, on average`,
    );
    const labels = [sentence.target_pieces.map(bare), sentence.source_pieces.map(bare)];
    map.show({
      rows: labels[0],
      columns: labels[1],
      cell: (r, c) => ({
        text:
          attention[r][c] >= 0.095 ? format(attention[r][c], 1).replace(/^0/, "") : "",
        share: attention[r][c],
        exact: attention[r][c],
        label: `${labels[0][r]} to ${labels[1][c]}: ${format(attention[r][c], 2)}`,
      }),
    });
    const [r, c] = cursor ?? [0, 0];
    const [y, x] = [
      Math.min(r, attention.length - 1),
      Math.min(c, attention[0].length - 1),
    ];
    read(y, x);
    behind.show(
      ["validation loss", "learning rate", "translation", "favourite gets"],
      frames.map((each) => [
        commas(each.step),
        format(each.valid_loss, 2),
        rateText(each.learning_rate),
        each.translations[s],
        format(sharpness(each.attention[s]), 2),
      ]),
    );
    weights.show(
      labels[1],
      attention.map((row, k) => [labels[0][k], ...row.map((w) => format(w, 2))]),
    );
    if (speak)
      live.announce(
        `Step ${commas(shown.step)}, validation loss ${format(shown.valid_loss, 2)}: ${translation}`,
      );
  }

  update(false);
  return () => {
    walk.stop();
    live.stop();
    stop();
  };
}

export default { render };
