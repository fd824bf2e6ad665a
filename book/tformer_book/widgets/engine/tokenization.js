// Text to piece ids and back: reads a sentencepiece model. Chapter *Tokenization*.
//
// First the text is normalised (NFKC and the like, by the model's own table), then cut
// into pieces by byte-pair encoding or by the unigram language model; what the vocabulary
// lacks becomes bytes, or `unk`.

const SPACE = "▁"; // U+2581, how sentencepiece writes a blank inside a piece
const NORMAL = 1;
const UNKNOWN = 2;
const CONTROL = 3;
const BYTE = 6;
const UNK = 3; // its id
const UNK_PENALTY = 10; // below the worst piece, in log-probability

const encoder = new TextEncoder();
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
const strictUtf8 = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

export class Tokenizer {
  #pieces = []; // [{ text, score, type }], by id
  #idOf = new Map(); // of normal pieces, by text
  #bytes = []; // ids of the 256 bytes
  #unkSurface = " ⁇ ";
  #longest = 1; // characters of the longest piece
  #worst = Infinity; // score of the least probable piece

  constructor(modelBytes) {
    const message = new Uint8Array(modelBytes);
    try {
      this.#read(message);
    } catch (error) {
      if (error instanceof Unfit) throw new Error(error.message);
      throw new Error(
        `these ${message.length} bytes are not a whole sentencepiece model ` +
          "(it breaks off or is garbled): load it again, or save the tokenizer anew",
      );
    }
  }

  get vocabSize() {
    return this.#pieces.length;
  }

  // The text as the tokenizer sees it, and as `decode` gives it back.
  normalize(text) {
    return this.#normalize(text).replaceAll(SPACE, " ").replace(/^ /, "");
  }

  // The text as ids, without bos and eos; no text, no ids.
  encode(text) {
    return this.#segment(text).map(({ id }) => id);
  }

  // The pieces of the text; "▁" marks the blank before a word.
  pieces(text) {
    return this.#segment(text).map(({ piece }) => piece);
  }

  // The text of some ids; pad, bos and eos are skipped, unk shows as "⁇".
  decode(ids) {
    let text = "";
    let atStart = this.addDummyPrefix || this.removeExtraWhitespaces;
    let bytes = []; // of a character that is still to be completed
    const flush = () => {
      text += fromBytes(bytes);
      bytes = [];
    };
    for (const id of ids) {
      const { text: piece, type } = this.#piece(id);
      if (type === BYTE) bytes.push(byteOf(piece));
      else flush();
      if (type === UNKNOWN) text += this.#unkSurface;
      if (type !== NORMAL) continue;
      // The blank before the first word was put there by the tokenizer.
      if (text) atStart = false;
      const hasBlank = atStart && piece.startsWith(SPACE);
      if (hasBlank && !this.removeExtraWhitespaces) atStart = false;
      text += piece.slice(hasBlank ? 1 : 0).replaceAll(SPACE, " ");
    }
    flush();
    return text;
  }

  // The piece of one id, as in `pieces`; bytes are written "<0xE2>".
  idToPiece(id) {
    return this.#piece(id).text;
  }

  // The id of one piece.
  pieceToId(piece) {
    const id = this.#pieces.findIndex(({ text }) => text === piece);
    if (id < 0)
      throw new RangeError(
        `the tokenizer has no piece “${piece}”: was it another model’s?`,
      );
    return id;
  }

