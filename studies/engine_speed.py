"""How fast and how exact the browser engine is, in Chromium and in Node, here.

    python -m studies.engine_speed [--rounds 5] [--captions 1000] [--write]

A page loads the released model into the engine's worker, as a page of the book does:
once with the kernel in WebAssembly, once in a browser without SIMD. Printed are
medians over fresh pages, with the smallest and the largest value: the time to load the
model from this machine, the first translation after that, and pieces of greedy and beam
search in a second of the clock and of the processor.

Then Node translates captions of Multi30k's test_2016_flickr by greedy search, with the
weights as they are released (int8) and unpacked (float32): the share of texts that are
PyTorch's, which unpacks them, too; BLEU, and speed. (What rounding the weights cost is
in the model's card.) Where two pieces are equally likely to PyTorch, to
1e-4 in log p, either is taken to be the same text, and counted.

With ``--write`` all of it goes, with the device, to ``results/engine-speed.json``: do
that on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from javascript import NODE  # noqa: E402
from sacrebleu.metrics import BLEU  # noqa: E402

from tformer import data, decode, load_pretrained  # noqa: E402
from tformer.common.files import write_json  # noqa: E402
from tformer_book.press import browser as driver  # noqa: E402 (tools are no package)
from tformer_book.widgets._model import FILES, released_model  # noqa: E402
from tformer_book.widgets._modules import needed  # noqa: E402

ENGINE = ROOT / "book" / "tformer_book" / "widgets" / "engine"
TEST_SET = "test_2016_flickr"
TIE = 1e-4  # in log p
SENTENCES = [
    "The dog did not cross the street because it was tired.",
    "A man is riding a horse.",
    "Two young girls in red dresses play in front of a fountain.",
    "I do not know where he lives.",
    "A black dog is running through the snow with a stick in its mouth.",
    "She said that she would come tomorrow.",
]
PAGE = """<!doctype html><meta charset="utf-8"><title>Speed</title>
<link rel="icon" href="data:,"><script type="module">
import { connect } from "./engine/client.js";
window.connect = connect;
</script>"""
# A first call in a fresh page is not warm: that is what a reader waits for.
LOAD = """async (sentences) => {
  window.engine = window.connect({
    worker: "engine/worker.js",
    weights: "model.safetensors", tokenizer: "tokenizer.model",
  });
  const seconds = async (work) => {
    const started = performance.now();
    await work();
    return (performance.now() - started) / 1000;
  };
  const load = await seconds(() => engine.load());
  const first = await seconds(() => engine.translate(sentences[0]));
  const { kernel } = await engine.load();
  return { load, first, kernel };
}"""
SEARCH = """async ([sentences, search]) => {
  let pieces = 0;
  const started = performance.now();
  for (const text of sentences) {
    const { hypotheses } = await engine.translate(text, { search });
    pieces += hypotheses[0].ids.length + 1;
  }
  return [pieces, (performance.now() - started) / 1000];
}"""
# Greedy search in Node: texts, and seconds of the processor when it is warm.
IN_NODE = """
import { readFileSync } from "node:fs";
import { greedy } from "./engine/decode/choosing.js";
import * as kernels from "./engine/kernel/kernel.js";
import { loadPretrained } from "./engine/pretrained.js";
const { weights, kernel, texts, warm } = JSON.parse(readFileSync(0));
const read = (file) => new Uint8Array(readFileSync(file)).buffer;
const translator = await loadPretrained({
  weights: read(weights), tokenizer: read("tokenizer.model"), kernel: kernels[kernel],
});
const { model, tokenizer } = translator;
const translate = (text) => greedy(model, translator.encode(text));
for (const text of warm) translate(text);
const before = process.cpuUsage();
const ids = texts.map(translate);
const { user, system } = process.cpuUsage(before);
const pieces = ids.reduce((sum, each) => sum + each.length + 1, 0);
console.log(JSON.stringify({
  ids, texts: ids.map((each) => tokenizer.decode(each)),
  kernel: translator.kernel, pieces, seconds: (user + system) / 1e6,
}));
"""
NAMES = {
    "load": ("model loaded", "s"),
    "first": ("first translation, beam 4", "s"),
    "greedy": ("greedy search", "pieces/s"),
    "greedy_cpu": ("greedy search", "pieces/CPU-s"),
    "beam": ("beam search, 4 wide", "pieces/s"),
    "beam_cpu": ("beam search, 4 wide", "pieces/CPU-s"),
}


def engine_folder(folder: Path) -> None:
    """The engine, its page, and both kinds of weights."""
    (folder / "index.html").write_text(PAGE)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "node.js").write_text(IN_NODE)
    shutil.copytree(ENGINE, folder / "engine")
    for name, content in released_model().files.items():
        (folder / name).write_bytes(content)
    load_pretrained().save(folder / "unpacked", dtype=torch.float32)


def in_chromium(folder: Path, rounds: int, *flags: str) -> dict[str, Any]:
    """Measurements in each of some fresh pages, and the browser's version."""
    found: dict[str, list[float]] = {name: [] for name in NAMES}
    with driver.chromium(*flags) as chromium, driver.served(folder) as address:
        system = chromium.new_browser_cdp_session()

        def cpu_seconds() -> float:
            """Of all pages so far: their threads, the engine's among them."""
            processes = system.send("SystemInfo.getProcessInfo")["processInfo"]
            return sum(x["cpuTime"] for x in processes if x["type"] == "renderer")

        for _ in range(rounds):
            page = chromium.new_context().new_page()
            page.goto(address + "index.html")
            page.wait_for_function("() => Boolean(window.connect)")
            loaded = page.evaluate(LOAD, SENTENCES)
            for name in ("load", "first"):
                found[name].append(loaded[name])
            for search in ("greedy", "beam"):
                before = cpu_seconds()
                pieces, seconds = page.evaluate(SEARCH, [SENTENCES * 3, search])
                found[search].append(pieces / seconds)
                found[search + "_cpu"].append(pieces / (cpu_seconds() - before))
            page.context.close()
        medians = {
            name: {
                "unit": NAMES[name][1],
                "median": statistics.median(values),
                "all": sorted(values),
            }
            for name, values in found.items()
        }
        return {
            "browser": f"Chromium {chromium.version}",
            "kernel": loaded["kernel"],
            **medians,
        }


