// Tracing: look at values inside a model while it does its real work, or change them.
// Chapters 06 and 14.
import { Tensor, row } from "./tensor.js";

// Collect the outputs of named parts: { seen: { name: [output, …] }, stop() }.
// Names are those of Python, such as "encoder.layers.0.self_attention.weights".
export function watch(model, ...names) {
  const modules = new Map(model.namedModules());
  const seen = {};
  const stops = names.map((name) => {
    const module = modules.get(name);
    if (!module) throw new RangeError(`no module is called "${name}"; see namedModules()`);
    seen[name] = [];
    return module.hook((output) => void seen[name].push(output));
  });
  return { seen, stop: () => stops.forEach((stop) => stop()) };
}

const SITES = {
  encoder: ["n_encoder_layers", (layer) => `encoder.layers.${layer}.self_attention`],
  decoder: ["n_decoder_layers", (layer) => `decoder.layers.${layer}.self_attention`],
  cross: ["n_decoder_layers", (layer) => `decoder.layers.${layer}.cross_attention`],
};

const upTo = (n) => Array.from({ length: n }, (_, i) => i);

// All attention weights of one forward pass: encoder (B, L, H, S, S),
// decoder (B, L, H, T, T), cross (B, L, H, T, S).
export function attentionWeights(model, sourceIds, targetIds) {
  const names = Object.entries(SITES).map(([site, [depth, nameOf]]) => {
    return [site, upTo(model.config[depth]).map((layer) => `${nameOf(layer)}.weights`)];
  });
  const { seen, stop } = watch(model, ...names.flatMap(([, each]) => each));
  try {
    model.call(sourceIds, targetIds);
  } finally {
    stop();
  }
  const stacked = names.map(([site, each]) => [site, stack(each.map((name) => seen[name][0]))]);
  return Object.fromEntries(stacked);
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
  if (!fits(layer, depth) || !fits(head, config.n_heads) || !Number.isFinite(gain)) {
    throw new RangeError(
      `no gain ${gain} for head ${head} of layer ${layer} of "${site}": sites are ` +
        `${Object.keys(SITES).join(", ")}; layers and heads count from 0`,
    );
  }
}
