// The stops of the journey: what happens at each, and why, in words with the reader's own
// pieces and numbers; what flows; where the book explains it; how it is drawn.
//
// short: its name on the map. text(journey, state) -> the sentences, in parts; shape(journey, state) -> what flows; a
// state has the sentence, the piece that is followed, layer, head, step and across, all in
// range.
import { strongest } from "../heads/weights.js";
import { CHAPTERS } from "../kit/chapters.js";
import { listed } from "../kit/lists.js";
import { commas, format, percent } from "../kit/numbers.js";
import { spoken, written } from "../kit/pieces.js";
import { chipsPicture, routePicture } from "./chips.js";
import * as decoder from "./decoder.js";
import * as encoder from "./encoder.js";
import * as facts from "./facts.js";

export const PHASES = ["Words in", "The encoder", "The decoder", "German out"];

// A text in parts, and a part that is German.
const said = (words, ...values) =>
  words.flatMap((each, i) => [each, ...values.slice(i, i + 1)]).flat();
const de = (text) => ({ lang: "de", toString: () => `“${text}”` });
const followedOf = ({ sourcePieces }, { piece }) => facts.named(sourcePieces[piece]);
const stream = ({ sourcePieces, config }) =>
  `${sourcePieces.length} × ${config.d_model}`;
const ordinal = (n) =>
  `${n}${(n % 100 > 10 && n % 100 < 14 ? null : { 1: "st", 2: "nd", 3: "rd" }[n % 10]) ?? "th"}`;
// The German so far, for people; null before the first piece.
const sofar = ({ targetPieces }, { step }) =>
  step ? de(written(targetPieces.slice(1, step + 1))) : null;

