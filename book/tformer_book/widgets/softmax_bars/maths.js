// Softmax in the 32 bits that models use, and what there is to say about it. Runs in Node;
// the tests hold it to torch.
import { format, powerOfTen } from "../kit/numbers.js";

const f = Math.fround;

// Shares of (scores + added) / temperature. Every step is rounded to 32 bits.
// `subtract` takes the largest away first, which changes no share.
export function softmax32(scores, options = {}) {
  const { temperature = 1, added = 0, subtract = true } = options;
  const logits = scores.map((s) => f(f(f(s) + f(added)) / f(temperature)));
  const largest = Math.max(...logits);
  const exponents = logits.map((x) => (subtract ? f(x - largest) : x));
  const powers = exponents.map((x) => f(Math.exp(x)));
  const total = powers.reduce((sum, p) => f(sum + p), 0);
  const shares = powers.map((p) => f(p / total));
  return { logits, largest, exponents, powers, total, shares };
}

// Three digits, and a power of ten where there would be many more.
export function short(x) {
  if (x === 0 || !Number.isFinite(x)) return x === 0 ? "0" : format(x);
  if (Math.abs(x) >= 0.001 && Math.abs(x) < 10000)
    return format(x, Math.abs(x) < 1 ? 3 : Math.abs(x) < 100 ? 2 : 0);
  const [digits, exponent] = x.toExponential(1).split("e");
  return `${digits} × ${powerOfTen(Number(exponent))}`;
}

// What e is raised to, in words: the head of its column.
export function exponent({ temperature, added, subtract }) {
  const sign = added < 0 ? "−" : "+";
  let words = added ? `score ${sign} ${Math.abs(added)}` : "score";
  if (subtract) words = "score − largest"; // what was added to both cancels
  if (temperature === 1) return words;
  const whole = words === "score" ? words : `(${words})`;
  return `${whole} ÷ ${format(temperature, 1)}`;
}

// The sentence under the table.
export function explain(labels, result, { subtract }) {
  const { powers, total, shares, exponents } = result;
  if (powers.includes(Infinity)) {
    const j = powers.indexOf(Infinity);
    return (
      `e to the power ${format(exponents[j], 1)} is more than 32 bits can hold: ∞. ` +
      "∞ ÷ ∞ is NaN, not a number, and everything that is computed from it is NaN, too. Subtract the largest score first."
    );
  }
  if (total === Infinity)
    return "No power overflows, but their sum does: ∞. So every share is 0. Subtract the largest score first.";
  if (total === 0)
    return "All powers are smaller than 32 bits can hold, so they are 0. 0 ÷ 0 is NaN. Subtract the largest score first: then one power is 1.";
  const [best, next] = [...shares.keys()].sort((i, j) => shares[j] - shares[i]);
  const head = `“${labels[best]}” gets ${short(powers[best])} ÷ ${short(total)} = ${format(shares[best], 3)}`;
  if (next === undefined) return `${head}.`;
  const gap = exponents[best] - exponents[next];
  const times =
    shares[next] > 0
      ? `, e to the power ${format(gap, 1)} = ${short(Math.exp(gap))} times as much as “${labels[next]}”`
      : "";
  const largest = subtract
    ? " No power is above 1, since the largest score was subtracted."
    : "";
  return `${head}${times}.${largest}`;
}