def in_node(folder: Path, texts: list[str], weights: str, kernel: str) -> Any:
    """Greedy translations, and how long they took."""
    given = {"weights": weights, "kernel": kernel, "texts": texts, "warm": texts[:30]}
    done = subprocess.run(
        [NODE, "node.js"],
        cwd=folder,
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def compared(folder: Path, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """The engine's greedy translations of captions beside PyTorch's."""
    translator = load_pretrained()
    texts = [english for english, _ in pairs]
    german = [[german for _, german in pairs]]
    theirs = translator.translate(texts, beam_size=1)
    bleu = BLEU()
    result: dict[str, Any] = {
        "test_set": TEST_SET,
        "captions": len(texts),
        "search": "greedy",
        "bleu_pytorch_float32": bleu.corpus_score(theirs, german).score,
        "signature": str(bleu.get_signature()),
    }
    for name, weights, kernel, some in (
        ("int8", FILES[0], "fastest", texts),
        ("int8_without_kernel", FILES[0], "plain", texts[:200]),
        ("float32", f"unpacked/{FILES[0]}", "fastest", texts),
        ("float32_without_kernel", f"unpacked/{FILES[0]}", "plain", texts[:200]),
    ):
        mine = in_node(folder, some, weights, kernel)
        result[name] = {
            "kernel": mine["kernel"],
            "weights_bytes": (folder / weights).stat().st_size,
            "captions": len(some),
            "pieces_per_cpu_second": mine["pieces"] / mine["seconds"],
        }
        different = [i for i, text in enumerate(mine["texts"]) if text != theirs[i]]
        ties = sum(is_tie(translator, texts[i], mine["ids"][i]) for i in different)
        result[name]["same_text"] = 1 - (len(different) - ties) / len(some)
        result[name]["ties"] = ties
        if some is texts:
            result[name]["bleu"] = bleu.corpus_score(mine["texts"], german).score
    return result


def is_tie(translator: Any, text: str, mine: list[int]) -> bool:
    """Whether PyTorch finds both pieces equally likely where two translations part."""
    source_ids = torch.tensor([translator.encode(text)])
    (theirs,) = decode.greedy(translator.model, source_ids)
    end = [translator.model.config.eos_id]
    pairs = zip([*mine, *end], [*theirs, *end], strict=False)
    t = next(t for t, (a, b) in enumerate(pairs) if a != b)
    target = [[translator.model.config.bos_id, *theirs[:t]]]
    with torch.no_grad():
        logits = translator.model(source_ids, torch.tensor(target))[0, -1]
    chosen = [[*ids, *end][t] for ids in (mine, theirs)]
    return bool((logits[chosen[0]] - logits[chosen[1]]).abs() < TIE)


def show(result: dict[str, Any]) -> None:
    print(f"{result['device']}, load average {result['load_average']}")
    for page in (result["chromium"], result["chromium_without_kernel"]):
        print(f"{page['browser']}, {page['kernel']}, {result['rounds']} rounds")
        for key, (name, unit) in NAMES.items():
            values, median = page[key]["all"], page[key]["median"]
            spread = f"({values[0]:.2f} to {values[-1]:.2f})"
            print(f"  {name:26} {median:8.2f} {unit} {spread}")
    sizes = [result[name] / 1000 for name in ("engine_bytes", "engine_bytes_gzipped")]
    print("the engine {:.1f} KB, {:.1f} KB gzipped".format(*sizes))
    if "node" not in result:
        return
    node = result["node"]
    print(f"Node {result['node_version']}, {node['captions']} captions, greedy")
    print(f"  PyTorch, float32: BLEU {node['bleu_pytorch_float32']:.2f}")
    for name, each in node.items():
        if isinstance(each, dict):
            print(
                f"  {name:24} {each['kernel']:12} {each['weights_bytes'] / 1e6:.2f} MB "
                f"{each['pieces_per_cpu_second']:6.0f} pieces/CPU-s, same text "
                f"{100 * each['same_text']:.1f} % ({each['ties']} ties), "
                f"BLEU {each.get('bleu', float('nan')):.2f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--captions", type=int, default=1000, help="0: none")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    # First: without the corpus nothing is measured in vain.
    captions = options.captions and data.load("multi30k").test[TEST_SET]
    modules = b"".join(each.read_bytes() for each in needed(ENGINE / "worker.js"))
    version = subprocess.run([NODE, "--version"], capture_output=True, text=True)
    result: dict[str, Any] = {
        "command": "python -m studies.engine_speed --write",
        "date": datetime.now(UTC).date().isoformat(),
        "device": f"CPU ({platform.machine()}), one thread",
        "system": platform.system(),
        "torch_version": torch.__version__,
        "node_version": version.stdout.strip(),
        "load_average": [round(each, 2) for each in os.getloadavg()],
        "rounds": options.rounds,
        "engine_bytes": len(modules),
        "engine_bytes_gzipped": len(gzip.compress(modules, 9)),
        "weights_bytes": len(released_model().files[FILES[0]]),
    }
    with tempfile.TemporaryDirectory(prefix="tformer-speed-") as name:
        folder = Path(name)
        engine_folder(folder)
        result["chromium"] = in_chromium(folder, options.rounds)
        result["chromium_without_kernel"] = in_chromium(
            folder, options.rounds, "--js-flags=--no-enable-sse4-1"
        )
        if captions:
            result["node"] = compared(folder, captions[: options.captions])
    show(result)
    if options.write:
        write_json(ROOT / "results" / "engine-speed.json", result)


if __name__ == "__main__":
    main()