export const STOPS = [
  {
    title: "A sentence",
    short: "text",
    phase: 0,
    book: CHAPTERS.whole,
    text: ({ sourcePieces, targetPieces }) =>
      said`We’ll follow this sentence through the whole model. An encoder reads the English, ${sourcePieces.length} pieces, all at once; then a decoder writes the German, ${targetPieces.length - 1} pieces, one after another. There are fifteen stops on the way, and every number that you’ll see was computed by the trained model for this very sentence. Type a sentence of your own above if you like, then press Next.`,
    shape: ({ sourcePieces }) =>
      `one text, which will become ${sourcePieces.length} pieces`,
    picture: routePicture,
  },
  {
    title: "Pieces",
    short: "pieces",
    phase: 0,
    book: CHAPTERS.tokens,
    text({ sourcePieces, config }) {
      const first = facts
        .words(sourcePieces)
        .find((word) => facts.isSplit(word, sourcePieces));
      const name = first && written(first.map((i) => sourcePieces[i]));
      const here = sourcePieces.some(facts.isByte)
        ? "Some of your characters aren’t in the list at all; they come in byte by byte, and the model has hardly ever seen that."
        : first
          ? `Here “${name}” isn’t in the list, so it comes in ${first.length} pieces.`
          : "Here each word has a piece of its own.";
      return said`No model can keep a list of all the words there are, so this one keeps ${commas(config.vocab_size)} pieces: common words are whole, and rare ones are put together from parts. The sign ▁ marks the beginning of a word. ${here} The last piece, ⟨eos⟩, says that the sentence is complete.`;
    },
    shape: ({ sourcePieces }) => `${sourcePieces.length} pieces`,
    picture: (tools) => chipsPicture(tools),
  },
  {
    title: "Numbers",
    short: "ids",
    phase: 0,
    book: CHAPTERS.tokens,
    text: (journey, state) =>
      said`A network computes with numbers, so each piece is replaced by its place in the list: ${followedOf(journey, state)} is number ${commas(journey.sourceIds[state.piece])} of ${commas(journey.config.vocab_size)}. Such a number, an id, says nothing about the meaning, and two pieces that are neighbours in the list needn’t have anything in common. All it does is tell the model which row to fetch from a table, and that is the next stop.`,
    shape: ({ sourceIds }) => `${sourceIds.length} whole numbers`,
    picture: (tools) => chipsPicture(tools, { numbered: true }),
  },
  {
    title: "A row of the table",
    short: "row",
    phase: 0,
    book: CHAPTERS.embeddings,
    text: (journey, state) =>
      said`The table has a row for each piece, and each row is ${journey.config.d_model} numbers that were learned in training; pieces that are used alike have come to have similar rows. They are drawn as strips, blue above zero and olive below. The numbers are small, so the row of ${followedOf(journey, state)} is multiplied by √${journey.config.d_model} ≈ ${format(Math.sqrt(journey.config.d_model))}: otherwise it would be drowned out by what is added at the next stop.`,
    shape: stream,
    picture: (tools) => encoder.vectorsPicture(tools, encoder.rowParts),
  },
  {
    title: "Where each piece stands",
    short: "place",
    phase: 0,
    book: CHAPTERS.positions,
    text: (journey, state) =>
      said`A row is the same wherever its piece stands, so up to here “dog bites man” and “man bites dog” would look alike. That is why ${journey.config.positions === "sinusoidal" ? "a pattern of sines and cosines" : "a learned pattern"}, different for each place, is added to each row. The vector of ${followedOf(journey, state)} now says both what the piece is and that it stands in the ${ordinal(state.piece + 1)} place, and the encoder can begin.`,
    shape: stream,
    picture: (tools) => encoder.vectorsPicture(tools, encoder.positionParts),
  },
  {
    title: "One head looks around",
    short: "head",
    phase: 1,
    book: CHAPTERS.attention,
    text(journey, state) {
      const { layer, head, piece } = state;
      const row = facts.weightsOf(journey, layer, head)[piece];
      const [[to, weight]] = strongest(row, 1);
      const name = followedOf(journey, state);
      const target = to === piece ? "itself" : facts.named(journey.sourcePieces[to]);
      const { n_heads, n_encoder_layers } = journey.config;
      return said`What ${name} means depends on its neighbours, so it asks around. It sends out a query, every piece answers with a key, and query times key gives a score; a softmax turns each row of scores into weights that sum to 1. In this head ${name} looks most at ${target}, with weight ${format(weight)}. There are ${n_heads} heads in each of ${n_encoder_layers} layers: choose another, or choose a row to follow another piece.`;
    },
    shape: ({ sourcePieces }) =>
      `${sourcePieces.length} × ${sourcePieces.length} weights in this head`,
    picture: encoder.headPicture,
  },
  {
    title: "The mix, and the heads joined",
    short: "mix",
    phase: 1,
    book: CHAPTERS.heads,
    text(journey, state) {
      const { layer, head, piece } = state;
      const { d_model, n_heads } = journey.config;
      const row = facts.weightsOf(journey, layer, head)[piece];
      const parts = strongest(row, 2).map(
        ([j, w]) => `${percent(w, 0)} of ${facts.named(journey.sourcePieces[j])}`,
      );
      return said`Each piece also holds out a value of ${d_model / n_heads} numbers, and the weights say how much ${followedOf(journey, state)} takes of each: here ${listed(parts)}, and a little of the others. So the strips are as strong as their weights, and their sum is the mix. The ${n_heads} heads of the layer do this side by side, each with its own question; joined, their mixes make ${d_model} numbers again, and one more matrix blends them.`;
    },
    shape: ({ sourcePieces, config }) =>
      `${sourcePieces.length} × ${config.n_heads} heads × ${config.d_model / config.n_heads} = ${sourcePieces.length} × ${config.d_model}`,
    picture: encoder.mixPicture,
  },
  {
    title: "Add, and normalise",
    short: "add",
    phase: 1,
    book: CHAPTERS.encoder,
    text(journey, state) {
      const [sum, normal] = encoder.lengthsOf(journey, state);
      const way =
        journey.config.norm === "pre"
          ? "Only what the next part reads is normalised; the sum itself runs on."
          : "The normalised vector is what runs on.";
      return said`What attention has found doesn’t replace ${followedOf(journey, state)}; it is added to it, so that nothing gets lost on the way and training can reach every layer. But sums grow, and the next part works best if all vectors have about the same size. So each vector is normalised: this one has length ${format(sum, 1)} before, and ${format(normal, 1)} after. ${way}`;
    },
    shape: stream,
    picture: (tools) => encoder.vectorsPicture(tools, encoder.addParts),
  },
  {
    title: "A small network for each piece",
    short: "network",
    phase: 1,
    book: CHAPTERS.encoder,
    text(journey, state) {
      const { d_model, d_ff, activation } = journey.config;
      const n = facts.awake(
        facts.vector(journey.layers[state.layer].hidden, state.piece),
      ).length;
      return said`Attention has carried news from piece to piece; now each piece has to make something of it, on its own. A small network spreads its ${d_model} numbers out to ${commas(d_ff)}, ${activation === "relu" ? "sets all that are below zero to zero" : "lets hardly anything below zero through"}, and brings the rest back to ${d_model}, which are added again. For ${followedOf(journey, state)}, ${commas(n)} of the ${commas(d_ff)} are above zero: each is a pattern that the network has recognised in it.`;
    },
    shape: ({ sourcePieces, config }) =>
      `${sourcePieces.length} × ${config.d_model} → ${sourcePieces.length} × ${config.d_ff} → ${sourcePieces.length} × ${config.d_model}`,
    picture: encoder.networkPicture,
  },
  {
    title: "Out of the encoder",
    short: "memory",
    phase: 1,
    book: CHAPTERS.encoder,
    text(journey, state) {
      const ends = facts.turned(journey).map((each) => each.at(-1));
      const most = facts.largest(ends);
      const depth = journey.config.n_encoder_layers;
      return said`Stops 6 to 9 were one layer, and the encoder has ${depth}, so the same happens ${depth === 1 ? "once" : `${depth} times`}. Each layer turns the vectors a little further from where they began: ${followedOf(journey, state)} has turned by ${format(ends[state.piece], 0)}°, and ${facts.named(journey.sourcePieces[most])} the most, by ${format(ends[most], 0)}°. What comes out is called the memory: a vector for each piece, now full of its neighbours, and all that the decoder will ever know of the English.`;
    },
    shape: (journey) => `${stream(journey)}, the memory`,
    picture: encoder.turnedPicture,
  },
  {
    title: "The decoder looks back",
    short: "back",
    phase: 2,
    book: CHAPTERS.masks,
    text(journey, state) {
      const german = sofar(journey, state);
      const here = german
        ? said`it has written ${state.step} ${state.step === 1 ? "piece" : "pieces"}, ${german}`
        : "it hasn’t written anything yet";
      return said`The decoder begins with nothing but the sign ⟨bos⟩, and writes one piece at a time. Here ${here}. These pieces go through a table, positions and heads as the English did, with one difference: a mask hides from each piece what comes after it (the hatched cells), because when it was written, that didn’t exist. Move the slider to see the square grow. (The mean of the heads of the first layer is shown.)`;
    },
    shape: ({ config }, { step }) =>
      `${step + 1} × ${config.d_model}, and ${step + 1} × ${step + 1} weights in each head`,
    picture: decoder.lookBackPicture,
  },
  {
    title: "The decoder looks across",
    short: "across",
    phase: 2,
    book: CHAPTERS.decoder,
    text(journey, state) {
      const row = facts.across(journey, state.across)[state.step];
      const [[to, weight]] = strongest(row, 1);
      const german = sofar(journey, state);
      const when = german ? said`After ${german}` : "At the very beginning";
      const next = de(spoken(facts.predicted(journey)[state.step]));
      return said`Now the two languages meet. ${when}, the decoder needs to know what to say next, so it sends a query across to the English: keys and values come from the memory. In this layer (the mean of its heads) it looks most at ${facts.named(journey.sourcePieces[to])}, with weight ${format(weight)}, and the next piece will be ${next}. Nobody told it which words belong together; it learned that from pairs of sentences.`;
    },
    shape: ({ sourcePieces }, { step }) =>
      `${step + 1} × ${sourcePieces.length} weights in each head`,
    picture: decoder.acrossPicture,
  },
  {
    title: "A score for every piece",
    short: "scores",
    phase: 2,
    book: CHAPTERS.whole,
    text(journey, state) {
      const [first, second] = journey.next[state.step];
      const { vocab_size, tie_embeddings } = journey.config;
      const table = tie_embeddings ? "the very table from stop 4" : "a table";
      return said`After the last layer, the vector of the newest piece is compared with all ${commas(vocab_size)} rows of ${table}: the better a row fits, the higher its score, called a logit. A softmax turns all the scores into probabilities. ${de(spoken(first.piece))} comes first with ${percent(first.probability)}, and ${de(spoken(second.piece))} second with ${percent(second.probability)}.`;
    },
    shape: ({ config }) =>
      `${config.d_model} numbers → ${commas(config.vocab_size)} scores`,
    picture: decoder.scoresPicture,
  },
  {
    title: "Choose, append, again",
    short: "again",
    phase: 2,
    book: CHAPTERS.decoding,
    text(journey) {
      const rounds = facts.hasEnded(journey)
        ? `It goes on until the best piece is ⟨eos⟩, which here takes ${journey.next.length} rounds.`
        : `It would go on until the best piece is ⟨eos⟩; this one found no end, so it was stopped after ${journey.next.length - 1} pieces.`;
      return said`The best piece is appended to the German, and the decoder runs again, from stop 11, with one piece more to look back on. ${rounds} Press Play and watch. This way of choosing is called greedy; there are others, and the chapter compares them.`;
    },
    shape: ({ next }) => `${next.length} rounds of the decoder`,
    picture: decoder.loopPicture,
  },
  {
    title: "The German sentence",
    short: "German",
    phase: 3,
    book: CHAPTERS.inside,
    text: (journey, state) =>
      said`The pieces are put together, and the journey is over. Each line leads from a German piece to the English that the decoder looked at when it chose that piece; choose one to see its weights. ${
        facts.crosses(facts.across(journey, state.across))
          ? "Where lines cross, German puts things in another order, and attention found the way."
          : "No lines cross, so both languages go in the same order here."
      } A heavy line isn’t proof of a reason, though, as the chapter shows. Is the German right? The model is small: try another sentence.`,
    shape: ({ targetPieces }) => `${targetPieces.length - 1} pieces, one text`,
    picture: decoder.joinedPicture,
  },
];
