// Inputs and labels, cut out of one row: what each place would be taught.
// `rectangle`, `lessons` and `explain` are all of the logic; they run in Node, and the
// tests hold them to Python's own slices.
import {
  bind,
  choice,
  figure,
  h,
  liveRegion,
  put,
  radios,
  say,
  toggle,
} from "../kit/kit.js";

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

  const shown = CUTS.map((cut) => NAMES[cut]);
  const inputs = radios("inputs", "input = whole", shown, 0, (i) =>
    commit({ inputs: CUTS[i] }),
  );
  const labels = radios("labels", "labels = whole", shown, 1, (i) =>
    commit({ labels: CUTS[i] }),
  );
  const ignore = toggle("ignore", "labels ⟨pad⟩ stay out of the loss", true, (on) =>
    commit({ ignore_padding: on }),
  );
  const tables = h("div", { class: "tfls-tables" });
  const said = h("p", { class: "tfls-said" });
  root.append(
    inputs.set,
    labels.set,
    choice("loss", ignore.box),
    tables,
    said,
    live.node,
  );

  const line = (name, cells, kind = "") =>
    h("tr", { class: kind }, h("th", { scope: "row" }, name), ...cells);
  function table(whole, row, k, s) {
    const places = row?.length ?? 0;
    const struck = (cut) =>
      whole.map((piece, i) => {
        const gone =
          (cut === CUTS[0] && i === whole.length - 1) || (cut === CUTS[1] && i === 0);
        return h(
          "td",
          { class: gone ? "tfls-gone" : "" },
          gone ? h("del", {}, piece) : piece,
        );
      });
    const heading = h("p", { class: "tfls-name" }, `row ${k}: `, s.rows[k].join(" "));
    if (!row) {
      return h(
        "div",
        { "data-row": k },
        heading,
        h(
          "div",
          {
            class: "tfk-scroll",
            tabindex: 0,
            role: "region",
            "aria-label": `row ${k}`,
          },
          h(
            "table",
            {},
            h(
              "tbody",
              {},
              line("input", struck(s.inputs), "tfls-reads"),
              line("labels", struck(s.labels), "tfls-says"),
              line(
                "teaches",
                whole.map(() => h("td", {}, "error")),
                "tfls-kind",
              ),
            ),
          ),
        ),
      );
    }
    return h(
      "div",
      { "data-row": k },
      heading,
      h(
        "div",
        { class: "tfk-scroll", tabindex: 0, role: "region", "aria-label": `row ${k}` },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col" }, "place"),
              ...Array.from({ length: places }, (_, t) =>
                h("th", { scope: "col" }, String(t)),
              ),
            ),
          ),
          h(
            "tbody",
            {},
            line(
              "reads",
              row.map(({ reads }) => h("td", {}, reads)),
              "tfls-reads",
            ),
            line(
              "must say",
              row.map(({ says, kind }) => h("td", { "data-kind": kind }, says)),
              "tfls-says",
            ),
            line(
              "teaches",
              row.map(({ kind }) => h("td", { "data-kind": kind }, SIGNS[kind])),
              "tfls-kind",
            ),
          ),
        ),
      ),
    );
  }

  function update(speak = true) {
    const s = state();
    inputs.pick(CUTS.indexOf(s.inputs));
    labels.pick(CUTS.indexOf(s.labels));
    ignore.input.checked = s.ignore;
    const found = lessons(s);
    tables.replaceChildren(
      ...rectangle(s.rows).map((whole, k) => table(whole, found?.[k], k, s)),
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
    live.stop();
    stop();
  };
}

export default { render };
