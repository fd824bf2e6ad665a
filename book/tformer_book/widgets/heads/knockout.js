// What the model says without some of its heads.
import { button, h, put, say } from "../kit/kit.js";
import { requests } from "../kit/model.js";
import { format } from "../kit/numbers.js";
import { nameOf, same } from "./maps.js";

// Two texts as lists of [word, changed]: unchanged are those of a longest common part.
export function changedWords(before, after) {
  const [a, b] = [before, after].map((text) => text.split(/\s+/).filter(Boolean));
  const common = a.concat(null).map(() => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i][j] =
        a[i] === b[j]
          ? common[i + 1][j + 1] + 1
          : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const [left, right] = [a.map((word) => [word, true]), b.map((word) => [word, true])];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) left[i++][1] = right[j++][1] = false;
    else if (common[i + 1][j] >= common[i][j + 1]) i++;
    else j++;
  }
  return [left, right];
}

// How the probability of a translation changed, in words; log p before and after.
export function lessProbable(before, after) {
  const times = Math.exp(Math.abs(after - before));
  if (times < 1.05) return "about as probable as before";
  const shown =
    times >= 10000
      ? `10^${Math.floor(Math.log10(times))}`
      : times >= 10
        ? times.toFixed(0)
        : times.toFixed(1);
  return `${shown} times ${after < before ? "less" : "more"} probable than before`;
}

export const gainsOf = (heads) =>
  heads.map(([site, layer, head]) => ({ site, layer, head, gain: 0 }));

const OF_SITES = {
  encoder: "encoder heads",
  decoder: "decoder self-attention heads",
  cross: "cross-heads",
};

// The panel, given an engine (or null: then nothing can be knocked out). onKnock asks for
// the chosen head, onKnockSite for all of its site, onRestore for all to come back;
// onAnswer hears what to announce.
// -> { node,
//      show({ text, prefix, translation, knocked_out, site, layer, head, isOut, shape,
//        isSiteOut }): the sentence, the pieces that its translation has to begin
//        with, what the whole model makes of it, the heads that are out, the chosen
//        head, and the layers and heads of its site,
//      know(result): { heads, translation, before, after }, or null; result(),
//      ask(): try what is shown, stop() }
export function knockOutPanel(
  engine,
  { note, onKnock, onKnockSite, onRestore, onAnswer },
) {
  let now = null; // what is shown
  let result = null;
  const knockButton = button("knock", "Knock out this head", () => onKnock());
  const siteButton = button("knock-site", "", () => onKnockSite());
  const restore = button("restore", "Restore all", () => onRestore());
  const out = h("p", { class: "tfh-out", "data-out": true });
  const translations = translationsOf();
  const odds = h("p", { class: "tfh-odds", "data-odds": true });
  const asked = requests(
    engine ? note : "Knocking heads out needs the model: run the cell in a notebook.",
    (busy) => {
      put(node, { "data-busy": busy && "true" });
      if (now) draw();
    },
  );
  const node = h(
    "div",
    {
      class: "tfh-knock",
      role: "group",
      "aria-label": "The translation without some heads",
    },
    h("div", { class: "tfh-row" }, knockButton, siteButton, restore, out),
    translations.node,
    odds,
    asked.node,
  );

  async function ask() {
    if (!now?.knocked_out.length) return asked.stop();
    const { text, prefix, translation: whole, knocked_out: heads } = now;
    await asked.run(async ({ signal, onProgress }) => {
      const tools = { signal, onProgress, gains: gainsOf(heads) };
      const { text: translation } = await engine.translate(text, { ...tools, prefix });
      const { logProbability: before } = await engine.score(text, whole, { signal });
      const { logProbability: after } = await engine.score(text, whole, tools);
      if (text !== now.text || prefix !== now.prefix || !same(heads, now.knocked_out))
        return; // too late
      result = { heads, translation, before, after };
    });
    if (result)
      onAnswer(`${translations.without()}: ${result.translation} ${odds.textContent}`);
  }

  function draw() {
    const { knocked_out, translation, site, layer, head, isOut, shape, isSiteOut } =
      now;
    const [nLayers, nHeads] = shape;
    const what = head === null ? `all of layer ${layer}` : nameOf(layer, head);
    say(knockButton, isOut ? `Restore ${what}` : `Knock out ${what}`);
    const all = `all ${nLayers * nHeads} ${OF_SITES[site]}`;
    say(siteButton, isSiteOut ? `Restore ${all}` : `Knock out ${all}`);
    for (const each of [knockButton, siteButton]) put(each, { disabled: !engine });
    put(restore, { disabled: !knocked_out.length });
    say(
      out,
      knocked_out.length
        ? `Out: ${listed(knocked_out, nHeads)}. The maps stay those with all heads.`
        : "All heads are at work.",
    );
    translations.show(translation, result, knocked_out.length, asked.busy());
    say(
      odds,
      result
        ? `log p of the first translation: ${format(result.before)} with all heads, ${format(result.after)} without. It is ${lessProbable(result.before, result.after)}.`
        : "",
    );
    put(odds, { "data-before": result?.before, "data-after": result?.after });
  }
  return {
    node,
    ask,
    result: () => result,
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

// Both translations, one below the other; the words that differ stand out.
function translationsOf() {
  const [whole, without] = ["whole", "without"].map((name) =>
    h("dd", { lang: "de", "data-german": name }),
  );
  const name = h("dt");
  const node = h("dl", {}, h("dt", {}, "All heads"), whole, name, without);
  // n: how many heads are out.
  function show(translation, result, n, busy) {
    say(
      name,
      n === 0 ? "Without a head" : n === 1 ? "Without this one" : `Without these ${n}`,
    );
    const [left, right] = changedWords(translation, result?.translation ?? "");
    spell(whole, result ? left : left.map(([word]) => [word, false]), "s");
    if (result) spell(without, right, "mark");
    else without.replaceChildren(busy ? "…" : "–");
  }
  return { node, show, without: () => name.textContent };
}

// "encoder layer 0: 3; cross layer 1: all"
export function listed(heads, nHeads) {
  const groups = new Map();
  for (const [site, layer, head] of [...heads].sort()) {
    const name = `${site} layer ${layer}`;
    groups.set(name, [...(groups.get(name) ?? []), head]);
  }
  return [...groups]
    .map(
      ([name, numbers]) =>
        `${name}: ${numbers.length < nHeads ? numbers.join(", ") : "all"}`,
    )
    .join("; ");
}

function spell(node, words, tag) {
  node.replaceChildren(
    ...words.flatMap(([word, changed]) => [changed ? h(tag, {}, word) : word, " "]),
  );
}
