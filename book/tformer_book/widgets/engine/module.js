// Modules: parts that hold weights and parts of parts, named as in PyTorch, so that a
// weight file says by itself where each weight belongs, and any part can be watched.
import { linear, Tensor } from "./tensor.js";

// A weight. It has a shape from the start and its numbers once they are loaded; a matrix
// then also has `product`, with which the kernel multiplies by it (see kernel/plain.js).
export class Parameter extends Tensor {
  constructor(...shape) {
    super(shape, null);
    this.product = null;
  }
}

export class Module {
  #hooks = new Set();

  // What the part computes; each kind of part has its own.
  /** @param {...any} _inputs @returns {any} */
  forward(..._inputs) {
    throw new Error(`${this.constructor.name} does not say what it computes`);
  }

  // Run the part; who watches sees its output and may return another in its place.
  call(...inputs) {
    let output = this.forward(...inputs);
    for (const hook of this.#hooks) output = hook(output) ?? output;
    return output;
  }

  // Watch the part; returns the function that ends it.
  hook(hook) {
    this.#hooks.add(hook);
    return () => this.#hooks.delete(hook);
  }

  // [name, part] pairs such as ["encoder.layers.0.self_attention", …], each part once.
  *namedModules(prefix = "", seen = new Set()) {
    if (seen.has(this)) return;
    seen.add(this);
    yield [prefix, this];
    for (const [name, child] of children(this)) {
      if (child instanceof Module)
        yield* child.namedModules(joined(prefix, name), seen);
    }
  }

  // [name, weight] pairs, each weight once: a tied table has the name of its first use.
  *namedParameters() {
    for (const [prefix, module] of this.namedModules()) {
      for (const [name, child] of children(module)) {
        if (child instanceof Parameter) yield [joined(prefix, name), child];
      }
    }
  }
}

function* children(module) {
  for (const [name, value] of Object.entries(module)) {
    const list = Array.isArray(value) ? value : [value];
    for (const [i, child] of list.entries())
      yield [list === value ? `${snakeCase(name)}.${i}` : snakeCase(name), child];
  }
}

const joined = (prefix, name) => (prefix ? `${prefix}.${name}` : name);
// selfAttention -> self_attention: JavaScript's habit and Python's.
const snakeCase = (name) =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

// A part that does nothing: a place to watch, or to change, a value.
export class Probe extends Module {
  forward(x) {
    return x;
  }
}

export class Linear extends Module {
  constructor(nIn, nOut) {
    super();
    this.weight = new Parameter(nOut, nIn);
    this.bias = new Parameter(nOut);
  }

  forward(x) {
    return linear(x, this.weight, this.bias);
  }
}
