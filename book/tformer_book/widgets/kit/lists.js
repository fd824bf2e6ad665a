// Lists: counting, comparing, naming. No page: it runs in Node, too.

// 0, 1, … n - 1.
export const upTo = (n) => Array.from({ length: n }, (_, i) => i);

export const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

// The dot product.
export const dot = (a, b) => a.reduce((total, x, i) => total + x * b[i], 0);

// "a, b and c"
export const listed = (names) =>
  names.length < 2
    ? names.join("")
    : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
