// A translation that appears piece by piece; each piece can be asked what else the model
// weighed there, and replaced by it.
import { ALONG, arrowKeys, within } from "../kit/arrows.js";
import { button, h, put, say, uid } from "../kit/kit.js";
import { percent } from "../kit/numbers.js";
import { byteAsCharacter, written } from "../kit/pieces.js";
import { UNSURE } from "./remarks.js";

const END = "</s>";

// The positions of the best translation of a search, from its steps: at each the chosen
// piece, its probability, and the pieces that the model found likeliest.
export function positionsOf(steps, best) {
  const chosen = [...best.pieces, END];
  return steps.slice(0, chosen.length).map(({ hypotheses, candidates }, t) => {
    const parent = hypotheses.findIndex((each) =>
      each.ids.every((id, i) => id === best.ids[i]),
    );
    const { next, logProbability } = hypotheses[parent];
    const taken = candidates.find(
      (each) => each.parent === parent && each.piece === chosen[t],
    );
    return {
      piece: chosen[t],
      probability: Math.exp(taken.logProbability - logProbability),
      next,
    };
  });
}

// The likeliest translation so far: the pieces of the best candidate of a step.
export function soFar({ hypotheses, candidates }) {
  const best = candidates.find((each) => each.fate !== "dropped") ?? candidates[0];
  return [...hypotheses[best.parent].pieces, best.piece];
}

// Where the model gave the piece that it took the least: there is most to ask.
export function leastSure(positions) {
  const shares = positions.map(({ probability }) => probability);
  return shares.indexOf(Math.min(...shares));
}
const named = (piece) =>
  piece === END ? "(end)" : byteAsCharacter(piece).replaceAll("▁", "") || "␣";

