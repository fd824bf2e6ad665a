"""Train the recurrent model and a Transformer of its size alike, and compare them.

    python -m studies.models_on_grammar              1,500 steps each, on the grammar
    corpus python -m studies.models_on_grammar --steps 20 --no-write

Writes ``results/models-on-grammar.json``. Both learn from the same sentences, pieces,
batches and seed, for as many steps, with one recipe; both are then asked for every
sentence of the splits they did not learn from, with beam 4. The recipe is the
Transformer's, with its learning-rate curve, and was not tuned for the recurrent model:
read the scores as a lower bound for it. The time is that of training, with its
evaluations: on the clock, and of the processor (which other programs do not change
much, if there is one thread). Threads: as ``OMP_NUM_THREADS`` says.
"""

import argparse
import os
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tformer import TransformerConfig, data, evaluate, train
from tformer.common.files import write_json
from tformer.variants.recurrent import RecurrentConfig

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "results" / "models-on-grammar.json"
SHARED: dict[str, Any] = {"vocab_size": 1000, "d_model": 128, "max_len": 64}
MODELS = {
    "transformer": TransformerConfig(
        **SHARED,
        n_heads=4,
        d_ff=384,
        n_encoder_layers=2,
        n_decoder_layers=2,
        norm="pre",
    ),
    "recurrent": RecurrentConfig(**SHARED, d_hidden=164),
}
RECIPE = train.Recipe(
    max_tokens=1536,
    warmup_steps=300,
    lr_scale=0.7,
    label_smoothing=0.0,
    eval_every=250,
    average_last=3,
    tokenizer="bpe",
)


def measure(name: str, corpus: data.Corpus, steps: int) -> dict[str, Any]:
    """Train one of the models and score it."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        run = train.fit(
            MODELS[name],
            corpus,
            steps=steps,
            device="cpu",
            folder=folder,
            recipe=RECIPE,
        )
        cpu_seconds = time.process_time() - start
        splits = {"valid": corpus.valid, **corpus.test}
        scores = {
            split: evaluate.score(run.translator, pairs)
            for split, pairs in splits.items()
        }
    return {
        "config": MODELS[name].to_dict(),
        "n_parameters": run.report["n_parameters"],
        "seconds": run.report["seconds"],
        "cpu_seconds": round(cpu_seconds, 1),
        "valid_loss": run.report["valid_loss"],
        "valid_losses": {
            str(record["step"]): round(record["valid_loss"], 4)
            for record in run.history
        },
        "exact_match": {split: each.exact_match for split, each in scores.items()},
        "bleu": {split: each.bleu for split, each in scores.items()},
        **{key: run.report[key] for key in ("device", "python", "torch", "date")},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--no-write", action="store_true", help="only print")
    arguments = parser.parse_args()
    corpus = data.load("grammar")
    load = [os.getloadavg()[0]]
    found: dict[str, Any] = {}
    for name in MODELS:
        found[name] = measure(name, corpus, arguments.steps)
        load.append(os.getloadavg()[0])
        print(name, found[name], sep="\n")
    result = {
        "command": "python -m studies.models_on_grammar",
        "corpus": corpus.name,
        "checksums": corpus.checksums,
        "train_pairs": len(corpus.train),
        "steps": arguments.steps,
        "recipe": asdict(RECIPE),
        "models": found,
        "cores": os.cpu_count(),
        "load": load,  # before, between and after; above 1: others ran as well
    }
    if not arguments.no_write:
        write_json(RESULT, result)


if __name__ == "__main__":
    main()
