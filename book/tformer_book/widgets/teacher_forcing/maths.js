// Teacher forcing and decoding, position by position: all of the logic of the figure; the
// tests hold it to `tformer.decode`.
const SAME = 1e-3; // how far the engine rounds: a change below this is none

// Position by position: what both read, what they say, how probable it is.
//   positions  of the given translation (`Translator.score`); steps of greedy search
//   before     positions of the translation that was given before, or null
// -> [{ reads, label, p, best, agrees, moved (see there), own: null or { reads, piece, p },
//       same: whether both have read the same so far }]
export function align(positions, steps, before = null) {
  const taken = steps.map(({ candidates: [each], hypotheses: [from] }) => ({
    ...each,
    p: Math.exp(each.logProbability - from.logProbability),
  }));
  const length = Math.max(positions.length, taken.length);
  const shifts = before ? moved(before, positions) : [];
  let same = true;
  return Array.from({ length }, (_, t) => {
    const given = positions[t];
    const mine = taken[t];
    const row = {
      reads: given && (t ? positions[t - 1].piece : "<s>"),
      label: given?.piece,
      p: given && Math.exp(given.logProbability),
      best: given?.next[0].piece,
      agrees: given && given.next[0].id === given.id,
      moved: shifts[t] ?? null,
      own: mine ? { reads: t ? taken[t - 1].piece : "<s>", ...choiceOf(mine) } : null,
      same: same && Boolean(given && mine),
    };
    same = row.same && given.id === mine.id;
    return row;
  });
}

const choiceOf = ({ piece, p }) => ({ piece, p });

// How far the next piece's distribution moved at each position: the largest change of a
// probability, or the least that it can be where one of the two does not show it. Null
// where there was no such position.
export function moved(before, after) {
  return after.map(({ next }, t) => {
    if (!before[t]) return null;
    const [was, is] = [before[t].next, next].map(
      (list) => new Map(list.map((each) => [each.id, each.probability])),
    );
    const change = (list, [id, p]) =>
      list.has(id) ? Math.abs(p - list.get(id)) : p - Math.min(...list.values());
    const largest = Math.max(
      ...[...is].map((each) => change(was, each)),
      ...[...was].map((each) => change(is, each)),
    );
    return largest < SAME ? 0 : largest;
  });
}

// Where the two first say different pieces; -1: nowhere.
export const splitOf = (rows) => rows.findIndex((row) => row.own?.piece !== row.label);

// Where the model first takes another piece than the teacher; the end, if it never does.
export function parting(rows) {
  const at = splitOf(rows);
  return at < 0 ? rows.length - 1 : at;
}

// Which pieces stand on the trunk, and which on either branch: { position, piece, wrote, p },
// where `wrote` is the model's own choice there if that is another piece. `split` is where
// the two first differ, or -1.
export function laid(rows, split) {
  const end = split < 0 ? rows.length : split;
  const given = rows.flatMap(({ label, best, agrees, p }, position) =>
    label === undefined
      ? []
      : [{ position, piece: label, p, wrote: agrees ? null : best }],
  );
  const own = rows.flatMap(({ own: each }, position) =>
    each ? [{ position, piece: each.piece, p: each.p, wrote: null }] : [],
  );
  return { trunk: given.slice(0, end), teacher: given.slice(end), own: own.slice(end) };
}
