// Everything that one sentence passes through, in one forward pass along the translation
// that greedy search finds. Chapter *The whole Transformer*.
import { Tensor, upTo } from "./tensor.js";
import { attentionWeights, watching } from "./trace.js";

// What a layer of the encoder shows, by the part that says it. (With pre-norm the stream
// is normalised on its way into the feed-forward network, with post-norm after the sum.)
const layerParts = (norm) => ({
  query: "self_attention.to_query",
  key: "self_attention.to_key",
  value: "self_attention.to_value",
  mixed: "self_attention.heads",
  attended: "self_attention.to_output",
  normalised: norm === "pre" ? "feed_forward_residual.norm" : "self_attention_residual",
  hidden: "feed_forward.expand",
  fed: "feed_forward",
  after: "feed_forward_residual",
});

// -> tensors of one sentence, without the axis of the batch: word, start (S, D); layers,
// each { query, key, value, mixed, attended, normalised, fed, after (S, D), hidden (S, F) };
// memory (S, D); encoder (L, H, S, S), decoder (L, H, T, T), cross (L, H, T, S); said
// (T, D), from which logits (T, V) come.
export function journey(model, source, target) {
  const { n_encoder_layers, norm } = model.config;
  const parts = Object.entries(layerParts(norm));
  const at = (layer, part) => `encoder.layers.${layer}.${part}`;
  const layers = upTo(n_encoder_layers);
  const names = layers.flatMap((layer) => parts.map(([, part]) => at(layer, part)));
  names.push("source_embedding", "positions", "encoder", "decoder");
  const { seen, result: maps } = watching(model, names, () =>
    attentionWeights(model, [source], [target]),
  );
  const first = (name) => alone(seen[name][0]);
  const said = first("decoder");
  return {
    word: first("source_embedding"),
    start: first("positions"),
    layers: layers.map((layer) =>
      Object.fromEntries(parts.map(([name, part]) => [name, first(at(layer, part))])),
    ),
    memory: first("encoder"),
    encoder: alone(maps.encoder),
    decoder: alone(maps.decoder),
    cross: alone(maps.cross),
    said,
    logits: model.unembed(said),
  };
}

const alone = ({ shape, data }) => new Tensor(shape.slice(1), data);
