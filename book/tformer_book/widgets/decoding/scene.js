// A search up to one of its steps: what there is to see of it, and that in words.
import { format } from "../kit/numbers.js";
import { spoken, written } from "../kit/pieces.js";
import { ranked, statusAt } from "./search.js";

// search: { steps, nodes (`treeOf` them), key (`keyOf`) }; now: its step, from 0; picked:
// the node that the reader picked, or null; alpha: the length penalty.
export function sceneOf({ steps, nodes, key }, now, picked, alpha) {
  const isLine = !key.startsWith("beam");
  const best = nodes.find((each) => each.column === now);
  const found = ranked(steps[now].finished, isLine ? 0 : alpha);
  // Unless the reader picked one, the node that the best continuation grew from.
  const isThere = picked !== null && nodes[picked].column <= now;
  const here = isThere ? picked : (best?.parent ?? 0);
  // What may follow it; where nothing grew from it, what it was chosen among.
  const grew = nodes[here].hypothesis >= 0 && nodes[here].column < now;
  const from = grew ? nodes[here] : nodes[nodes[here].parent];
  return {
    nodes,
    columns: steps.length,
    status: statusAt(nodes, now),
    here,
    winner: isLine ? null : found[0]?.ids.join(" "),
    from,
    step: steps[from.column + 1],
    taken: grew ? null : nodes[here].id,
    isLine,
    found,
    alpha: isLine ? null : alpha,
    summary: `Step ${now + 1} of ${steps.length}. ${
      isLine
        ? takenText(steps[now], best, key === "greedy")
        : beamText(steps[now], best, found)
    }`,
  };
}

// A step of a search that follows one hypothesis.
function takenText({ candidates: [{ piece, fate }] }, best, isGreedy) {
  const how = isGreedy ? "The likeliest piece" : "The piece that was drawn";
  const what = piece === "</s>" ? "the end of the sentence" : `“${spoken(piece)}”`;
  const rest = fate === "finished" ? "." : `, so far: “${written(best.pieces)}”.`;
  return `${how} is ${what}${rest}`;
}

// A step of a beam.
function beamText({ candidates }, best, found) {
  const count = (fate) => candidates.filter((each) => each.fate === fate).length;
  const so = found.length
    ? `Best of ${found.length} finished: “${found[0].text}”, score ${format(found[0].score)}.`
    : `Most probable: “${written(best.pieces)}”.`;
  return `${count("grown")} kept, ${count("finished")} finished, ${count("dropped")} dropped. ${so}`;
}
