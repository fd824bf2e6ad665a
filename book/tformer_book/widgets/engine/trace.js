// Tracing: look at values inside a model while it does its real work, or change them.
// Chapters *Multi-head attention* and *The encoder*.
import { sourceMask } from "./masks.js";
import { row, Tensor, upTo } from "./tensor.js";

// Collect the outputs of named parts: { seen: { name: [output, …] }, stop() }.
// Names are those of Python, such as "encoder.layers.0.self_attention.weights".
export function watch(model, ...names) {
  const modules = new Map(model.namedModules());
  const seen = {};
  const stops = names.map((name) => {
    const module = modules.get(name);
    if (!module)
      throw new RangeError(`no module is called "${name}"; see namedModules()`);
    seen[name] = [];
    return module.hook((output) => void seen[name].push(output));
  });
  return { seen, stop: () => stops.forEach((stop) => stop()) };
}

// The outputs of named parts while some work is done, and what it gives: { seen, result }.
export function watching(model, names, work) {
  const { seen, stop } = watch(model, ...names);
  try {
    return { result: work(), seen };
  } finally {
    stop();
  }
}

/** @type {Record<string, [string, (layer: number) => string]>} */
const SITES = {
  encoder: ["n_encoder_layers", (layer) => `encoder.layers.${layer}.self_attention`],
  decoder: ["n_decoder_layers", (layer) => `decoder.layers.${layer}.self_attention`],
  cross: ["n_decoder_layers", (layer) => `decoder.layers.${layer}.cross_attention`],
};

// All attention weights of one forward pass: encoder (B, L, H, S, S),
// decoder (B, L, H, T, T), cross (B, L, H, T, S).
export function attentionWeights(model, sourceIds, targetIds) {
  /** @type {[string, string[]][]} */
  const names = Object.entries(SITES).map(([site, [depth, nameOf]]) => {
    return [site, upTo(model.config[depth]).map((layer) => `${nameOf(layer)}.weights`)];
  });
  const { seen } = watching(
    model,
    names.flatMap(([, each]) => each),
    () => model.call(sourceIds, targetIds),
  );
  const first = (name) => seen[name][0];
  return Object.fromEntries(
    names.map(([site, each]) => [site, stack(each.map(first))]),
  );
}

// L tensors (B, …) -> (B, L, …)
function stack(layers) {
  const [batch, ...rest] = layers[0].shape;
  const output = new Tensor([batch, layers.length, ...rest]);
  const size = layers[0].data.length / batch;
  for (let b = 0, start = 0; b < batch; b++) {
    for (const layer of layers) {
      output.data.set(row(layer, b), start);
      start += size;
    }
  }
  return output;
}

// Follow the residual stream through one forward pass: what each part adds, in order.
//
// -> { encoder, decoder }, lists of { name, before, added, after } of tensors
// (B, T, D); names are "word", "position" and those of sub-layers, such as
// "layers.0.self_attention". Before the word there is nothing: zeros.
export function residualStream(model, sourceIds, targetIds) {
  const { n_encoder_layers, n_decoder_layers, pad_id, tie_embeddings } = model.config;
  const source = "source_embedding";
  const target = tie_embeddings ? source : "target_embedding";
  const read = () => model.encode(sourceIds);
  const [encoder, memory] = follow(model, "encoder", n_encoder_layers, source, read);
  const mask = sourceMask(sourceIds, pad_id);
  const write = () => model.decode(targetIds, memory, mask);
  const [decoder] = follow(model, "decoder", n_decoder_layers, target, write);
  return { encoder, decoder };
}

// Where a sub-layer says what it adds.
const SAYS = {
  self_attention: "self_attention.to_output",
  cross_attention: "cross_attention.to_output",
  feed_forward: "feed_forward",
};

function follow(model, side, nLayers, embedding, run) {
  const parts = Object.keys(SAYS).filter(
    (part) => side === "decoder" || part !== "cross_attention",
  );
  const subLayers = upTo(nLayers).flatMap((layer) =>
    parts.map((part) => ({
      name: `layers.${layer}.${part}`,
      says: `${side}.layers.${layer}.${SAYS[part]}`,
      stream: `${side}.layers.${layer}.${part}_residual`,
    })),
  );
  const names = subLayers.flatMap(({ says, stream }) => [says, stream]);
  const { seen, result } = watching(model, [embedding, "positions", ...names], run);
  const [[word], [start]] = [seen[embedding], seen.positions];
  const position = new Tensor(
    word.shape,
    start.data.map((value, i) => value - word.data[i]),
  );
  const writes = [
    { name: "word", before: new Tensor(word.shape), added: word, after: word },
    { name: "position", before: word, added: position, after: start },
  ];
  for (const { name, says, stream } of subLayers) {
    const [[added], [after]] = [seen[says], seen[stream]];
    writes.push({ name, before: writes.at(-1).after, added, after });
  }
  return [writes, result];
}

// Every head of a model, as a gain names it: { site, layer, head }, counted from 0.
export const allHeads = (config) =>
  Object.entries(SITES).flatMap(([site, [depth]]) =>
    upTo(config[depth]).flatMap((layer) =>
      upTo(config.n_heads).map((head) => ({ site, layer, head })),
    ),
  );

// Scale heads' outputs, before they are merged: 0 knocks a head out, 1 changes nothing.
//
// gains: [{ site: "encoder" | "decoder" | "cross", layer, head, gain }, …], counted
// from 0. Returns the function that undoes it.
export function setHeadGains(model, gains) {
  const modules = new Map(model.namedModules());
  for (const each of gains) checkGain(each, model.config);
  const stops = gains.map(({ site, layer, head, gain }) => {
    const [, nameOf] = SITES[site];
    return modules.get(`${nameOf(layer)}.heads`).hook((heads) => {
      const width = heads.shape[2];
      const headWidth = width / model.config.n_heads;
      const data = heads.data.slice();
      for (let i = head * headWidth; i < data.length; i += width) {
        for (let c = 0; c < headWidth; c++) data[i + c] *= gain;
      }
      return new Tensor(heads.shape, data);
    });
  });
  return () => stops.forEach((stop) => stop());
}

function checkGain({ site, layer, head, gain }, config) {
  const depth = config[SITES[site]?.[0]];
  const fits = (i, n) => Number.isInteger(i) && i >= 0 && i < n;
  if (!fits(layer, depth) || !fits(head, config.n_heads) || !Number.isFinite(gain))
    throw new RangeError(
      `no gain ${gain} for head ${head} of layer ${layer} of "${site}": sites are ` +
        `${Object.keys(SITES).join(", ")}; layers and heads are counted from 0`,
    );
}
