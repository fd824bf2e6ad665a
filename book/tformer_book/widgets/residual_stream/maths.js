// The way of one position through the parts of a model: all of the logic of the figure.
export const SIDES = ["encoder", "decoder"];
export const NAMES = {
  word: "the word",
  position: "its position",
  self_attention: "self-attention",
  cross_attention: "cross-attention",
  feed_forward: "feed-forward",
};

// "layers.0.self_attention" -> "0 self-attention": layers count from 0, as in the code.
export function titleOf(name) {
  const [, layer, part] = name.match(/^layers\.(\d+)\.(\w+)$/) ?? [];
  return part ? `${layer} ${NAMES[part]}` : NAMES[name];
}
// "0 cross-attention" -> "layer 0’s cross-attention"
export const inWords = (title) => title.replace(/^(\d+) /, "layer $1’s ");
// "0 cross-attention" -> ["layer 0", "cross"]
export function shortOf(title) {
  const [, layer, part] = title.match(/^(\d+) (\w+)/) ?? [];
  return part ? [`layer ${layer}`, part] : ["", title.replace(/^(the|its) /, "")];
}

const degrees = (cosine) =>
  (Math.acos(Math.max(-1, Math.min(1, cosine))) * 180) / Math.PI;

// The rows of one side at one position; angle in degrees, null where there was nothing
// before. `before` is the stream's length before the part.
export const way = (stream, side, position) =>
  stream[side].map((part, i) => ({
    name: part.name,
    title: titleOf(part.name),
    before: i ? stream[side][i - 1].length[position] : 0,
    length: part.length[position],
    added: part.added[position],
    cosine: i ? part.cosine[position] : null,
    angle: i ? degrees(part.cosine[position]) : null,
    next: part.next[position],
    followed: part.followed[position],
  }));

// The piece that is ahead after a part.
export const best = (row) => row.next[0][0];

// From which row on the first piece stays what it is at the end; counted from 0.
export const settled = (rows) =>
  rows.findLastIndex((row) => best(row) !== best(rows.at(-1))) + 1;

// The stream before a part, drawn upwards, what it adds, at its true angle to that, and
// their sum: corners { from, tip, end } in a drawing of this size, y downwards.
export function triangle({ before, added, cosine }, size = 200, margin = 14) {
  const along = cosine ?? 1;
  const across = Math.sqrt(Math.max(0, 1 - along ** 2));
  const sum = [added * across, before + added * along];
  const corners = [[0, 0], [0, before], sum];
  const [xs, ys] = [0, 1].map((axis) => corners.map((each) => each[axis]));
  const [low, high, wide] = [Math.min(...ys), Math.max(...ys), Math.max(...xs)];
  const room = size - 2 * margin;
  const scale = Math.min(room / (wide || 1), room / (high - low || 1));
  const left = (size - wide * scale) / 2;
  const place = (/** @type {number[]} */ [x, y]) => [
    left + x * scale,
    size - margin - (y - low) * scale,
  ];
  const [from, tip, end] = corners.map(place);
  return { from, tip, end };
}
