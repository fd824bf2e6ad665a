// A session of the playground: the settings, the training run, and what it has told so far.
import { open } from "../training/client.js";
import { complete, settingsOf } from "../training/settings.js";
import { TASKS } from "../training/tasks.js";
import { inShort } from "./controls.js";
import { curvesOf, evaluatedText, trainedText } from "./view.js";

const NO_ANSWER = { answer: null, problem: "" };

export const exampleOf = (key) => TASKS.find((task) => task.key === key)?.example ?? "";

// In what settings differ from their task's own.
function differing(settings) {
  const own = settingsOf(settings.task);
  return Object.fromEntries(
    Object.entries(settings).filter(([name, x]) => name === "task" || x !== own[name]),
  );
}

// A run of which nothing is known yet. losses: [step, loss] of every batch; norm: of the
// gradient; speed: in steps a second.
const blank = (nParameters = null) => ({
  losses: [],
  evaluations: [],
  step: 0,
  norm: null,
  speed: null,
  nParameters,
});

// What each event of the training changes in the state.
const HEARD = {
  started: (_, { nParameters }) => ({ run: blank(nParameters), problem: "" }),
  step({ run }, { step, losses, norms, stepsPerSecond }) {
    const first = step - losses.length + 1;
    run.losses.push(...Array.from(losses, (loss, i) => [first + i, loss]));
    return { run: { ...run, step, norm: norms.at(-1), speed: stepsPerSecond } };
  },
  evaluation({ run }, event) {
    run.evaluations.push(event);
    return event.answer || event.problem ? { answer: event } : {};
  },
  answer: (_, event) => ({ answer: event }),
  // Steps of the run before may have come in meanwhile.
  failed: (_, { message: said }) => ({
    run: blank(),
    problem: `${said}.`,
    playing: false,
  }),
};

// changed(changes, soon) hears what is new in the state: what a reader did at once, of the
// training what can wait for the next frame. commit hears the settings to keep; announce
// what a screen reader says.
// -> what a reader can do, and { state, stop }
export function session(first, { changed, commit, announce }) {
  const trainer = open(first.settings);
  /** @type {Record<string, any>} */
  let s = {
    ...first,
    run: blank(),
    earlier: null, // to compare with: { name, text, curves, maps, isKept: by the reader }
    playing: false,
    problem: "",
    answer: NO_ANSWER,
  };
  const put = (changes, soon = false) => {
    s = { ...s, ...changes };
    changed(changes, soon);
  };

  function play(on) {
    if (on === s.playing) return;
    if (on && s.problem) restart(); // what could not begin may say so again
    put({ playing: on });
    if (on) trainer.play();
    else trainer.pause();
    announce(on ? "Training." : `Paused at step ${s.run.step}.`);
  }

  function step() {
    play(false);
    trainer.step();
  }

  // The run so far, to be drawn faint under the curves of the next; null where nothing is
  // known yet.
  function toCompare(isKept) {
    const { run } = s;
    const last = run.evaluations.at(-1);
    if (!last || (!isKept && !run.step)) return null;
    // Before the first evaluation of what it has learned, its batches have to do.
    const [, trained] = (!last.step && run.losses.at(-1)) || [];
    const name = isKept ? "Kept to compare" : "The run before";
    const curves = curvesOf(run);
    const loss = trained === undefined ? curves.loss : run.losses;
    const text =
      trained === undefined ? evaluatedText(last) : trainedText(run.step, trained);
    return {
      name,
      text: `${name}: ${inShort(s.settings)}. ${text}`,
      curves: { ...curves, loss },
      maps: s.answer.answer?.maps ?? [],
      isKept,
    };
  }
  const keepOrDrop = () => put({ earlier: s.earlier ? null : toCompare(true) });

  // What to compare a run of other settings with: what the reader kept, else the run that
  // they end. A run of another task says nothing about it.
  function beforeOf(isOther) {
    if (s.earlier?.isKept) return s.earlier;
    if (isOther) return null;
    return toCompare(false) ?? s.earlier;
  }

  // Begin a run with these settings, if a model can have them.
  function begin(settings) {
    try {
      complete(settings);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      put({ problem: `${error.message}.` });
      return;
    }
    const isOther = settings.task !== s.settings.task;
    const text = isOther ? exampleOf(settings.task) : s.text;
    put({ settings, text, earlier: beforeOf(isOther) });
    commit(differing(settings));
    restart();
  }

  function restart() {
    put({ run: blank(), problem: "", answer: NO_ANSWER }); // the run before says no more
    trainer.restart(s.settings);
    trainer.ask(s.text);
  }

  function ask(text) {
    s.text = text;
    trainer.ask(text);
  }

  trainer.on((event) => put(HEARD[event.kind]?.(s, event) ?? {}, true));
  trainer.ask(s.text);
  const [state, stop] = [() => s, () => trainer.close()];
  return { state, play, step, keepOrDrop, begin, restart, ask, stop };
}
