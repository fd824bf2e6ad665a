// A model and its tokenizer: text in, text out. Chapter *Training*.
import { beamSteps } from "./decode/beam.js";
import { greedy, greedySteps, sampleSteps } from "./decode/choosing.js";
import { score } from "./decode/forced.js";
import { USUAL } from "./decode/settings.js";
import { drain } from "./decode/stepping.js";
import { journey } from "./journey.js";
import { transplants } from "./patching.js";
import { cosines, lengths, rowOf } from "./stream.js";
import { best, logSoftmax } from "./tensor.js";
import { allHeads, attentionWeights, residualStream, setHeadGains } from "./trace.js";

const SEARCHES = { greedy: greedySteps, sample: sampleSteps, beam: beamSteps };
const SHOWN = 8; // next pieces that a step tells of, unless told

export class Translator {
  constructor(model, tokenizer, kernel = null) {
    const { vocab_size } = model.config;
    if (tokenizer.vocabSize !== vocab_size)
      throw new RangeError(
        `the model has vocab_size=${vocab_size}, the tokenizer ${tokenizer.vocabSize}: ` +
          "they were not trained together",
      );
    this.model = model;
    this.tokenizer = tokenizer;
    this.kernel = kernel; // the name of what multiplies
  }

  // Pieces + eos of one text, checked: what the encoder reads.
  encode(text) {
    const ids = this.tokenizer.encode(text);
    const { max_len, eos_id } = this.model.config;
    if (!ids.length)
      throw new RangeError(
        "there is nothing to translate yet: type an English sentence",
      );
    if (ids.length >= max_len)
      throw new RangeError(
        `the text beginning “${text.slice(0, 40)}” has ${ids.length} pieces, the model takes ` +
          `${max_len - 1}: split it into sentences`,
      );
    return [...ids, eos_id];
  }

  // Translate one text by beam search.
  translate(text, options) {
    return drain(this.steps(text, options)).text;
  }

