// A matrix cut into heads, attended and merged, beside the same with a slip. Its numbers
// travel from step to step, and keep their colours.
// `numbersOf`, `through` and what they call are all of the maths; they run in Node, and
// the tests hold them to `tformer.attention.MultiHeadAttention`.
import { grid } from "../kit/grid.js";
import {
  bind,
  figure,
  h,
  liveRegion,
  put,
  radios,
  say,
  slider,
  textTable,
} from "../kit/kit.js";
import { placesOf, travel } from "../kit/motion.js";
import { format, percent } from "../kit/numbers.js";
import { player } from "../kit/player.js";

export const WORDS = ["dog", "it", "tired", "street", "cross"];
export const WIDTHS = [4, 6, 8, 12];
export const STAGES = ["Project", "Cut", "Transpose", "Attend", "Concatenate", "W_O"];
export const MISTAKES = ["there and back", "at the split", "at the merge"];
const MOST_HEADS = 4;
const BEAT = 3200; // ms from step to step, in which the numbers travel and may be read

// Numbers that look random and are the same everywhere: rounded sines.
const tableOf = (rows, columns, size, [start, down, across, both]) =>
  Array.from({ length: rows }, (_, i) =>
    Array.from(
      { length: columns },
      (__, j) =>
        Math.round(10 * size * Math.sin(start + down * i + across * j + both * i * j)) /
        10,
    ),
  );
export const numbersOf = (words, width) =>
  tableOf(words, width, 2, [1.7, 2.3, 1.1, 0.9]);
export const outputMatrix = (width) => tableOf(width, width, 1, [0.7, 2.9, 1.7, 0.6]);

// A number that remembers: its value, its address in x, what share of it comes from each
// head's columns of x, and which words asked for it.
const one = (n, i) => Array.from({ length: n }, (_, j) => (j === i ? 1 : 0));
function traced(x, n) {
  const each = x[0].length / n;
  return x.map((row, t) =>
    row.map((value, c) => ({
      value,
      at: [t, c],
      id: `${t},${c}`,
      wave: t,
      heads: one(n, Math.floor(c / each)),
      askers: one(x.length, t),
    })),
  );
}

// (T, D) -> (H, T, Dh). Wrong: the numbers dealt out in the order of memory.
export function split(rows, n, wrong) {
  const each = rows[0].length / n;
  if (!wrong)
    return one(n, 0).map((_, i) =>
      rows.map((row) => row.slice(i * each, (i + 1) * each)),
    );
  const flat = rows.flat();
  return one(n, 0).map((_, i) =>
    rows.map((__, t) =>
      flat.slice((i * rows.length + t) * each, (i * rows.length + t + 1) * each),
    ),
  );
}
// (H, T, Dh) -> (T, D). Wrong: again in the order of memory.
export function merge(heads, wrong) {
  const length = heads[0].length;
  if (!wrong) return heads[0].map((_, t) => heads.flatMap((head) => head[t]));
  const flat = heads.flat(2);
  const width = flat.length / length;
  return heads[0].map((_, t) => flat.slice(t * width, (t + 1) * width));
}

// Sum of numbers, each times a factor; shares follow the sizes of what is added up.
function mixed(parts, factors, askers) {
  const sizes = parts.map((part, i) =>
    Math.abs(factors[i] * (askers ? 1 : part.value)),
  );
  const total = sizes.reduce((a, b) => a + b, 0) || 1;
  const share = (key) =>
    parts[0][key].map(
      (_, k) =>
        parts.reduce((sum, part, i) => sum + sizes[i] * part[key][k], 0) / total,
    );
  return {
    value: parts.reduce((sum, part, i) => sum + factors[i] * part.value, 0),
    heads: share("heads"),
    askers: askers ?? share("askers"),
  };
}

// Each head's own attention, with the same rows as queries, keys and values.
export function attend(head) {
  const root = Math.sqrt(head[0].length);
  const weights = head.map((q) => {
    const scores = head.map(
      (k) => q.reduce((sum, x, j) => sum + x.value * k[j].value, 0) / root,
    );
    const top = Math.max(...scores);
    const powers = scores.map((s) => Math.exp(s - top));
    const total = powers.reduce((a, b) => a + b, 0);
    return powers.map((p) => p / total);
  });
  const output = weights.map((row, r) =>
    head[0].map((_, j) =>
      mixed(
        head.map((v) => v[j]),
        row,
        head[r][0].askers,
      ),
    ),
  );
  return { weights, output };
}

