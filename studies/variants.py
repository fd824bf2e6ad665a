"""Train the same small model with one part exchanged at a time, from several seeds.

    python -m studies.variants              500 steps each, three seeds
    python -m studies.variants --steps 20 --seeds 1 --no-write

Writes ``results/variants.json`` for chapter *What came after*. Every model learns the
grammar corpus from the same pieces and with the same learning-rate curve; the seed of
its weights and of the order of its batches changes from one repetition to the next.
What is compared is the loss on the validation pairs, in nats per piece, and the
processor's time for the whole run, pieces included (one thread). The recipe was tuned
for none of them, so a small difference says little.
"""

import argparse
import os
import platform
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

import torch

from tformer import TransformerConfig, data, train
from tformer.common.files import write_json
from tformer.data import Corpus

RESULT = Path(__file__).resolve().parent.parent / "results" / "variants.json"
SIZES: dict[str, Any] = {
    "vocab_size": 700,
    "d_model": 64,
    "n_heads": 4,
    "d_ff": 192,
    "n_encoder_layers": 2,
    "n_decoder_layers": 2,
    "dropout": 0.0,
    "max_len": 64,
}
PEAK, WARMUP, TOKENS = 3e-3, 100, 1536
RMS, GATED = {"norm_kind": "rms"}, {"feed_forward": "swiglu"}
ROTARY, SHARED = {"positions": "rotary"}, {"attention": "grouped", "n_groups": 1}
VARIANTS: dict[str, dict[str, Any]] = {
    "post-norm, as in the paper": {"norm": "post"},
    "pre-norm": {"norm": "pre"},
    "pre-norm, RMSNorm": {"norm": "pre", **RMS},
    "pre-norm, SwiGLU": {"norm": "pre", **GATED},
    "pre-norm, rotary positions": {"norm": "pre", **ROTARY},
    "pre-norm, one head of keys": {"norm": "pre", **SHARED},
    "all five": {"norm": "pre", **RMS, **GATED, **ROTARY, **SHARED},
}


def measure(
    parts: dict[str, Any], seed: int, steps: int, corpus: Corpus
) -> dict[str, Any]:
    """Train one model from one seed."""
    config = TransformerConfig(**SIZES, **parts)
    recipe = train.Recipe(
        max_tokens=TOKENS,
        warmup_steps=WARMUP,
        last_step=steps,
        lr_scale=PEAK * (SIZES["d_model"] * WARMUP) ** 0.5,
        label_smoothing=0.0,
        eval_every=steps,
        average_last=1,
        precision="fp32",
        seed=seed,
    )
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        run = train.fit(
            config, corpus, recipe=recipe, device="cpu", folder=folder, progress="none"
        )
    return {
        "valid_loss": round(run.report["valid_loss"], 4),
        "cpu_seconds": round(time.process_time() - start, 1),
        "n_parameters": run.report["n_parameters"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--no-write", action="store_true", help="only print")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    corpus = data.load("grammar")
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in VARIANTS}
    for seed in range(arguments.seeds):
        for name, parts in VARIANTS.items():
            found[name].append(measure(parts, seed, arguments.steps, corpus))
            print(seed, name, found[name][-1], flush=True)
        result = {
            "command": "python -m studies.variants",
            "corpus": corpus.name,
            "train_pairs": len(corpus.train),
            "steps": arguments.steps,
            "seeds": seed + 1,
            "sizes": SIZES,
            "recipe": {"peak": PEAK, "warmup_steps": WARMUP, "max_tokens": TOKENS},
            "variants": found,
            "device": f"CPU ({platform.machine()}, 1 thread)",
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "torch": torch.__version__,
            "date": date.today().isoformat(),
        }
        if not arguments.no_write:
            write_json(RESULT, result)


if __name__ == "__main__":
    main()
