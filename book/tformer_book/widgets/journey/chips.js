// The sentence as text, as pieces, as numbers.
import { ALONG, arrowKeys, within } from "../kit/arrows.js";
import { button, h, put, say } from "../kit/kit.js";
import { commas } from "../kit/numbers.js";
import { shown, spoken } from "../kit/pieces.js";
import { isSplit, words } from "./facts.js";

// What lies ahead: English, encoder, decoder, German; a click goes there.
export function routePicture({ go }) {
  const english = h("span", { lang: "en" });
  const german = h("span", { lang: "de" });
  const reads = h("small");
  const writes = h("small");
  const box = (name, stop, kind, ...inside) => {
    const node = button(`go-${stop}`, "", () => go(stop));
    node.append(h("b", {}, name), ...inside);
    put(node, { class: `tfj-box tfj-${kind}` });
    return node;
  };
  const arrow = () => h("span", { class: "tfj-arrow", "aria-hidden": "true" }, "↓");
  const node = h(
    "div",
    { class: "tfj-route" },
    box("English", 2, "words", english),
    arrow(),
    box("The encoder reads", 6, "encoder", reads),
    arrow(),
    box("The decoder writes", 11, "decoder", writes),
    arrow(),
    box("German", 15, "german", german),
  );
  function show({ text, config, sourcePieces, targetPieces, translation }) {
    say(english, text);
    say(german, translation || "(nothing)");
    say(
      reads,
      `${sourcePieces.length} pieces, all at once, in ${config.n_encoder_layers} layers`,
    );
    say(
      writes,
      `${targetPieces.length - 1} pieces, one after another, each in ${config.n_decoder_layers} layers`,
    );
  }
  return { node, show };
}

// Chips, word by word; under each, where they are asked for, its number.
export function chipsPicture({ change }, { numbered = false } = {}) {
  const node = h("div", {
    class: numbered ? "tfj-chips tfj-numbered" : "tfj-chips",
    role: "group",
    lang: "en",
    "aria-label": "The pieces of the sentence",
  });
  let at = 0;
  let chips = [];
  arrowKeys(node, ALONG, (by) => {
    change({ piece: within(at + by, chips.length) });
    chips[at].focus();
  });
  function show({ sourcePieces, sourceIds }, { piece }) {
    at = piece;
    if (node.dataset.pieces !== JSON.stringify(sourcePieces)) {
      node.dataset.pieces = JSON.stringify(sourcePieces);
      chips = sourcePieces.map((each, i) => {
        const chip = button(`piece-${i}`, "", () => change({ piece: i }));
        chip.append(h("span", { class: "tfj-chip" }, shown(each)));
        if (numbered)
          chip.append(
            h("span", { class: "tfj-arrow", "aria-hidden": "true" }, "↓"),
            h("span", { class: "tfj-id", "data-id": i }, commas(sourceIds[i])),
          );
        else put(chip, { "aria-label": `${shown(each)}: ${spoken(each)}` });
        chip.style.setProperty("--i", String(i));
        return chip;
      });
      node.replaceChildren(
        ...words(sourcePieces).map((word) =>
          h(
            "span",
            { class: isSplit(word, sourcePieces) ? "tfj-word tfj-split" : "tfj-word" },
            ...word.map((i) => chips[i]),
          ),
        ),
      );
    }
    chips.forEach((chip, i) =>
      put(chip, {
        "aria-pressed": String(i === at),
        tabindex: i === at ? 0 : -1,
      }),
    );
  }
  return { node, show };
}
