// What happens to the vectors in the encoder, in pictures.
import { upTo } from "../heads/maps.js";
import { grid } from "../kit/grid.js";
import { h, put, radios, say } from "../kit/kit.js";
import { format, percent } from "../kit/numbers.js";
import { shown } from "../kit/pieces.js";
import {
  awake,
  before,
  lengthOf,
  minus,
  partOf,
  plus,
  rows,
  scoresOf,
  times,
  turned,
  vector,
  weightsOf,
} from "./facts.js";
import { paint, scaleOf, strip, stripList, sumTable } from "./strips.js";

// Pieces as strips, with a sum for the one that is followed below them.
// parts(journey, state) -> { vectors, lines, about, beside? }
export function vectorsPicture({ change }, parts) {
  const list = stripList("The pieces: choose one to follow", (piece) =>
    change({ piece }),
  );
  const sum = sumTable("The sum for the piece that is followed");
  const node = h("div", { class: "tfj-vectors" }, list.node, sum.node);
  function show(journey, state) {
    const { vectors, lines, about, beside } = parts(journey, state);
    list.show({ pieces: journey.sourcePieces, vectors, at: state.piece, beside });
    sum.show(lines, about);
  }
  return { node, show };
}

const aboutOf = ({ sourcePieces, config }, { piece }) =>
  `${shown(sourcePieces[piece])}, all ${config.d_model} numbers, and the first eight in figures`;

export function rowParts(journey, state) {
  const { word, config, sourceIds } = journey;
  const scaled = vector(word, state.piece);
  return {
    vectors: rows(word),
    about: aboutOf(journey, state),
    lines: [
      {
        sign: "",
        name: `row ${sourceIds[state.piece]}`,
        numbers: times(scaled, 1 / Math.sqrt(config.d_model)),
      },
      { sign: "=", name: `× √${config.d_model}`, numbers: scaled },
    ],
  };
}

export function positionParts(journey, state) {
  const [word, start] = [journey.word, journey.start].map((each) =>
    vector(each, state.piece),
  );
  return {
    vectors: rows(journey.start),
    about: aboutOf(journey, state),
    lines: [
      { sign: "", name: "the piece", numbers: word },
      { sign: "+", name: `place ${state.piece + 1}`, numbers: minus(start, word) },
      { sign: "=", name: "together", numbers: start },
    ],
  };
}

// The vector that comes into a layer, with what attention adds.
export function sumOf(journey, { layer, piece }) {
  const stream = vector(before(journey, layer), piece);
  const attended = vector(journey.layers[layer].attended, piece);
  return { stream, attended, sum: plus(stream, attended) };
}

export function addParts(journey, state) {
  const { normalised } = journey.layers[state.layer];
  const { stream, attended, sum } = sumOf(journey, state);
  return {
    vectors: rows(normalised),
    about: aboutOf(journey, state),
    lines: [
      { sign: "", name: "before", numbers: stream },
      { sign: "+", name: "attention", numbers: attended },
      { sign: "=", name: "the sum", numbers: sum },
      { sign: "→", name: "normalised", numbers: vector(normalised, state.piece) },
    ],
  };
}

export function networkParts(journey, state) {
  const { fed, after, normalised } = journey.layers[state.layer];
  const isPre = journey.config.norm === "pre";
  return {
    vectors: rows(after),
    about: aboutOf(journey, state),
    lines: [
      {
        sign: "",
        name: "before",
        numbers: isPre ? sumOf(journey, state).sum : vector(normalised, state.piece),
      },
      { sign: "+", name: "network", numbers: vector(fed, state.piece) },
      {
        sign: "=",
        name: isPre ? "the sum" : "norm",
        numbers: vector(after, state.piece),
      },
    ],
  };
}

