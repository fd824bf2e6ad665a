"""Choose the released model's settings, on validation sets only.

    python tools/sweep.py --steps 4000 --jobs 4

Each candidate differs from the first in what its name says. Writes
``results/sweep.json``: validation loss, and BLEU on each validation set.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from tformer import TransformerConfig, data, evaluate, load_pretrained, train

ROOT = Path(__file__).resolve().parent.parent
CORPUS = "multi30k*2+tatoeba"
CANDIDATES: dict[str, dict] = {
    "post-norm, dropout 0.1": {},
    "post-norm, dropout 0.2": {"config": {"dropout": 0.2}},
    "pre-norm, dropout 0.1": {"config": {"norm": "pre"}},
    "pre-norm, dropout 0.2": {"config": {"norm": "pre", "dropout": 0.2}},
    "pre-norm, dropout 0.1, rate x2": {
        "config": {"norm": "pre"},
        "recipe": {"lr_scale": 2.0},
    },
    "post-norm, dropout 0.1, rate x2": {"recipe": {"lr_scale": 2.0}},
    "pre-norm, dropout 0.1, BPE": {
        "config": {"norm": "pre"},
        "recipe": {"tokenizer": "bpe"},
    },
    "pre-norm, dropout 0.1, Multi30k x3": {
        "config": {"norm": "pre"},
        "corpus": "multi30k*3+tatoeba",
    },
}


def measure(name: str, steps: int, folder: Path) -> dict:
    """Train one candidate and score it on the validation sets."""
    changes = CANDIDATES[name]
    settings = {"max_tokens": 16384, "warmup_steps": 2000, "eval_every": 500}
    corpus = data.load(changes.get("corpus", CORPUS))
    run = train.fit(
        TransformerConfig(**changes.get("config", {})),
        corpus,
        steps=steps,
        folder=folder,
        recipe=train.Recipe(**{**settings, **changes.get("recipe", {})}),
        progress="none",
    )
    translator = load_pretrained(folder, device=run.translator.device)
    scores = {
        part: evaluate.score(translator, pairs[:1014]).bleu
        for part, pairs in corpus.valid_sets.items()
    }
    keys = ("n_parameters", "device", "precision", "torch", "steps", "seconds", "date")
    return {
        "name": name,
        "valid_loss": run.report["valid_loss"],
        "valid_loss_at": {each["step"]: each["valid_loss"] for each in run.history},
        "valid_bleu": scores,
        **{key: run.report[key] for key in keys},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side")
    parser.add_argument("--out", type=Path, default=ROOT / "results/sweep.json")
    parser.add_argument("--folder", type=Path, default=Path("runs/sweep"))
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    names = list(CANDIDATES)
    if arguments.only is not None:
        folder = arguments.folder / str(arguments.only)
        result = measure(names[arguments.only], arguments.steps, folder)
        (folder / "result.json").write_text(json.dumps(result))
        return
    waiting, running = list(range(len(names))), []
    while waiting or running:
        while waiting and len(running) < arguments.jobs:
            command = [sys.executable, __file__, "--only", str(waiting.pop(0))]
            command += ["--steps", str(arguments.steps)]
            command += ["--folder", str(arguments.folder)]
            running.append(subprocess.Popen(command))
        running.pop(0).wait()
    results = [
        json.loads(file.read_text())
        for file in sorted(arguments.folder.glob("*/result.json"))
    ]
    arguments.out.parent.mkdir(exist_ok=True)
    arguments.out.write_text(json.dumps(results, indent=1) + "\n")
    for each in sorted(results, key=lambda each: each["valid_loss"]):
        scores = "  ".join(f"{k} {v:.1f}" for k, v in each["valid_bleu"].items())
        print(
            f"{each['valid_loss']:.3f}  {scores}  {each['name']}  {each['seconds']} s"
        )


if __name__ == "__main__":
    main()
