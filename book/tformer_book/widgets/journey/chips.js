// The sentence as text, as pieces, as numbers.
import { ALONG } from "../kit/arrows.js";
import { commas } from "../kit/numbers.js";
import { shown, spoken } from "../kit/pieces.js";
import { html, nothing } from "../kit/vendor/lit.js";
import { isSplit, words } from "./facts.js";
import { chosen, walkTo } from "./strips.js";

export const arrow = html`<span class="tfj-arrow" aria-hidden="true">↓</span>`;

// What lies ahead: English, encoder, decoder, German; a click goes there.
export const routePicture =
  ({ go }) =>
  ({ text, config, sourcePieces, targetPieces, translation }) => {
    const box = (name, stop, kind, inside) => html`
      <button type="button" data-control="go-${stop}" class="tfj-box tfj-${kind}" @click=${() => go(stop)}><b>${name}</b>${inside}</button>`;
    const { n_encoder_layers: read, n_decoder_layers: written } = config;
    const reads = `${sourcePieces.length} pieces, all at once, in ${read} layers`;
    const writes = `${targetPieces.length - 1} pieces, one after another, each in ${written} layers`;
    return html`
      <div class="tfj-route">
        ${box("English", 2, "words", html`<span lang="en">${text}</span>`)}${arrow}
        ${box("The encoder reads", 6, "encoder", html`<small>${reads}</small>`)}${arrow}
        ${box("The decoder writes", 11, "decoder", html`<small>${writes}</small>`)}${arrow}
        ${box("German", 15, "german", html`<span lang="de">${translation || "(nothing)"}</span>`)}
      </div>`;
  };

// Chips, word by word; under each, where they are asked for, its number.
export const chipsPicture =
  ({ change }, { numbered = false } = {}) =>
  ({ sourcePieces, sourceIds }, { piece: at }) => {
    const onPick = (piece) => change({ piece });
    const chip = (i) => {
      const [name, id] = [shown(sourcePieces[i]), `chip-${i}`]; // it becomes its number
      const label = numbered ? nothing : `${name}: ${spoken(sourcePieces[i])}`;
      return chosen(
        { i, at, name: `piece-${i}`, label, style: `--i: ${i}`, onPick },
        html`<span class="tfj-chip" data-id=${numbered ? nothing : id}>${name}</span>${
          numbered
            ? html`${arrow}<span class="tfj-id" data-id=${id}>${commas(sourceIds[i])}</span>`
            : nothing
        }`,
      );
    };
    const word = (places) => html`
      <span class="tfj-word ${isSplit(places, sourcePieces) ? "tfj-split" : ""}">${places.map(chip)}</span>`;
    return html`
      <div class="tfj-chips tfj-large ${numbered ? "tfj-numbered" : ""}" role="group" lang="en" aria-label="The pieces of the sentence"
        @keydown=${walkTo(ALONG, at, onPick)}>${words(sourcePieces).map(word)}</div>`;
  };
