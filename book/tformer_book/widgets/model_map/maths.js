// The arithmetic of the map: every part with its shape and its number of parameters; the
// tests hold it to the package's models. And the sizes that a reader may choose.
export const sizesOf = (c) => ({
  B: c.batch,
  S: c.source_length,
  T: c.target_length,
  V: c.vocab_size,
  D: c.d_model,
  F: c.d_ff,
  H: c.n_heads,
  Dh: c.d_model / c.n_heads,
  1: 1,
});
export const written = (letters) => `(${letters.join(", ")})`;

// Who a part is, and where it is in the package.
const named = (id, name, kind, ...files) => ({ id, name, kind, files });

// What a part has to train: numbers in one, as a formula, and the formula in numbers.
const NOTHING = { each: 0, formula: "nothing to train" };
const SHARED = { each: 0, formula: "none: the source’s table once more" };
function trained(c) {
  const { V, D, F } = sizesOf(c);
  const n = c.learned_positions;
  const counted = (each, formula, worked) => ({ each, formula, worked });
  return {
    table: counted(V * D, "V · D", `${V} · ${D}`),
    positions: n ? counted(n * D, "max_len · D", `${n} · ${D}`) : NOTHING,
    norm: counted(2 * D, "2 D (gain and bias)", `2 · ${D}`),
    attention: counted(
      4 * (D * D + D),
      "4 (D² + D): query, key, value, output",
      `4 (${D}² + ${D})`,
    ),
    network: counted(
      2 * D * F + F + D,
      "2 D F + F + D",
      `2 · ${D} · ${F} + ${F} + ${D}`,
    ),
  };
}

// The two columns of the map; L: the letter of a text's length.
const SIDES = [
  { side: "encoder", text: "source", L: "S", layers: "n_encoder_layers" },
  { side: "decoder", text: "target", L: "T", layers: "n_decoder_layers" },
];

// From ids to the stream that enters the layers.
function inputs(c, { side, text, L }) {
  const encoder = side === "encoder";
  const { table, positions } = trained(c);
  return [
    {
      ...named(`${text}_ids`, `${text} ids`, "plain", "tokenization/"),
      takes: encoder ? "English text" : "the German so far, from <s> on",
      out: ["B", L],
      does: `A piece of text is a number. ${encoder ? "The source ends in </s>." : "In training this is the right German, shifted by one; while writing, what has been written."}`,
      ...NOTHING,
    },
    {
      ...named(`${text}_embedding`, "embedding × √D", "table", "embedding.py"),
      takes: `ids ${written(["B", L])}`,
      out: ["B", L, "D"],
      does: "Each id picks its row of the table, times the square root of D.",
      ...(encoder || !c.tie_embeddings ? table : SHARED),
    },
    {
      ...named(`${text}_positions`, "+ positions", "plain", "positions.py"),
      takes: `embedded ids ${written(["B", L, "D"])}`,
      out: ["B", L, "D"],
      does: c.learned_positions
        ? "Adds the learned row of the position, then dropout. The same table on both sides."
        : "Adds sines and cosines of the position, then dropout. The same pattern on both sides.",
      ...(encoder || !c.learned_positions ? positions : SHARED),
    },
  ];
}

const mask = (id, text, out) => ({
  ...named(id, "mask", "mask", "masks.py"),
  takes: `the ${text} ids`,
  out,
  does:
    text === "target"
      ? "True = may attend: not the future, not padding. It is what makes all positions train at once."
      : "True = may attend: every real source piece, no padding. One row serves all queries, so it broadcasts.",
  ...NOTHING,
});

function attention(c, { side, text, L, layers }) {
  const encoder = side === "encoder";
  const name = encoder ? "self-attention" : "masked self-attention";
  const part = {
    ...named(`${side}.self_attention`, name, "attention", "attention.py"),
    takes: `the stream ${written(["B", L, "D"])}: queries, keys and values`,
    out: ["B", L, "D"],
    weights: ["B", "H", L, L],
    times: c[layers],
    does: encoder
      ? "Each source position takes from all others."
      : "Each target position takes from itself and from those before it.",
    ...trained(c).attention,
  };
  return [part, mask(`${side}.mask`, text, ["B", "1", encoder ? "1" : L, L])];
}

const crossAttention = (c, { layers }) => [
  {
    ...named("decoder.cross_attention", "cross-attention", "cross", "attention.py"),
    takes:
      "queries from the stream (B, T, D), keys and values from the memory (B, S, D)",
    out: ["B", "T", "D"],
    weights: ["B", "H", "T", "S"],
    times: c[layers],
    does: "Each German position takes from the English ones. Every layer makes its own keys and values of the one memory.",
    ...trained(c).attention,
  },
  mask("cross.mask", "source", ["B", "1", "1", "S"]),
];

const network = (c, { side, L, layers }) => [
  {
    ...named(`${side}.feed_forward`, "feed-forward", "network", "feedforward.py"),
    takes: `the stream ${written(["B", L, "D"])}, position by position`,
    out: ["B", L, "D"],
    inner: ["B", L, "F"],
    times: c[layers],
    does: "Each position by itself: wider, max(0, ·), narrower. No position sees another.",
    ...trained(c).network,
  },
];

