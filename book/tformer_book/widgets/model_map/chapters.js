// Which chapter explains a part of the map: [its page's name, its title].
const TOKENS = ["02-tokenization", "Tokenization"];
const EMBEDDINGS = ["03-embeddings", "Embeddings"];
const POSITIONS = ["04-positions", "Positions"];
const ATTENTION = ["05-attention", "Attention"];
const MASKS = ["07-masks", "Masks"];
const ENCODER = ["08-encoder", "The encoder"];
const DECODER = ["09-decoder", "The decoder"];
const WHOLE = ["10-transformer", "The whole Transformer"];
const SCORING = ["13-decoding-and-scoring", "Decoding and scoring"];

const OF_KIND = { mask: MASKS, norm: ENCODER, network: ENCODER };
const OF_PART = {
  source_ids: TOKENS,
  target_ids: TOKENS,
  source_embedding: EMBEDDINGS,
  target_embedding: EMBEDDINGS,
  source_positions: POSITIONS,
  target_positions: POSITIONS,
  "encoder.self_attention": ATTENTION,
  "decoder.self_attention": MASKS,
  "decoder.cross_attention": DECODER,
  unembedding: WHOLE,
  softmax: SCORING,
};

// -> { title, address: of its page, beside that of another chapter, isHere }
/**
 * @param {Record<string, any>} part
 * @param {string} [path]
 */
export function chapterOf({ id, kind }, path = "") {
  const [page, title] = OF_PART[id] ?? OF_KIND[kind];
  const address = `${page}.html`;
  return { title, address, isHere: path.endsWith(`/${address}`) };
}

// Whether we are on a page of the book, beside which its chapters lie. (A notebook has
// no such pages.)
export const isInTheBook = () => Symbol.for("tformer.figures.page") in globalThis;