// All steps. `reach[t]` are the words that row t of the output depends on.
export function through({
  words,
  width,
  heads: n,
  wrongSplit = false,
  wrongMerge = false,
}) {
  const x = traced(numbersOf(words, width), n);
  const parts = split(x, n, wrongSplit);
  const seen = parts.map(attend);
  const outputs = seen.map((each, i) =>
    each.output.map((row, r) =>
      row.map((number, j) => ({ ...number, id: `out ${i},${r},${j}`, wave: r })),
    ),
  );
  const merged = merge(outputs, wrongMerge);
  const matrix = outputMatrix(width);
  const output = merged.map((row) =>
    row.map((_, o) =>
      mixed(
        row,
        row.map((__, c) => matrix[c][o]),
      ),
    ),
  );
  const inHead = parts.map((part) => new Set(part.flat().map(({ at }) => at[0])));
  const owner = merge(
    outputs.map((rows, i) => rows.map((row) => row.map(() => i))),
    wrongMerge,
  );
  const reach = owner.map((row) =>
    [...new Set(row.flatMap((i) => [...inHead[i]]))].sort(),
  );
  return {
    x,
    parts,
    weights: seen.map((each) => each.weights),
    outputs,
    merged,
    output,
    reach,
  };
}

// What stands on one side at a stage: blocks of numbers (or weights) with their names.
export function blocksOf(stage, made, { words, width, heads: n, wrongSplit }) {
  const names = WORDS.slice(0, words);
  const each = width / n;
  const count = (k, from = 0) => Array.from({ length: k }, (_, j) => String(from + j));
  const rowsAre = wrongSplit ? count(words).map((i) => `row ${i}`) : names;
  const whole = (cells) => [
    {
      kind: "numbers",
      caption: "",
      rows: names,
      columns: count(width),
      cells,
      rowAxis: "word",
    },
  ];
  if (stage === 1) return whole(made.x);
  if (stage === 2 && !wrongSplit) {
    return names.map((name, t) => ({
      kind: "numbers",
      caption: name,
      rows: count(n).map((i) => `head ${i}`),
      columns: count(each),
      cells: made.parts.map((part) => part[t]),
      rowAxis: "head",
    }));
  }
  if (stage <= 3) {
    return made.parts.map((cells, i) => ({
      kind: "numbers",
      caption: `head ${i}`,
      rows: rowsAre,
      columns: count(each),
      cells,
      rowAxis: wrongSplit ? "row" : "word",
    }));
  }
  if (stage === 4) {
    return made.parts.flatMap((_, i) => [
      {
        kind: "weights",
        caption: `head ${i}: weights`,
        rows: rowsAre,
        columns: wrongSplit ? count(words) : names,
        cells: made.weights[i],
        rowAxis: "query",
      },
      {
        kind: "numbers",
        caption: "output",
        rows: rowsAre,
        columns: count(each),
        cells: made.outputs[i],
        rowAxis: wrongSplit ? "row" : "word",
      },
    ]);
  }
  return whole(stage === 5 ? made.merged : made.output);
}

const shape = (...sizes) => `(${sizes.join(", ")})`;
export function codeOf(stage, { words, width, heads: n, wrongSplit, wrongMerge }) {
  const each = width / n;
  return [
    `x = x @ W → (T, D) = ${shape(words, width)}`,
    wrongSplit
      ? `x.view(${n}, ${words}, ${each}) → (H, T, Dh)`
      : `x.view(${words}, ${n}, ${each}) → (T, H, Dh)`,
    wrongSplit
      ? `the shape is (H, T, Dh) already`
      : `.transpose(0, 1) → (H, T, Dh) = ${shape(n, words, each)}`,
    `attention(x, x, x) → (H, T, Dh) = ${shape(n, words, each)}`,
    wrongMerge
      ? `.reshape(${words}, ${width}) → (T, D)`
      : `.transpose(0, 1).reshape(${words}, ${width}) → (T, D)`,
    `x @ W_O → (T, D) = ${shape(words, width)}`,
  ][stage - 1];
}

const list = (names) =>
  names.length < 2
    ? names.join("")
    : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
const named = (indices) => list(indices.map((i) => WORDS[i]));

