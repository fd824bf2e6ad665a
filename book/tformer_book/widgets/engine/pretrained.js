// A trained model and its tokenizer: text in, text out. Chapter *Training*.
import { beamSteps } from "./decode/beam.js";
import { greedy, greedySteps, sampleSteps } from "./decode/choosing.js";
import { score } from "./decode/forced.js";
import { USUAL } from "./decode/settings.js";
import { drain } from "./decode/stepping.js";
import { loadTensors, sha256Of } from "./files.js";
import { journey } from "./journey.js";
import { fastest } from "./kernel/kernel.js";
import { Transformer } from "./model.js";
import { dot, linear, logSoftmax, row } from "./tensor.js";
import { Tokenizer } from "./tokenization.js";
import { allHeads, attentionWeights, residualStream, setHeadGains } from "./trace.js";

const SEARCHES = { greedy: greedySteps, sample: sampleSteps, beam: beamSteps };
const SHOWN = 8; // next pieces that a step tells of, unless told

// Two files as ArrayBuffers -> `Translator`. kernel: see `loadParameters`.
export async function loadPretrained({ weights, tokenizer, kernel = fastest }) {
  const { tensors, metadata } = await loadTensors(weights);
  if (!metadata.config || !metadata.tokenizer) {
    throw new Error(
      "the weights hold no tformer model: their header has no configuration",
    );
  }
  const model = new Transformer(metadata.config);
  const usedKernel = loadParameters(model, tensors, kernel);
  const fingerprint = await sha256Of(tokenizer);
  if (fingerprint && fingerprint !== metadata.tokenizer) {
    throw new Error(
      "this is not the tokenizer that the weights were trained with: take both from one run",
    );
  }
  return new Translator(model, new Tokenizer(tokenizer), usedKernel);
}

// Give a model its weights, all of them or none, and a kernel to multiply by them (see
// kernel/kernel.js), whose name it returns.
export function loadParameters(model, tensors, kernel = fastest) {
  const parameters = new Map(model.namedParameters());
  const other = "the weights are of a different kind of model";
  for (const name of tensors.keys()) {
    if (!parameters.has(name))
      throw new Error(`${name} is an unknown weight: ${other}`);
  }
  for (const [name, { shape }] of parameters) {
    const found = tensors.get(name)?.shape;
    if (!found) throw new Error(`the weight ${name} is missing: ${other}`);
    if (found.join() !== shape.join()) {
      throw new Error(
        `${name} has shape (${found}), the model needs (${shape}): ${other}`,
      );
    }
  }
  for (const [name, parameter] of parameters) {
    const { data, scales } = tensors.get(name);
    Object.assign(parameter, { data, scales });
  }
  const matrices = [...parameters.values()].filter(({ shape }) => shape.length === 2);
  const { name, products } = kernel(matrices);
  for (const [i, product] of products.entries()) matrices[i].product = product;
  return name;
}

export class Translator {
  constructor(model, tokenizer, kernel = null) {
    const { vocab_size } = model.config;
    if (tokenizer.vocabSize !== vocab_size) {
      throw new RangeError(
        `the model has vocab_size=${vocab_size}, the tokenizer ${tokenizer.vocabSize}: ` +
          "they were not trained together",
      );
    }
    this.model = model;
    this.tokenizer = tokenizer;
    this.kernel = kernel; // the name of what multiplies
  }

