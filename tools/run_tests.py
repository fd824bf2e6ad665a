"""All that ``make test`` does, in order; each step even if an earlier one failed.

check (format, lint, types, layers) → the chapters executed, once → the site built from
them → one pytest run over the package, the chapters and the site
in Chromium, Firefox and WebKit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

from tformer_book.press.chapters import ROOT


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", required=True, help="tests at a time")
    parser.add_argument("--jobs", required=True, help="chapters at a time")
    options = parser.parse_args()
    python = sys.executable
    environment = dict(os.environ)
    # A test sees one thread, so that several at a time do not fight for the cores.
    one_thread = {**environment, "OMP_NUM_THREADS": "1"}
    pytest = [python, "-m", "pytest", "-n", options.workers, "--dist", "loadgroup"]
    execute = [python, "-m", "tformer_book.press.execute", "--jobs", options.jobs]
    steps = {
        "check": (["make", "--no-print-directory", "check"], environment),
        "chapters": (execute, environment),
        "site": ([python, "-m", "tformer_book.press.build_site"], environment),
        "tests": ([*pytest, "tests"], one_thread),
    }
    failed = []
    for name, (command, variables) in steps.items():
        print(
            f"\n=== {name}: {' '.join(command).replace(python, 'python')}", flush=True
        )
        started = time.perf_counter()
        if subprocess.run(command, cwd=ROOT, env=variables).returncode:
            failed.append(name)
        print(f"=== {name}: {time.perf_counter() - started:.0f} s", flush=True)
    if failed:
        print(f"\nmake test: FAILED in {', '.join(failed)} (see above)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
