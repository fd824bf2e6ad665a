// Masks: who may attend to whom; 1 = may attend. Chapter *Masks*.
//
// A mask is bytes with a shape that broadcasts to (B, Tq, Tk). Ids are rows of numbers,
// all of one length, padded on the right.

const maskOf = (shape, data) => ({ shape, data: Uint8Array.from(data) });

// mask[i, j] = (j <= i)
export function causalMask(length) {
  const data = Array.from({ length: length ** 2 }, (_, k) => k % length <= k / length);
  return maskOf([1, length, length], data);
}

// mask[b, 0, j] = (ids[b][j] != padId): hides padded keys, never queries
export function paddingMask(ids, padId) {
  return maskOf(
    [ids.length, 1, ids[0].length],
    ids.flat().map((id) => id !== padId),
  );
}

// For the encoder and for cross-attention: every real source token is seen.
export const sourceMask = paddingMask;

// mask[b, i, j] = (j <= i) & (ids[b][j] != padId): no future, no padding
export function targetMask(ids, padId) {
  const wrong = ids.findIndex((row) => row[0] === padId);
  if (wrong >= 0)
    throw new RangeError(
      `row ${wrong} of the target begins with pad_id=${padId}: its first position would ` +
        "see nothing; pad on the right",
    );
  const length = ids[0].length;
  const causal = causalMask(length).data;
  const data = ids.flatMap((row) =>
    Array.from(causal, (seen, k) => seen && row[k % length] !== padId),
  );
  return maskOf([ids.length, length, length], data);
}

// Throw unless ids are rows of one length, in range, with a visible token in each.
export function checkIds(ids, { vocab_size, pad_id }) {
  const length = ids?.[0]?.length;
  if (!length || ids.some((row) => row.length !== length))
    throw new RangeError("token ids must be rows of one length, at least 1: pad them");
  const isPiece = (id) => Number.isInteger(id) && id >= 0 && id < vocab_size;
  for (const [number, row] of ids.entries()) {
    const wrong = row.findIndex((id) => !isPiece(id));
    if (wrong >= 0)
      throw new RangeError(
        `token id ${row[wrong]} is outside the vocabulary 0…${vocab_size - 1}: ` +
          "was the text encoded by a different tokenizer?",
      );
    if (row.every((id) => id === pad_id))
      throw new RangeError(
        `row ${number} has no visible token: all its ids are pad_id=${pad_id}. ` +
          "Attention over nothing is undefined; remove the row",
      );
  }
}