  // Pieces + eos of one text, checked: what the encoder reads.
  encode(text) {
    const ids = this.tokenizer.encode(text);
    const { max_len, eos_id } = this.model.config;
    if (!ids.length) throw new RangeError("there is nothing to translate: give a text");
    if (ids.length >= max_len) {
      throw new RangeError(
        `the text beginning “${text.slice(0, 40)}” has ${ids.length} pieces, the model takes ` +
          `${max_len - 1}: split it into sentences`,
      );
    }
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
    if (!SEARCHES[search]) {
      throw new RangeError(
        `search "${search}" is none of ${Object.keys(SEARCHES).join(", ")}`,
      );
    }
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
    const sourceIds = this.encode(text);
    const undo = setHeadGains(model, gains);
    try {
      const { ids, logProbabilities, logProbability, logP } = score(
        model,
        sourceIds,
        this.#idsOf(translation),
      );
      const width = model.config.vocab_size;
      const positions = logProbabilities.map((value, t) => {
        const all = logP.data.subarray(t * width, (t + 1) * width);
        const id = ids[t] ?? model.config.eos_id;
        return {
          id,
          piece: tokenizer.idToPiece(id),
          logProbability: value,
          next: this.#next(all, shown),
        };
      });
      return { positions, logProbability };
    } finally {
      undo();
    }
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
      const undo = setHeadGains(model, [{ ...head, gain: 0 }]);
      try {
        const { logProbability } = score(model, sourceIds, ids);
        heads.push({ ...head, logProbability, done: heads.length + 1, of: all.length });
      } finally {
        undo();
      }
      yield heads.at(-1);
    }
    return { whole, pieces: ids.length + 1, heads };
  }

  // Every attention weight of the forward pass that scores a translation, a text or its
  // pieces, by default the model's own. encoder (L, H, S, S), decoder (L, H, T, T), cross (L, H, T, S).
  attention(text, translation = null, { gains = [] } = {}) {
    const { model, tokenizer } = this;
    const { bos_id, eos_id } = model.config;
    const source = this.encode(text);
    const [found] = translation === null ? this.nBest(text, { n: 1, gains }) : [];
    const target = found?.ids ?? this.#idsOf(translation);
    const undo = setHeadGains(model, gains);
    try {
      const maps = attentionWeights(model, [source], [[bos_id, ...target]]);
      for (const map of Object.values(maps)) map.shape = map.shape.slice(1); // B = 1
      const pieces = (ids) => ids.map((id) => tokenizer.idToPiece(id));
      return {
        sourcePieces: pieces(source),
        targetPieces: pieces([bos_id, ...target]),
        predictedPieces: pieces([...target, eos_id]),
        translation:
          typeof translation === "string" ? translation : tokenizer.decode(target),
        ...maps,
      };
    } finally {
      undo();
    }
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
    const { bos_id, eos_id, norm } = model.config;
    const source = this.encode(text);
    const [found] = translation === null ? this.nBest(text, { n: 1 }) : [];
    const target = found?.ids ?? this.#idsOf(translation);
    const { encoder, decoder } = residualStream(model, [source], [[bos_id, ...target]]);
    const said = decoder.map(({ after }) =>
      logSoftmax(model.unembed(model.decoder.finalNorm.call(after))),
    );
    const probabilities = said.map(({ data }) => data.map(Math.exp));
    const winners = upTo(target.length + 1).map(
      (t) => best(rowOf(probabilities.at(-1), t, model.config.vocab_size), 1)[0],
    );
    const { weight } = model.sourceEmbedding.table;
    const pieces = (ids) => ids.map((id) => tokenizer.idToPiece(id));
    const told = (writes, numbers, followed) =>
      writes.map((write, i) => ({
        ...lengths(write),
        next: followed.map((_, t) => {
          const all = rowOf(numbers[i], t, model.config.vocab_size);
          return best(all, shown).map((id) => [tokenizer.idToPiece(id), all[id]]);
        }),
        followed: followed.map((id, t) => numbers[i][t * model.config.vocab_size + id]),
      }));
    return {
      sourcePieces: pieces(source),
      targetPieces: pieces([bos_id, ...target]),
      predictedPieces: pieces([...target, eos_id]),
      translation:
        typeof translation === "string" ? translation : tokenizer.decode(target),
      norm,
      encoder: told(
        encoder,
        encoder.map(({ after }) => cosines(after, weight)),
        source,
      ),
      decoder: told(decoder, probabilities, winners),
    };
  }

  // Everything that a sentence passes through, see `journey`, along its greedy translation
  // of at most `maxLen` pieces. next[t] holds the pieces with the largest logits after
  // targetPieces[t]: [{ piece, logit, probability }]; their first is what was appended.
  journey(text, { maxLen = USUAL.maxLen, shown = 5 } = {}) {
    const { model, tokenizer } = this;
    const source = this.encode(text);
    const target = [
      model.config.bos_id,
      ...greedy(model, source, { maxLen: maxLen - 1 }),
    ];
    const { logits, ...states } = journey(model, source, target);
    const width = model.config.vocab_size;
    const logP = logSoftmax(logits).data;
    const next = target.map((_, t) => {
      const row = rowOf(logits.data, t, width);
      return best(row, shown).map((id) => ({
        piece: tokenizer.idToPiece(id),
        logit: row[id],
        probability: Math.exp(logP[t * width + id]),
      }));
    });
    const pieces = (ids) => ids.map((id) => tokenizer.idToPiece(id));
    return {
      config: model.config,
      sourceIds: source,
      sourcePieces: pieces(source),
      targetPieces: pieces(target),
      translation: tokenizer.decode(target.slice(1)),
      next,
      ...states,
    };
  }

  // The ids of a text, or of pieces.
  #idsOf(given) {
    if (typeof given === "string") return this.tokenizer.encode(given);
    return given.map((piece) => this.tokenizer.pieceToId(piece));
  }

  /** @param {Record<string, any>} hypothesis */
  #spelled({ ids, ...rest }) {
    const pieces = ids.map((id) => this.tokenizer.idToPiece(id));
    return { ids, pieces, text: this.tokenizer.decode(ids), ...rest };
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
      const entry = {
        id,
        piece: this.tokenizer.idToPiece(id),
        probability: Math.exp(logP[id]),
      };
      return drawn ? { ...entry, drawn: drawn[id] } : entry;
    });
  }
}

