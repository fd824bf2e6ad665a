// Whole numbers in place of a vector: what both kernels multiply eight-bit weights by, so
// that their sums are exact and the same.

const MOST = 2 ** 15 - 1; // of 16 bits
const MOST_SUM = 2 ** 31 - 1; // of 32 bits
const MOST_WEIGHT = 2 ** 7;

// x ≈ step * numbers. Fills numbers (Int16Array, as long as x or longer), returns step,
// in float32: as small as the largest |x| allows, and a sum of products with eight-bit
// weights, one for each number of x, still fits 32 bits.
export function fixedPoint(x, numbers) {
  let top = 0;
  for (let k = 0; k < x.length; k++) {
    const size = Math.abs(x[k]);
    if (size > top) top = size;
  }
  const most = Math.min(MOST, Math.floor(MOST_SUM / (MOST_WEIGHT * x.length)));
  const step = Math.fround(top / most);
  const perStep = step ? 1 / step : 0;
  for (let k = 0; k < x.length; k++) numbers[k] = Math.round(x[k] * perStep);
  return step;
}
