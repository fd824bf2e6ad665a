// The map as a drawing.
import { commas } from "../kit/numbers.js";
import { html, nothing, repeat, svg } from "../kit/vendor/lit.js";
import { BOX, LEFT, WIDTH, wires } from "./layout.js";

// The model grows upwards: so do the keys.
export const UPWARDS = {
  ArrowUp: 1,
  ArrowRight: 1,
  ArrowDown: -1,
  ArrowLeft: -1,
  Home: -Infinity,
  End: Infinity,
};

const line = (x, y, look, text, anchor = "start") =>
  svg`<text x=${x} y=${y} class=${look} text-anchor=${anchor}>${text}</text>`;

const short = (n) => (n < 1e7 ? commas(n) : `${(n / 1e6).toFixed(1)} M`);
function countOf({ each, times }) {
  if (!each) return "(shared)";
  return times > 1 ? `${short(each)} × ${times}` : short(each);
}

// What stands in a box.
function texts({ part, x, y, w, height }, compact) {
  const { kind, name } = part;
  const middle = y + height / 2 + 4.5;
  const centred = (look, text) => line(x + w / 2, middle, look, text, "middle");
  if (kind === "mask") return centred("tfm-small", name);
  if (compact) {
    const text = name.replace("masked ", ""); // its mask says so
    return part.layer && kind !== "norm"
      ? line(x + 8, middle, "tfm-name", text)
      : centred("tfm-name", text);
  }
  if (kind === "norm") return centred("tfm-small", `${name} · ${commas(part.each)}`);
  return [
    line(x + 8, y + 17, "tfm-name", name),
    line(x + 8, y + 34, "tfm-shape", part.numbers),
    height < 60 ? nothing : line(x + 8, y + 52, "tfm-shape", countOf(part)),
  ];
}

// What a box consists of.
export const box = (b, compact) =>
  svg`<rect x=${b.x} y=${b.y} width=${b.w} height=${b.height} rx="5"></rect>
    ${texts(b, compact)}`;

// What lies behind the boxes; layers(side): their number in words.
function behind(placed, layers) {
  const { paths, over, from } = wires(placed);
  const memory = Math.max(from + 8, 112); // past “encoder, 24 ×”
  const stack = ({ side, y, height }) =>
    svg`<rect class="tfm-stack" x=${LEFT[side] - 5} y=${y} width=${BOX + 10}
      height=${height} rx="8"></rect>`;
  const name = ({ side, y }) =>
    line(LEFT[side] - 2, y - 5, "tfm-small tfm-bold", `${side}, ${layers(side)} ×`);
  return svg`<g aria-hidden="true">
    ${placed.stacks.map(stack)}
    ${paths.map((d) => svg`<path d=${d} class="tfm-wire"></path>`)}
    ${line(memory, over - 5, "tfm-small", "memory")}
    ${placed.stacks.map(name)}
  </g>`;
}

// one(box): its element, an option of the map or a link; keys hears the keyboard.
export const map = (placed, { role, label, layers, one, keys }) =>
  html`<svg viewBox="0 0 ${WIDTH} ${placed.height}" class="tfm-map" role=${role}
      aria-label=${label} @keydown=${keys}>
    ${behind(placed, layers)}
    ${repeat(placed.boxes, (b) => b.part.id, one)}
  </svg>`;
