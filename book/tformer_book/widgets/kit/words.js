// Words of two texts. No page: it runs in Node, too.

// Two texts as lists of [word, changed]: unchanged are those of a longest common part.
export function changedWords(before, after) {
  const [a, b] = [before, after].map((text) => text.split(/\s+/).filter(Boolean));
  const common = a.concat(null).map(() => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i][j] =
        a[i] === b[j]
          ? common[i + 1][j + 1] + 1
          : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const [left, right] = [a.map((word) => [word, true]), b.map((word) => [word, true])];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) left[i++][1] = right[j++][1] = false;
    else if (common[i + 1][j] >= common[i][j + 1]) i++;
    else j++;
  }
  return [left, right];
}
