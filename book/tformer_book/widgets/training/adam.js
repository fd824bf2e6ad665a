// How weights learn from gradients: clipping, warm-up, Adam. Chapter *Training*.

// The norm of all gradients together; if it is above `most`, shorten them to it.
export function clipGradients(weights, most) {
  let squares = 0;
  for (const { gradient } of weights) {
    for (let i = 0; i < gradient.length; i++) squares += gradient[i] ** 2;
  }
  const norm = Math.sqrt(squares);
  const factor = most / (norm + 1e-6);
  if (factor < 1) {
    for (const { gradient } of weights) {
      for (let i = 0; i < gradient.length; i++) gradient[i] *= factor;
    }
  }
  return norm;
}

const STEADY = 200; // steps until the learning rate begins to fall

// The learning rate of a step, from 1: it rises in `warmup` steps, and falls with the root
// of the step. With a warm-up of STEADY steps this is the paper's curve.
export function learningRate(step, { rate, warmup }) {
  return rate * Math.min(1, warmup ? step / warmup : 1, Math.sqrt(STEADY / step));
}

// Adam: each weight moves by the mean of its last gradients over the root of the mean of
// their squares, both corrected for having begun at zero. Settings as in the paper.
export class Adam {
  #step = 0;

  constructor(weights, { betas = [0.9, 0.98], epsilon = 1e-9 } = {}) {
    this.weights = weights;
    this.betas = betas;
    this.epsilon = epsilon;
    this.moments = weights.map(({ data }) => ({
      mean: new Float32Array(data.length),
      square: new Float32Array(data.length),
    }));
  }

  step(rate) {
    this.#step++;
    const [keepMean, keepSquare] = this.betas;
    const { epsilon } = this;
    const pace = rate / (1 - keepMean ** this.#step);
    const correction = Math.sqrt(1 - keepSquare ** this.#step);
    this.weights.forEach(({ data, gradient }, k) => {
      const { mean, square } = this.moments[k];
      for (let i = 0; i < data.length; i++) {
        const g = gradient[i];
        mean[i] += (1 - keepMean) * (g - mean[i]);
        square[i] += (1 - keepSquare) * (g * g - square[i]);
        data[i] -= (pace * mean[i]) / (Math.sqrt(square[i]) / correction + epsilon);
      }
    });
  }
}
