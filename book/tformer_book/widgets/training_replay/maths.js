// What the replay works out from what was recorded. Runs in Node, too.

// The words of a sentence, each with whether the one before lacks it: those outside of
// their longest common subsequence.
export function newWords(before, after) {
  const [a, b] = [before, after].map((text) => text.split(" ").filter(Boolean));
  const length = Array.from([...a, ""], () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) {
      const longer = Math.max(length[i + 1][j], length[i][j + 1]);
      length[i][j] = a[i] === b[j] ? 1 + length[i + 1][j + 1] : longer;
    }
  const found = [];
  for (let i = 0, j = 0; j < b.length; ) {
    const isOld = i < a.length && a[i] === b[j];
    const skips = !isOld && i < a.length && length[i + 1][j] >= length[i][j + 1];
    if (isOld || skips) i++;
    if (!skips) found.push([b[j++], !isOld]);
  }
  return found;
}

// The frame whose step is nearest.
export const nearestFrame = (steps, step) =>
  steps.reduce((best, each, i) => {
    return Math.abs(each - step) < Math.abs(steps[best] - step) ? i : best;
  }, 0);

// How decided the rows of a map are: the mean of each row's largest weight.
export const sharpness = (map) =>
  map.reduce((sum, row) => sum + Math.max(...row), 0) / map.length;
export const strongest = (row) => row.indexOf(Math.max(...row));

// Round numbers from 0 to at least `most`.
export function axisOf(most, parts = 4) {
  const rough = most / parts;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((x) => x * power).find((x) => x * parts >= most);
  return Array.from({ length: parts + 1 }, (_, i) => i * step);
}
