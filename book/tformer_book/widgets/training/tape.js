// The tape: what a training step computes, and how to go back over it. Chapter *Training*.
//
// Going forward, each operation takes a place for its result and says how the gradient of
// its result becomes gradients of what it read. `backward` does all that, last first.
//
// A step asks for the same places in the same order as the one before it, so their memory
// is used again: nothing is allocated once training runs.
import { Tensor } from "../engine/tensor.js";

// A tensor on a tape: `gradient` is how the loss changes with each of its numbers.
export class Node extends Tensor {
  constructor(shape, data, gradient, tape) {
    super(shape, data);
    this.gradient = gradient;
    this.tape = tape;
  }
}

export class Tape {
  #places = [];
  #next = 0;
  #ways = []; // back, from each result to what it was made of
  #scratch = [];

  // learns: whether there will be a way back.
  constructor({ learns = true } = {}) {
    this.learns = learns;
  }

  // Begin anew: all nodes of this tape lose their numbers.
  rewind(to = 0) {
    this.#next = to;
    this.#ways.length = 0;
  }

  // How far the tape is: what comes after it can be given up (`rewind`).
  get length() {
    return this.#next;
  }

  // A place for a result. Its data are left from before; its gradient is zero.
  node(shape) {
    const size = shape.reduce((a, b) => a * b, 1);
    const place = this.#next++;
    if (!(this.#places[place]?.data.length >= size)) {
      const gradient = new Float32Array(this.learns ? size : 0);
      this.#places[place] = { data: new Float32Array(size), gradient };
    }
    const { data, gradient } = this.#places[place];
    return new Node(
      shape,
      data.subarray(0, size),
      gradient.subarray(0, size).fill(0),
      this,
    );
  }

  // Room for numbers that are needed for a moment only; each slot has its own.
  scratch(slot, size) {
    if (!(this.#scratch[slot]?.length >= size))
      this.#scratch[slot] = new Float32Array(size);
    return this.#scratch[slot].subarray(0, size);
  }

  // Say how to go back from a result.
  record(way) {
    if (this.learns) this.#ways.push(way);
  }

  // Gradients of everything on the tape and of all weights that it read, from those that
  // the last result has.
  backward() {
    for (let i = this.#ways.length - 1; i >= 0; i--) this.#ways[i]();
  }
}
