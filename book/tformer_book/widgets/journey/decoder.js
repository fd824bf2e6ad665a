// How the German comes about, in pictures.
import { headMap, upTo } from "../heads/maps.js";
import { arrowKeys, DOWN, within } from "../kit/arrows.js";
import { grid } from "../kit/grid.js";
import { button, h, put, radios, say, slider } from "../kit/kit.js";
import { chance, commas, format, percent } from "../kit/numbers.js";
import { shown } from "../kit/pieces.js";
import { player } from "../kit/player.js";
import { across, predicted } from "./facts.js";
import { paint, scaleOf, strip } from "./strips.js";

const BEAT = 1100; // ms a piece, when it plays
const ROW = 28; // px

// What is written after so many pieces, as chips; the newest stands out.
function writtenChips() {
  const node = h("p", { class: "tfj-chips tfj-german", lang: "de" });
  function show({ targetPieces }, step, { newest = true } = {}) {
    const pieces = targetPieces.slice(0, step + 1);
    while (node.children.length > pieces.length) node.lastChild.remove();
    pieces.forEach((piece, i) => {
      node.children[i] ?? node.append(h("span", { class: "tfj-chip" }));
      say(node.children[i], shown(piece));
      put(node.children[i], {
        "data-newest": newest && i > 0 && i === step ? true : null,
      });
    });
  }
  return { node, show };
}

function stepSlider(change) {
  const most = { min: 0, max: 1, step: 1, text: (x) => format(x, 0) };
  const each = slider("step", "Pieces written", most, (step) => change({ step }));
  function show({ next }, step) {
    put(each.input, { max: next.length - 1 });
    each.show(step);
  }
  return { node: each.box, show };
}

// The German so far looks at itself; what comes later is hidden.
export function lookBackPicture({ change }) {
  const sofar = writtenChips();
  const steps = stepSlider(change);
  const map = grid("What each German piece looks at", {
    rowAxis: "query",
    columnAxis: "key",
  });
  const node = h("div", {}, steps.node, sofar.node, map.node);
  function show(journey, { step }) {
    const pieces = journey.targetPieces.slice(0, step + 1).map(shown);
    const weights = headMap(journey, "decoder", 0, null);
    steps.show(journey, step);
    sofar.show(journey, step);
    map.show({
      rows: pieces,
      columns: pieces,
      cell: (i, j) => {
        const w = weights[i][j];
        const off = j > i;
        return {
          text: off ? "" : format(w).replace(/^0/, ""),
          label: `${pieces[i]} to ${pieces[j]}: ${off ? "hidden, it comes later" : `weight ${format(w)}`}`,
          share: off ? 0 : w,
          exact: w,
          off,
        };
      },
    });
  }
  return { node, show };
}

// Two columns of pieces, and a line for each weight between them, the thicker the larger.
// -> { node, show({ left, right, weights, at }) }: at is the piece on the left whose
//    lines stand out; null: all do
function linesBetween(label, onPick) {
  const starts = h("div", { class: "tfj-column", role: "group", "aria-label": label });
  const ends = h("div", { class: "tfj-column", lang: "en" });
  const svg = h("svg", { "aria-hidden": "true", preserveAspectRatio: "none" });
  const node = h("div", { class: "tfj-lines" }, starts, svg, ends);
  let at = 0;
  arrowKeys(starts, DOWN, (by) => {
    const to = within(at + by, starts.children.length);
    onPick(to);
    /** @type {HTMLElement} */ (starts.children[to]).focus();
  });
  function show({ left, right, weights, at: chosen, rise = 0 }) {
    at = chosen;
    const height = ROW * Math.max(left.length + rise, right.length);
    const middle = (i) => ROW * (i + 0.5);
    put(svg, { viewBox: `0 0 100 ${height}` });
    svg.style.height = `${height}px`;
    if (starts.dataset.names !== JSON.stringify(left)) {
      starts.dataset.names = JSON.stringify(left);
      starts.replaceChildren(
        ...left.map((name, i) => {
          const one = button(`german-${i}`, name, () => onPick(i));
          put(one, { lang: "de" });
          return one;
        }),
      );
    }
    starts.style.paddingTop = `${ROW * rise}px`;
    svg.replaceChildren(
      ...weights.flatMap((row, i) =>
        row.flatMap((w, j) =>
          w < 0.02
            ? []
            : [
                h("line", {
                  x1: 0,
                  y1: middle(i + rise),
                  x2: 100,
                  y2: middle(j),
                  "stroke-width": (0.5 + 6 * w).toFixed(2),
                  "stroke-opacity": Math.min(1, 0.15 + w).toFixed(2),
                  class: i === chosen ? "tfj-chosen" : "",
                }),
              ],
        ),
      ),
    );
    [...starts.children].forEach((one, i) =>
      put(one, {
        "aria-pressed": String(i === chosen),
        tabindex: i === chosen ? 0 : -1,
      }),
    );
    ends.replaceChildren(
      ...right.map((name, j) => {
        const w = weights[chosen]?.[j] ?? 0;
        const end = h(
          "span",
          { "data-weight": w },
          name,
          h("small", {}, w < 0.005 ? "" : ` ${format(w)}`),
        );
        end.style.setProperty("--share", `${Math.round(45 * w)}%`);
        return end;
      }),
    );
  }
  return { node, show };
}

