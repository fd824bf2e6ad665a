// Assembles the engine's kernel: kernel.wat -> binary.js, the same bytes each time.
//
// node tools/kernel.js writes it; with --check it says whether it is as it would be written.
import { readFileSync, writeFileSync } from "node:fs";
import wabt from "wabt";

const FOLDER = new URL("../book/tformer_book/widgets/engine/kernel/", import.meta.url);
const SOURCE = new URL("kernel.wat", FOLDER);
const MODULE = new URL("binary.js", FOLDER);

async function assembled() {
  const { parseWat } = await wabt();
  const parsed = parseWat("kernel.wat", readFileSync(SOURCE, "ascii"), { simd: true });
  parsed.validate();
  const { buffer } = parsed.toBinary({});
  return `// kernel.wat as a binary, in base64. Made by \`make kernel\`: change the source instead.
export const BINARY =
  "${Buffer.from(buffer).toString("base64")}";
`;
}

const wanted = await assembled().catch(({ message }) => {
  console.error(message);
  process.exit(1);
});
if (!process.argv.includes("--check")) {
  writeFileSync(MODULE, wanted);
} else if (readFileSync(MODULE, "utf-8") !== wanted) {
  console.error("binary.js is not what kernel.wat gives: run make kernel");
  process.exitCode = 1;
}
