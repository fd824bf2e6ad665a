// Train a small Transformer in the page, and watch. The training runs in a worker.
import { bind, figure, h, kept, liveRegion, put, stopping, uid } from "../kit/kit.js";
import { same } from "../kit/lists.js";
import { live as current, html, render as renderTo } from "../kit/vendor/lit.js";
import { DEFAULTS, settingsOf } from "../training/settings.js";
import { coachOf } from "./coach.js";
import { controls } from "./controls.js";
import { experiments } from "./experiments.js";
import { mapsOf } from "./maps.js";
import { exampleOf, session } from "./session.js";
import { answerText, charts, statusOf } from "./view.js";

const button = (name, text, onClick) =>
  html`<button type="button" class="tfk-do" data-control=${name} @click=${onClick}>${text}</button>`;
const group = (title, isOpen, nodes) =>
  html`<details class="tfpg-group" ?open=${isOpen}><summary>${title}</summary>${nodes}</details>`;

// ours: the session; parts: those that draw themselves.
function view(ours, { set, seed, maps, coach, id }) {
  const s = ours.state();
  const { begin, restart, step, keepOrDrop } = ours;
  return html`${coach.view(s, maps.chosen())}
    <div class="tfpg-set">${set.task()}${set.lines()}
      <p class="tfpg-problem" role="alert">${s.problem}</p>
    </div>
    <div class="tfpg-bar">
      <div class="tfpg-buttons">
        ${button("play", s.playing ? "Pause" : "Play", () => ours.play(!s.playing))}
        ${button("one-step", "Step", step)}
        ${button("again", "Start again", restart)}
        ${button("reseed", "New seed", () => begin({ ...s.settings, seed: s.settings.seed + 1 }))}
        ${button("keep", s.earlier ? "Drop the kept run" : "Keep this run", keepOrDrop)}
        ${seed.node}
      </div>
      <p class="tfpg-status">${statusOf(s.run, s.settings.seed)}</p>
    </div>
    <div class="tfpg-curves">${charts(s.run, s.earlier?.curves)}
      <p class="tfpg-earlier" ?hidden=${!s.earlier}>${s.earlier?.text}</p>
    </div>
    <div class="tfpg-writes">
      <label for=${id} class="tfpg-own"><strong>Your sequence </strong><input id=${id} type="text"
        data-control="text" spellcheck="false" .value=${current(s.text)} @input=${({ target }) => ours.ask(target.value)} /></label>
      <p class="tfpg-answer">${answerText(s.answer)}</p>
    </div>
    ${maps.node}
    <div class="tfpg-break">
      ${group("Break it", true, set.broken)}
      ${group("The model", false, set.model)}
      ${group("Training", false, set.training)}
    </div>`;
}

function render({ model, el }) {
  const root = figure(el, "tfpg", "Playground: a Transformer that trains in this page");
  const bench = h("div", { class: "tfpg-bench" });
  const read = () => {
    const given = model.get("settings");
    return { ...settingsOf(given.task ?? DEFAULTS.task), ...given };
  };
  const state = bind(model, ["settings"], () => {
    const given = read();
    if (!same(given, ours.state().settings)) ours.begin(given);
  });
  const live = liveRegion();
  const settings = read();
  const text = model.get("text") || exampleOf(settings.task);
  const heard = { changed, commit: state.set("settings"), announce: live.announce };
  const ours = session({ settings, text }, heard);
  const change = (changes) => ours.begin({ ...ours.state().settings, ...changes });
  const seed = kept("seed", (said) => {
    if (/^\d{1,9}$/.test(said)) change({ seed: Number(said) });
    else seed.show(String(ours.state().settings.seed));
  });
  const parts = {
    set: controls(change, (key) => ours.begin(settingsOf(key))),
    seed,
    maps: mapsOf(root, () => draw()),
    coach: coachOf(() => draw()),
    trials: experiments(() => ours.play(false)),
    live,
    id: uid(),
  };

  let waits = false; // for the next frame
  function changed(changes, soon) {
    const { answer, earlier } = ours.state();
    if (changes.answer || changes.earlier !== undefined)
      parts.maps.show(answer.answer?.maps ?? [], earlier);
    if (!soon) return show();
    if (!waits) requestAnimationFrame(draw);
    waits = true;
  }
  function show() {
    const now = ours.state().settings;
    parts.set.show(now);
    seed.show(String(now.seed));
    draw();
  }
  function draw() {
    waits = false;
    const { run } = ours.state();
    renderTo(view(ours, parts), bench);
    put(root, {
      "data-coach": parts.coach.at(),
      "data-step": run.step,
      "data-evaluated": run.evaluations.at(-1)?.step,
      "data-ready": true,
    });
  }
  show();
  root.append(bench, parts.trials.node, live.node);
  return stopping(ours, parts.trials, parts.maps, live, state);
}

export default { render };