// Which head of the encoder is shown.
function headChoice(change) {
  const node = h("div", { class: "tfj-choices" });
  let size = "";
  let parts = [];
  function show({ config }, { layer, head }) {
    const { n_encoder_layers, n_heads } = config;
    if (size !== `${n_encoder_layers} ${n_heads}`) {
      size = `${n_encoder_layers} ${n_heads}`;
      const numbers = (n) => upTo(n).map(String);
      parts = [
        radios("layer", "Layer", numbers(n_encoder_layers), layer, (i) =>
          change({ layer: i }),
        ),
        radios("head", "Head", numbers(n_heads), head, (i) => change({ head: i })),
      ];
      node.replaceChildren(...parts.map(({ set }) => set));
    }
    parts[0].pick(layer);
    parts[1].pick(head);
  }
  return { node, show };
}

// A head as a heat map, query rows and key columns: its scores, and its weights.
export function headPicture({ change }) {
  const choice = headChoice(change);
  const kinds = radios("kind", "Show", ["scores", "weights"], 1, (i) =>
    change({ kind: ["scores", "weights"][i] }),
  );
  const map = grid("What each piece looks at", {
    rowAxis: "query",
    columnAxis: "key",
    onPick: (piece) => change({ piece }),
  });
  const node = h(
    "div",
    {},
    h("div", { class: "tfj-choices" }, choice.node, kinds.set),
    map.node,
  );
  function show(journey, state) {
    const { layer, head, piece, kind } = state;
    const pieces = journey.sourcePieces.map(shown);
    const weights = weightsOf(journey, layer, head);
    const scores = scoresOf(journey, layer, head);
    const all = scores.flat();
    const [low, high] = [Math.min(...all), Math.max(...all)];
    choice.show(journey, state);
    kinds.pick(kind === "scores" ? 0 : 1);
    map.show({
      rows: pieces,
      columns: pieces,
      cell: (i, j) => {
        const [w, score] = [weights[i][j], scores[i][j]];
        return {
          text: kind === "scores" ? format(score, 1) : format(w).replace(/^0/, ""),
          label: `${pieces[i]} to ${pieces[j]}: score ${format(score)}, weight ${format(w)}`,
          share: kind === "scores" ? (score - low) / (high - low || 1) : w,
          exact: kind === "scores" ? score : w,
          mark: i === piece ? "tfj-followed" : "",
        };
      },
    });
    [...map.table.tBodies[0].rows].forEach((row, i) =>
      put(row, { class: i === piece ? "tfj-followed" : "" }),
    );
  }
  return { node, show };
}

// A head's mix for one query: the values, each as strong as its weight; then all heads
// side by side, and what the last matrix makes of them.
export function mixPicture({ change }) {
  const choice = headChoice(change);
  const values = h("div", { class: "tfj-values" });
  const heads = h("div", { class: "tfj-heads" });
  const mixed = labelled("the mix");
  const joined = h("p", { class: "tfj-label" });
  const output = labelled("blended by a matrix");
  const node = h(
    "div",
    {},
    choice.node,
    values,
    mixed.node,
    joined,
    heads,
    output.node,
  );
  function show(journey, state) {
    const { layer, head, piece } = state;
    const { n_heads } = journey.config;
    const { value, mixed: all, attended } = journey.layers[layer];
    const weights = weightsOf(journey, layer, head)[piece];
    const parts = rows(value).map((each) => partOf(each, head, n_heads));
    const scale = scaleOf(parts);
    choice.show(journey, state);
    values.replaceChildren(
      ...journey.sourcePieces.map((name, j) =>
        h(
          "div",
          { class: "tfj-value" },
          h("span", { class: "tfj-name" }, shown(name)),
          h(
            "span",
            { class: "tfj-weight", "data-weight": weights[j] },
            format(weights[j]),
          ),
          strip(),
        ),
      ),
    );
    [...values.querySelectorAll("canvas")].forEach((canvas, j) =>
      paint(canvas, times(parts[j], weights[j]), scale / 2),
    );
    const row = vector(all, piece);
    mixed.show(partOf(row, head, n_heads), scale / 2);
    say(joined, `All ${n_heads} heads, side by side:`);
    heads.replaceChildren(
      ...upTo(n_heads).map((k) =>
        h(
          "span",
          { class: k === head ? "tfj-head tfj-chosen" : "tfj-head" },
          strip("tfj-tall"),
          h("small", {}, String(k)),
        ),
      ),
    );
    const whole = scaleOf([row]);
    [...heads.querySelectorAll("canvas")].forEach((canvas, k) =>
      paint(canvas, partOf(row, k, n_heads), whole),
    );
    output.show(vector(attended, piece), scaleOf([vector(attended, piece)]));
  }
  return { node, show };
}

