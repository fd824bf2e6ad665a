// What the width of a figure means to it, such as whether it is narrow: onChange hears when
// that becomes something else.
export const isNarrow = (width) => width > 0 && width < 544;

export function byWidth(root, meaning, onChange) {
  const now = () => meaning(root.clientWidth);
  let was = now();
  const watcher = new ResizeObserver(() => {
    if (now() === was) return;
    was = now();
    onChange();
  });
  watcher.observe(root);
  return { now, stop: () => watcher.disconnect() };
}
