// Which chapter explains a part of the map.
import { CHAPTERS } from "../kit/chapters.js";

const OF_KIND = { mask: "masks", norm: "encoder", network: "encoder" };
const OF_PART = {
  source_ids: "tokens",
  target_ids: "tokens",
  source_embedding: "embeddings",
  target_embedding: "embeddings",
  source_positions: "positions",
  target_positions: "positions",
  "encoder.self_attention": "attention",
  "decoder.self_attention": "masks",
  "decoder.cross_attention": "decoder",
  unembedding: "whole",
  softmax: "decoding",
};

// -> { title, address: of its page, beside that of another chapter, isHere }
/**
 * @param {Record<string, any>} part
 * @param {string} [path]
 */
export function chapterOf({ id, kind }, path = "") {
  const [page, title] = CHAPTERS[OF_PART[id] ?? OF_KIND[kind]];
  const address = `${page}.html`;
  return { title, address, isHere: path.endsWith(`/${address}`) };
}