// onChoose(pieces): the beginning that the reader wants; null where no model can be asked.
// onFree(): none any more.
// -> { node, panel (of the alternatives), grow(pieces), show({ german, positions, prefix,
//      note, remarks }), stale(why): it is the German of another English; "": it isn't,
//      close() (the alternatives), clear() }
export function translationView({ onChoose, onFree }) {
  const title = h("p", { class: "tfl-title", id: uid() }, "German");
  const text = h("p", { class: "tfl-text", lang: "de", "data-translation": true });
  const pieces = h("div", {
    class: "tfl-pieces",
    role: "toolbar",
    lang: "de",
    "aria-label": "The German, piece by piece",
  });
  const legend = h("p", { class: "tfl-legend" });
  const remarks = h("div", { class: "tfl-remarks", role: "status" });
  const age = h("p", { class: "tfl-age", role: "status", "data-age": true });
  const note = h("p", { class: "tfl-note" });
  const given = h("p", { class: "tfl-given", hidden: true });
  const panel = h("div", { class: "tfl-panel", role: "group", "data-panel": true });
  const node = h(
    "div",
    { class: "tfl-german" },
    h("div", { class: "tfl-head" }, title, age),
    text,
    pieces,
    legend,
    remarks,
    note,
    given,
  );
  let positions = [];
  let at = -1; // the piece whose alternatives are shown
  let isOurs = false; // nobody chose it: it is the one of which the model was least sure
  let chips = [];

  // Pieces that are still to be changed by the search cannot be asked.
  // shares: what the model gave to each, once it is known.
  function draw(list, { ready, prefix = [], shares = [] }) {
    chips = list.map((piece, t) => {
      const old = pieces.children[t];
      const same = old?.dataset.piece === piece && old.disabled === !ready;
      const chip = same
        ? old
        : h("button", {
            type: "button",
            class: "tfl-piece",
            "data-piece": piece,
            "data-control": `piece-${t}`,
            disabled: !ready,
          });
      const isWeak = shares[t] < UNSURE && t >= prefix.length;
      chip.replaceChildren(
        named(piece),
        ...(isWeak ? [h("small", {}, ` ${percent(shares[t], 0)}`)] : []),
      );
      chip.classList.toggle("tfl-weak", isWeak);
      chip.classList.toggle("tfl-word", piece.startsWith("▁") || piece === END);
      chip.classList.toggle("tfl-forced", t < prefix.length);
      chip.tabIndex = ready && t === Math.max(0, at) ? 0 : -1;
      return chip;
    });
    if (
      chips.some((chip, t) => pieces.children[t] !== chip) ||
      pieces.children.length !== chips.length
    ) {
      pieces.replaceChildren(...chips);
    }
  }

  function go(t) {
    const chip = chips[within(t, chips.length)];
    chips.forEach((each) => {
      each.tabIndex = each === chip ? 0 : -1;
    });
    chip?.focus();
  }
  arrowKeys(pieces, ALONG, (by, { target }) => go(chips.indexOf(target) + by));
  pieces.addEventListener("click", (event) => {
    const t = chips.indexOf(event.target.closest("button"));
    if (t < 0) return;
    isOurs = false;
    open(t);
  });
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape") go(at);
  });

  function open(t) {
    at = t < positions.length ? t : -1;
    chips.forEach((chip, i) => {
      put(chip, { "aria-pressed": i === at ? "true" : "false" });
      chip.tabIndex = i === Math.max(0, at) ? 0 : -1;
    });
    const hint = h(
      "p",
      { class: "tfl-hint" },
      "The pieces of the translation will stand above. Each can be asked what else the model weighed there.",
    );
    put(panel, {
      "aria-label": at < 0 ? "Alternatives" : `Alternatives to piece ${at + 1}`,
    });
    panel.replaceChildren(...(at < 0 ? [hint] : alternatives(at)));
  }

  function alternatives(t) {
    const { piece, probability, next: likeliest } = positions[t];
    const isAmong = likeliest.some((each) => each.piece === piece);
    const next = isAmong ? likeliest : [...likeliest, { piece, probability }];
    const before = positions.slice(0, t).map((each) => each.piece);
    // Temperature, top k and top p make another distribution of it.
    const redrawn = next.some(
      (each) => Math.abs((each.drawn ?? each.probability) - each.probability) > 5e-4,
    );
    const rest = 1 - next.reduce((sum, each) => sum + each.probability, 0);
    const rows = next.map((each, i) => {
      const isChosen = each.piece === piece;
      const name =
        each.piece === END ? "the end" : byteAsCharacter(each.piece).replace("▁", "");
      const choose = button(`alternative-${i}`, "", () => {
        isOurs = false; // the reader goes on from here
        onChoose([...before, each.piece], t);
      });
      choose.append(
        h(
          "span",
          { class: "tfl-name", lang: "de" },
          each.piece.startsWith("▁") || each.piece === END ? name : `-${name}`,
        ),
        h("span", { class: "tfl-bar", "aria-hidden": "true" }, h("span")),
        h(
          "span",
          { class: "tfl-p", "data-exact": each.probability },
          percent(each.probability),
        ),
      );
      if (redrawn)
        choose.append(
          h(
            "span",
            { class: "tfl-p", "data-drawn": each.drawn },
            each.drawn === undefined ? "" : `→ ${percent(each.drawn)}`,
          ),
        );
      choose.querySelector(".tfl-bar span").style.width = `${100 * each.probability}%`;
      put(choose, { "aria-current": isChosen && "true", disabled: !onChoose });
      return h("li", {}, choose);
    });
    return [
      h(
        "p",
        { class: "tfl-panel-title" },
        before.length ? "After " : "At the beginning",
        ...(before.length ? [h("span", { lang: "de" }, `“${written(before)}”`)] : []),
        " the model weighed:",
      ),
      h("ol", { class: "tfl-alternatives" }, ...rows),
      h(
        "p",
        { class: "tfl-hint" },
        `All other pieces together: ${percent(Math.max(0, rest))}. ${redrawn ? "Behind each arrow: what the piece was drawn with. " : ""}${onChoose ? "Choose one, and the model goes on from there. " : ""}${isOurs ? "This is the piece that it was least sure of; to look at another one, choose it in the German above." : ""}`,
      ),
    ];
  }

  const free = button("free", "Let the model begin freely", onFree);
  return {
    node,
    panel,
    grow(list) {
      positions = [];
      say(text, written(list));
      draw(list, { ready: false });
      put(node, { "data-growing": "true", "data-stale": false });
      say(age, "Translating …");
      say(legend, "");
      remarks.replaceChildren();
      say(note, "");
      put(given, { hidden: true });
    },
    show({
      german,
      positions: found,
      prefix = [],
      note: about = "",
      remarks: said = [],
    }) {
      const focused =
        pieces.contains(document.activeElement) ||
        panel.contains(document.activeElement);
      positions = found;
      say(text, german);
      put(node, { "data-growing": false, "data-stale": false });
      const shares = found.map((each) => each.probability);
      draw(
        found.map((each) => each.piece),
        { ready: true, prefix, shares },
      );
      say(age, "");
      say(
        legend,
        pieces.querySelector(".tfl-weak")
          ? `Dashed, with a number: the model gave this piece less than ${percent(UNSURE, 0)} of the probability.`
          : `Every piece got at least ${percent(UNSURE, 0)} of the probability.`,
      );
      remarks.replaceChildren(...said.map((each) => h("p", {}, each)));
      say(note, about);
      put(given, { hidden: !prefix.length });
      given.replaceChildren(
        prefix.length
          ? `You gave the first ${prefix.length === 1 ? "piece" : `${prefix.length} pieces`}. `
          : "",
        ...(prefix.length ? [free] : []),
      );
      isOurs ||= at < 0;
      open(isOurs ? leastSure(found) : at);
      if (focused && at >= 0) go(at);
    },
    stale(why) {
      put(node, { "data-stale": why ? "true" : false });
      say(age, why);
    },
    close: () => open(-1),
    clear() {
      positions = [];
      at = -1;
      put(node, { "data-growing": false, "data-stale": false });
      draw([], { ready: false });
      say(text, "");
      say(age, "");
      say(legend, "");
      remarks.replaceChildren();
      say(note, "Not translated yet.");
      put(given, { hidden: true });
      open(-1);
    },
  };
}
