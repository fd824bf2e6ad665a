// Guided experiments: a question, a guess, two runs side by side, and what came out.
import { button, h, radios, say, select } from "../kit/kit.js";
import { commas, percent } from "../kit/numbers.js";
import { open } from "../training/client.js";
import { EXPERIMENTS as RUNS } from "../training/experiments.js";
import { chapterLink } from "./controls.js";
import { chart } from "./curves.js";
import { EXPERIMENTS as WORDS } from "./words.js";

const POINTS = 12; // of each curve
const MEASURES = {
  accuracy: {
    name: "new sequences written right",
    text: (x) => percent(x, 0),
    most: 1,
  },
  alone: {
    name: "new sequences written right, each on its own",
    text: (x) => percent(x, 0),
    most: 1,
  },
  loss: { name: "loss on new sequences", text: (x) => x.toFixed(2), most: null },
};

// Whether the two runs came out as in our own trials.
export function isAsExpected(
  {
    soundAtLeast = -Infinity,
    soundAtMost = Infinity,
    brokenAtLeast = -Infinity,
    brokenAtMost = Infinity,
  },
  [sound, broken],
) {
  const within = (x, least, most) => x >= least && x <= most;
  return (
    within(sound, soundAtLeast, soundAtMost) &&
    within(broken, brokenAtLeast, brokenAtMost)
  );
}

// onRun is told before two runs begin, so that nothing else takes their time.
export function experiments(onRun) {
  let at = 0;
  let guess = -1;
  let trainers = [];
  let choice = null; // the radio buttons of the guess
  const done = new Map(); // experiment -> what came out: { guess, picture, said, data }
  const choose = select(
    "experiment",
    RUNS.map(({ key }, i) => `${i + 1} ${WORDS[key].title}`),
    (i) => show(i),
  );
  const asks = h("p", { class: "tfpg-asks" });
  const place = h("div");
  const go = button("run-both", "Run both", () => run());
  const status = h("span", { class: "tfpg-status" });
  const pictures = h("div");
  const verdict = h("p", { class: "tfpg-verdict", "aria-live": "polite" });
  const node = h(
    "section",
    { class: "tfpg-experiments", "aria-label": "Experiments" },
    h("label", {}, h("strong", {}, "Experiment "), choose),
    asks,
    place,
    h("div", { class: "tfpg-buttons" }, go, " ", status),
    pictures,
    verdict,
  );

  function show(i) {
    stop();
    const result = done.get(i);
    [at, guess] = [i, result?.guess ?? -1];
    const words = WORDS[RUNS[at].key];
    choose.value = String(at);
    say(asks, words.asks);
    choice = radios("guess", "Your guess", words.guesses, guess, (k) => {
      guess = k;
      go.disabled = false;
    }).set;
    place.replaceChildren(choice);
    say(go, "Run both");
    go.disabled = guess < 0;
    say(status, result ? "" : "Guess first, then run.");
    pictures.replaceChildren(...(result ? [result.picture] : []));
    verdict.replaceChildren(...(result?.said ?? []));
    for (const name of ["expected", "ends"]) delete verdict.dataset[name];
    Object.assign(verdict.dataset, result?.data);
  }

  async function run() {
    if (trainers.length) return show(at); // the button says Stop
    onRun();
    say(go, "Stop");
    choice.disabled = true; // a guess is made before the run
    done.delete(at);
    const experiment = RUNS[at];
    const { steps } = experiment;
    const { runs } = WORDS[experiment.key];
    const { name, text, most } = MEASURES[experiment.measure];
    const picture = chart(name[0].toUpperCase() + name.slice(1), runs, { most, text });
    pictures.replaceChildren(picture.node);
    verdict.replaceChildren();
    const curves = [[], []];
    const reached = [0, 0];
    const watch = (k, trainer) =>
      new Promise((resolve) => {
        trainer.on((event) => {
          if (event.kind === "failed") resolve(null);
          if (event.kind === "step") reached[k] = event.step;
          if (event.kind === "evaluation") {
            curves[k].push([event.step, event[experiment.measure]]);
            picture.show(curves);
            if (event.step === steps) resolve(event);
          }
          say(
            status,
            `steps ${commas(reached[0])} and ${commas(reached[1])} of ${commas(steps)}`,
          );
        });
        trainer.play({ until: steps, every: Math.ceil(steps / POINTS) });
      });
    const ours = [experiment.sound, experiment.broken].map((settings) =>
      open(settings),
    );
    trainers = ours;
    const ends = await Promise.all(
      ours.map(async (trainer, k) => {
        const end = await watch(k, trainer);
        trainer.close();
        return end;
      }),
    );
    if (trainers !== ours) return; // another one was chosen meanwhile
    trainers = [];
    choice.disabled = false;
    say(status, "");
    say(go, "Run both");
    conclude(experiment, ends);
    const [said, data] = [[...verdict.childNodes], { ...verdict.dataset }];
    done.set(at, { guess, picture: picture.node, said, data });
  }

  // `ends`: the last evaluation of each run, null where there is none.
  function conclude({ key, measure, steps, ...bounds }, ends) {
    const words = WORDS[key];
    const { name, text } = MEASURES[measure];
    const shown = ends.map((end) => (end ? text(end[measure]) : "no result"));
    const values = ends.map((end) => end?.[measure]);
    const isClear = ends.every(Boolean) && isAsExpected(bounds, values);
    const both = (told) => ends.map(told).join(" and ");
    const more = !isClear
      ? ""
      : {
          loss: () =>
            `Of the sequences, ${both((end) => percent(end.accuracy, 0))} were written right. `,
          alone: () => `In a batch: ${both((end) => percent(end.accuracy, 0))}. `,
          accuracy: () =>
            `Loss while training: ${both((end) => end.trainLoss.toFixed(2))}; on new sequences: ${both((end) => end.loss.toFixed(2))}. `,
        }[measure]();
    verdict.dataset.expected = String(isClear);
    verdict.dataset.ends = JSON.stringify(values);
    verdict.replaceChildren(
      `After ${commas(steps)} steps, ${name}: ${shown[0]} (${words.runs[0]}), ${shown[1]} (${words.runs[1]}). ${more}`,
      ...(isClear
        ? [
            h(
              "strong",
              {},
              guess === words.right
                ? "Your guess was right. "
                : `The answer: “${words.guesses[words.right]}” `,
            ),
            words.why,
            " ",
            chapterLink(words.chapter),
          ]
        : ["That isn’t as clear as in our own runs. Try again."]),
    );
  }

  function stop() {
    for (const trainer of trainers) trainer.close();
    trainers = [];
  }
  show(0);
  return { node, stop };
}
