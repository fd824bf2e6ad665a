// Bundle what the figures' kit takes from other people's packages, each bundle one ES
// module in book/tformer_book/widgets/kit/vendor: `node tools/bundle.js [--check]`
// (make bundles, make check). Versions and checksums: package-lock.json.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const FOLDER = "book/tformer_book/widgets/kit/vendor";
const BUNDLES = {
  // Templates: HTML and SVG as a function of the state (BSD-3-Clause, Google LLC).
  lit: {
    packages: ["lit-html"],
    entry: `
      export { html, svg, render, nothing } from "lit-html";
      export { repeat } from "lit-html/directives/repeat.js";
      export { live } from "lit-html/directives/live.js";
      export { ref } from "lit-html/directives/ref.js";`,
  },
  // Scales with round ticks, and paths through points (ISC, Mike Bostock).
  d3: {
    packages: ["d3-scale", "d3-shape"],
    entry: `
      export { scaleLinear, scaleLog } from "d3-scale";
      export { line, area } from "d3-shape";`,
  },
};

function licences(packages) {
  return packages
    .map((name) => {
      const about = JSON.parse(
        readFileSync(`node_modules/${name}/package.json`, "utf8"),
      );
      const text = readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim();
      return `${name} ${about.version}\n\n${text}`;
    })
    .join("\n\n");
}

const wrong = [];
for (const [name, { packages, entry }] of Object.entries(BUNDLES)) {
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: "." },
    bundle: true,
    format: "esm",
    platform: "neutral",
    conditions: ["node"], // lit-html that loads without a page, too
    minify: true,
    target: "es2022",
    legalComments: "none",
    write: false,
    banner: {
      js: `// @ts-nocheck\n/* Written by make bundles.\n\n${licences(packages)}\n*/`,
    },
  });
  const file = `${FOLDER}/${name}.js`;
  if (!process.argv.includes("--check")) {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(file, outputFiles[0].contents);
  } else if (readFileSync(file, "utf8") !== outputFiles[0].text) wrong.push(file);
}
if (wrong.length) {
  console.error(`not what its packages give (make bundles): ${wrong.join(", ")}`);
  process.exit(1);
}