// What the decoder looks at in the English, before it says the next piece.
export function acrossPicture({ change }) {
  const choices = h("div", { class: "tfj-choices" });
  const steps = stepSlider(change);
  const sofar = writtenChips();
  const lines = linesBetween("The newest German piece", () => {});
  const node = h("div", {}, choices, steps.node, sofar.node, lines.node);
  let layers = null;
  function show(journey, { step, across: layer }) {
    const depth = journey.config.n_decoder_layers;
    if (layers?.inputs.length !== depth) {
      layers = radios("across", "Layer", upTo(depth).map(String), layer, (i) =>
        change({ across: i }),
      );
      choices.replaceChildren(layers.set);
    }
    layers.pick(layer);
    steps.show(journey, step);
    sofar.show(journey, step);
    const right = journey.sourcePieces.map(shown);
    lines.show({
      left: [shown(journey.targetPieces[step])],
      right,
      weights: [across(journey, layer)[step]],
      at: 0,
      rise: Math.floor((right.length - 1) / 2),
    });
  }
  return { node, show };
}

// The best next pieces, with score, probability, and a bar.
function bestTable() {
  const body = h("tbody");
  const rest = h("p", { class: "tfj-label" });
  const head = ["next piece", "", "probability", "score"].map((name) =>
    h("th", { scope: "col" }, name),
  );
  const node = h(
    "div",
    { class: "tfj-best" },
    h("table", {}, h("thead", {}, h("tr", {}, ...head)), body),
    rest,
  );
  function show({ next, config }, step) {
    body.replaceChildren(
      ...next[step].map(({ piece, logit, probability }, i) => {
        const bar = h("span", { class: "tfj-bar", "aria-hidden": "true" });
        bar.style.width = `${100 * probability}%`;
        return h(
          "tr",
          { class: i ? "" : "tfj-chosen", "data-piece": piece },
          h("th", { scope: "row", lang: "de" }, shown(piece)),
          h("td", { class: "tfj-bars" }, bar),
          h("td", { "data-exact": probability }, chance(probability)),
          h("td", { "data-logit": logit }, format(logit)),
        );
      }),
    );
    const left = 1 - next[step].reduce((sum, each) => sum + each.probability, 0);
    say(
      rest,
      `The other ${commas(config.vocab_size - next[step].length)} pieces share ${percent(Math.max(0, left))}.`,
    );
  }
  return { node, show };
}

// The decoder's last vector, and the pieces whose rows are most like it.
export function scoresPicture({ change }) {
  const steps = stepSlider(change);
  const sofar = writtenChips();
  const canvas = strip("tfj-tall");
  const best = bestTable();
  const down = h("span", { class: "tfj-arrow", "aria-hidden": "true" }, "↓");
  const node = h("div", {}, steps.node, sofar.node, canvas, down, best.node);
  function show(journey, { step }) {
    const { shape, data } = journey.said;
    const said = data.subarray(step * shape[1], (step + 1) * shape[1]);
    steps.show(journey, step);
    sofar.show(journey, step);
    paint(canvas, said, scaleOf([said]));
    best.show(journey, step);
  }
  return { node, show };
}

// The loop: the best piece is appended, and again.
export function loopPicture({ change }) {
  const sofar = writtenChips();
  const best = bestTable();
  let steps = 1;
  let at = 0;
  const walk = player({
    words: ["To the start", "One piece back", "One piece on", "To the end"],
    at: () => at,
    last: () => steps - 1,
    to: (step) => change({ step: within(step, steps) }),
    beat: BEAT,
  });
  const node = h(
    "div",
    {},
    h("div", { class: "tfj-player" }, ...walk.nodes),
    sofar.node,
    best.node,
  );
  function show(journey, { step }) {
    steps = journey.next.length;
    at = step;
    walk.show();
    sofar.show(journey, step);
    best.show(journey, step);
  }
  return { node, show, leave: walk.stop };
}

// The German with the English that was looked at for each of its pieces.
export function joinedPicture({ change }) {
  const german = h("p", { class: "tfj-whole-german", lang: "de", "data-german": true });
  const english = h("p", { class: "tfj-whole-english", lang: "en" });
  const lines = linesBetween("The German pieces: choose one", (step) =>
    change({ step }),
  );
  const node = h("div", {}, english, german, lines.node);
  function show(journey, { step, across: layer, text }) {
    say(german, journey.translation || "(nothing)");
    say(english, text);
    lines.show({
      left: predicted(journey).map(shown),
      right: journey.sourcePieces.map(shown),
      weights: across(journey, layer),
      at: step,
    });
  }
  return { node, show };
}
