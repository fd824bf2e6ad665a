// Inputs and labels, cut out of one row: what each place would be taught. All of the logic
// of the figure; the tests hold it to Python's own slices.
const [BOS, EOS, PAD] = ["⟨bos⟩", "⟨eos⟩", "⟨pad⟩"];
export const CUTS = ["[:, :-1]", "[:, 1:]", "[:, :]"];

// Bos, pieces, eos, and padding up to the longest.
export function rectangle(rows) {
  const width = 2 + Math.max(...rows.map((row) => row.length));
  const padding = (row) => Array(width - row.length - 2).fill(PAD);
  return rows.map((row) => [BOS, ...row, EOS, ...padding(row)]);
}

export const begin = (cut) => (cut === CUTS[1] ? 1 : 0);
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
  if (!found) {
    const [inputs, labels] = [state.inputs, state.labels].map(
      (cut) => sliced(rectangle(state.rows)[0], cut).length,
    );
    return [
      `The input has ${inputs} columns, the labels have ${labels}: the loss stops with an error. That is the best that can happen to a wrong cut.`,
    ];
  }
  const all = found.flat();
  const padding = all.filter(({ kind }) => kind === "padding").length;
  const isTaught = (kind) => all.some((place) => place.kind === kind);
  const endless = found.filter((row) => !row.some(({ says }) => says === EOS)).length;
  const who = endless === found.length ? "No row is" : "The longest row is never";
  const kept = all.filter(({ reads }) => reads === EOS);
  return [
    isTaught("next") &&
      "Each place must say the piece that follows what it has read. That is right.",
    isTaught("copy") &&
      "Each place must say what it has just read. The loss falls to nearly 0, and a model that writes alone can only repeat its last piece.",
    isTaught("before") &&
      "Each place must say the piece before the one it reads, which it has seen: so it copies. The loss falls, and nothing is learned about what comes next.",
    all.some(({ says }) => says === BOS) && "⟨bos⟩ is asked for, which nobody needs.",
    !all.some(({ reads }) => reads === BOS) &&
      "No input has ⟨bos⟩, so in use there is nothing to begin with.",
    endless && `${who} asked for ⟨eos⟩: so it does not learn to stop.`,
    kept.length &&
      kept.every(({ kind }) => kind === "left out") &&
      "⟨eos⟩ stays in the input of the short row. Its label is padding and left out, so it does no harm.",
    padding &&
      `${padding} of ${all.length} labels are ⟨pad⟩, and they count: the model learns to say ⟨pad⟩ after the end, and its loss looks better than it is.`,
  ].filter(Boolean);
}

export const isRight = (found) =>
  Boolean(found?.flat().every(({ kind }) => kind === "next" || kind === "left out"));
