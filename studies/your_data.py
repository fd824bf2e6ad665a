"""What a reader's own pairs take: minutes, memory and BLEU, by how many there are.

    python -m studies.your_data

Draws pairs from Tatoeba, writes them into a file as a reader would, and treats it as
the page *Your data, your GPU* does: ``data.load``, a vocabulary for its size, a run of
so many steps, a score on its test set. Each size runs in a process of its own, so that
the most memory it held can be told. Writes ``results/your-data.json``.
"""

import argparse
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tformer.common.files import read_json, write_json

RESULT = Path(__file__).resolve().parent.parent / "results" / "your-data.json"
SMALL = {"d_model": 128, "n_heads": 4, "d_ff": 512, "norm": "pre"}
LAYERS = {"n_encoder_layers": 2, "n_decoder_layers": 2}
RUNS: dict[int, dict[str, Any]] = {  # pairs → how they are trained on
    1_000: {"steps": 300, "max_tokens": 1024},
    30_000: {"steps": 3000, "max_tokens": 4096},
}


def main() -> int:
    """Measure every size, or (called by itself) one of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, choices=list(RUNS), help="only this size")
    parser.add_argument("--json", type=Path, default=RESULT, help="where to write")
    options = parser.parse_args()
    if options.pairs:
        write_json(options.json, measure(options.pairs))
        return 0
    rows = []
    for n_pairs in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "row.json"
            given = ["--pairs", str(n_pairs), "--json", str(file)]
            subprocess.run([sys.executable, __file__, *given], check=True)
            rows.append(read_json(file))
            print(rows[-1])
    write_json(options.json, {"command": "python -m studies.your_data", "rows": rows})
    return 0


def measure(n_pairs: int) -> dict[str, Any]:
    """Train on so many pairs, as the page does."""
    import torch

    from tformer import TransformerConfig, data, evaluate, train

    how = RUNS[n_pairs]
    with tempfile.TemporaryDirectory() as folder:
        mine = Path(folder) / "mine.tsv"
        drawn = random.Random(0).sample(data.load("tatoeba").train, n_pairs)
        mine.write_text("".join(f"{en}\t{de}\n" for en, de in drawn), encoding="utf-8")
        corpus = data.load(mine)
        vocab_size = data.vocabulary_for(corpus)
        run = train.fit(
            TransformerConfig(vocab_size=vocab_size, **SMALL, **LAYERS),
            corpus,
            steps=how["steps"],
            recipe=train.Recipe(
                max_tokens=how["max_tokens"],
                warmup_steps=min(1000, how["steps"] // 3),
                eval_every=how["steps"] // 6,
            ),
            folder=Path(folder) / "run",
            progress="none",
        )
        score = evaluate.score(run.translator, corpus.test["test"][:500])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    if torch.cuda.is_available():
        peak = torch.cuda.max_memory_allocated() / 2**20
    return {
        "pairs": n_pairs,
        "training_pairs": len(corpus.train),
        "vocab_size": vocab_size,
        "parameters": run.report["n_parameters"],
        **how,
        "epochs": run.report["epochs"],
        "minutes": round(run.report["seconds"] / 60, 2),
        "megabytes": round(peak),
        "valid_loss": round(run.report["valid_loss"], 3),
        "bleu": round(score.bleu, 2),
        "chrf": round(score.chrf, 2),
        "signature": score.signature,
        "device": run.report["device"],
        "load": round(os.getloadavg()[0], 1),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
    }


if __name__ == "__main__":
    sys.exit(main())
