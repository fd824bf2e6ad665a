// Six words in four kinds of model: which of them may each word see, and what must it
// name? `sights` is all of the rules and runs in Node; the tests hold it to the masks of
// the package.

import { grid } from "../kit/grid.js";
import { bind, figure, h, radios, say } from "../kit/kit.js";

const SOURCE = ["The", "dog", "sleeps"];
const TARGET = ["Der", "Hund", "schläft"];
const N = SOURCE.length;
const GAP = "⟨mask⟩";

// In the order of the chips. `sees(i, j)` is "" where the word in row i may not see the
// one in column j, else by which attention it does.
const KINDS = [
  {
    name: "encoder-only",
    words: ["The", GAP, "sleeps", "Der", "Hund", GAP],
    names: ["", "dog", "", "", "", "schläft"],
    sees: () => "self",
    says: "As BERT: everything is seen, both ways. Some words are hidden, and named in their places.",
  },
  {
    name: "decoder-only",
    words: [...SOURCE, ...TARGET],
    names: ["dog", "sleeps", ...TARGET, "⟨eos⟩"],
    sees: (i, j) => (j <= i ? "self" : ""),
    says: "As GPT: only what came before is seen. Each word names the next one.",
  },
  {
    name: "prefix",
    words: [...SOURCE, ...TARGET],
    names: ["", "", ...TARGET, "⟨eos⟩"],
    sees: (i, j) => (j <= i || j < N ? "self" : ""),
    says: "One stack with a given beginning: that is seen both ways, the rest as by GPT.",
  },
  {
    name: "encoder–decoder",
    words: [...SOURCE, "⟨bos⟩", "Der", "Hund"],
    names: ["", "", "", ...TARGET],
    sees: (i, j) => {
      if (j < N) return i < N ? "self" : "cross";
      return j <= i ? "self" : "";
    },
    says: "As in the paper: two stacks. The lower left is cross-attention, everything else self-attention.",
  },
];

export const sights = () =>
  KINDS.map(({ name, words, names, sees }) => ({
    name,
    words,
    names,
    sees: words.map((_, i) => words.map((__, j) => sees(i, j))),
  }));

function render({ model, el }) {
  const root = figure(el, "tfw", "Who sees whom in four kinds of model");
  const { commit, stop } = bind(model, ["kind"], () => update());
  const kind = () => KINDS[model.get("kind")];
  const chips = radios(
    "kind",
    "Kind",
    KINDS.map(({ name }) => name),
    model.get("kind"),
    (i) => commit({ kind: i }),
  );
  const map = grid("Who may see whom", {
    rowAxis: "who sees",
    columnAxis: "what is seen",
    onMove: (i) => say(where, sentence(i)),
  });
  const about = h("p", { class: "tfw-about" });
  const where = h("p", { class: "tfw-where", "aria-live": "polite" });
  root.append(chips.set, about, map.node, where);

  function sentence(i) {
    const { words, names, sees } = kind();
    const seen = words.filter((_, j) => sees(i, j));
    const task = names[i] ? `must name ${names[i]}` : "has nothing to name";
    return `“${words[i]}” sees ${seen.join(", ")}; it ${task}.`;
  }

  function update() {
    const { words, names, sees, says } = kind();
    chips.pick(model.get("kind"));
    say(about, says);
    map.show({
      rows: words,
      columns: words,
      extra: ["must name"],
      beside: (i) => [names[i] ? `→ ${names[i]}` : "–"],
      cell: (i, j) => {
        const how = sees(i, j);
        return {
          text: { self: "●", cross: "◆" }[how] ?? "",
          label: how
            ? `${words[i]} sees ${words[j]} by ${how}-attention`
            : `${words[i]} may not see ${words[j]}`,
          share: { self: 0.35, cross: 0.9 }[how] ?? 0,
          off: !how,
          exact: how,
        };
      },
    });
    say(where, sentence(map.at()[0]));
  }

  update();
  return stop;
}

export default { render };