  #piece(id) {
    const piece = this.#pieces[id];
    if (!piece)
      throw new RangeError(
        `piece id ${id} is outside the vocabulary of ${this.vocabSize} (0 to vocab_size - 1); ` +
          "were these ids made by a different tokenizer?",
      );
    return piece;
  }

  // The model file: ModelProto of sentencepiece_model.proto.
  #read(message) {
    let trainer = null;
    let normalizer = null;
    for (const [field, value] of fields(message)) {
      if (field === 1) this.#pieces.push(readPiece(value));
      else if (field === 2) trainer = Object.fromEntries(fields(value));
      else if (field === 3) normalizer = Object.fromEntries(fields(value));
    }
    const { length } = this.#pieces;
    demand(
      trainer && normalizer && length === trainer[4],
      `it has ${length} pieces, ${trainer?.[4]} are declared`,
    );
    const algorithm = trainer[3] ?? 1;
    demand(
      algorithm === 1 || algorithm === 2,
      `its algorithm is number ${algorithm}, not bpe or unigram`,
    );
    this.algorithm = algorithm === 1 ? "unigram" : "bpe";
    demand(!trainer[24], "it puts blanks behind words");
    if (trainer[44]) this.#unkSurface = utf8.decode(trainer[44]);
    this.byteFallback = Boolean(trainer[35]);
    this.#pieces.forEach((piece, id) => this.#enter(piece, id));
    const types = this.#pieces.map(({ type }) => type);
    const fits = [CONTROL, CONTROL, CONTROL, UNKNOWN].every((t, id) => types[id] === t);
    demand(fits, "its ids 0 to 3 are not pad, bos, eos and unk");
    this.charsmap = normalizer[2]?.length ? readCharsmap(normalizer[2]) : null;
    this.addDummyPrefix = normalizer[3] ?? 1;
    this.removeExtraWhitespaces = normalizer[4] ?? 1;
    demand(normalizer[5] ?? 1, "it keeps blanks as they are");
  }

  #enter({ text, score, type }, id) {
    if (type === NORMAL) {
      this.#idOf.set(text, id);
      this.#longest = Math.max(this.#longest, [...text].length);
      this.#worst = Math.min(this.#worst, score);
    } else if (type === BYTE) {
      this.#bytes[byteOf(text)] = id;
    } else {
      demand(type === CONTROL || type === UNKNOWN, `piece ${id} is of type ${type}`);
    }
  }

  // With SPACE for blanks, as the pieces have them.
  #normalize(text) {
    checkText(text);
    let rest = encoder.encode(text);
    const next = () => {
      const [replacement, length] = this.#replace(rest);
      rest = rest.subarray(length);
      return replacement;
    };
    let normal = "";
    let afterBlank = Boolean(this.removeExtraWhitespaces);
    while (rest.length) {
      let replacement = next();
      if (afterBlank) replacement = replacement.replace(/^ +/, "");
      if (!replacement) continue;
      normal += replacement;
      afterBlank = this.removeExtraWhitespaces && normal.endsWith(" ");
    }
    normal = normal.replaceAll(" ", SPACE);
    if (text && this.addDummyPrefix) normal = SPACE + normal;
    return this.removeExtraWhitespaces ? normal.replace(/▁+$/, "") : normal;
  }

  // What the longest entry of the table that begins the bytes is replaced by, and its
  // length; without one, the first character as it is.
  #replace(bytes) {
    const found = this.charsmap?.(bytes);
    if (found) return found;
    const length = lengthOf(bytes[0]);
    return [utf8.decode(bytes.subarray(0, length)), length];
  }

  // [{ piece, id }] of a text.
  #segment(text) {
    const characters = [...this.#normalize(text)];
    const pieces =
      this.algorithm === "bpe" ? this.#merge(characters) : this.#bestPath(characters);
    const segments = [];
    for (const piece of pieces) {
      const id = this.#idOf.get(piece);
      if (id !== undefined) segments.push({ piece, id });
      else if (this.byteFallback)
        for (const byte of encoder.encode(piece)) {
          const own = this.#bytes[byte];
          segments.push({ piece: this.#pieces[own].text, id: own });
        }
      else if (segments.at(-1)?.id === UNK)
        segments.at(-1).piece += piece; // neighbours that are unknown are one
      else segments.push({ piece, id: UNK });
    }
    return segments;
  }

  // Byte-pair encoding: join the neighbours with the best score, leftmost first, until no
  // pair is a piece.
  #merge(characters) {
    const symbols = [...characters];
    const scoreAt = (i) =>
      this.#pieces[this.#idOf.get(symbols[i] + symbols[i + 1])]?.score ?? -Infinity;
    const scores = symbols.slice(1).map((_, i) => scoreAt(i)); // of each with the next
    for (;;) {
      const best = scores.reduce((at, each, i) => (each > scores[at] ? i : at), 0);
      if (!(scores[best] > -Infinity)) return symbols;
      symbols.splice(best, 2, symbols[best] + symbols[best + 1]);
      scores.splice(best, 1);
      if (best > 0) scores[best - 1] = scoreAt(best - 1);
      if (best < scores.length) scores[best] = scoreAt(best);
    }
  }

  // Unigram language model: the segmentation with the largest sum of log-probabilities,
  // in float32 as sentencepiece adds them.
  #bestPath(characters) {
    const { length } = characters;
    const best = new Float32Array(length + 1);
    const from = new Int32Array(length + 1).fill(-1);
    const unknown = Math.fround(Math.fround(this.#worst) - UNK_PENALTY);
    const offer = (start, end, score) => {
      const total = Math.fround(score + best[start]);
      if (from[end] >= 0 && total <= best[end]) return;
      best[end] = total;
      from[end] = start;
    };
    for (let start = 0; start < length; start++) {
      let piece = "";
      const stop = Math.min(length, start + this.#longest);
      for (let end = start; end < stop; end++) {
        piece += characters[end];
        const id = this.#idOf.get(piece);
        if (id !== undefined) offer(start, end + 1, this.#pieces[id].score);
      }
      if (!this.#idOf.has(characters[start])) offer(start, start + 1, unknown);
    }
    const path = [];
    for (let end = length; end > 0; end = from[end])
      path.unshift(characters.slice(from[end], end).join(""));
    return path;
  }
}

class Unfit extends Error {}

function demand(holds, why) {
  if (!holds) throw new Unfit(`this sentencepiece model cannot be used: ${why}`);
}

function checkText(text) {
  if (typeof text !== "string")
    throw new TypeError(`expected a text, got ${typeof text}`);
  const place = text.search(/[\ud800-\udfff]/u);
  if (place < 0) return;
  const code = text.charCodeAt(place).toString(16).toUpperCase();
  throw new RangeError(
    `the text holds a lone surrogate (U+${code} at position ${[...text.slice(0, place)].length}), ` +
      "which is not a character; replace it",
  );
}

// Of a character, by its first byte.
const lengthOf = (byte) => (byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4);
const byteOf = (piece) => parseInt(piece.slice(3, 5), 16); // "<0xE2>"

function readPiece(message) {
  const piece = { text: "", score: 0, type: NORMAL };
  for (const [field, value] of fields(message)) {
    if (field === 1) piece.text = utf8.decode(value);
    else if (field === 2)
      piece.score = new DataView(value.slice().buffer).getFloat32(0, true);
    else if (field === 3) piece.type = value;
  }
  return piece;
}

// The (field number, value) pairs of one protocol-buffer message; values are numbers, or
// bytes that are still to be read.
function* fields(message) {
  let i = 0;
  const varint = () => {
    let value = 0;
    for (let place = 1; ; place *= 128) {
      if (i >= message.length) throw new Error("breaks off");
      const byte = message[i++];
      value += (byte & 127) * place;
      if (byte < 128) return value;
    }
  };
  while (i < message.length) {
    const key = varint();
    const field = Math.floor(key / 8);
    if (key % 8 === 0) {
      yield [field, varint()];
      continue;
    }
    const size = { 1: () => 8, 2: varint, 5: () => 4 }[key % 8]();
    if (i + size > message.length) throw new Error("breaks off");
    yield [field, message.subarray(i, i + size)];
    i += size;
  }
}

// The normaliser's table: a double-array trie over UTF-8 bytes (darts-clone), whose
// values are places in a block of strings that end in NUL. -> what finds the longest entry
// that begins some bytes: [its string, its length], or null
function readCharsmap(blob) {
  const view = new DataView(blob.buffer, blob.byteOffset, blob.length);
  const size = view.getUint32(0, true);
  const units = new Uint32Array(blob.slice(4, 4 + size).buffer);
  const strings = blob.subarray(4 + size);
  const step = (node, unit) => node ^ ((unit >>> 10) << ((unit & 512) >>> 6));
  const stringAt = (start) =>
    utf8.decode(strings.subarray(start, strings.indexOf(0, start)));
  return (bytes) => {
    let found = null;
    let node = step(0, units[0]);
    for (let i = 0; i < bytes.length; i++) {
      node ^= bytes[i];
      const unit = units[node];
      if ((unit & 0x800000ff) !== bytes[i]) break; // another label, or a leaf
      node = step(node, unit);
      if (unit & 256) found = [units[node] & 0x7fffffff, i + 1];
    }
    return found && [stringAt(found[0]), found[1]];
  };
}

// Bytes that a model wrote, as text: each byte that is not UTF-8 becomes U+FFFD.
function fromBytes(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; ) {
    const length = lengthOf(bytes[i]);
    try {
      text += strictUtf8.decode(Uint8Array.from(bytes.slice(i, i + length)));
      i += length;
    } catch {
      text += "\ufffd";
      i++;
    }
  }
  return text;
}
