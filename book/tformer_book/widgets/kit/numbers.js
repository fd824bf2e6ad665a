// Numbers for people. No imports, no page: runs in Node, too.

// A true minus sign, no minus before zero, −∞, and NaN by name.
export function format(x, digits = 2) {
  if (Number.isNaN(x)) return "NaN";
  if (Math.abs(x) === Infinity) return x < 0 ? "−∞" : "∞";
  const text = Math.abs(x).toFixed(digits);
  return (x < 0 && Number(text) !== 0 ? "−" : "") + text;
}

// As a cell of a map has room for it, without a zero before the point: 0.25 -> .25
export const brief = (x) => format(x).replace(/^(\D*)0(?=\.)/, "$1");

// 0.125 -> 12.5 %, on one line; what is not 0 is not called 0.
export function percent(share, digits = 1) {
  const least = 10 ** -digits;
  const isLess = share > 0 && 100 * share < least / 2;
  return `${isLess ? `<${format(least, digits)}` : format(100 * share, digits)}\u00a0%`;
}

// 12345 -> 12,345
export const commas = (n) => n.toLocaleString("en");

// 1 step, 2 steps.
export const plural = (n, word) => `${commas(n)} ${word}${n === 1 ? "" : "s"}`;

// A length in positions, or whatever needs no digits where it is large.
export const roughly = (x) => (x < 100 ? format(x, 1) : commas(Math.round(x)));

// A probability in three digits; what is not 0 is not called 0.
export const chance = (p) => (p > 0 && p < 0.0005 ? "<0.001" : format(p, 3));

// 10⁻³ for -3.
const DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
export const powerOfTen = (n) =>
  `10${[...String(n)].map((c) => (c === "-" ? "⁻" : DIGITS[c])).join("")}`;

// The place in a list of positive numbers whose number is nearest, by ratio.
export const nearest = (list, x) =>
  list.reduce(
    (best, each, i) =>
      Math.abs(Math.log(each / x)) < Math.abs(Math.log(list[best] / x)) ? i : best,
    0,
  );
