// The chapters that figures lead to: [its page's name, its title].
import { html } from "./vendor/lit.js";

export const CHAPTERS = {
  tokens: ["02-tokenization", "Tokenization"],
  embeddings: ["03-embeddings", "Embeddings"],
  positions: ["04-positions", "Positions"],
  attention: ["05-attention", "Attention"],
  heads: ["06-multi-head", "Multi-head attention"],
  masks: ["07-masks", "Masks"],
  encoder: ["08-encoder", "The encoder"],
  decoder: ["09-decoder", "The decoder"],
  whole: ["10-transformer", "The whole Transformer"],
  data: ["11-data", "Data"],
  training: ["12-training", "Training"],
  decoding: ["13-decoding-and-scoring", "Decoding and scoring"],
  inside: ["14-inside-the-model", "Inside the trained model"],
};

// Whether we are on a page of the book, beside which its chapters lie. (A notebook has
// no such pages.)
export const isInTheBook = () => Symbol.for("tformer.figures.page") in globalThis;

// A link to a chapter, where there is one beside this page.
/** @param {string[]} chapter */
export function chapterLink([page, title]) {
  return isInTheBook()
    ? html`<a href="${page}.html">${title}</a>`
    : html`<em>${title}</em>`;
}
