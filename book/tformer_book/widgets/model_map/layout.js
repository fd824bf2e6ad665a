// Where the boxes of the map lie, and the wires between them.
export const WIDTH = 380;
export const BOX = 174;
export const LEFT = { encoder: 6, decoder: 200 };

// A mask sits on its attention: at its upper edge, in a compact map beside its name.
function onOwner(part, { x, y, height }, compact) {
  const [w, tall] = compact ? [40, 26] : [46, 22];
  const up = compact ? (height - tall) / 2 : -5;
  return { part, x: x + BOX - w - 4, y: y + up, w, height: tall };
}

// One side from the bottom up: y counts from there.
function column(parts, compact) {
  const [tall, plain, flat, gap] = compact ? [27, 26, 26, 6] : [62, 44, 24, 11];
  const heights = { norm: flat, plain };
  const { side } = parts[0];
  const boxes = [];
  let y = 2;
  let stack;
  for (const part of parts) {
    if (part.kind === "mask") {
      const owner = boxes.findLast((b) => b.part.layer && b.part.kind !== "norm");
      boxes.push(onOwner(part, owner, compact));
      continue;
    }
    if (part.layer && !stack) {
      y += 16;
      stack = { side, from: y - 8, to: 0 };
    }
    if (!part.layer && stack && !stack.to) {
      stack.to = y - gap + 8;
      y += 20;
    }
    const height = heights[part.kind] ?? (part.id === "softmax" ? plain : tall);
    if (part.kind !== "norm" || part.each > 0)
      boxes.push({ part, x: LEFT[side], y, w: BOX, height });
    y += height + gap;
  }
  return { boxes, stack, top: y };
}

// A compact map has names only.
export function layout(all, compact) {
  const partsOf = (side) => all.filter((part) => part.side === side);
  const columns = Object.keys(LEFT).map((side) => column(partsOf(side), compact));
  const full = Math.max(...columns.map(({ top }) => top)) + 2;
  // From here on y counts from the top, as SVG does.
  return {
    height: full,
    boxes: columns.flatMap(({ boxes }) =>
      boxes.map((b) => ({ ...b, y: full - b.y - b.height })),
    ),
    stacks: columns.map(({ stack: { side, from, to } }) => ({
      side,
      y: full - to,
      height: to - from,
    })),
  };
}

// The stream through each side, and the memory from the encoder to the cross-attention:
// over and from: where the memory leaves.
export function wires({ boxes }) {
  const streamOf = (side) =>
    boxes.filter(({ part }) => part.side === side && part.kind !== "mask");
  const paths = Object.keys(LEFT).flatMap((side) => {
    const stream = streamOf(side);
    return stream
      .slice(1)
      .map((b, i) => `M${b.x + BOX / 2} ${stream[i].y}V${b.y + b.height}`);
  });
  const encoder = streamOf("encoder").at(-1);
  const cross = boxes.find(({ part }) => part.id === "decoder.cross_attention");
  const from = encoder.x + BOX / 2;
  const middle = cross.y + cross.height / 2;
  const over = encoder.y - 12;
  paths.push(
    `M${from} ${encoder.y}V${over + 6}q0 -6 6 -6H184q6 0 6 6V${middle - 6}q0 6 6 6H200`,
  );
  return { paths, over, from };
}
