// What every way to decode shares: growing hypotheses of one sentence, step by step.
import { checkIds, sourceMask } from "../masks.js";
import { last, logSoftmax, select } from "../tensor.js";

// tokens: one row per hypothesis, bos and the pieces so far.
export class Stepper {
  constructor(model, sourceIds, useCache) {
    const { config } = model;
    this.model = model;
    this.memory = model.encode([sourceIds]);
    this.sourceMask = sourceMask([sourceIds], config.pad_id); // broadcasts over rows
    this.cache = useCache ? model.newCache() : null;
    this.tokens = [[config.bos_id]];
    this.never = [config.pad_id, config.bos_id, config.unk_id];
  }

  // Pieces in each hypothesis.
  get length() {
    return this.tokens[0].length - 1;
  }

  // (rows, 1, V) log p of each next piece; -Infinity for what is never chosen.
  logProbabilities() {
    const { model, cache } = this;
    const tokens = cache ? this.tokens.map((row) => row.slice(-1)) : this.tokens;
    const hidden = model.decode(tokens, this.memory, this.sourceMask, cache);
    const logits = model.unembed(last(hidden));
    const logP = logSoftmax(logits, logits);
    for (let i = 0; i < logP.data.length; i += model.config.vocab_size) {
      for (const id of this.never) logP.data[i + id] = -Infinity;
    }
    return logP;
  }

  // Keep these rows, in this order, each with one more piece.
  extend(rows, pieces) {
    const sameSources = rows.length === this.tokens.length; // all translate one sentence
    this.tokens = rows.map((row, i) => [...this.tokens[row], pieces[i]]);
    if (!sameSources) this.memory = select(this.memory, rows);
    this.cache?.select(rows, sameSources);
  }
}

// Check what came in; return the longest translation that also fits the model.
//
// prefix: ids that the translation has to begin with; eos, as the last, ends it.
export function checkCall({ config }, sourceIds, maxLen, prefix = []) {
  checkIds([sourceIds], config);
  if (!(maxLen >= 1)) throw new RangeError(`maxLen=${maxLen} must be at least 1`);
  const longest = Math.min(maxLen, config.max_len - 1);
  const { vocab_size, pad_id, bos_id, unk_id, eos_id } = config;
  const special = [pad_id, bos_id, unk_id, eos_id];
  const pieces = prefix.at(-1) === eos_id ? prefix.slice(0, -1) : prefix;
  const bad = pieces.find(
    (id) => !(id >= 0 && id < vocab_size) || special.includes(id),
  );
  if (bad !== undefined)
    throw new RangeError(`a translation cannot begin with id ${bad}: give pieces`);
  if (pieces.length > longest)
    throw new RangeError(
      `a beginning of ${pieces.length} pieces is too long: ${longest} are allowed`,
    );
  return longest;
}

// Run a search to its end; its result.
export function drain(steps) {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
