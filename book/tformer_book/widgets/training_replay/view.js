// The drawings of the replay: the loss and its frames, a sentence, and what its map says.
import {
  bottomAxis,
  dragIn,
  ground,
  leftAxis,
  linear,
  pathOf,
  plotOf,
  segment,
  viewBox,
} from "../kit/chart.js";
import { commas, format, powerOfTen } from "../kit/numbers.js";
import { byteAsCharacter } from "../kit/pieces.js";
import { html, nothing, svg } from "../kit/vendor/lit.js";
import { axisOf, nearestFrame, newWords, strongest } from "./maths.js";

const BOX = { width: 400, height: 236, left: 42, right: 14, top: 12, bottom: 44 };

export const bare = (piece) =>
  piece === "</s>" ? "⟨eos⟩" : byteAsCharacter(piece).replace(/^▁/, "");
export const rateText = (r) => `${format(r * 1000, 2)} × ${powerOfTen(-3)}`;

// The loss of a run against its steps, frame i marked, and, if wanted, the learning rate;
// onFrame hears which frame is pointed at.
export function lossChart({ curve, valid, frames }, i, showRate, onFrame) {
  const end = Math.max(curve.at(-1)[0], valid.at(-1)[0]);
  const below = axisOf(end).filter((x) => x <= end);
  const marks = axisOf(Math.max(...curve.map(([, loss]) => loss)));
  const most = Math.max(...curve.map(([, , rate]) => rate));
  const plot = plotOf(BOX, linear(0, end), linear(0, marks.at(-1)));
  const steps = frames.map(({ step }) => step);
  const shown = frames[i];
  const now = plot.x(shown.step);
  const visibility = showRate ? nothing : "hidden";
  const line = (name, points) =>
    svg`<path class="tfrp-line tfrp-${name}" d=${pathOf(plot, points)}
      visibility=${name === "rate" ? visibility : nothing} />`;
  const label = `Loss against step. The training loss falls from ${format(curve[0][1], 1)} to ${format(curve.at(-1)[1], 2)}, the validation loss from ${format(valid[0][1], 2)} to ${format(valid.at(-1)[1], 2)}. Marked: step ${commas(shown.step)}, validation loss ${format(shown.valid_loss, 2)}.`;
  const rates = curve.map(([step, , rate]) => [step, (rate / most) * marks.at(-1)]);
  const toFrame = (step) => onFrame(nearestFrame(steps, step));
  return html`<svg viewBox=${viewBox(plot)} class="tfrp-chart" role="img"
    data-step=${shown.step} aria-label=${label}>
    ${leftAxis(plot, marks)}
    ${bottomAxis(plot, below, {
      text: commas,
      anchor: (x) => (plot.x(x) > BOX.width - 50 ? "end" : "middle"),
      title: "step →",
    })}
    ${line("train", curve)}
    ${line("valid", valid)}
    ${line("rate", rates)}
    <text class="tfrp-scale" x=${plot.right} y=${plot.top + 16} text-anchor="end"
      visibility=${visibility}>learning rate: up to ${rateText(most)}</text>
    ${segment("tfrp-now", [now, plot.top], [now, plot.bottom])}
    ${frames.map(
      ({ step, valid_loss }, k) =>
        svg`<circle class=${k === i ? "tfrp-dot tfrp-here" : "tfrp-dot"} r="4.5"
          cx=${plot.x(step)} cy=${plot.y(valid_loss)} data-frame=${k} />`,
    )}
    ${ground(plot, "loss", dragIn(plot, toFrame, { atOnce: true }))}
  </svg>`;
}

// A sentence, its reference and its translation; underlined, words that the translation
// before lacks.
export function words({ source, reference }, translation, before) {
  const found = newWords(before ?? translation, translation);
  const said = found.map(
    ([word, isNew], k) => html`${k ? " " : ""}${isNew ? html`<u>${word}</u>` : word}`,
  );
  return html`<table class="tfrp-words">
    <tbody>
      <tr><th scope="row">English</th><td lang="en">${source}</td></tr>
      <tr><th scope="row">a person</th><td lang="de">${reference}</td></tr>
      <tr><th scope="row">the model</th><td lang="de" class="tfrp-said" data-exact=${translation}>${said}</td></tr>
    </tbody>
  </table>`;
}

// What the cell of a map says: a query's row, and which key of it.
export function readout({ source_pieces: keys, target_pieces: queries }, row, i, j) {
  const best = strongest(row);
  const most =
    best === j
      ? ", more than to any other."
      : `, most to “${bare(keys[best])}” (${format(row[best], 3)}).`;
  return `About to write “${bare(queries[i])}”, the decoder gives ${format(row[j], 3)} of its attention to “${bare(keys[j])}”${most}`;
}
