// A position as the hands of several clocks: play it, or move it. `dials` is all of the
// maths and runs in Node; the tests hold it to `tformer.positions.sinusoids`.
import { sinusoids } from "../engine/positions.js";
import { row } from "../engine/tensor.js";
import { bind, figure, h, liveRegion, put, say, slider } from "../kit/kit.js";
import { commas, format } from "../kit/numbers.js";
import { player } from "../kit/player.js";

export const LAST = 63; // positions of the slider
const BASE = 10_000;
const BEAT = 450; // ms from one position to the next
const SIZE = 120;
const RADIUS = 46;

// For each hand: the sine and cosine of its angle at position p, and what a turn takes.
export function dials(dModel, p) {
  const numbers = row(sinusoids(p + 1, dModel, BASE), p);
  return Array.from({ length: dModel / 2 }, (_, i) => ({
    sin: numbers[2 * i],
    cos: numbers[2 * i + 1],
    turn: 2 * Math.PI * BASE ** ((2 * i) / dModel),
  }));
}

const wave = (x) => (x < 100 ? format(x, 1) : commas(Math.round(x)));

function dial(i, turn) {
  const middle = SIZE / 2;
  const line = (name) => h("line", { class: name, x1: middle, y1: middle });
  const hand = line("tfc-hand");
  const up = line("tfc-sin"); // from the tip down to the axis: as long as the sine
  const along = line("tfc-cos"); // from the middle to its foot: as long as the cosine
  const tip = h("circle", { r: 4, class: "tfc-tip", "data-tip": i });
  const svg = h(
    "svg",
    { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img" },
    h("circle", { cx: middle, cy: middle, r: RADIUS, class: "tfc-face" }),
    along,
    up,
    hand,
    tip,
  );
  const numbers = h("span", { class: "tfc-numbers" });
  const node = h(
    "figure",
    {},
    svg,
    h(
      "figcaption",
      {},
      h("strong", {}, `hand ${i}`),
      h("span", {}, `a turn: ${wave(turn)} positions`),
      numbers,
    ),
  );
  const show = ({ sin, cos }) => {
    const [x, y] = [middle + RADIUS * cos, middle - RADIUS * sin].map((v) =>
      v.toFixed(2),
    );
    put(hand, { x2: x, y2: y });
    put(tip, { cx: x, cy: y, "data-exact": JSON.stringify([sin, cos]) });
    put(along, { x2: x, y2: middle });
    put(up, { x1: x, y1: middle, x2: x, y2: y });
    say(numbers, `sin ${format(sin, 3)} · cos ${format(cos, 3)}`);
    put(svg, {
      "aria-label": `Hand ${i}: its tip is ${format(sin, 3)} up and ${format(cos, 3)} to the right of the middle.`,
    });
  };
  return { node, show };
}

function render({ model, el }) {
  const root = figure(el, "tfc", "A position as the hands of clocks");
  const live = liveRegion();
  const { commit, stop } = bind(model, ["position", "d_model"], () => update());
  const at = () => model.get("position");
  const position = slider(
    "position",
    "position p",
    { min: 0, max: LAST, step: 1, digits: 0 },
    (p) => buttons.go(p),
  );
  const buttons = player({
    words: ["position 0", "one position back", "one position on", `position ${LAST}`],
    at,
    last: () => LAST,
    to: (p) => commit({ position: p }),
    beat: BEAT,
  });
  const faces = h("div", { class: "tfc-dials" });
  const vector = h("p", { class: "tfc-vector" });
  root.append(
    h(
      "div",
      { class: "tfc-controls" },
      position.box,
      h("div", { class: "tfc-buttons" }, ...buttons.nodes),
    ),
    faces,
    vector,
    live.node,
  );

  let drawn = [];
  function update(speak = true) {
    const hands = dials(model.get("d_model"), at());
    if (drawn.length !== hands.length) {
      drawn = hands.map(({ turn }, i) => dial(i, turn));
      faces.replaceChildren(...drawn.map((each) => each.node));
    }
    hands.forEach((hand, i) => drawn[i].show(hand));
    position.show(at());
    buttons.show();
    const numbers = hands.flatMap(({ sin, cos }) => [format(sin), format(cos)]);
    say(vector, `The vector of position ${at()}: (${numbers.join(", ")})`);
    if (speak && !buttons.playing()) live.announce(`Position ${at()}.`);
  }

  update(false);
  return () => {
    buttons.stop();
    live.stop();
    stop();
  };
}

export default { render };
