"""How soon is each task of the playground learned, in Chromium, here?

    python -m studies.playground_tasks [--tasks add sort] [--seeds 3] [--write]

Each task that a reader can choose (but own lines) is trained with the settings that it
begins with, in the worker that trains on the page, on one thread, until the model
writes 95 of 100 held-out sequences without a mistake, or for a minute of the processor
at most. Printed are, for each seed, the steps, the seconds of the clock and of the
processor, and the share of held-out sequences that were right in the end.

With ``--write`` all of it goes, with the device, to ``results/playground-tasks.json``.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from playwright.sync_api import Browser  # noqa: E402

from tformer.common.files import write_json  # noqa: E402
from tformer_book.press import browser as driver  # noqa: E402 (tools are no package)
from tformer_book.widgets._modules import FOLDER  # noqa: E402

ENOUGH = 0.95  # of the held-out sequences
MINUTE = 60.0  # seconds of the processor
PAGE = """<!doctype html><meta charset="utf-8"><title>Tasks</title>
<link rel="icon" href="data:,"><script type="module">
import { open } from "./widgets/training/client.js";
import { settingsOf } from "./widgets/training/settings.js";
import { TASKS } from "./widgets/training/tasks.js";
window.listed = TASKS.filter((task) => task.draw && !task.hidden)
  .map(({ key }) => [key, settingsOf(key)]);
// Trains; `last` is the latest evaluation, or what went wrong.
window.train = (settings) => {
  const trainer = open(settings);
  trainer.on((event) => {
    if (["evaluation", "failed"].includes(event.kind)) window.last = event;
  });
  trainer.play();
};
</script>"""
NEWS = "(step) => window.last?.kind === 'failed' || window.last?.step > step"


def trained(chromium: Browser, address: str, settings: dict[str, Any]) -> Any:
    """How a run ended, in a page of its own."""
    system = chromium.new_browser_cdp_session()

    def cpu_seconds() -> dict[int, float]:
        """Of each process that has pages: their threads, the training's among them."""
        processes = system.send("SystemInfo.getProcessInfo")["processInfo"]
        return {x["id"]: x["cpuTime"] for x in processes if x["type"] == "renderer"}

    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(address + "index.html")
        page.wait_for_function("() => Boolean(window.listed)")
        started, before = time.perf_counter(), cpu_seconds()
        page.evaluate("(settings) => window.train(settings)", settings)
        step = 0
        while True:
            page.wait_for_function(NEWS, arg=step, polling=100, timeout=driver.PATIENCE)
            last = page.evaluate("() => window.last")
            if last["kind"] == "failed":
                raise RuntimeError(f"{settings}: {last['message']}")
            step, seconds = last["step"], time.perf_counter() - started
            cpu = sum(
                now - before.get(process, 0) for process, now in cpu_seconds().items()
            )
            if last["accuracy"] >= ENOUGH or cpu >= MINUTE:
                return {
                    "seed": settings["seed"],
                    "steps": step,
                    "seconds": round(seconds, 2),
                    "cpu_seconds": round(cpu, 2),
                    "accuracy": last["accuracy"],
                }


def measured(tasks: list[str], seeds: int) -> dict[str, Any]:
    """All runs, by task, and the browser's version."""
    with tempfile.TemporaryDirectory(prefix="tformer-tasks-") as name:
        folder = Path(name)
        (folder / "index.html").write_text(PAGE)
        shutil.copytree(FOLDER, folder / "widgets")
        with driver.chromium() as chromium, driver.served(folder) as address:
            page = chromium.new_page()
            page.goto(address + "index.html")
            listed = page.wait_for_function("() => window.listed").json_value()
            page.close()
            if unknown := set(tasks) - {key for key, _ in listed}:
                known = ", ".join(key for key, _ in listed)
                raise SystemExit(f"no task {', '.join(unknown)}: there are {known}")
            found = {}
            for key, settings in listed:
                if tasks and key not in tasks:
                    continue
                runs = []
                for seed in range(1, seeds + 1):
                    run = trained(chromium, address, {**settings, "seed": seed})
                    show(key, run)
                    runs.append(run)
                found[key] = {"settings": settings, "runs": runs}
            return {"browser": f"Chromium {chromium.version}", "tasks": found}


def show(key: str, run: dict[str, Any]) -> None:
    print(
        f"{key:10} seed {run['seed']} {run['steps']:6} steps {run['seconds']:7.1f} s "
        f"{run['cpu_seconds']:7.1f} CPU-s {100 * run['accuracy']:4.0f} % right",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", nargs="*", default=[], help="all, if none is named")
    parser.add_argument("--seeds", type=int, default=3, help="1 to this one")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.write and options.tasks:
        parser.error("--write records all tasks: leave --tasks out")
    result = {
        "command": "python -m studies.playground_tasks --write",
        "date": datetime.now(UTC).date().isoformat(),
        "device": f"CPU ({platform.machine()}), one thread",
        "system": platform.system(),
        "load_average": [round(each, 2) for each in os.getloadavg()],
        "enough": ENOUGH,
        "most_cpu_seconds": MINUTE,
        **measured(options.tasks, options.seeds),
    }
    if options.write:
        write_json(ROOT / "results" / "playground-tasks.json", result)


if __name__ == "__main__":
    main()
