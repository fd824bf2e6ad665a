// What a model writes when nobody tells it the target: always the likeliest next symbol.
import { argmax } from "../engine/decode/choosing.js";
import { END, padded, START } from "./batch.js";
import { PAD } from "./model.js";

// sources: lists of ids. -> what is written for each, without the end.
export function written(model, tape, sources, most) {
  tape.rewind();
  if (model.settings.shape === "encoder") return labelled(model, tape, sources);
  const isAlone = model.settings.shape === "decoder";
  const ended = isAlone ? null : padded(sources.map((source) => [...source, END]));
  const memory = ended && model.encode(tape, ended);
  const begin = tape.length;
  const rows = sources.map((source) => [...(isAlone ? source : []), START]);
  const done = sources.map(() => false);
  const texts = sources.map(() => []);
  for (let step = 0; step < most && done.includes(false); step++) {
    tape.rewind(begin);
    const target = padded(rows);
    const logits = model.unembed(model.decode(tape, target, memory, ended));
    rows.forEach((row, b) => {
      const id = likeliest(logits, b * target[0].length + row.length - 1);
      row.push(id);
      if (id === END) done[b] = true;
      if (!done[b]) texts[b].push(id);
    });
  }
  return texts;
}

// An encoder alone says everything at once.
function labelled(model, tape, sources) {
  const ids = padded(sources.map((source) => [...source, END]));
  const logits = model.forward(tape, { source: ids, target: null });
  return ids.map((row, b) => {
    const said = row.map((_, t) => likeliest(logits, b * row.length + t));
    const end = said.indexOf(END);
    return said.slice(0, end < 0 ? sources[b].length + 1 : end);
  });
}

// The best id of a row of logits; padding is never written.
export function likeliest(logits, row) {
  const size = logits.shape.at(-1);
  const scores = logits.data.slice(row * size, (row + 1) * size);
  scores[PAD] = -Infinity;
  return argmax(scores);
}

// All attention maps of one forward pass of a batch of one sequence.
// -> { name, rows, columns: ids, heads: Float32Array[] }[]
export function attentionMaps(model, tape, batch) {
  const maps = [];
  const undo = [];
  const watch = (module, name, rows, columns) =>
    undo.push(
      module.weights.hook(({ shape, data }) => {
        const size = shape[2] * shape[3];
        const heads = Array.from({ length: shape[1] }, (_, h) =>
          data.slice(h * size, (h + 1) * size),
        );
        maps.push({ name, rows, columns, heads });
      }),
    );
  const [source] = batch.source ?? [];
  const [target] = batch.target ?? [];
  model.encoder?.layers.forEach(({ selfAttention }, i) =>
    watch(selfAttention, `encoder layer ${i}`, source, source),
  );
  model.decoder?.layers.forEach(({ selfAttention, crossAttention }, i) => {
    watch(selfAttention, `decoder layer ${i}`, target, target);
    if (crossAttention) watch(crossAttention, `cross ${i}`, target, source);
  });
  try {
    tape.rewind();
    model.forward(tape, batch);
  } finally {
    for (const stop of undo) stop();
  }
  return maps;
}
