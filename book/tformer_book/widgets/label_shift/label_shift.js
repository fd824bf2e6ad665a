// Inputs and labels, cut out of one row: what each place would be taught.
// `rectangle`, `lessons` and `explain` are all of the logic; they run in Node, and the
// tests hold them to Python's own slices.
import { within } from "../kit/arrows.js";
import {
  bind,
  choice,
  figure,
  h,
  liveRegion,
  put,
  radios,
  say,
  textTable,
  toggle,
} from "../kit/kit.js";
import { player } from "../kit/player.js";

const [BOS, EOS, PAD] = ["⟨bos⟩", "⟨eos⟩", "⟨pad⟩"];
export const CUTS = ["[:, :-1]", "[:, 1:]", "[:, :]"];
const NAMES = {
  "[:, :-1]": "[:, :−1]",
  "[:, 1:]": "[:, 1:]",
  "[:, :]": "[:, :] (all)",
};
const SIGNS = {
  next: "✓ next",
  copy: "✗ copy",
  before: "✗ before",
  "left out": "– left out",
  padding: "✗ padding",
};

// Bos, pieces, eos, and padding up to the longest.
export function rectangle(rows) {
  const width = 2 + Math.max(...rows.map((row) => row.length));
  return rows.map((row) => [
    BOS,
    ...row,
    EOS,
    ...Array(width - row.length - 2).fill(PAD),
  ]);
}

const begin = (cut) => (cut === CUTS[1] ? 1 : 0);
export const sliced = (row, cut) =>
  row.slice(begin(cut), cut === CUTS[0] ? -1 : undefined);

// For each row its places { reads, says, kind }; null where the widths differ.
export function lessons({ rows, inputs, labels, ignore }) {
  const what = { 1: "next", 0: "copy", "-1": "before" }[begin(labels) - begin(inputs)];
  const whole = rectangle(rows);
  if (sliced(whole[0], inputs).length !== sliced(whole[0], labels).length) return null;
  return whole.map((row) => {
    const says = sliced(row, labels);
    return sliced(row, inputs).map((reads, t) => ({
      reads,
      says: says[t],
      kind: says[t] === PAD ? (ignore ? "left out" : "padding") : what,
    }));
  });
}

// What becomes of a model that is taught so, in words.
export function explain(state) {
  const found = lessons(state);
  const width = (cut) => sliced(rectangle(state.rows)[0], cut).length;
  if (!found) {
    return [
      `The input has ${width(state.inputs)} columns, the labels have ${width(state.labels)}: the loss stops with an error. That is the best that can happen to a wrong cut.`,
    ];
  }
  const all = found.flat();
  const kinds = all.map((place) => place.kind);
  const said = [];
  if (kinds.includes("next"))
    said.push(
      "Each place must say the piece that follows what it has read. That is right.",
    );
  if (kinds.includes("copy")) {
    said.push(
      "Each place must say what it has just read. The loss falls to nearly 0, and a model that writes alone can only repeat its last piece.",
    );
  }
  if (kinds.includes("before")) {
    said.push(
      "Each place must say the piece before the one it reads, which it has seen: so it copies. The loss falls, and nothing is learned about what comes next.",
    );
  }
  if (all.some((place) => place.says === BOS))
    said.push("⟨bos⟩ is asked for, which nobody needs.");
  if (!all.some((place) => place.reads === BOS))
    said.push("No input has ⟨bos⟩, so in use there is nothing to begin with.");
  const ends = found.filter((row) => !row.some((place) => place.says === EOS)).length;
  if (ends)
    said.push(
      `${ends === found.length ? "No row" : "The longest row"} is ${ends === found.length ? "" : "never "}asked for ⟨eos⟩: so it does not learn to stop.`,
    );
  const kept = all.filter((place) => place.reads === EOS).length;
  const harmless = all.filter(
    (place) => place.reads === EOS && place.kind === "left out",
  ).length;
  if (kept && kept === harmless)
    said.push(
      "⟨eos⟩ stays in the input of the short row. Its label is padding and left out, so it does no harm.",
    );
  const counted = kinds.filter((kind) => kind === "padding").length;
  if (counted)
    said.push(
      `${counted} of ${all.length} labels are ⟨pad⟩, and they count: the model learns to say ⟨pad⟩ after the end, and its loss looks better than it is.`,
    );
  return said;
}

// From two whole rows to inputs and labels that stand one place apart.
const STEPS = [
  [CUTS[2], CUTS[2]],
  [CUTS[0], CUTS[2]],
  [CUTS[0], CUTS[1]],
];
const BEAT = 1400; // ms between two steps while it plays
const stepOf = ({ inputs, labels }) =>
  STEPS.findIndex(([first, second]) => first === inputs && second === labels);

