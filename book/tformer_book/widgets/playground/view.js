// What the playground shows of a run: its curves, its numbers, and what the model writes.
import { commas, format, percent } from "../kit/numbers.js";
import { html } from "../kit/vendor/lit.js";
import { chart } from "./curves.js";

const LOSS = {
  title: "Loss, log scale",
  names: ["training", "new sequences"],
  text: (x) => format(x, x < 0.1 ? 3 : x < 1 ? 2 : 1),
  isLog: true,
  awaits: "Press Play and watch the loss fall here.",
};
const RIGHT = {
  title: "New sequences",
  names: ["written right", "symbols right"],
  text: (x) => percent(x, 0),
  most: 1,
  awaits: "And here, watch what it gets right grow.",
};

// What the evaluations of a run tell, step by step.
export function curvesOf({ evaluations }) {
  const of = (name) => evaluations.map((each) => [each.step, each[name]]);
  return { loss: of("loss"), accuracy: of("accuracy"), tokens: of("tokens") };
}

// earlier: the curves of the run to compare with.
export function charts(run, earlier) {
  const { loss, accuracy, tokens } = curvesOf(run);
  const before = earlier ?? { loss: [], accuracy: [] };
  const steps = [run.losses, loss, before.loss, before.accuracy];
  const last = Math.max(0, ...steps.map((points) => points.at(-1)?.[0] ?? 0));
  return html`<div class="tfpg-charts">
    ${chart(LOSS, [run.losses, loss], before.loss, last)}
    ${chart(RIGHT, [accuracy, tokens], before.accuracy, last)}
  </div>`;
}

export function statusOf({ step, evaluations, norm, speed, nParameters }, seed) {
  const last = evaluations.at(-1);
  const parts = [
    `step ${commas(step)}`,
    last && `${percent(last.accuracy, 0)} right`,
    norm !== null && `gradient ${format(norm, 2)}`,
    speed !== null && `${format(speed, 0)} steps a second`,
    nParameters !== null && `${commas(nParameters)} parameters`,
    `seed ${seed}`,
  ];
  return parts.filter(Boolean).join(" · ");
}

// How far a run has come, in a sentence.
export const evaluatedText = ({ step, loss, accuracy }) =>
  `At step ${commas(step)} its loss on new sequences was ${format(loss, 2)}, and ${percent(accuracy, 0)} of them were right.`;
export const trainedText = (step, loss) =>
  `At step ${commas(step)} its loss in training was ${format(loss, 2)}.`;

const joined = (words) => words.join(words.some((word) => word.length > 1) ? " " : "");

// What the model writes for the reader's sequence, or why it writes nothing.
export function answerText({ answer, problem }) {
  if (problem) return `${problem}.`;
  if (!answer)
    return "Type a sequence, and watch what the model writes for it as it learns.";
  const { written, expected, right, lengths } = answer;
  const mark = right === null ? "" : right ? " ✓" : " ✗";
  const wanted = expected && !right ? `, should be ${joined(expected)}` : "";
  const unseen =
    lengths && !right ? `. It has only ever seen ${lengths.join(" to ")} symbols.` : "";
  return html`writes <strong data-right=${String(right)}>${joined(written) || "(nothing)"}${mark}</strong>${wanted}${unseen}`;
}
