// What the laboratory shows of a state: the cells of its map, and its findings in words.
import { format } from "../kit/numbers.js";
import { attend, changed, diagnose, makeMask, moved } from "./maths.js";

export const STAGES = ["1 Scores", "2 Masked scores", "3 Weights"];
const KINDS = ["score", "masked score", "weight"];
const WEIGHTS = 3;

const short = (x) =>
  x < -1000 && x !== -Infinity
    ? `−${Math.abs(x).toExponential(0).replace("e+", "e")}`
    : format(x);
const exactly = (x, digits) => (x === 0 ? "0" : format(x, digits));

// All that follows from the place and the reader's options.
export function computed(site, options) {
  const mask = makeMask(site, options);
  const withMask = { ...options, mask };
  const now = changed(site, options.change);
  return {
    ...attend({ ...now, ...withMask }),
    site,
    options,
    mask,
    scores: now.scores,
    shift: moved(site, withMask),
    found: diagnose(site, withMask),
  };
}

// One cell in a sentence.
export const tellOfCell = ({ site, mask, masked, weights }, i, j) =>
  `“${site.queries[i]}” ${mask[i][j] ? "may see" : "may not see"} “${site.keys[j]}”: score ${format(site.scores[i][j])}, ` +
  `masked ${short(masked[i][j])}, weight ${format(weights[i][j], 3)}.`;

// For `grid.show`: the map at a stage.
export function mapOf(made, stage) {
  const { site, options, mask, scores, masked, weights, shift } = made;
  const table = [scores, masked, weights][stage - 1];
  const isWeight = stage === WEIGHTS;
  const finite = table.flat().filter((x) => x > -1000);
  const [low, high] = isWeight ? [0, 1] : [Math.min(...finite), Math.max(...finite)];
  const shareOf = (x) => (x > -1000 && high > low ? (x - low) / (high - low) : 0);
  const markOf = (i, j) =>
    [
      !mask[i][j] && "tfml-forbidden",
      Number.isNaN(table[i][j]) && "tfml-nan",
      j === options.change && "tfml-changed",
    ]
      .filter(Boolean)
      .join(" ");
  const cell = (i, j) => {
    const x = table[i][j];
    const may = mask[i][j] ? "allowed" : "forbidden";
    const value = isWeight ? format(x, 3) : short(x);
    return {
      text: isWeight ? exactly(x, 2) : short(x),
      label: `query ${site.queries[i]}, key ${site.keys[j]}, ${may}, ${KINDS[stage - 1]} ${value}`,
      share: shareOf(x),
      off: !mask[i][j] && stage > 1 && !(isWeight && x > 0),
      mark: markOf(i, j),
      exact: weights[i][j],
    };
  };
  return {
    rows: site.queries,
    columns: site.keys,
    extra: ["moved by"],
    cell,
    beside: (i) => [options.change < 0 ? "–" : exactly(shift[i], 3)],
  };
}

// What there is to say about the mask and the changed token.
export function notesOf({ site, options: { change }, found, shift }) {
  const notes = found.length
    ? [...found]
    : [
        "This is the right mask for this place: every real key that may be known is seen, and nothing else.",
      ];
  if (change < 0) return notes;
  const rows = site.queries.filter((_, i) => shift[i] !== 0);
  const which = rows.length ? `: ${rows.join(", ")}.` : ". Nothing depends on it.";
  return [
    ...notes,
    `Another token instead of “${site.keys[change]}” moves ${rows.length} of ${shift.length} output rows${which}`,
  ];
}
