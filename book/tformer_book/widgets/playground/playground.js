// Train a small Transformer in the page, and watch. The training runs in a worker.
import {
  bind,
  button,
  figure,
  h,
  kept,
  liveRegion,
  put,
  say,
  uid,
} from "../kit/kit.js";
import { commas, format, percent } from "../kit/numbers.js";
import { open } from "../training/client.js";
import { complete, DEFAULTS, settingsOf } from "../training/settings.js";
import { TASKS } from "../training/tasks.js";
import { controls, inShort } from "./controls.js";
import { chart } from "./curves.js";
import { experiments } from "./experiments.js";
import { mapsOf } from "./maps.js";

const taskOf = (key) => TASKS.find((task) => task.key === key);
const shown = (words) => words.join(words.some((word) => word.length > 1) ? " " : "");

function render({ model, el }) {
  const root = figure(el, "tfpg", "Playground: a Transformer that trains in this page");
  const read = () => {
    const given = model.get("settings");
    return { ...settingsOf(given.task ?? DEFAULTS.task), ...given };
  };
  let settings = read();
  let text = model.get("text") || taskOf(settings.task)?.example || "";
  let losses = []; // [step, loss] of every batch
  let evaluations = [];
  let earlier = null; // a run that was kept: { label, evaluations }
  let playing = false;
  let facts; // { step, norm: of the gradient, speed: in steps a second, nParameters }
  let waits = false; // for the next frame

  const trainer = open(settings);
  const live = liveRegion();
  const { commit, stop } = bind(model, ["settings"], () => {
    const given = read();
    if (JSON.stringify(given) !== JSON.stringify(settings)) begin(given);
  });

  const play = button("play", "Play", () => toggle(!playing));
  const step = button("one-step", "Step", () => {
    toggle(false);
    trainer.step();
  });
  const again = button("again", "Start again", () => restart());
  const reseed = button("reseed", "New seed", () =>
    change({ seed: settings.seed + 1 }),
  );
  const keep = button("keep", "Keep this run", () => keepOrDrop());
  const earlierText = h("p", { class: "tfpg-earlier", hidden: true });
  const seed = kept("seed", (said) => {
    if (/^\d{1,9}$/.test(said)) change({ seed: Number(said) });
    else seed.show(String(settings.seed));
  });
  const status = h("p", { class: "tfpg-status" });
  const problem = h("p", { class: "tfpg-problem", role: "alert" });
  const set = controls(change, (key) => begin(settingsOf(key)));

  const lossChart = chart("Loss", ["training", "new sequences"], {
    text: (x) => format(x, 1),
  });
  const rightChart = chart("New sequences", ["written right", "symbols right"], {
    most: 1,
    text: (x) => percent(x, 0),
  });
  const id = uid();
  const own = h("input", {
    id,
    type: "text",
    "data-control": "text",
    value: text,
    spellcheck: "false",
  });
  own.addEventListener("input", () => ask(own.value));
  const answer = h("p", { class: "tfpg-answer" });
  const maps = mapsOf(root);
  const trials = experiments(() => toggle(false));

  const group = (title, isOpen, ...nodes) =>
    h(
      "details",
      { class: "tfpg-group", open: isOpen },
      h("summary", {}, title),
      ...nodes,
    );
  root.append(
    set.task,
    set.lines,
    h("div", { class: "tfpg-buttons" }, play, step, again, reseed, keep, seed.node),
    status,
    problem,
    h("div", { class: "tfpg-charts" }, lossChart.node, rightChart.node),
    earlierText,
    h("label", { for: id, class: "tfpg-own" }, h("strong", {}, "Your sequence "), own),
    answer,
    maps.node,
    group("Break it", true, ...set.broken),
    group("The model", false, ...set.model),
    group("Training", false, ...set.training),
    trials.node,
    live.node,
  );

  function toggle(on) {
    if (on === playing) return;
    if (on && problem.textContent) restart(); // what could not begin may say so again
    playing = on;
    say(play, on ? "Pause" : "Play");
    if (on) trainer.play();
    else trainer.pause();
    live.announce(on ? "Training." : `Paused at step ${facts.step}.`);
  }

  // The run before, faint, under the curves of the next.
  function keepOrDrop() {
    const last = evaluations.at(-1);
    earlier = earlier || !last ? null : { label: inShort(settings), evaluations };
    say(keep, earlier ? "Drop the kept run" : "Keep this run");
    earlierText.hidden = !earlier;
    if (earlier)
      say(
        earlierText,
        `Kept to compare: ${earlier.label}. At step ${commas(last.step)} its loss on new sequences was ${format(last.loss, 2)}, and ${percent(last.accuracy, 0)} of them were right.`,
      );
    soon();
  }

  function change(changes) {
    begin({ ...settings, ...changes });
  }

  // Begin a run with these settings, if a model can have them.
  function begin(given) {
    try {
      complete(given);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      say(problem, `${error.message}.`);
      set.show(settings);
      return;
    }
    const isOther = given.task !== settings.task;
    settings = given;
    const first = settingsOf(settings.task);
    const differs = Object.entries(settings).filter(
      ([name, x]) => name === "task" || x !== first[name],
    );
    commit({ settings: Object.fromEntries(differs) });
    if (isOther) {
      own.value = taskOf(settings.task).example;
      text = own.value;
    }
    restart();
  }

  function restart() {
    say(problem, "");
    forget();
    set.show(settings);
    seed.show(String(settings.seed));
    trainer.restart(settings);
    showAnswer({ answer: null, problem: "" }); // the run before says no more
    trainer.ask(text);
  }

  function ask(said) {
    text = said;
    trainer.ask(said);
  }

  function showAnswer({ answer: found, problem: why }) {
    if (why) {
      answer.replaceChildren(`${why}.`);
      maps.show([]);
      return;
    }
    if (!found) {
      answer.replaceChildren(
        "Type a sequence, and watch what the model writes for it as it learns.",
      );
      maps.show([]);
      return;
    }
    const mark = found.right === null ? "" : found.right ? " ✓" : " ✗";
    const wanted =
      found.expected && !found.right ? `, should be ${shown(found.expected)}` : "";
    answer.replaceChildren(
      "writes ",
      h(
        "strong",
        { "data-right": String(found.right) },
        shown(found.written) || "(nothing)",
        mark,
      ),
      wanted,
      found.lengths && !found.right
        ? `. It has only ever seen ${found.lengths.join(" to ")} symbols.`
        : "",
    );
    maps.show(found.maps);
  }

  function soon() {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      draw();
    });
  }

  function draw() {
    const of = (name, run = evaluations) => run.map((e) => [e.step, e[name]]);
    lossChart.show([losses, of("loss")], of("loss", earlier?.evaluations ?? []));
    rightChart.show(
      [of("accuracy"), of("tokens")],
      of("accuracy", earlier?.evaluations ?? []),
    );
    const last = evaluations.at(-1);
    const parts = [
      `step ${commas(facts.step)}`,
      last ? `${percent(last.accuracy, 0)} right` : "",
      facts.norm === null ? "" : `gradient ${format(facts.norm, 2)}`,
      facts.speed === null ? "" : `${format(facts.speed, 0)} steps a second`,
      facts.nParameters === null ? "" : `${commas(facts.nParameters)} parameters`,
      `seed ${settings.seed}`,
    ];
    say(status, parts.filter(Boolean).join(" · "));
    put(root, {
      "data-step": facts.step,
      "data-evaluated": last ? last.step : null,
      "data-ready": true,
    });
  }

  // The run before, and what it may still tell.
  function forget(nParameters = null) {
    [losses, evaluations] = [[], []];
    facts = { step: 0, norm: null, speed: null, nParameters };
    soon();
  }

  const heard = {
    started: ({ nParameters }) => {
      forget(nParameters);
      say(problem, "");
    },
    step: ({ step: at, losses: more, norms, stepsPerSecond }) => {
      const first = at - more.length + 1;
      losses.push(...Array.from(more, (loss, i) => [first + i, loss]));
      facts = { ...facts, step: at, norm: norms.at(-1), speed: stepsPerSecond };
    },
    evaluation: (event) => {
      evaluations.push(event);
      if (event.answer || event.problem) showAnswer(event);
    },
    answer: showAnswer,
    failed: ({ message }) => {
      forget(); // steps of the run before may have come in meanwhile
      say(problem, `${message}.`);
      playing = false;
      say(play, "Play");
    },
  };
  trainer.on((event) => {
    heard[event.kind]?.(event);
    soon();
  });
  set.show(settings);
  seed.show(String(settings.seed));
  trainer.ask(text);
  forget();
  draw();
  return () => {
    trainer.close();
    trials.stop();
    maps.stop();
    live.stop();
    stop();
  };
}

export default { render };
