// What the model says without some of its heads.
import { h } from "../kit/kit.js";
import { same } from "../kit/lists.js";
import { requests } from "../kit/model.js";
import { format } from "../kit/numbers.js";
import { html, nothing, render } from "../kit/vendor/lit.js";
import { changedWords } from "../kit/words.js";
import { gainsOf, lessProbable, listed } from "./maths.js";
import { allAt, headsAt, isOut, whatOf } from "./weights.js";

const OF_SITES = {
  encoder: "encoder heads",
  decoder: "decoder self-attention heads",
  cross: "cross-heads",
};

// The panel, given an engine (or null: then nothing can be knocked out). onKnock asks for
// the chosen head, onKnockSite for all of its site, onRestore for all to come back;
// onAnswer hears what to announce; onChange, that the line is another.
// -> { node, show({ attention, text, prefix (the pieces that the translation has to begin
//      with), state }), know(result): { heads, translation, before, after }, or null;
//      result(), line(): the same in a line, ask(): try what is shown, stop() }
/** @param {any} engine @param {Record<string, any>} tools */
export function knockOutPanel(engine, { note, onAnswer, onChange, ...actions }) {
  let now = null; // what is shown
  let result = null;
  const node = h("div");
  const asked = requests(
    engine ? note : "Knocking heads out needs the model: run the cell in a notebook.",
    () => {
      if (!now) return;
      draw();
      onChange();
    },
  );
  function draw() {
    const about = { ...now, engine, result, isBusy: asked.busy(), said: asked.node };
    render(panelOf(about, actions), node);
  }

  async function ask() {
    if (!now?.state.knocked_out.length) return asked.stop();
    const { text, prefix, attention, state } = now;
    const { knocked_out: heads } = state;
    const { translation: whole } = attention;
    await asked.run(async ({ signal, onProgress }) => {
      const tools = { signal, onProgress, gains: gainsOf(heads) };
      const { text: translation } = await engine.translate(text, { ...tools, prefix });
      const { logProbability: before } = await engine.score(text, whole, { signal });
      const { logProbability: after } = await engine.score(text, whole, tools);
      const isSame = text === now.text && prefix === now.prefix;
      if (!isSame || !same(heads, now.state.knocked_out)) return; // too late
      result = { heads, translation, before, after };
    });
    if (result)
      onAnswer(
        `${withoutText(heads.length)}: ${result.translation} ${oddsText(result)}`,
      );
  }
  return {
    node,
    ask,
    result: () => result,
    line: () => lineOf(now, result, asked.busy()),
    show(given) {
      now = given;
      draw();
    },
    know(given) {
      result = given;
    },
    stop: asked.stop,
  };
}

const withoutText = (n) =>
  n === 0 ? "Without a head" : n === 1 ? "Without this one" : `Without these ${n}`;
const oddsText = ({ before, after }) =>
  `log p of the first translation: ${format(before)} with all heads, ${format(after)} without. It is ${lessProbable(before, after)}.`;

// The German, without the heads that are out: beside the buttons that knock them out.
function lineOf({ attention, state: { knocked_out } }, result, isBusy) {
  const n = knocked_out.length;
  const german = n
    ? (result?.translation ?? (isBusy ? "…" : "–"))
    : attention.translation;
  const [, words] = changedWords(attention.translation, german);
  return html`
    <p class="tfh-line"><b>${n ? withoutText(n) : "With all heads"}:</b>
      <span lang="de">${n ? words.map(wordOf) : german}</span>
      ${result && n ? `(${lessProbable(result.before, result.after)})` : ""}</p>`;
}
const wordOf = ([word, isNew]) => html`${isNew ? html`<mark>${word}</mark>` : word} `;

/** @param {any} now @param {Record<string, any>} actions */
function panelOf(now, { onKnock, onKnockSite, onRestore }) {
  const { engine, result, isBusy, said, attention, state } = now;
  const { knocked_out, site, layer, head } = state;
  const all = allAt(attention, site);
  const action = (heads) =>
    heads.every((each) => isOut(state, each)) ? "Restore" : "Knock out";
  const out = knocked_out.length
    ? `Out: ${listed(knocked_out, attention[site].shape[1])}. The maps stay those with all heads.`
    : "All heads are at work.";
  // The words of both translations that differ stand out.
  const [whole, without] = changedWords(
    attention.translation,
    result?.translation ?? "",
  );
  const old = ([word, isGone]) =>
    html`${isGone && result ? html`<s>${word}</s>` : word} `;
  return html`
    <div class="tfh-knock" role="group" aria-label="The translation without some heads" data-busy=${isBusy ? "true" : nothing}>
      <div class="tfh-row">
        <button type="button" class="tfk-do" data-control="knock" ?disabled=${!engine} @click=${onKnock}>${action(headsAt(attention, site, layer, head))} ${whatOf(layer, head)}</button>
        <button type="button" class="tfk-do" data-control="knock-site" ?disabled=${!engine} @click=${onKnockSite}>${action(all)} all ${all.length} ${OF_SITES[site]}</button>
        <button type="button" class="tfk-do" data-control="restore" ?disabled=${!knocked_out.length} @click=${onRestore}>Restore all</button>
        <p class="tfh-out" data-out>${out}</p>
      </div>
      <dl>
        <dt>All heads</dt><dd lang="de" data-german="whole">${whole.map(old)}</dd>
        <dt>${withoutText(knocked_out.length)}</dt><dd lang="de" data-german="without">${result ? without.map(wordOf) : isBusy ? "…" : "–"}</dd>
      </dl>
      <p class="tfh-odds" data-odds data-before=${result?.before ?? nothing} data-after=${result?.after ?? nothing}>${result ? oddsText(result) : ""}</p>
      ${said}
    </div>`;
}
