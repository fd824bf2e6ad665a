// What the residual stream says of itself, in numbers for people.
import { dot, linear, row, upTo } from "./tensor.js";

export const rowOf = (data, t, width) => data.subarray(t * width, (t + 1) * width);

const lengthOf = (vector) => Math.sqrt(dot(vector, 0, vector, 0, vector.length));

// Of a part that adds to the stream, for each position of one sentence (B = 1).
export function lengths({ name, before, added, after }) {
  const [, count, width] = after.shape;
  const at = (t) => [before, added, after].map(({ data }) => rowOf(data, t, width));
  const each = upTo(count).map((t) => {
    const [was, news, is] = at(t);
    const both = lengthOf(was) * lengthOf(news);
    const cosine = both ? dot(was, 0, news, 0, width) / both : 0;
    return [lengthOf(is), lengthOf(news), cosine];
  });
  const column = (k) => each.map((all) => all[k]);
  return { name, length: column(0), added: column(1), cosine: column(2) };
}

// (1, T, D) and a table (V, D) -> T * V cosines
export function cosines(x, table) {
  const width = x.shape.at(-1);
  const products = linear(x, table).data;
  const rows = upTo(table.shape[0]).map((id) => lengthOf(row(table, id)));
  const vectors = upTo(x.shape[1]).map((t) => lengthOf(rowOf(x.data, t, width)));
  return products.map(
    (value, i) =>
      value / (rows[i % rows.length] * vectors[Math.floor(i / rows.length)]),
  );
}
