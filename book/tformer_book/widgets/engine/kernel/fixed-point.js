// Whole numbers in place of a vector: what both kernels multiply eight-bit weights by, so
// that their sums are exact and the same.

const MOST = 2 ** 15 - 1; // of 16 bits
const MOST_SUM = 2 ** 31 - 1; // of 32 bits
const MOST_WEIGHT = 2 ** 7;

// What the largest |x| of so many numbers becomes: a sum of their products with eight-bit
// weights still fits 32 bits.
export const largest = (length) =>
  Math.min(MOST, Math.floor(MOST_SUM / (MOST_WEIGHT * length)));

// x ≈ step * numbers. Fills numbers (Int16Array, as long as x or longer), returns step,
// in float32: as small as the largest |x| allows.
export function fixedPoint(x, numbers) {
  let top = 0;
  for (let k = 0; k < x.length; k++) {
    const size = Math.abs(x[k]);
    if (size > top) top = size;
  }
  const step = Math.fround(top / largest(x.length));
  const perStep = step ? 1 / step : 0;
  for (let k = 0; k < x.length; k++) numbers[k] = Math.round(x[k] * perStep);
  return step;
}
