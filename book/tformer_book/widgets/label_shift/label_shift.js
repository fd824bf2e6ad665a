// Inputs and labels, cut out of one row, one place apart.
import { within } from "../kit/arrows.js";
import {
  bind,
  choice,
  figure,
  liveRegion,
  oneOf,
  showAll,
  stopping,
  textTable,
  toggle,
} from "../kit/kit.js";
import { player } from "../kit/player.js";
import { render as draw, html } from "../kit/vendor/lit.js";
import { CUTS, explain, isRight, lessons } from "./maths.js";
import { picture, SIGNS } from "./view.js";

const SHOWN = ["[:, :−1]", "[:, 1:]", "[:, :] (all)"]; // the cuts
// From two whole rows to inputs and labels that stand one place apart.
const STEPS = [
  { inputs: CUTS[2], labels: CUTS[2] },
  { inputs: CUTS[0], labels: CUTS[2] },
  { inputs: CUTS[0], labels: CUTS[1] },
];
const BEAT = 1400; // ms between two steps while it plays

function render({ model, el }) {
  const root = figure(el, "tfls", "Inputs and labels cut out of one row");
  const state = () => {
    const { ignore_padding: ignore, ...s } = read();
    return { ...s, ignore };
  };
  const traits = ["rows", "inputs", "labels", "ignore_padding"];
  const { commit, read, set, stop } = bind(model, traits, () => update());
  const cut = (changes) => {
    walk.stop();
    commit(changes);
  };
  const cutOf = (name, legend) =>
    oneOf(name, legend, CUTS, (each) => cut({ [name]: each }), SHOWN);
  const stayOut = "labels ⟨pad⟩ stay out of the loss";
  const controls = {
    inputs: cutOf("inputs", "input = whole"),
    labels: cutOf("labels", "labels = whole"),
    ignore: toggle("ignore", stayOut, true, set("ignore_padding")),
  };
  const isNow = (step) =>
    step.inputs === state().inputs && step.labels === state().labels;
  const walk = player({
    words: [
      "To the uncut rows",
      "One cut back",
      "One cut forward",
      "To the right pair of cuts",
    ],
    at: () => STEPS.findIndex(isNow),
    last: () => STEPS.length - 1,
    to: (i) => commit({ ...STEPS[within(i, STEPS.length)] }),
    beat: BEAT,
  });
  const live = liveRegion();
  const behind = textTable("The places as a table", "place");
  const loss = choice("loss", controls.ignore.box);

  const template = (s, found, text) => html`
    <div class="tfls-steps">${walk.nodes}</div>
    ${controls.inputs.set}${controls.labels.set}${loss}
    ${picture(s, found)}
    <p class="tfls-said" data-right=${String(isRight(found))}>${text}</p>
    ${behind.node}${live.node}`;

  function update(speak = true) {
    const s = state();
    const found = lessons(s);
    const text = explain(s).join(" ");
    showAll(controls, s);
    walk.show();
    draw(template(s, found, text), root);
    behind.show(
      s.rows.flatMap((_, k) => [`${k}: reads`, "must say", "teaches"]),
      (found?.[0] ?? []).map((_, t) => [
        String(t),
        ...found.flatMap((row) => [row[t].reads, row[t].says, SIGNS[row[t].kind]]),
      ]),
    );
    if (speak) live.announce(text);
  }
  update(false);
  return stopping(walk, live, stop);
}

export default { render };
