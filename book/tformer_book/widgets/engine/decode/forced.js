// Forced decoding: how probable does the model find a translation that is given?
import { logSoftmax } from "../tensor.js";
import { checkCall } from "./stepping.js";

// log p(y) = Σ_t log p(y_t | y_<t, x), all positions in one masked pass.
//
// targetIds: pieces without special ids. Returns { ids, logProbabilities (of each piece
// and of eos), logProbability (their sum), logP: a `Tensor` (1, T, V) of all pieces }.
export function score(model, sourceIds, targetIds) {
  const { bos_id, eos_id, pad_id, max_len } = model.config;
  checkCall(model, sourceIds, 1);
  const special = targetIds.find((id) => [bos_id, eos_id, pad_id].includes(id));
  if (special !== undefined)
    throw new RangeError(
      `id ${special} is special: give the pieces of a translation alone`,
    );
  if (targetIds.length >= max_len)
    throw new RangeError(
      `a translation of ${targetIds.length} pieces is too long: the model takes ${max_len - 1}`,
    );
  const logP = logSoftmax(model.call([sourceIds], [[bos_id, ...targetIds]]));
  const width = logP.shape[2];
  const labels = [...targetIds, eos_id];
  const logProbabilities = labels.map((id, t) => logP.data[t * width + id]);
  const logProbability = logProbabilities.reduce((a, b) => a + b, 0);
  return { ids: targetIds, logProbabilities, logProbability, logP };
}
