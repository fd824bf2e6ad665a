"""Train one small Transformer on few and on many generated pairs, all else equal.

    python -m studies.pairs_on_grammar               1,500 steps each, on the grammar
    corpus python -m studies.pairs_on_grammar --steps 20 --no-write

Writes ``results/pairs-on-grammar.json``. Model, recipe, seed and steps are those of
``studies/models_on_grammar.py``; only the number of training pairs differs, so a
difference in the scores has one cause. Both are asked for every sentence of the same
held-out splits, with beam 4. Threads: as ``OMP_NUM_THREADS`` says.
"""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from studies.models_on_grammar import RECIPE, measure
from tformer import data
from tformer.common.files import write_json
from tformer.data import grammar

RESULT = Path(__file__).resolve().parent.parent / "results" / "pairs-on-grammar.json"
PAIRS = (6_000, 40_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--no-write", action="store_true", help="only print")
    arguments = parser.parse_args()
    small = data.load("grammar")
    runs: list[dict[str, Any]] = []
    for n in PAIRS:
        corpus = grammar.extend(small, n) if n > len(small.train) else small
        found = measure("transformer", corpus, arguments.steps)
        runs.append({"train_pairs": len(corpus.train), **found})
        print(n, found["exact_match"], flush=True)
    result = {
        "command": "python -m studies.pairs_on_grammar",
        "corpus": small.name,
        "steps": arguments.steps,
        "recipe": asdict(RECIPE),
        "runs": runs,
    }
    if not arguments.no_write:
        write_json(RESULT, result)


if __name__ == "__main__":
    main()
