"""How fast the browser engine is, in headless Chromium on this machine.

    python benchmarks/engine_speed.py [--rounds 5] [--write]

A page loads the released model into the engine's worker, as a page of the book does.
Printed are medians over fresh pages, with the smallest and the largest value: the time
to load the model from this machine, the first translation after that, and pieces per
second of a whole list of sentences. With ``--write`` they go, with the device, to
``results/engine-speed.json``: do that on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import shutil
import statistics
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import browser as driver  # noqa: E402 (tools are no package)

from tformer.files import write_json  # noqa: E402
from tformer.pretrained import RELEASED  # noqa: E402
from tformer.widgets._model import FILES  # noqa: E402
from tformer.widgets._modules import needed  # noqa: E402

ENGINE = ROOT / "tformer" / "widgets" / "engine"
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
MEASURE = """async (sentences) => {
  const engine = window.connect({
    worker: "engine/worker.js",
    weights: "model.safetensors", tokenizer: "tokenizer.model",
  });
  const seconds = async (work) => {
    const started = performance.now();
    await work();
    return (performance.now() - started) / 1000;
  };
  const found = { load: await seconds(() => engine.load()) };
  found.first = await seconds(() => engine.translate(sentences[0]));
  for (const search of ["greedy", "beam"]) {
    let pieces = 0;
    const all = await seconds(async () => {
      for (const text of sentences) {
        const { hypotheses } = await engine.translate(text, { search });
        pieces += hypotheses[0].ids.length + 1;
      }
    });
    found[search] = pieces / all;
  }
  engine.close();
  return found;
}"""
NAMES = {
    "load": ("model loaded", "s"),
    "first": ("first translation, beam 4", "s"),
    "greedy": ("greedy search", "pieces/s"),
    "beam": ("beam search, 4 wide", "pieces/s"),
}


def measure(rounds: int) -> tuple[list[dict[str, float]], str]:
    """One measurement in each of some fresh pages, and the browser's version."""
    with tempfile.TemporaryDirectory(prefix="tformer-speed-") as name:
        folder = Path(name)
        (folder / "index.html").write_text(PAGE)
        shutil.copytree(ENGINE, folder / "engine")
        for file in FILES:
            shutil.copy(RELEASED / file, folder / file)
        found = []
        with driver.chromium() as chromium, driver.served(folder) as address:
            for _ in range(rounds):
                page = chromium.new_context().new_page()
                page.goto(address + "index.html")
                page.wait_for_function("() => Boolean(window.connect)")
                found.append(page.evaluate(MEASURE, SENTENCES))
                page.context.close()
            return found, chromium.version


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rounds, version = measure(options.rounds)
    worker = b"".join(each.read_bytes() for each in needed(ENGINE / "worker.js"))
    result: dict[str, Any] = {
        "command": "python benchmarks/engine_speed.py --write",
        "date": datetime.now(UTC).date().isoformat(),
        "device": f"CPU ({platform.machine()}), one thread",
        "browser": f"Chromium {version}",
        "system": platform.system(),
        "load_average": [round(each, 2) for each in os.getloadavg()],
        "rounds": options.rounds,
        "engine_bytes": len(worker),
        "engine_bytes_gzipped": len(gzip.compress(worker, 9)),
        "weights_bytes": (RELEASED / FILES[0]).stat().st_size,
    }
    print(f"{result['device']}, {result['browser']}, {options.rounds} rounds")
    print(f"load average {result['load_average']}")
    for key, (name, unit) in NAMES.items():
        values = sorted(each[key] for each in rounds)
        median = statistics.median(values)
        result[key] = {"unit": unit, "median": median, "all": values}
        print(f"{name:26} {median:7.2f} {unit} ({values[0]:.2f} to {values[-1]:.2f})")
    kilobytes = result["engine_bytes"] / 1000, result["engine_bytes_gzipped"] / 1000
    print("the engine                 {:7.1f} KB, {:.1f} KB gzipped".format(*kilobytes))
    if options.write:
        write_json(ROOT / "results" / "engine-speed.json", result)


if __name__ == "__main__":
    main()
