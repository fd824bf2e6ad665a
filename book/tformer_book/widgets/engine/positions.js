// Positions: tell a model without order where each token stands. Chapter *Positions*.
import { Module, Parameter } from "./module.js";
import { row, Tensor } from "./tensor.js";

// table[p, 2i] = sin(p / base^(2i / D)), table[p, 2i+1] = cos(same angle)
export function sinusoids(length, dModel, base = 10_000) {
  const table = new Tensor([length, dModel]);
  for (let p = 0; p < length; p++) {
    for (let pair = 0; pair < dModel; pair += 2) {
      const angle = p / base ** (pair / dModel);
      table.data[p * dModel + pair] = Math.sin(angle);
      table.data[p * dModel + pair + 1] = Math.cos(angle);
    }
  }
  return table;
}

// Add a row of `table` to the embedding at each position.
class Positions extends Module {
  constructor(table) {
    super();
    this.table = table;
  }

  // (B, T, D) -> (B, T, D); offset is the position of the first row.
  forward(x, offset = 0) {
    const [batch, length, width] = x.shape;
    const maxLen = this.table.shape[0];
    if (offset + length > maxLen)
      throw new RangeError(
        `a sequence of ${offset + length} tokens is longer than max_len=${maxLen}: ` +
          "split the text, or take a model with a larger max_len",
      );
    const output = new Tensor(x.shape, x.data.slice());
    for (let t = 0; t < length; t++) {
      const place = row(this.table, offset + t);
      for (let b = 0; b < batch; b++) {
        const start = (b * length + t) * width;
        for (let j = 0; j < width; j++) output.data[start + j] += place[j];
      }
    }
    return output;
  }
}

// Nothing here is learned.
export class SinusoidalPositions extends Positions {
  constructor(dModel, maxLen) {
    super(sinusoids(maxLen, dModel));
  }
}

// A row that is learned, one for each position.
export class LearnedPositions extends Positions {
  constructor(dModel, maxLen) {
    super(new Parameter(maxLen, dModel));
  }
}
