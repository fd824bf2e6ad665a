// Sinusoids, right and wrong, and what tells them apart. Runs in Node; the tests hold it to
// `tformer.positions.sinusoids`.
export const LENGTH = 128; // rows of the heat maps
export const REACH = 64; // positions and offsets on the sliders
export const VARIANTS = ["doubled exponent", "sin | cos halves", "degrees", "no base"];
export const STILL = 0.01; // a column that moves less over 64 positions hardly moves

// Each column is a sine or a cosine of position times speed, in radians per position.
export function columnsOf(variant, d, base) {
  const powers = {
    "doubled exponent": (c) => c,
    "sin | cos halves": (c) => c % (d / 2),
    "no base": () => 0,
  };
  const power = powers[variant] ?? ((c) => Math.floor(c / 2));
  const unit = variant === "degrees" ? Math.PI / 180 : 1;
  const sine = (c) => (variant === "sin | cos halves" ? c < d / 2 : c % 2 === 0);
  return Array.from({ length: d }, (_, c) => ({
    sine: sine(c),
    speed: unit * base ** ((-2 * power(c)) / d),
  }));
}
// The columns that belong together: [sine, cosine] of pair i; and the pair of a column.
export const pairOf = (variant, d, i) =>
  variant === "sin | cos halves" ? [i, i + d / 2] : [2 * i, 2 * i + 1];
export const pairAt = (variant, d, column) =>
  variant === "sin | cos halves" ? column % (d / 2) : Math.floor(column / 2);
export const at = ({ sine, speed }, p) =>
  sine ? Math.sin(p * speed) : Math.cos(p * speed);
export const tableOf = (columns, length = LENGTH) =>
  Array.from({ length }, (_, p) => columns.map((column) => at(column, p)));

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
export const similarity = (table, p) =>
  Array.from({ length: REACH }, (_, k) => dot(table[p], table[p + k]));

// What tells a good table from a bad one, for offset k.
export function facts(variant, d, base, table, k) {
  const columns = columnsOf(variant, d, base);
  const lengths = columns.map((c) => (2 * Math.PI) / c.speed);
  const rows = table.slice(0, REACH);
  const products = rows.map((row, p) => dot(row, table[p + k]));
  const ranges = columns.map((_, c) => {
    const values = rows.map((row) => row[c]);
    return Math.max(...values) - Math.min(...values);
  });
  const errors = Array.from({ length: d / 2 }, (_, i) =>
    turningError(rows, table, k, pairOf(variant, d, i), columns),
  );
  return {
    shortest: Math.min(...lengths),
    longest: Math.max(...lengths),
    still: ranges.filter((range) => range < STILL).length,
    least: Math.min(...products),
    most: Math.max(...products),
    error: Math.max(...errors),
    nearest: mostAlike(table),
  };
}

// How far the pair [s, c] of a row is, at most, from its turn by k times the sine's speed.
function turningError(rows, table, k, pair, columns) {
  const [s, c] = pair;
  const [sin, cos] = [Math.sin(k * columns[s].speed), Math.cos(k * columns[s].speed)];
  const misses = rows.flatMap((row, p) => [
    Math.abs(row[s] * cos + row[c] * sin - table[p + k][s]),
    Math.abs(row[c] * cos - row[s] * sin - table[p + k][c]),
  ]);
  return Math.max(...misses);
}

function mostAlike(table) {
  let [least, rows] = [Infinity, [0, 0]];
  for (let p = 0; p < LENGTH; p++) {
    for (let q = p + 1; q < LENGTH; q++) {
      const squared = table[p].reduce((sum, x, c) => sum + (x - table[q][c]) ** 2, 0);
      if (squared < least - 1e-9) [least, rows] = [squared, [p, q]];
    }
  }
  return { distance: Math.sqrt(least), rows };
}
