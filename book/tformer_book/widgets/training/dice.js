// Chance that can be repeated: the same seed gives the same numbers.
import { randomNumbers } from "../engine/random.js";

export class Dice {
  #next;

  // purpose: dice of one seed for different purposes don't depend on each other.
  constructor(seed, purpose = "") {
    let mixed = seed >>> 0;
    for (const letter of purpose)
      mixed = Math.imul(mixed ^ letter.codePointAt(0), 0x01000193) + 1;
    this.#next = randomNumbers(mixed);
  }

  // In [low, high).
  between(low, high) {
    return low + (high - low) * this.#next();
  }

  // A whole number from low to high, both included.
  whole(low, high) {
    return low + Math.floor(this.#next() * (high - low + 1));
  }

  pick(list) {
    return list[this.whole(0, list.length - 1)];
  }

  // From the normal distribution (Box and Muller).
  normal() {
    const radius = Math.sqrt(-2 * Math.log(1 - this.#next()));
    return radius * Math.cos(2 * Math.PI * this.#next());
  }

  // A list of `length` results of draw().
  many(length, draw) {
    return Array.from({ length }, draw);
  }

  shuffled(list) {
    const order = [...list];
    for (let i = order.length - 1; i > 0; i--) {
      const j = this.whole(0, i);
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }
}