function labelled(text) {
  const canvas = strip("tfj-tall");
  const name = h("span", { class: "tfj-label" }, text);
  const node = h("div", { class: "tfj-labelled" }, name, canvas);
  return { node, show: (numbers, scale) => paint(canvas, numbers, scale) };
}

// The hidden numbers of the network for one piece, and the sum that it leads to.
export function networkPicture(tools) {
  const canvas = h("canvas", { class: "tfj-hidden", "aria-hidden": "true" });
  const caption = h("p", { class: "tfj-label" });
  const vectors = vectorsPicture(tools, networkParts);
  const node = h("div", {}, caption, canvas, vectors.node);
  function show(journey, state) {
    const hidden = vector(journey.layers[state.layer].hidden, state.piece);
    const kept = hidden.map((x) => Math.max(0, x));
    paint(canvas, kept, scaleOf([kept]), 64);
    say(
      caption,
      `${shown(journey.sourcePieces[state.piece])}: ${awake(hidden).length} of ${hidden.length} numbers are above 0 (${percent(awake(hidden).length / hidden.length, 0)})`,
    );
    vectors.show(journey, state);
  }
  return { node, show };
}

const WIDEST = 100; // degrees

// How far each vector has turned, layer by layer: a dot for each, from left to right.
export function turnedPicture({ change }) {
  const scale = h(
    "p",
    { class: "tfj-angles", "aria-hidden": "true" },
    ...[0, 25, 50, 75, 100].map((x) => h("span", {}, `${x}°`)),
  );
  const list = h("div", {
    class: "tfj-turned",
    role: "group",
    "aria-label": "How far each vector has turned after each layer",
  });
  const memory = stripList("The memory: choose a piece to follow", (piece) =>
    change({ piece }),
  );
  const node = h(
    "div",
    {},
    scale,
    list,
    h("p", { class: "tfj-label" }, "The memory: what the decoder will see"),
    memory.node,
  );
  function show(journey, state) {
    const angles = turned(journey);
    list.replaceChildren(
      ...angles.map((each, i) =>
        h(
          "div",
          { class: i === state.piece ? "tfj-track tfj-followed" : "tfj-track" },
          h("span", { class: "tfj-name" }, shown(journey.sourcePieces[i])),
          h("span", { class: "tfj-rail" }, ...each.map((x, k) => dot(x, k))),
          h("small", { "data-angle": each.at(-1) }, `${format(each.at(-1), 0)}°`),
        ),
      ),
    );
    memory.show({
      pieces: journey.sourcePieces,
      vectors: rows(journey.memory),
      at: state.piece,
    });
  }
  return { node, show };
}

function dot(degrees, layers) {
  const node = h("i", {
    title: layers
      ? `after layer ${layers - 1}: ${format(degrees, 0)}°`
      : "at the start",
    class: layers ? "" : "tfj-begin",
  });
  node.style.setProperty("--x", String(Math.min(1, degrees / WIDEST)));
  node.style.setProperty("--k", String(layers));
  return node;
}

export const lengthsOf = (journey, state) => {
  const { sum } = sumOf(journey, state);
  const { normalised } = journey.layers[state.layer];
  return [lengthOf(sum), lengthOf(vector(normalised, state.piece))];
};
