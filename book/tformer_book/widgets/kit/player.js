// Buttons that go through numbered places: to the start, back, forward, to the end; and,
// where there is a beat (in ms), one that plays them.
import { button, put, say, slider } from "./kit.js";

// The words for going through some things, such as checkpoints.
export const wordsFor = (thing, onward) => [
  `To the first ${thing}`,
  `One ${thing} back`,
  `One ${thing} ${onward}`,
  `To the last ${thing}`,
];

// words: of start, back, forward, end, for a screen reader. at() and last() say where we
// are and where the end is; to(i) goes there. On paper, where nothing moves, stands
// paper(): as a rule the end, what comes out.
export function player({ words, at, last, to, beat = 0, paper = last }) {
  let timer = 0;
  const playing = () => timer !== 0;
  function stop() {
    clearInterval(timer);
    timer = 0;
    say(play, "Play");
  }
  function step() {
    to(at() >= last() ? 0 : at() + 1);
    if (at() >= last()) stop();
  }
  function start() {
    timer = setInterval(step, beat);
    say(play, "Pause");
    step();
  }
  function go(i) {
    stop();
    to(i);
  }
  const play = button("play", "Play", () => (playing() ? stop() : start()));
  const moves = [
    button("start", "|◀", () => go(0)),
    button("back", "◀", () => go(at() - 1)),
    button("forward", "▶", () => go(at() + 1)),
    button("end", "▶|", () => go(last())),
  ];
  moves.forEach((node, i) => put(node, { "aria-label": words[i], title: words[i] }));
  // Grey out what leads nowhere from here.
  function show() {
    moves.forEach((node, i) => {
      node.disabled = at() === (i < 2 ? 0 : last());
    });
  }
  let before = null;
  function onPaper() {
    if (!moves[0].isConnected) return; // not yet on the page, or no more
    before ??= at();
    addEventListener("afterprint", onScreen, { once: true });
    go(paper());
  }
  function onScreen() {
    go(before);
    before = null;
  }
  addEventListener("beforeprint", onPaper);
  const nodes = beat ? [...moves.slice(0, 2), play, ...moves.slice(2)] : moves;
  return { nodes, play, playing, go, stop, show };
}

// The same with a slider, which counts the places from 1; name: what they are.
export function walker({ name, words, at, last, to, beat = 0, paper = last }) {
  const moves = player({ words, at, last, to, beat, paper });
  const text = (k) => `${k} of ${last() + 1}`;
  const track = slider("step", name, { min: 1, max: 1, step: 1, text }, (k) =>
    moves.go(k - 1),
  );
  function show() {
    put(track.input, { max: last() + 1 });
    track.show(at() + 1);
    moves.show();
  }
  return { ...moves, nodes: [...moves.nodes, track.box], show };
}