// What to see on a side at a stage, in words.
export function tell(stage, made, options) {
  const { words, heads: n, wrongSplit } = options;
  const inHead = made.parts.map((part) =>
    [...new Set(part.flat().map(({ at }) => at[0]))].sort(),
  );
  const all = inHead.every((each) => each.length === words);
  if (stage === 1)
    return "A row for each word. The colours say which head each number was made for.";
  if (stage === 2 && !wrongSplit)
    return "Every row is cut in place. Nothing has moved; the heads stand behind the words.";
  if (stage <= 3) {
    if (all && !wrongSplit)
      return "Every head has one row for each word, and one colour: its own numbers.";
    if (n === 1) return "One head: nothing to mix up. The mistake does not show.";
    const owners = inHead.map(
      (each, i) => `Head ${i} has numbers of ${named(each)} only.`,
    );
    return [...owners, "Words are cut into rows, and colours are mixed."].join(" ");
  }
  if (stage === 4) {
    if (n === 1) return "One head, one table of weights.";
    if (all && !wrongSplit)
      return "Each head shares out its own budget: rows of words by columns of words.";
    return "The tables look healthy, rows sum to 1. But rows and columns are pieces of words, and each output mixes numbers of different heads.";
  }
  const strange = made.merged.some((row, t) => row.some(({ askers }) => askers[t] < 1));
  const lost = made.reach
    .map((each, t) =>
      each.length < words ? `${WORDS[t]} hears only ${named(each)}` : "",
    )
    .filter(Boolean);
  const blind = lost.length ? ` ${lost.join("; ")}.` : "";
  if (stage === 5) {
    if (!strange && !lost.length)
      return "Each row has its word’s outputs of all heads, side by side.";
    return (
      (strange
        ? "Rows hold what other words asked for."
        : "Each row has its own word’s outputs.") + blind
    );
  }
  if (!strange && !lost.length)
    return n === 1
      ? "W_O mixes the numbers."
      : "W_O mixes: every number has something of every head.";
  return `W_O cannot repair it: ${strange ? "what other words asked for stands in the row." : "what was not heard is not there."}${blind}`;
}

const NAMES = ["n_words", "d_model", "n_heads", "stage", "mistake", "word"];

