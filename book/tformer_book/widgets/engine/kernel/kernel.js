// The kernel: products with a model's matrices, in the fastest way that works here.
import { plainProduct } from "./plain.js";
import { simdProducts } from "./simd.js";

// From weights (out, in): { name of the way, products: one for each (`plainProduct`) }.
export const plain = (weights) => ({
  name: "JavaScript",
  products: weights.map(plainProduct),
});

export function fastest(weights) {
  const products = simdProducts(weights);
  return products ? { name: "WebAssembly", products } : plain(weights);
}
