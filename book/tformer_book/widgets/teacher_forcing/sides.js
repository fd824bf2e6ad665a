// The two distributions of the next piece at one position, side by side as bars.
import { button, h, put, say } from "../kit/kit.js";
import { chance } from "../kit/numbers.js";
import { ending, meter, shown, written } from "../kit/pieces.js";

const ROWS = 10; // next pieces, the label beyond them, and all the rest

// onGive(piece) hears which piece the reader wants taught; null: none can be.
// -> { node, show(now, positions, steps) }
export function distributions(onGive) {
  const [teacher, own] = ["teacher", "own"].map(sideOf);
  function show(now, positions, steps) {
    const given = positions[now];
    const step = steps[now];
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
    const label = given && { ...given, probability: Math.exp(given.logProbability) };
    bars(teacher.list, given?.next, label, "label", onGive);
    bars(own.list, step?.hypotheses[0].next, step?.candidates[0], "taken", null);
  }
  return { node: h("div", { class: "tft-sides" }, teacher.box, own.box), show };
}

function sideOf(name) {
  const title = h("p", { class: "tft-title" });
  const list = h("tbody");
  const box = h(
    "div",
    { class: "tft-side", "data-side": name },
    title,
    h("table", {}, list),
  );
  return { title, list, box };
}

const after = (pieces) =>
  pieces.length ? `after “${ending(written(pieces), 40)}”` : "at the start";

// The next pieces with the chosen one among them, and all others in one row. Always the
// same number of rows, so that nothing below jumps.
function bars(target, next, chosen, mark, onPick) {
  if (!next) return target.replaceChildren(...blank(ROWS));
  const entries = next.some((each) => each.id === chosen.id) ? next : [...next, chosen];
  const rest = Math.max(
    0,
    1 - entries.reduce((all, each) => all + each.probability, 0),
  );
  target.replaceChildren(
    ...entries.map((each) =>
      each.id === chosen.id
        ? bar(each, shown(each.piece), `● ${mark}`)
        : bar(each, onPick ? picker(each.piece, onPick) : shown(each.piece), ""),
    ),
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

const bar = ({ piece, probability }, name, mark) =>
  h(
    "tr",
    { class: mark ? "tft-taken" : "", "data-piece": piece },
    h("th", { scope: "row" }, name),
    h("td", { "data-exact": probability }, chance(probability)),
    meter("tft-meter", probability),
    h("td", { class: "tft-mark" }, mark),
  );

function picker(piece, onPick) {
  const node = button("give", shown(piece), () => onPick(piece));
  put(node, {
    title: "Teach this piece instead",
    "aria-label": `${shown(piece)}: teach this piece instead`,
  });
  return node;
}

const blank = (count) =>
  Array.from({ length: count }, () =>
    h("tr", { "aria-hidden": "true" }, h("td", { colspan: 4 }, " ")),
  );
