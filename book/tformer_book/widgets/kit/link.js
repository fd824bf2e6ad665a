// Links ES modules where no host has them, as in a notebook: each text gets an address of
// its own, which those that import it are told.
//
// modules: [name, parts][], as `linked` in Python writes them: what a module imports comes
// before it, and every second part is the name of one. -> the address of the last module
export function link(modules) {
  const addresses = new Map();
  for (const [name, parts] of modules) {
    const text = parts.map((part, i) => (i % 2 ? addresses.get(part) : part));
    addresses.set(
      name,
      URL.createObjectURL(new Blob(text, { type: "text/javascript" })),
    );
  }
  return [...addresses.values()].at(-1);
}
