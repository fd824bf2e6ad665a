// A movement from one picture to the next.
import { wantsStillness } from "./kit.js";

// Slow at both ends.
export const eased = (t) => t * t * (3 - 2 * t);

// draw(t) is called with t from 0 to 1. `run` takes ms; for readers who want stillness,
// and on paper, the movement is over at once. A new run ends the one under way.
export function motion(draw) {
  let frame = 0;
  let over = () => {};
  const stop = () => {
    cancelAnimationFrame(frame);
    removeEventListener("beforeprint", end);
    frame = 0;
  };
  function end() {
    stop();
    draw(1);
    over();
  }
  function run(ms, done = () => {}) {
    stop();
    over = done;
    if (wantsStillness()) {
      end();
      return;
    }
    addEventListener("beforeprint", end);
    let begin = -1;
    const tick = (now) => {
      if (begin < 0) begin = now;
      const t = (now - begin) / ms;
      if (t >= 1) {
        end();
        return;
      }
      draw(eased(t));
      frame = requestAnimationFrame(tick);
    };
    frame = requestAnimationFrame(tick);
  }
  return { run, stop, end, moving: () => frame !== 0 };
}

// Where the parts of a box are in it, by what their attribute data-id says.
export function placesOf(box) {
  const { left, top } = box.getBoundingClientRect();
  return new Map(
    [...box.querySelectorAll("[data-id]")].map((node) => {
      const place = node.getBoundingClientRect();
      return [node.dataset.id, [place.left - left, place.top - top]];
    }),
  );
}

// Let the parts of a box travel from where they were to where they are: those with equal
// data-wave together, one wave after the other. Nothing moves for readers who want
// stillness, and nothing that was not there before.
export function travel(box, before, { ms = 900, between = 180 } = {}) {
  for (const each of box.getAnimations({ subtree: true })) each.cancel();
  if (wantsStillness()) return;
  const now = placesOf(box);
  const moves = [...box.querySelectorAll("[data-id]")].flatMap((node) => {
    const [from, to] = [before.get(node.dataset.id), now.get(node.dataset.id)];
    if (!from) return [];
    const [x, y] = [from[0] - to[0], from[1] - to[1]];
    if (Math.hypot(x, y) < 1) return [];
    return node.animate(
      [{ transform: `translate(${x}px, ${y}px)` }, { transform: "none" }],
      {
        duration: ms,
        delay: between * Number(node.dataset.wave ?? 0),
        easing: "ease-in-out",
        fill: "backwards",
      },
    );
  });
  const end = () => {
    for (const each of moves) each.finish();
  };
  addEventListener("beforeprint", end);
  box.toggleAttribute("data-moving", moves.length > 0);
  Promise.allSettled(moves.map((each) => each.finished)).then(() => {
    removeEventListener("beforeprint", end);
    if (!box.getAnimations({ subtree: true }).length)
      box.removeAttribute("data-moving");
  });
}