const upTo = (n) => Array.from({ length: n }, (_, i) => i);
const rowOf = (data, t, width) => data.subarray(t * width, (t + 1) * width);

// The places of the largest numbers, the largest first.
function best(numbers, count) {
  const places = [];
  for (let i = 0; i < numbers.length; i++) {
    if (places.length === count && numbers[i] <= numbers[places.at(-1)]) continue;
    let at = places.length;
    while (at > 0 && numbers[i] > numbers[places[at - 1]]) at--;
    places.splice(at, 0, i);
    if (places.length > count) places.pop();
  }
  return places;
}

const lengthOf = (vector) => Math.sqrt(dot(vector, 0, vector, 0, vector.length));

// Of a part that adds to the stream, for each position of one sentence (B = 1).
function lengths({ name, before, added, after }) {
  const [, count, width] = after.shape;
  const at = (t) => [before, added, after].map(({ data }) => rowOf(data, t, width));
  const each = upTo(count).map((t) => {
    const [was, news, is] = at(t);
    const both = lengthOf(was) * lengthOf(news);
    return {
      length: lengthOf(is),
      added: lengthOf(news),
      cosine: both ? dot(was, 0, news, 0, width) / both : 0,
    };
  });
  const column = (key) => each.map((all) => all[key]);
  return {
    name,
    length: column("length"),
    added: column("added"),
    cosine: column("cosine"),
  };
}

// (1, T, D) and a table (V, D) -> T * V cosines
function cosines(x, table) {
  const width = x.shape.at(-1);
  const products = linear(x, table).data;
  const rows = upTo(table.shape[0]).map((id) => lengthOf(row(table, id)));
  const vectors = upTo(x.shape[1]).map((t) => lengthOf(rowOf(x.data, t, width)));
  return products.map(
    (value, i) =>
      value / (rows[i % rows.length] * vectors[Math.floor(i / rows.length)]),
  );
}
