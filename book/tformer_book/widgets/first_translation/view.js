// Two lines of words and what joins them.
import { ALONG, arrowKeys, within } from "../kit/arrows.js";
import { button, h, liveRegion, put, say, wantsStillness } from "../kit/kit.js";
import { percent } from "../kit/numbers.js";
import { linked } from "./words.js";

const BEAT = 650; // ms from one word to the next
const LEAST = 0.04; // thinner lines are not drawn

export function pairView() {
  let pair = { english: [], german: [], shares: [] };
  let known = 0; // German words that stand there
  let at = null; // the one whose lines are strong
  let timer = 0;
  let boxes = { english: [], german: [] };

  const drawing = h("svg", { class: "tff-lines", "aria-hidden": "true" });
  const rows = {
    english: h("p", { class: "tff-words tff-english", lang: "en" }),
    german: h("div", {
      class: "tff-words tff-german",
      lang: "de",
      role: "group",
      "aria-label": "The translation, word by word",
    }),
  };
  const stage = h("div", { class: "tff-pair" }, drawing, rows.english, rows.german);
  const told = h("p", { class: "tff-told" });
  const again = button("again", "Play again", () => play());
  const heard = liveRegion();
  const node = h(
    "div",
    {},
    stage,
    h("div", { class: "tff-below" }, told, again),
    heard.node,
  );

  // The German words can be pointed at, tapped, and walked along with the arrow keys.
  function fill() {
    boxes = {
      english: pair.english.map(({ text }) => h("span", {}, text)),
      german: pair.german.map(({ text }, i) => {
        const box = button(`word-${i}`, text, () => pick(i));
        put(box, { tabindex: i ? -1 : 0, "aria-label": `${text}: ${sentence(i)}` });
        box.addEventListener("pointerenter", () => i < known && pick(i));
        box.addEventListener("focus", () => i < known && pick(i));
        return box;
      }),
    };
    for (const side of ["english", "german"])
      rows[side].replaceChildren(...boxes[side]);
  }
  arrowKeys(rows.german, ALONG, (move) => {
    if (!known) return false;
    const to = within((at ?? 0) + move, known);
    for (const [i, box] of boxes.german.entries())
      put(box, { tabindex: i === to ? 0 : -1 });
    boxes.german[to].focus();
    return true;
  });

  function pick(i) {
    stop();
    known = pair.german.length;
    at = i;
    show();
    heard.announce(told.textContent);
  }

  // What a German word looked at most, in words.
  function sentence(i) {
    const order = pair.shares[i]
      .map((share, e) => ({ share, word: pair.english[e].text }))
      .sort((a, b) => b.share - a.share)
      .slice(0, 2)
      .filter(({ share }) => share >= 0.1);
    if (!order.length) return "its attention is spread over the whole sentence";
    const parts = order.map(({ share, word }) => `“${word}” (${percent(share, 0)})`);
    return `looks at ${parts.join(" and ")}`;
  }

  function show() {
    for (const [i, box] of boxes.german.entries())
      put(box, {
        "data-hidden": i >= known,
        "data-at": i === at,
        "aria-hidden": i >= known && "true",
      });
    for (const [e, box] of boxes.english.entries())
      box.style.setProperty("--share", String(at === null ? 0 : pair.shares[at][e]));
    say(
      told,
      at === null
        ? "The model reads the English sentence."
        : `To write “${pair.german[at].text}”, the model ${sentence(at)}.`,
    );
    draw();
  }

  // Lines from each word that stands there to what it looked at.
  function draw() {
    const { width, height } = stage.getBoundingClientRect();
    if (!width) return;
    put(drawing, { viewBox: `0 0 ${width} ${height}` });
    const across = getComputedStyle(stage).flexDirection === "row";
    const paths = [];
    for (let g = 0; g < known; g++)
      for (const [e, share] of pair.shares[g].entries()) {
        if (share < LEAST) continue;
        const [x, y, u, v] = ends(boxes.english[e], boxes.german[g], across);
        const d = across
          ? `M${x} ${y} C${(x + u) / 2} ${y} ${(x + u) / 2} ${v} ${u} ${v}`
          : `M${x} ${y} C${x} ${(y + v) / 2} ${u} ${(y + v) / 2} ${u} ${v}`;
        const path = h("path", { d, "data-at": g === at });
        path.style.setProperty("--share", share.toFixed(3));
        paths.push(path);
      }
    drawing.replaceChildren(...paths);
  }
  function ends(english, german, across) {
    const from = { x: english.offsetLeft, y: english.offsetTop };
    const to = { x: german.offsetLeft, y: german.offsetTop };
    return across
      ? [
          from.x + english.offsetWidth + 3,
          from.y + english.offsetHeight / 2,
          to.x - 3,
          to.y + german.offsetHeight / 2,
        ]
      : [
          from.x + english.offsetWidth / 2,
          from.y + english.offsetHeight + 2,
          to.x + german.offsetWidth / 2,
          to.y - 2,
        ];
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
  }
  function finish() {
    stop();
    known = pair.german.length;
    at = known ? mostDecided(pair) : null;
    show();
  }
  function play() {
    stop();
    if (wantsStillness()) return finish();
    known = 0;
    at = null;
    show();
    timer = setInterval(() => {
      if (known === pair.german.length) return finish();
      known += 1;
      at = known - 1;
      show();
    }, BEAT);
  }

  const resized = new ResizeObserver(draw);
  resized.observe(stage);
  addEventListener("beforeprint", finish);
  return {
    node,
    show(attention) {
      pair = linked(attention);
      fill();
      play();
    },
    stop() {
      stop();
      heard.stop();
      resized.disconnect();
      removeEventListener("beforeprint", finish);
    },
  };
}

// The German word that shows best what a line means: the last of those that look almost
// at one English word only.
export function mostDecided({ shares }) {
  const largest = shares.map((row) => Math.max(...row));
  const most = Math.max(...largest);
  return largest.findLastIndex((share) => share > most - 0.15);
}