// One layer: each sublayer with its norm, before it or after it.
function layer(c, column) {
  const { side, L, layers } = column;
  const pre = c.norm === "pre";
  const sublayers = [
    attention(c, column),
    ...(side === "decoder" ? [crossAttention(c, column)] : []),
    network(c, column),
  ];
  return sublayers.flatMap((sublayer, i) => {
    const norm = {
      ...named(`${side}.norm${i + 1}`, pre ? "norm" : "add & norm", "norm", "norm.py"),
      takes: `the stream ${written(["B", L, "D"])}${pre ? "" : " and the part’s output, of the same shape"}`,
      out: ["B", L, "D"],
      times: c[layers],
      does: pre
        ? "Brings each vector to one size before the part above reads it. What that part says is added to the stream, which runs past."
        : "Adds what the part below has said to the stream, then brings each vector to one size.",
      ...trained(c).norm,
    };
    const both = pre ? [norm, ...sublayer] : [...sublayer, norm];
    return both.map((part) => ({ ...part, layer: true }));
  });
}

function finalNorm(c, { side, L }) {
  const pre = c.norm === "pre";
  const name = pre ? "final norm" : "(no final norm)";
  return {
    ...named(`${side}.final_norm`, name, "norm", "norm.py"),
    takes: `the stream ${written(["B", L, "D"])}`,
    out: ["B", L, "D"],
    does: pre
      ? "Pre-norm only: the stream has grown with every layer; here it is brought to one size."
      : "Post-norm stacks end in a norm already. Choose pre-norm to see this one.",
    ...(pre ? trained(c).norm : { each: 0, formula: "not there" }),
  };
}

const outputs = (c) => [
  {
    ...named("unembedding", "unembedding", "out", "embedding.py"),
    takes: "the stream (B, T, D)",
    out: ["B", "T", "V"],
    does: "The dot product with every row of the table: a score, the logit, for each piece.",
    ...(c.tie_embeddings ? SHARED : trained(c).table),
  },
  {
    ...named("softmax", "softmax", "out", "loss.py", "decode/"),
    takes: "logits (B, T, V)",
    out: ["B", "T", "V"],
    does: "Logits become probabilities of the next piece. In the code it is part of the loss and of decoding.",
    ...NOTHING,
  },
];

// Every part in the order of the pass. each: numbers in one; times: how many there are.
/** @param {Record<string, any>} c @returns {Record<string, any>[]} */
export function parts(c) {
  const size = sizesOf(c);
  return SIDES.flatMap((column) =>
    [
      ...inputs(c, column),
      ...layer(c, column),
      finalNorm(c, column),
      ...(column.side === "decoder" ? outputs(c) : []),
    ].map((part) => ({ times: 1, ...part, side: column.side })),
  ).map((part) => ({
    ...part,
    total: part.each * part.times,
    letters: written(part.out),
    numbers: written(part.out.map((letter) => size[letter])),
  }));
}

export const total = (c) => parts(c).reduce((sum, part) => sum + part.total, 0);

// The bars: what belongs together, and its share of all.
const isTable = ({ id, kind }) =>
  kind === "table" || id === "unembedding" || id.endsWith("positions");
export function shares(c) {
  const all = parts(c);
  const row = (name, kind, test) => {
    const count = all.filter(test).reduce((sum, part) => sum + part.total, 0);
    return { name, kind, count, share: count / total(c) };
  };
  const one = (name, kind, id) => row(name, kind, (part) => part.id === id);
  return [
    row(c.tie_embeddings ? "table, tied" : "three tables", "table", isTable),
    one("encoder: self-attention", "attention", "encoder.self_attention"),
    one("encoder: feed-forward", "network", "encoder.feed_forward"),
    one("decoder: self-attention", "attention", "decoder.self_attention"),
    one("decoder: cross-attention", "cross", "decoder.cross_attention"),
    one("decoder: feed-forward", "network", "decoder.feed_forward"),
    row("all norms", "norm", (part) => part.kind === "norm"),
  ];
}

// The divisor of d nearest to n, for heads that no longer divide the width.
export const nearestDivisor = (d, n) =>
  divisors(d, d).reduce((best, x) => (Math.abs(x - n) < Math.abs(best - n) ? x : best));
const upTo = (n) => Array.from({ length: n }, (_, i) => i + 1);
const divisors = (d, most) => upTo(most).filter((x) => d % x === 0);

// The sizes that a reader may choose: trait, name, values; heads must divide the width.
const numbers = (text) => text.split(" ").map(Number);
const WIDTHS = "4 8 16 32 64 96 128 192 256 320 384 512 640 768 1024 1280 1536 2048";
const INNER = "8 16 32 64 128 256 384 512 768 1024 1536 2048 3072 4096 6144 8192";
const VOCABULARIES =
  "14 100 500 1000 2000 4000 6000 8000 10000 16000 20000 32000 37000 41000 50000 64000 100000";
const LENGTHS = "1 2 3 4 5 6 7 8 9 10 12 14 16 20 24 32 48 64 128 256 512";
/** @type {[string, string, number[]?][]} */
export const SIZES = [
  ["d_model", "width D", numbers(WIDTHS)],
  ["n_heads", "heads H"],
  ["d_ff", "feed-forward F", numbers(INNER)],
  ["n_encoder_layers", "encoder layers", upTo(24)],
  ["n_decoder_layers", "decoder layers", upTo(24)],
  ["vocab_size", "vocabulary V", numbers(VOCABULARIES)],
  ["batch", "batch B", numbers("1 2 4 8 16 32 64 128")],
  ["source_length", "source S", numbers(LENGTHS)],
  ["target_length", "target T", numbers(LENGTHS)],
];
export const FIELDS = [
  ...SIZES.map(([name]) => name),
  "norm",
  "tie_embeddings",
  "learned_positions",
];

// The values that a slider steps through: its list, and the one that is set.
export function steps(name, c) {
  const [, , values] = SIZES.find(([each]) => each === name);
  const list = values ?? divisors(c.d_model, Math.min(c.d_model, 64));
  return [...new Set([...list, c[name]])].sort((a, b) => a - b);
}