  // A search, step by step. options: search "beam" (else "greedy", "sample"), its own
  // options, `shown` (next pieces to tell of), `gains` (see `setHeadGains`), `prefix`
  // (pieces that the translation has to begin with; "</s>" after them ends it).
  //
  // Yields what the search yields, with pieces, texts and probabilities in place of
  // whole distributions; returns { text, hypotheses: the found ones, the best first }.
  *steps(
    text,
    { search = USUAL.search, shown = SHOWN, gains = [], prefix = [], ...options } = {},
  ) {
    if (!SEARCHES[search])
      throw new RangeError(
        `search "${search}" is none of ${Object.keys(SEARCHES).join(", ")}`,
      );
    const sourceIds = this.encode(text);
    const given = { ...options, prefix: this.#idsOf(prefix) };
    const undo = setHeadGains(this.model, gains);
    try {
      const steps = SEARCHES[search](this.model, sourceIds, given);
      let step = steps.next();
      for (; !step.done; step = steps.next()) yield this.#shown(step.value, shown);
      const hypotheses = step.value.map((each) => this.#spelled(each));
      return { text: hypotheses[0]?.text ?? "", hypotheses };
    } finally {
      undo();
    }
  }

  // The n best translations of a beam search: [{ ids, pieces, text, logProbability,
  // score }], the best first.
  nBest(text, options) {
    return drain(this.steps(text, options)).hypotheses;
  }

  // How probable the model finds a given translation, a text or its pieces: log p of
  // each piece and of eos, their sum, and at each position the pieces it would have preferred.
  score(text, translation, { shown = SHOWN, gains = [] } = {}) {
    const { model, tokenizer } = this;
    const { vocab_size, eos_id } = model.config;
    const given = [this.encode(text), this.#idsOf(translation)];
    const found = this.#scaled(gains, () => score(model, ...given));
    const positions = found.logProbabilities.map((logProbability, t) => {
      const id = found.ids[t] ?? eos_id;
      const next = this.#next(rowOf(found.logP.data, t, vocab_size), shown);
      return { id, piece: tokenizer.idToPiece(id), logProbability, next };
    });
    return { positions, logProbability: found.logProbability };
  }

  // What a translation, a text or its pieces, owes to each head: all of them are knocked
  // out in turn, each alone, and the translation is scored without it.
  //
  // Yields { site, layer, head, logProbability, done, of } for each; returns { whole: the
  // log p with all heads, pieces: how many count, eos with them, heads: all that it yielded }.
  *damage(text, translation) {
    const { model } = this;
    const sourceIds = this.encode(text);
    const ids = this.#idsOf(translation);
    const whole = score(model, sourceIds, ids).logProbability;
    const all = allHeads(model.config);
    const heads = [];
    for (const head of all) {
      const alone = [{ ...head, gain: 0 }];
      const without = this.#scaled(alone, () => score(model, sourceIds, ids));
      const { logProbability } = without;
      heads.push({ ...head, logProbability, done: heads.length + 1, of: all.length });
      yield heads.at(-1);
    }
    return { whole, pieces: ids.length + 1, heads };
  }

  // What each state of another text would change in the translation of this one; see
  // `transplants` in patching.js. Yields and returns { sourcePieces, donorPieces, text and
  // other: both translations, cells: [{ depth, position, moved, text }], of }.
  *transplants(text, donor) {
    const ids = [text, donor].map((each) => this.encode(each));
    const [sourcePieces, donorPieces] = ids.map((each) => this.#pieces(each));
    const spelled = (/** @type {number[]} */ each) => this.tokenizer.decode(each);
    const told = ({ translation, other, cells, of }) => ({
      sourcePieces,
      donorPieces,
      text: spelled(translation),
      other: spelled(other),
      cells: cells.map(({ ids, ...cell }) => ({ ...cell, text: spelled(ids) })),
      of,
    });
    const steps = transplants(this.model, ...ids);
    let step = steps.next();
    for (; !step.done; step = steps.next()) yield told(step.value);
    return told(step.value);
  }

  // Every attention weight of the forward pass that scores a translation, a text or its
  // pieces, by default the model's own. encoder (L, H, S, S), decoder (L, H, T, T), cross (L, H, T, S).
  attention(text, translation = null, { gains = [] } = {}) {
    const { source, target, said } = this.#along(text, translation, gains);
    const maps = this.#scaled(gains, () =>
      attentionWeights(this.model, [source], [target]),
    );
    for (const map of Object.values(maps)) map.shape = map.shape.slice(1); // B = 1
    return { ...said, ...maps };
  }

  // The residual stream on its way through the model, at every position, while it scores
  // a translation, a text or its pieces; by default the model's own.
  //
  // encoder and decoder list the parts that add to it: { name, length: of the stream
  // behind the part, added: the length of what it adds, cosine: of the angle between that
  // and the stream it found, next, followed }, each with an entry for each position. next
  // holds [piece, number] pairs, the largest first. In the decoder the number is the
  // probability that the stream, as it is there, would give the next piece: last norm,
  // table, softmax; `followed` is that of the piece that wins in the end. In the encoder,
  // which never has to say a piece, it is the cosine with a row of the table, and
  // `followed` that with the row of the position's own piece.
  stream(text, translation = null, { shown = 5 } = {}) {
    const { model, tokenizer } = this;
    const { norm, vocab_size } = model.config;
    const { source, target, said } = this.#along(text, translation);
    const { encoder, decoder } = residualStream(model, [source], [target]);
    const { weight } = model.sourceEmbedding.table;
    const alike = encoder.map(({ after }) => cosines(after, weight));
    const probabilities = decoder.map(({ after }) => {
      const logits = model.unembed(model.decoder.finalNorm.call(after));
      return logSoftmax(logits).data.map(Math.exp);
    });
    const winners = target.map(
      (_, t) => best(rowOf(probabilities.at(-1), t, vocab_size), 1)[0],
    );
    const told = (writes, numbers, followed) =>
      writes.map((write, i) => ({
        ...lengths(write),
        next: followed.map((_, t) => {
          const all = rowOf(numbers[i], t, vocab_size);
          return best(all, shown).map((id) => [tokenizer.idToPiece(id), all[id]]);
        }),
        followed: followed.map((id, t) => numbers[i][t * vocab_size + id]),
      }));
    return {
      ...said,
      norm,
      encoder: told(encoder, alike, source),
      decoder: told(decoder, probabilities, winners),
    };
  }

  // Everything that a sentence passes through, see `journey`, along its greedy translation
  // of at most `maxLen` pieces. next[t] holds the pieces with the largest logits after
  // targetPieces[t]: [{ piece, logit, probability }]; their first is what was appended.
  journey(text, { maxLen = USUAL.maxLen, shown = 5 } = {}) {
    const { model, tokenizer } = this;
    const { bos_id, vocab_size } = model.config;
    const source = this.encode(text);
    const ids = greedy(model, source, { maxLen: maxLen - 1 });
    const target = [bos_id, ...ids];
    const { logits, ...states } = journey(model, source, target);
    const logP = logSoftmax(logits).data;
    const next = target.map((_, t) => {
      const row = rowOf(logits.data, t, vocab_size);
      return best(row, shown).map((id) => ({
        piece: tokenizer.idToPiece(id),
        logit: row[id],
        probability: Math.exp(logP[t * vocab_size + id]),
      }));
    });
    return {
      config: model.config,
      sourceIds: source,
      sourcePieces: this.#pieces(source),
      targetPieces: this.#pieces(target),
      translation: tokenizer.decode(ids),
      next,
      ...states,
    };
  }

  // A text, and a translation of it (a text, its pieces, or, if null, the model's own): as
  // the model reads them, and as people do.
  #along(text, translation, gains = []) {
    const { bos_id, eos_id } = this.model.config;
    const source = this.encode(text);
    const [found] = translation === null ? this.nBest(text, { n: 1, gains }) : [];
    const ids = found?.ids ?? this.#idsOf(translation);
    const target = [bos_id, ...ids];
    const isText = typeof translation === "string";
    const said = {
      sourcePieces: this.#pieces(source),
      targetPieces: this.#pieces(target),
      predictedPieces: this.#pieces([...ids, eos_id]),
      translation: isText ? translation : this.tokenizer.decode(ids),
    };
    return { source, target, said };
  }

  // What some work gives while heads are scaled.
  #scaled(gains, work) {
    const undo = setHeadGains(this.model, gains);
    try {
      return work();
    } finally {
      undo();
    }
  }

  #pieces(ids) {
    return ids.map((id) => this.tokenizer.idToPiece(id));
  }

