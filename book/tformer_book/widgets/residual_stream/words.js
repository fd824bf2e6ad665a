// What the model would say, part by part: one word large, and all of them in a row.
import { ALONG, arrowKeys } from "../kit/arrows.js";
import { h, put, say, slider } from "../kit/kit.js";
import { shown } from "../kit/pieces.js";
import { player } from "../kit/player.js";

const BEAT = 900; // ms between two parts while it plays

// Where the word is another than the one before.
export const changes = (words) =>
  words.map((word, i) => i > 0 && word !== words[i - 1]);

// "0 cross-attention" -> "layer 0’s cross-attention"
export const inWords = (title) => title.replace(/^(\d+) /, "layer $1’s ");

// "0 cross-attention" -> ["layer 0", "cross"]
function shortOf(title) {
  const [, layer, part] = title.match(/^(\d+) (\w+)/) ?? [];
  return part ? [`layer ${layer}`, part] : ["", title.replace(/^(the|its) /, "")];
}

// at(), last() and onGo(i): where we are, where the end is, and how to go elsewhere.
// -> { node, build(titles), show(rows, now, { before, number }), stop() }
export function wordsView({ at, last, onGo }) {
  const walk = player({
    words: [
      "To the first part",
      "One part back",
      "One part forward",
      "To the last part",
    ],
    at,
    last,
    to: onGo,
    beat: BEAT,
  });
  const stepper = slider(
    "step",
    "part",
    { min: 1, max: 1, step: 1, text: (k) => `${k} of ${last() + 1}` },
    (k) => walk.go(k - 1),
  );
  const lead = h("span", { class: "tfrs-lead" });
  const word = h("strong", { class: "tfrs-word" });
  const sure = h("span", { class: "tfrs-sure" });
  const strip = h("div", {
    class: "tfrs-strip",
    role: "group",
    "aria-label": "The word after each part",
  });
  const node = h(
    "div",
    { class: "tfrs-words" },
    h("div", { class: "tfrs-steps" }, ...walk.nodes, stepper.box),
    h("p", { class: "tfrs-says" }, lead, " ", word, " ", sure),
    strip,
  );
  let tiles = [];
  arrowKeys(strip, ALONG, (by) => {
    onGo(at() + by);
    tiles[at()].focus({ preventScroll: true });
  });

  function build(titles) {
    walk.stop();
    tiles = titles.map((title, i) => {
      const [layer, part] = shortOf(title);
      const tile = h(
        "button",
        { type: "button", class: "tfrs-tile", tabindex: -1, "data-tile": i },
        h("span", { class: "tfrs-small" }, layer),
        h("span", { class: "tfrs-small" }, part),
        h("span", { class: "tfrs-piece" }),
      );
      tile.addEventListener("click", () => {
        walk.stop();
        onGo(i);
      });
      return tile;
    });
    strip.replaceChildren(...tiles);
    strip.style.setProperty("--parts", String(titles.length));
  }

  function show(rows, now, { before, number }) {
    const words = rows.map((row) => row.next[0][0]);
    const isOther = changes(words);
    tiles.forEach((tile, i) => {
      const text = shown(words[i]);
      say(tile.lastChild, text);
      put(tile, {
        tabindex: i === now ? 0 : -1,
        "aria-current": i === now ? "step" : null,
        "data-changed": isOther[i] ? "true" : null,
        "data-later": i > now ? "true" : null,
        "aria-label": `After ${inWords(rows[i].title)}: ${text}, ${number(rows[i].next[0][1])}${isOther[i] ? ", another than before" : ""}`,
      });
    });
    say(lead, before);
    const isNew = word.textContent !== shown(words[now]);
    say(word, shown(words[now]));
    say(sure, number(rows[now].next[0][1]));
    if (isNew) {
      // The same animation again begins only on another name.
      const isOdd = word.classList.contains("tfrs-pop");
      word.classList.toggle("tfrs-pop", !isOdd);
      word.classList.toggle("tfrs-pop-again", isOdd);
    }
    put(stepper.input, { max: last() + 1 });
    stepper.show(now + 1);
    walk.show();
  }
  return { node, build, show, stop: walk.stop };
}
