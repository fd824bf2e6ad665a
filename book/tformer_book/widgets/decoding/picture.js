// A search up to one of its steps: the tree, the pieces that may come next, what is
// finished, and all of it in words. The reader picks a node of the tree.
import { h, textTable } from "../kit/kit.js";
import { format } from "../kit/numbers.js";
import { spoken, written } from "../kit/pieces.js";
import { neighbour, ranked, statusAt, treeOf } from "./search.js";
import { foundTable, nextTable } from "./tables.js";
import { treePicture, treeRows } from "./tree.js";

// -> { nodes: its elements,
//      build(steps), show(now, key, settings): up to step `now`, counted from 0; key as
//        `keyOf` tells of the search that is shown,
//      summary(): what to announce, forget(): what the reader picked, stop() }
export function searchPicture() {
  let steps = [];
  let nodes = [];
  let at = null; // the node that the reader picked
  let shown = { now: -1, key: null, settings: null };

  const legend = h(
    "p",
    { class: "tfd-legend" },
    "● goes on   ✓ finished   ✗ dropped   ★ best by score; below each piece: log p of all up to it",
  );
  const tree = treePicture({
    onPick: pick,
    onKey: (pressed) => {
      const next = neighbour(nodes, current(), shown.now, pressed);
      if (next !== null) pick(next);
    },
  });
  const next = nextTable();
  const finished = foundTable();
  const behind = textTable("The tree as a table", "written so far");

  const isLine = () => !shown.key?.startsWith("beam");
  const alpha = () => (isLine() ? null : shown.settings.lengthPenalty);
  const found = () => ranked(steps[shown.now].finished, alpha() ?? 0);

  // The node that is picked; unless told, the one that the best continuation grew from.
  function current() {
    if (at !== null && nodes[at].column <= shown.now) return at;
    const best = nodes.findIndex((each) => each.column === shown.now);
    return best < 0 ? 0 : nodes[best].parent;
  }

  function pick(i) {
    at = i;
    draw();
    tree.focus(i);
  }

  function build(given) {
    steps = given;
    nodes = treeOf(steps);
    if (at !== null && at >= nodes.length) at = null;
    tree.build(nodes, steps.length);
  }

  function show(now, key, settings) {
    shown = { now, key, settings };
    draw();
  }

  function draw() {
    const status = statusAt(nodes, shown.now);
    const winner = isLine() ? null : found()[0]?.ids.join(" ");
    tree.show(status, current(), winner);
    if (at === null) tree.lookAt(shown.now);
    showNext(nodes[current()]);
    finished.show(found(), alpha());
    behind.show(["next piece", "step", "log p", "now"], treeRows(nodes, status));
  }

  // What may follow the picked node; where nothing grew from it, what it was chosen among.
  function showNext(picked) {
    const grew = picked.hypothesis >= 0 && picked.column < shown.now;
    const from = grew ? picked : nodes[picked.parent];
    next.show({
      from,
      step: steps[from.column + 1],
      taken: grew ? null : picked.id,
      settings: shown.settings,
      isLine: isLine(),
    });
  }

  function summary() {
    const { now, key } = shown;
    const best = nodes.find((each) => each.column === now);
    const begin = `Step ${now + 1} of ${steps.length}.`;
    return isLine()
      ? `${begin} ${takenText(steps[now], best, key === "greedy")}`
      : `${begin} ${beamText(steps[now], best, found())}`;
  }

  return {
    nodes: [
      legend,
      tree.node,
      next.heading,
      next.node,
      finished.heading,
      finished.node,
      behind.node,
    ],
    build,
    show,
    summary,
    forget() {
      at = null;
    },
    stop: tree.stop,
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