  // The ids of a text, or of pieces.
  #idsOf(given) {
    if (typeof given === "string") return this.tokenizer.encode(given);
    return given.map((piece) => this.tokenizer.pieceToId(piece));
  }

  /** @param {Record<string, any>} hypothesis */
  #spelled({ ids, ...rest }) {
    return {
      ids,
      pieces: this.#pieces(ids),
      text: this.tokenizer.decode(ids),
      ...rest,
    };
  }

  // A step of a search for people: the hypotheses spelled out, the candidates with their
  // pieces, and of each distribution only the largest entries.
  #shown({ hypotheses, candidates, finished }, count) {
    return {
      hypotheses: hypotheses.map(({ logP, p, ...rest }) => {
        return { ...this.#spelled(rest), next: this.#next(logP, count, p) };
      }),
      candidates: candidates.map((each) => {
        return { ...each, piece: this.tokenizer.idToPiece(each.id) };
      }),
      finished: finished.map((each) => this.#spelled(each)),
    };
  }

  // The most probable next pieces; `drawn` is the distribution that was drawn from.
  #next(logP, count, drawn = null) {
    return best(logP, count).map((id) => {
      const [piece, probability] = [this.tokenizer.idToPiece(id), Math.exp(logP[id])];
      return { id, piece, probability, ...(drawn && { drawn: drawn[id] }) };
    });
  }
}
