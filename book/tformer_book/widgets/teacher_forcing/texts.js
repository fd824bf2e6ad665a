// What the figure says of both passes, in words.
import { chance, format } from "../kit/numbers.js";
import { shown, spoken } from "../kit/pieces.js";
import { splitOf } from "./maths.js";

function quoted(piece) {
  if (piece === undefined) return "nothing more";
  return piece === "</s>" ? "the end" : `“${spoken(piece)}”`;
}

// Both passes in one line, up to the position `now`: how long they are, where they part,
// and what the last change of the German moved.
export function verdictText(rows, { positions, before }, now) {
  const total = positions.reduce((sum, each) => sum + each.logProbability, 0);
  const ours = rows.filter((row) => row.own).length;
  const split = splitOf(rows);
  const part =
    split < 0
      ? "The model takes what the teacher gives, at every position."
      : `The two part at position ${split + 1}: the teacher says ${quoted(rows[split].label)}, the model ${quoted(rows[split].own?.piece)}. From there they read different pieces.`;
  return `Teacher forcing: ${positions.length} positions in 1 pass, log p ${format(total)}. Decoding: ${Math.min(now + 1, ours)} of ${ours} passes. ${part}${movedText(rows, positions, before)}`;
}

function movedText(rows, positions, before) {
  const changed = before
    ? positions.findIndex((each, i) => each.id !== before[i]?.id)
    : -1;
  if (changed < 0) return "";
  const moving = rows.filter((row) => row.moved > 0).length;
  const early = rows.slice(0, changed + 1).every((row) => !row.moved);
  return ` The change at position ${changed + 1} moved ${moving} distributions, ${early ? "all of them later ones" : "earlier ones among them"}.`;
}

export function rowText({ label, p, best, agrees, own }) {
  const teacher =
    label === undefined
      ? "The given German is over."
      : `The teacher says ${quoted(label)}, p ${chance(p)}${agrees ? ", the likeliest" : `; the likeliest is ${quoted(best)}`}.`;
  const model = own
    ? `Decoding takes ${quoted(own.piece)}, p ${chance(own.p)}.`
    : "Decoding has ended.";
  return `${teacher} ${model}`;
}

// The rows of the table behind the figure: what may follow at each position.
export const NEXT = ["given", "its likeliest next", "own", "own likeliest next"];
export function nextLists(rows, { positions, steps }, now) {
  const list = (next) =>
    next.map((each) => `${shown(each.piece)} ${chance(each.probability)}`).join(", ");
  return rows.map(({ label, own }, i) => [
    String(i + 1),
    label === undefined ? "" : shown(label),
    positions[i] ? list(positions[i].next) : "",
    own && i <= now ? shown(own.piece) : "",
    steps[i] && i <= now ? list(steps[i].hypotheses[0].next) : "",
  ]);
}
