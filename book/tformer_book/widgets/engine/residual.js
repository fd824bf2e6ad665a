// The residual connection and the place of the norm beside it. Chapter *The encoder*.
import { Module } from "./module.js";
import { LayerNorm } from "./norm.js";
import { add } from "./tensor.js";

// "post", the paper: LayerNorm(x + sublayer(x)). "pre": x + sublayer(LayerNorm(x)).
export class Residual extends Module {
  constructor(dModel, norm) {
    super();
    this.isPre = norm === "pre";
    this.norm = new LayerNorm(dModel);
  }

  forward(x, sublayer) {
    if (this.isPre) return add(x, sublayer(this.norm.call(x)));
    return this.norm.call(add(x, sublayer(x)));
  }
}