function render({ model, el }) {
  const root = figure(
    el,
    "tfhs",
    "Cutting into heads and merging them, beside the same with a mistake",
  );
  const live = liveRegion();
  const get = (name) => model.get(name);
  const { commit, stop } = bind(model, NAMES, () => update());
  const go = (stage) => commit({ stage: Math.max(1, Math.min(STAGES.length, stage)) });

  const stages = radios(
    "stage",
    "Step",
    STAGES.map((name, i) => `${i + 1} ${name}`),
    0,
    (i) => moves.go(i),
  );
  const moves = player({
    words: ["the first step", "one step back", "one step on", "the last step"],
    at: () => get("stage") - 1,
    last: () => STAGES.length - 1,
    to: (i) => go(i + 1),
    beat: BEAT,
  });
  const mistakes = radios("mistake", "No transpose", MISTAKES, 0, (i) =>
    commit({ mistake: MISTAKES[i] }),
  );
  const whole = { min: 2, max: WORDS.length, step: 1, digits: 0 };
  const count = slider("words", "words T", whole, (x) =>
    commit({ n_words: x, word: Math.min(get("word"), x - 1) }),
  );
  const widths = radios("width", "d_model", WIDTHS.map(String), 0, (i) =>
    commit({ d_model: WIDTHS[i] }),
  );
  const amount = radios(
    "heads",
    "heads H",
    one(MOST_HEADS, 0).map((_, i) => String(i + 1)),
    0,
    (i) => commit({ n_heads: i + 1 }),
  );
  const follow = radios("word", "Frame", ["none", ...WORDS], 0, (i) =>
    commit({ word: i - 1 }),
  );

  const legend = h("p", { class: "tfhs-legend" });
  const sides = ["right", "wrong"].map((side) => {
    const title = h("p", { class: `tfhs-title tfhs-${side}` });
    const code = h("code", { class: "tfhs-code" });
    const board = h("div", { class: "tfhs-board" });
    const note = h("p", { class: "tfhs-note" });
    return {
      side,
      title,
      code,
      board,
      note,
      node: h(
        "section",
        { class: "tfhs-side", "data-side": side },
        title,
        code,
        note,
        board,
      ),
      blocks: [],
      built: "",
    };
  });
  const refusal = h("p", { class: "tfhs-refusal", "data-refusal": true });
  const two = h("div", { class: "tfhs-two" }, ...sides.map((each) => each.node));
  const where = h("p", { class: "tfhs-where" });
  const behind = textTable("The same as a table: the outputs after W_O", "row");
  root.append(
    h(
      "div",
      { class: "tfhs-row" },
      stages.set,
      h("span", { class: "tfhs-steps" }, ...moves.nodes),
    ),
    mistakes.set,
    h(
      "div",
      { class: "tfhs-row" },
      amount.set,
      widths.set,
      h("div", { class: "tfhs-slider" }, count.box),
    ),
    follow.set,
    legend,
    refusal,
    two,
    where,
    behind.node,
    live.node,
  );

  let options = [];
  let shownStage = 0;
  function cellText(block, i, j) {
    const x = block.cells[i][j];
    if (block.kind === "weights")
      return `${block.caption.replace(": weights", "")}: ${block.rows[i]} takes ${format(x)} from ${block.rows[j]}.`;
    const place = `${block.caption && block.caption !== "output" ? `${block.caption}, ` : ""}${block.rows[i]}, number ${block.columns[j]}`;
    if (x.at)
      return `${place}: it is ${format(x.value, 1)}, number ${x.at[1]} of “${WORDS[x.at[0]]}”, made for head ${x.heads.indexOf(1)}.`;
    const shares = x.heads
      .map((share, k) =>
        share > 0.0005 ? `${percent(share, 0)} from numbers of head ${k}` : "",
      )
      .filter(Boolean);
    const askers = x.askers
      .map((share, k) => (share > 0.0005 ? `“${WORDS[k]}”` : ""))
      .filter(Boolean);
    return `${place}: ${format(x.value)}, ${list(shares)}, asked for by ${list(askers)}.`;
  }
  const paint = (shares) => {
    let from = 0;
    const stops = shares
      .map((share, k) => {
        const part = `var(--tfhs-${k}) ${Math.round(100 * from)}% ${Math.round(100 * (from + share))}%`;
        from += share;
        return share > 0.0005 ? part : "";
      })
      .filter(Boolean);
    return stops.length === 1
      ? stops[0].split(" ")[0]
      : `linear-gradient(90deg, ${stops.join(", ")})`;
  };

  function build(each, blocks) {
    const key = JSON.stringify(
      blocks.map(({ kind, caption, rows, columns }) => [kind, caption, rows, columns]),
    );
    if (each.built === key) return;
    each.built = key;
    each.blocks = blocks.map((block, b) => {
      const map = grid(`${each.title.textContent}, ${block.caption || "all numbers"}`, {
        rowAxis: block.rowAxis,
        columnAxis: block.kind === "weights" ? "key" : "number",
        onMove: (i, j) => say(where, cellText(each.blocks[b].shown, i, j)),
      });
      const onto = (event) => {
        const cell = event.target.closest("[data-cell]");
        if (cell)
          say(
            where,
            cellText(each.blocks[b].shown, ...cell.dataset.cell.split("-").map(Number)),
          );
      };
      map.table.addEventListener("pointerover", onto);
      return {
        map,
        node: h(
          "div",
          { class: `tfhs-block tfhs-${block.kind}`, "data-block": b },
          h("p", { class: "tfhs-caption" }, block.caption),
          map.node,
        ),
      };
    });
    each.board.replaceChildren(...each.blocks.map(({ node }) => node));
    each.board.classList.toggle(
      "tfhs-pairs",
      blocks.some(({ kind }) => kind === "weights"),
    );
  }

  function show(each, blocks, stage) {
    const followed = get("word");
    build(each, blocks);
    blocks.forEach((block, b) => {
      const place = each.blocks[b];
      place.shown = block;
      place.map.show({
        rows: block.rows,
        columns: block.columns,
        cell: (i, j) => {
          const x = block.cells[i][j];
          if (block.kind === "weights")
            return {
              text: format(x),
              label: cellText(block, i, j),
              share: x,
              exact: x,
            };
          return {
            text: stage <= 3 ? `${WORDS[x.at[0]][0]}${x.at[1]}` : format(x.value, 1),
            label: cellText(block, i, j),
            exact: x.value,
            mark: followed >= 0 && x.askers[followed] > 0.0005 ? "tfhs-word" : "",
          };
        },
      });
      if (block.kind === "weights") return;
      block.cells.forEach((row, i) =>
        row.forEach((x, j) => {
          const cell = place.map.table.querySelector(`[data-cell="${i}-${j}"]`);
          cell.style.setProperty("--tfhs-paint", paint(x.heads));
          put(cell, {
            "data-heads": x.heads.map((share) => share.toFixed(4)).join(" "),
            "data-id": x.id,
            "data-wave": x.wave,
          });
        }),
      );
    });
  }

  function update(speak = true) {
    const stage = Math.max(1, Math.min(STAGES.length, get("stage")));
    const words = Math.max(2, Math.min(WORDS.length, get("n_words")));
    const width = get("d_model");
    const n = get("n_heads");
    const fits = width % n === 0;
    const mistake = get("mistake");
    stages.pick(stage - 1);
    moves.show();
    mistakes.pick(MISTAKES.indexOf(mistake));
    count.show(words);
    widths.pick(WIDTHS.indexOf(width));
    amount.pick(n - 1);
    follow.pick(get("word") + 1);
    follow.inputs.forEach((input, i) => {
      input.parentElement.hidden = i > words;
    });
    root.style.setProperty("--rows", Math.max(words * (n + 2), n * (words + 2)));
    two.classList.toggle("tfhs-tight", width > 8);

    refusal.hidden = fits;
    two.hidden = !fits;
    legend.hidden = !fits;
    if (!fits) {
      say(
        refusal,
        `ValueError: d_model=${width} must be a positive multiple of n_heads=${n}: each head gets d_model / n_heads dimensions. ` +
          `${width} numbers cannot be shared out among ${n} heads; ${width % n} would be left over.`,
      );
      say(where, "");
      if (speak) live.announce(refusal.textContent);
      return;
    }
    const wrongs = {
      wrongSplit: mistake !== MISTAKES[2],
      wrongMerge: mistake !== MISTAKES[1],
    };
    options = [
      { words, width, heads: n, wrongSplit: false, wrongMerge: false },
      { words, width, heads: n, ...wrongs },
    ];
    const made = options.map(through);
    const each = width / n;
    legend.replaceChildren(
      ...one(n, 0).map((_, k) =>
        h(
          "span",
          { class: "tfhs-key", style: `--tfhs-paint: var(--tfhs-${k})` },
          `head ${k}: numbers ${k * each}${each > 1 ? `–${(k + 1) * each - 1}` : ""}`,
        ),
      ),
    );
    sides.forEach((place, k) => {
      const changed = k === 1 && (stage >= 5 || (stage >= 2 && wrongs.wrongSplit));
      say(place.title, k === 0 ? "Right: transpose" : `Wrong: view, ${mistake}`);
      say(place.code, codeOf(stage, options[k]));
      say(
        place.note,
        k === 1 && !changed
          ? "Still the same as on the right way."
          : tell(stage, made[k], options[k]),
      );
      const before = placesOf(place.board);
      show(place, blocksOf(stage, made[k], options[k]), stage);
      if (stage !== shownStage) travel(place.board, before);
    });
    shownStage = stage;
    if (two.dataset.stage !== String(stage))
      say(
        where,
        "Go over a number, or into a table with Tab and the arrow keys, to see where it comes from.",
      );
    two.dataset.stage = stage;
    two.dataset.made = JSON.stringify(
      made.map((m) => ({
        split: m.parts.map((p) => p.map((r) => r.map((x) => x.value))),
        weights: m.weights,
        heads: m.outputs.map((p) => p.map((r) => r.map((x) => x.value))),
        merged: m.merged.map((r) => r.map((x) => x.value)),
        output: m.output.map((r) => r.map((x) => x.value)),
      })),
    );
    behind.show(
      Array.from({ length: width }, (_, c) => String(c)),
      made.flatMap((m, k) =>
        m.output.map((row, t) => [
          `${k ? "wrong" : "right"}: ${WORDS[t]}`,
          ...row.map((x) => format(x.value)),
        ]),
      ),
    );
    if (speak && !moves.playing())
      live.announce(
        `Step ${stage}, ${STAGES[stage - 1]}. Right: ${sides[0].note.textContent} Wrong: ${sides[1].note.textContent}`,
      );
  }

  update(false);
  return () => {
    moves.stop();
    live.stop();
    stop();
  };
}

export default { render };
