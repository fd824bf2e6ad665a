// A chart of a few curves that grow.
import { h, put } from "../kit/kit.js";

const [WIDTH, HEIGHT] = [360, 170];
const [LEFT, RIGHT, TOP, BOTTOM] = [38, 8, 8, 30];
const MOST_POINTS = 180;

// The mean of each run of neighbours, so that a long curve has no more points than pixels.
export function thinned(points) {
  const size = Math.ceil(points.length / MOST_POINTS);
  if (size <= 1) return points;
  const found = [];
  for (let i = 0; i < points.length; i += size) {
    const part = points.slice(i, i + size);
    const sum = part.reduce(([a, b], [x, y]) => [a + x, b + y], [0, 0]);
    found.push([sum[0] / part.length, sum[1] / part.length]);
  }
  return found;
}

// The least round number that is no less: 1, 2 or 5, and zeros.
export function roundUp(x) {
  if (!(x > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(x));
  return [1, 2, 5, 10].map((k) => k * unit).find((each) => each >= x * 0.999);
}

// names: of the curves, in the order of their kinds; most: of the upright axis, null to
// follow the curves. -> { node, show(curves, earlier) }, each curve a list of
// [step, value], and one of an earlier run.
export function chart(title, names, { most = null, text = (x) => `${x}` } = {}) {
  const lines = names.map((_, i) => h("polyline", { class: `tfpg-curve-${i}` }));
  const before = h("polyline", { class: "tfpg-before" });
  const ticks = [0, 0.5, 1].map(() => h("text", { x: LEFT - 5, "text-anchor": "end" }));
  const ends = [
    h("text", { x: LEFT, y: HEIGHT - 14 }, "0"),
    h("text", { x: WIDTH - RIGHT, y: HEIGHT - 14, "text-anchor": "end" }),
  ];
  const svg = h(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" },
    ...[0, 0.5, 1].map((share) => {
      const y = place(share);
      return h("line", {
        x1: LEFT,
        x2: WIDTH - RIGHT,
        y1: y,
        y2: y,
        class: "tfpg-rule",
      });
    }),
    ...ticks,
    ...ends,
    h(
      "text",
      { x: (LEFT + WIDTH) / 2, y: HEIGHT - 2, "text-anchor": "middle" },
      "step",
    ),
    before,
    ...lines,
  );
  ticks.forEach((tick, i) => put(tick, { y: place(i / 2) + 4 }));
  const keys = names.map((name, i) =>
    h("span", { class: `tfpg-key tfpg-key-${i}` }, name),
  );
  const caption = h("figcaption", {}, h("strong", {}, title), " ", ...keys);
  const node = h("figure", { class: "tfpg-chart" }, caption, svg);

  function show(curves, earlier = []) {
    const all = [...curves.flat(), ...earlier];
    const last = roundUp(Math.max(10, ...all.map(([step]) => step)));
    const top = most ?? roundUp(Math.max(0.1, ...all.map(([, y]) => y)));
    const path = (points) =>
      thinned(points)
        .map(([step, y]) => {
          const x = LEFT + ((WIDTH - LEFT - RIGHT) * step) / last;
          return `${x.toFixed(1)},${place(Math.min(1, y / top)).toFixed(1)}`;
        })
        .join(" ");
    curves.forEach((points, i) => {
      put(lines[i], { points: path(points) });
    });
    put(before, { points: path(earlier) });
    ticks.forEach((tick, i) => {
      tick.textContent = text((top * i) / 2);
    });
    ends[1].textContent = String(last);
    const said = names.map((name, i) => {
      const end = curves[i].at(-1);
      return end
        ? `${name} ${text(end[1])} at step ${Math.round(end[0])}`
        : `no ${name}`;
    });
    put(svg, { "aria-label": `${title}: ${said.join("; ")}.` });
  }
  show(names.map(() => []));
  return { node, show };
}

function place(share) {
  return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
}
