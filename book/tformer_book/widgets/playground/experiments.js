// Guided experiments: a question, a guess, two runs side by side, and what came out.
import { chapterLink } from "../kit/chapters.js";
import { button, h, radios, say, select } from "../kit/kit.js";
import { commas, percent } from "../kit/numbers.js";
import { html, nothing, render } from "../kit/vendor/lit.js";
import { open } from "../training/client.js";
import { EXPERIMENTS as RUNS } from "../training/experiments.js";
import { chart } from "./curves.js";
import { EXPERIMENTS as WORDS } from "./words.js";

const POINTS = 12; // of each curve
const share = (x) => percent(x, 0);
const MEASURES = {
  accuracy: { title: "New sequences written right", text: share, most: 1 },
  alone: {
    title: "New sequences written right, each on its own",
    text: share,
    most: 1,
  },
  loss: { title: "Loss on new sequences", text: (x) => x.toFixed(2), most: null },
};

// Whether the two runs came out as in our own trials.
export function isAsExpected(bounds, [sound, broken]) {
  const { soundAtLeast, soundAtMost, brokenAtLeast, brokenAtMost } = bounds;
  const within = (x, least = -Infinity, most = Infinity) => x >= least && x <= most;
  if (!within(sound, soundAtLeast, soundAtMost)) return false;
  return within(broken, brokenAtLeast, brokenAtMost);
}

// Both runs of an experiment at once; tell(curves, steps) hears how far they are.
// -> { ends: a promise of the last evaluation of each, null where there is none; stop }
function race({ steps, measure, sound, broken }, tell) {
  const curves = [[], []];
  const reached = [0, 0];
  const trainers = [sound, broken].map((settings) => open(settings));
  const ends = trainers.map(async (trainer, k) => {
    const end = await new Promise((resolve) => {
      trainer.on((event) => {
        if (event.kind === "failed") resolve(null);
        if (event.kind === "step") reached[k] = event.step;
        if (event.kind === "evaluation") {
          curves[k].push([event.step, event[measure]]);
          if (event.step === steps) resolve(event);
        }
        tell(curves, reached);
      });
      trainer.play({ until: steps, every: Math.ceil(steps / POINTS) });
    });
    trainer.close();
    return end;
  });
  const stop = () => {
    for (const trainer of trainers) trainer.close();
  };
  return { ends: Promise.all(ends), stop };
}

// What else the ends of both runs tell.
function more(measure, ends) {
  const both = (told) => ends.map(told).join(" and ");
  const right = both((end) => share(end.accuracy));
  if (measure === "loss") return `Of the sequences, ${right} were written right. `;
  if (measure === "alone") return `In a batch: ${right}. `;
  return `Loss while training: ${both((end) => end.trainLoss.toFixed(2))}; on new sequences: ${both((end) => end.loss.toFixed(2))}. `;
}

// What came out, of a guess and the ends of both runs.
function verdict({ key, measure, steps, ...bounds }, { guess, ends }) {
  const words = WORDS[key];
  const { title, text } = MEASURES[measure];
  const name = title[0].toLowerCase() + title.slice(1);
  const values = ends.map((end) => end?.[measure]);
  const isClear = ends.every(Boolean) && isAsExpected(bounds, values);
  const shown = ends.map((end, k) => {
    const value = end ? text(end[measure]) : "no result";
    return `${value} (${words.runs[k]})`;
  });
  const head = `After ${commas(steps)} steps, ${name}: ${shown.join(", ")}. `;
  const answer =
    guess === words.right
      ? "Your guess was right. "
      : `The answer: “${words.guesses[words.right]}” `;
  const told = isClear
    ? html`${more(measure, ends)}<strong>${answer}</strong>${words.why} ${chapterLink(words.chapter)}`
    : "That isn’t as clear as in our own runs. Try again.";
  return { isClear, values, said: html`${head}${told}` };
}

// onRun is told before two runs begin, so that nothing else takes their time.
export function experiments(onRun) {
  const node = h("section", {
    class: "tfpg-experiments",
    "aria-label": "Experiments",
  });
  const done = new Map(); // experiment -> what came out: { guess, curves, ends }
  let [at, guess] = [0, -1];
  let running = null; // what `race` gives
  let curves = null;
  let status = "";
  let choice = null; // the radio buttons of the guess
  const choose = select(
    "experiment",
    RUNS.map(({ key }, i) => `${i + 1} ${WORDS[key].title}`),
    (i) => show(i),
  );
  const go = button("run-both", "Run both", () => (running ? show(at) : run()));

  function draw() {
    const experiment = RUNS[at];
    const { asks, runs } = WORDS[experiment.key];
    const found = done.has(at) ? verdict(experiment, done.get(at)) : null;
    say(go, running ? "Stop" : "Run both");
    go.disabled = guess < 0;
    choice.disabled = running !== null; // a guess is made before the run
    render(
      html`<label><strong>Experiment </strong>${choose}</label>
        <p class="tfpg-asks">${asks}</p>
        <div>${choice}</div>
        <div class="tfpg-buttons">${go} <span class="tfpg-status">${status}</span></div>
        <div>${curves ? chart({ ...MEASURES[experiment.measure], names: runs }, curves) : nothing}</div>
        <p class="tfpg-verdict" aria-live="polite" data-expected=${found?.isClear ?? nothing}
          data-ends=${found ? JSON.stringify(found.values) : nothing}>${found?.said}</p>`,
      node,
    );
  }

  function show(i) {
    stop();
    const result = done.get(i);
    [at, guess, curves] = [i, result?.guess ?? -1, result?.curves];
    status = result ? "" : "Guess first, then run.";
    choose.value = String(at);
    choice = radios("guess", "Your guess", WORDS[RUNS[at].key].guesses, guess, (k) => {
      guess = k;
      draw();
    }).set;
    draw();
  }

  async function run() {
    onRun();
    done.delete(at);
    const experiment = RUNS[at];
    curves = [[], []];
    const ours = race(experiment, (found, reached) => {
      curves = found;
      status = `steps ${reached.map(commas).join(" and ")} of ${commas(experiment.steps)}`;
      draw();
    });
    running = ours;
    draw();
    const ends = await ours.ends;
    if (running !== ours) return; // another one was chosen meanwhile
    running = null;
    status = "";
    done.set(at, { guess, curves, ends });
    draw();
  }

  function stop() {
    running?.stop();
    running = null;
  }
  show(0);
  return { node, stop };
}
