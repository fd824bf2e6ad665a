// Embedding: a row for each piece, read on the way in and out. Chapter *Embeddings*.
import { Module, Parameter } from "./module.js";
import { linear, row, Tensor } from "./tensor.js";

// In: x = E[id] * sqrt(D). Out: logits = h E^T, and a bias where the model has one.
export class ScaledEmbedding extends Module {
  constructor(vocabSize, dModel, { outputBias = false } = {}) {
    super();
    this.scale = Math.sqrt(dModel);
    this.table = new Table(vocabSize, dModel);
    this.outputBias = outputBias ? new Parameter(vocabSize) : null;
  }

  // (B, T) ids -> (B, T, D)
  forward(ids) {
    const rows = this.table.call(ids);
    const scaled = new Tensor(rows.shape);
    for (let i = 0; i < rows.data.length; i++)
      scaled.data[i] = rows.data[i] * this.scale;
    return scaled;
  }

  // (..., D) -> (..., V), by the unscaled table
  unembed(hidden) {
    return linear(hidden, this.table.weight, this.outputBias);
  }
}

// (B, T) ids -> (B, T, D): the rows as they are.
export class Table extends Module {
  constructor(nRows, width) {
    super();
    this.weight = new Parameter(nRows, width);
  }

  forward(ids) {
    const width = this.weight.shape[1];
    const output = new Tensor([ids.length, ids[0].length, width]);
    ids.flat().forEach((id, i) => {
      output.data.set(row(this.weight, id), i * width);
    });
    return output;
  }
}
