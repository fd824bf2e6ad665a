// The logic of the figure: what a search looked at, what became of it, what it found. It
// runs in Node, and the tests hold it to `tformer.decode`. A step is one of
// `Translator.steps`.
import { lengthPenaltyOf } from "../engine/decode/beam.js";
import { USED } from "../engine/decode/settings.js";

// What a search depends on; the length penalty only ranks what a beam has found.
export function keyOf(settings) {
  const own = USED[settings.search].filter((name) => name !== "lengthPenalty");
  return [settings.search, ...own.map((name) => settings[name])].join(" ");
}

// All that the search looked at, parents first: node 0 is bos, the others are candidates.
// -> [{ column (the step), rank, parent (a node), piece, ids, logProbability, fate,
//       hypothesis: its place among those that the next step goes on from, or -1 }]
export function treeOf(steps) {
  const begin = { piece: "<s>", pieces: [], ids: [], logProbability: 0, fate: "grown" };
  const nodes = [{ ...begin, column: -1, rank: 0, parent: -1, hypothesis: 0 }];
  let live = [0];
  for (const [column, { candidates }] of steps.entries()) {
    const grown = [];
    for (const [rank, { parent, ...each }] of candidates.entries()) {
      const from = nodes[live[parent]];
      const hypothesis = each.fate === "grown" ? grown.length : -1;
      if (hypothesis >= 0) grown.push(nodes.length);
      nodes.push({
        ...each,
        column,
        rank,
        parent: live[parent],
        hypothesis,
        ids: [...from.ids, each.id],
        pieces: [...from.pieces, each.piece],
      });
    }
    live = grown;
  }
  return nodes;
}

// What has become of each node after step `at` (0 the first): "live" (it, or something
// that grew from it, goes on), "finished" (only ended ones grew from it), "dropped", or
// null: not there yet.
export function statusAt(nodes, at) {
  const status = nodes.map(() => null);
  for (let i = nodes.length - 1; i >= 0; i--) {
    const { column, fate, parent } = nodes[i];
    if (column > at) continue;
    if (fate === "finished") status[i] = "finished";
    else if (fate === "grown" && column === at) status[i] = "live";
    else status[i] ??= "dropped";
    if (parent < 0) continue;
    if (status[i] === "live") status[parent] = "live";
    else if (status[i] === "finished") status[parent] ??= "finished";
  }
  return status;
}

// What has ended, the best first: score = log p / lp(length), eos counted.
export function ranked(finished, alpha) {
  return finished
    .map((each) => {
      const length = each.ids.length + 1;
      const penalty = lengthPenaltyOf(length, alpha);
      return { ...each, length, penalty, score: each.logProbability / penalty };
    })
    .sort((a, b) => b.score - a.score);
}

// The next pieces of one hypothesis: { rows: [{ piece, probability, drawn?, total, fate,
// rank }], rest: { probability, drawn? } }; fate is null for what was not among the best.
export function nextPieces(step, hypothesis, { temperature = 1 } = {}) {
  const { next, logProbability } = step.hypotheses[hypothesis];
  const chosen = new Map();
  step.candidates.forEach(
    (each, rank) =>
      each.parent === hypothesis && chosen.set(each.id, { ...each, rank }),
  );
  const rows = next.map((each) => {
    const { fate = null, rank = null } = chosen.get(each.id) ?? {};
    return { ...each, total: logProbability + Math.log(each.probability), fate, rank };
  });
  for (const { id, piece, fate, rank, logProbability: total } of chosen.values()) {
    if (fate === "dropped" || rows.some((row) => row.id === id)) continue;
    const probability = Math.exp(total - logProbability);
    const row = { id, piece, probability, total, fate, rank };
    // Both were left after the cut, so their ratio tells how probable it became.
    if (rows[0].drawn !== undefined)
      row.drawn =
        rows[0].drawn * (probability / rows[0].probability) ** (1 / temperature);
    rows.push(row);
  }
  const left = (name) => Math.max(0, 1 - rows.reduce((sum, row) => sum + row[name], 0));
  const rest = { probability: left("probability") };
  if (rows[0].drawn !== undefined) rest.drawn = left("drawn");
  return { rows, rest };
}

// The node that a key leads to from another, up to a column; null is nowhere.
export function neighbour(nodes, from, top, pressed) {
  const near = (column, rank) => {
    const found = nodes.findIndex(
      (each) => each.column === column && each.rank === rank && column <= top,
    );
    return found < 0 ? null : found;
  };
  const { column, rank, parent } = nodes[from];
  if (pressed === "ArrowLeft") return parent < 0 ? null : parent;
  if (pressed === "ArrowRight") {
    const child = nodes.findIndex((each) => each.parent === from && each.column <= top);
    return child < 0 ? null : child;
  }
  if (pressed === "ArrowUp") return near(column, rank - 1);
  if (pressed === "ArrowDown") return near(column, rank + 1);
  if (pressed === "Home") return 0;
  return near(top, 0); // End
}

// All that has ended in a search, each once, with the step in which it did.
export function endedIn(steps) {
  const ended = new Map();
  steps.forEach(({ finished }, step) =>
    finished.forEach(({ ids, text, logProbability }) => {
      const name = ids.join(" ");
      if (!ended.has(name)) ended.set(name, { ids, text, logProbability, step });
    }),
  );
  return [...ended.values()];
}