// One sentence as two ribbons of pieces, the labels under the input. A cut that takes the
// first piece away moves its ribbon one place to the left.
function ribbonOf(whole, k, words) {
  const slots = whole.length + 1; // one more, for what is cut away in front
  const ribbon = (name) => {
    const tiles = whole.map((piece) => h("span", { class: "tfls-tile" }, piece));
    const node = h("div", { class: `tfls-ribbon tfls-${name}` }, ...tiles);
    return { tiles, node };
  };
  const [reads, says] = [ribbon("reads"), ribbon("says")];
  const kinds = whole.map(() => h("span"));
  const line = (name, ...nodes) =>
    h(
      "div",
      { class: "tfls-line" },
      h("span", { class: "tfls-what" }, name),
      h("div", { class: "tfls-track" }, ...nodes),
    );
  const places = whole.map((_, t) => h("span", {}, String(t)));
  const picture = h(
    "div",
    { class: "tfls-picture", role: "img" },
    line("place", h("div", { class: "tfls-ribbon tfls-places" }, ...places)),
    line("reads", reads.node),
    line("must say", says.node),
    line("teaches", h("div", { class: "tfls-ribbon tfls-kind" }, ...kinds)),
  );
  picture.style.setProperty("--slots", String(slots));
  picture.style.setProperty("--pieces", String(whole.length));
  const node = h(
    "div",
    { "data-row": k },
    h("p", { class: "tfls-name" }, `row ${k}: ${words}`),
    picture,
  );

  function show({ inputs, labels }, row) {
    for (const [{ node: moved, tiles }, cut] of [
      [reads, inputs],
      [says, labels],
    ]) {
      moved.style.setProperty("--begin", String(begin(cut)));
      tiles.forEach((tile, i) =>
        put(tile, {
          "data-gone": (cut === CUTS[0] && i === whole.length - 1) || i < begin(cut),
        }),
      );
    }
    says.tiles.forEach((tile, i) => {
      put(tile, { "data-kind": row?.[i - begin(labels)]?.kind });
    });
    kinds.forEach((each, t) => {
      say(each, row ? (SIGNS[row[t]?.kind] ?? "") : "error");
      put(each, { "data-kind": row ? row[t]?.kind : "error" });
    });
    places.forEach((each, t) => {
      put(each, { "data-gone": row ? t >= row.length : false });
    });
    put(picture, {
      "aria-label": row
        ? `${words}. ${row.map(({ reads: read, says: must, kind }) => `Reads ${read}, must say ${must}: ${kind}`).join(". ")}.`
        : `${words}. Input and labels differ in width: an error.`,
    });
  }
  return { node, show };
}

function render({ model, el }) {
  const root = figure(el, "tfls", "Inputs and labels cut out of one row");
  const state = () => ({
    rows: model.get("rows"),
    inputs: model.get("inputs"),
    labels: model.get("labels"),
    ignore: model.get("ignore_padding"),
  });
  const live = liveRegion();
  const { commit, stop } = bind(
    model,
    ["rows", "inputs", "labels", "ignore_padding"],
    () => update(),
  );

  const cut = (changes) => {
    walk.stop();
    commit(changes);
  };
  const shown = CUTS.map((cut) => NAMES[cut]);
  const inputs = radios("inputs", "input = whole", shown, 0, (i) =>
    cut({ inputs: CUTS[i] }),
  );
  const labels = radios("labels", "labels = whole", shown, 1, (i) =>
    cut({ labels: CUTS[i] }),
  );
  const ignore = toggle("ignore", "labels ⟨pad⟩ stay out of the loss", true, (on) =>
    commit({ ignore_padding: on }),
  );
  const walk = player({
    words: [
      "To the uncut rows",
      "One cut back",
      "One cut forward",
      "To the right pair of cuts",
    ],
    at: () => stepOf(state()),
    last: () => STEPS.length - 1,
    to: (i) => {
      const [first, second] = STEPS[within(i, STEPS.length)];
      commit({ inputs: first, labels: second });
    },
    beat: BEAT,
  });
  const ribbons = h("div", { class: "tfls-ribbons" });
  const said = h("p", { class: "tfls-said" });
  const behind = textTable("The places as a table", "place");
  root.append(
    h("div", { class: "tfls-steps" }, ...walk.nodes),
    inputs.set,
    labels.set,
    choice("loss", ignore.box),
    ribbons,
    said,
    behind.node,
    live.node,
  );

  let built = "";
  let rowsShown = [];
  function build(rows) {
    const key = JSON.stringify(rows);
    if (key === built) return;
    built = key;
    rowsShown = rectangle(rows).map((whole, k) =>
      ribbonOf(whole, k, rows[k].join(" ")),
    );
    ribbons.replaceChildren(...rowsShown.map(({ node }) => node));
  }

  function update(speak = true) {
    const s = state();
    inputs.pick(CUTS.indexOf(s.inputs));
    labels.pick(CUTS.indexOf(s.labels));
    ignore.input.checked = s.ignore;
    const found = lessons(s);
    build(s.rows);
    rowsShown.forEach((ribbon, k) => ribbon.show(s, found?.[k]));
    walk.show();
    behind.show(
      s.rows.flatMap((_, k) => [`${k}: reads`, "must say", "teaches"]),
      (found?.[0] ?? []).map((_, t) => [
        String(t),
        ...found.flatMap((row) => [row[t].reads, row[t].says, SIGNS[row[t].kind]]),
      ]),
    );
    const text = explain(s).join(" ");
    say(said, text);
    put(said, {
      "data-right": found
        ?.flat()
        .every(({ kind }) => kind === "next" || kind === "left out")
        ? "true"
        : "false",
    });
    if (speak) live.announce(text);
  }
  update(false);
  return () => {
    walk.stop();
    live.stop();
    stop();
  };
}

export default { render };
