"""Train the same small model with one part exchanged at a time, from several seeds.

    python -m studies.variants              500 steps each, three seeds
    python -m studies.variants --steps 20 --seeds 1 --no-write

Writes ``results/variants.json`` for chapter *What came after*. Every model learns the
grammar corpus from the same pieces, batches and learning-rate curve; only the weights'
seed changes from one repetition to the next. What is compared is the loss on the
validation pairs, in nats per piece, and the processor's time for the training (one
thread). The recipe was tuned for none of them, so a small difference says little.
"""

import argparse
import os
import platform
import time
from collections.abc import Iterator
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import torch

from tformer import Transformer, TransformerConfig, data
from tformer.common.files import write_json
from tformer.data import Batch
from tformer.loss import cross_entropy
from tformer.parts import Parts
from tformer.tokenization import Tokenizer
from tformer.variants import (
    GroupedAttention,
    NoPositions,
    RMSNorm,
    RotaryAttention,
    SwiGLU,
)

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


class GroupedRotaryAttention(RotaryAttention, GroupedAttention):
    """Both at once."""


GROUPED = partial(GroupedAttention, n_groups=1)
ROTARY = Parts(self_attention=RotaryAttention, positions=NoPositions)
ALL = Parts(
    norm=RMSNorm,
    self_attention=partial(GroupedRotaryAttention, n_groups=1),
    cross_attention=GROUPED,
    feed_forward=SwiGLU,
    positions=NoPositions,
)
VARIANTS: dict[str, tuple[str, Parts]] = {
    "post-norm, as in the paper": ("post", Parts()),
    "pre-norm": ("pre", Parts()),
    "pre-norm, RMSNorm": ("pre", Parts(norm=RMSNorm)),
    "pre-norm, SwiGLU": ("pre", Parts(feed_forward=SwiGLU)),
    "pre-norm, rotary positions": ("pre", ROTARY),
    "pre-norm, one head of keys": (
        "pre",
        Parts(self_attention=GROUPED, cross_attention=GROUPED),
    ),
    "all five": ("pre", ALL),
}


def loss_of(model: Transformer, batch: Batch) -> torch.Tensor:
    """The loss of one batch."""
    logits = model(batch.source_ids, batch.target_ids)
    return cross_entropy(logits, batch.labels, pad_id=model.config.pad_id)


def measure(
    variant: tuple[str, Parts], seed: int, steps: int, splits: dict[str, Any]
) -> dict[str, Any]:
    """Train one model from one seed."""
    torch.manual_seed(seed)
    norm, parts = variant
    model = Transformer(TransformerConfig(**SIZES, norm=norm), parts=parts)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    start, batches = time.process_time(), endless(splits["train"])
    for step in range(1, steps + 1):
        left = 1 - (step - 1) / steps
        for group in optimizer.param_groups:
            group["lr"] = PEAK * min(step / WARMUP, left)
        optimizer.zero_grad()
        loss_of(model, next(batches)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    seconds = time.process_time() - start
    total = labels = 0.0
    with torch.no_grad():
        for batch in cut(splits["valid"], epoch=0):
            n = int((batch.labels != 0).sum())
            total, labels = total + float(loss_of(model.eval(), batch)) * n, labels + n
    return {
        "valid_loss": round(total / labels, 4),
        "cpu_seconds": round(seconds, 1),
        "n_parameters": model.n_parameters(),
    }


def cut(pairs: Any, epoch: int) -> Any:
    """One epoch's batches, the same for every model."""
    return data.batches(
        pairs, max_tokens=TOKENS, pad_id=0, bos_id=1, eos_id=2, seed=0, epoch=epoch
    )


def endless(pairs: Any) -> Iterator[Batch]:
    epoch = 0
    while True:
        yield from cut(pairs, epoch)
        epoch += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--no-write", action="store_true", help="only print")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    corpus = data.load("grammar")
    texts = (text for pair in corpus.train for text in pair)
    tokenizer = Tokenizer.train(texts, SIZES["vocab_size"])
    splits = {
        name: data.encode_pairs(pairs, tokenizer, max_len=SIZES["max_len"])
        for name, pairs in (("train", corpus.train), ("valid", corpus.valid))
    }
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in VARIANTS}
    for seed in range(arguments.seeds):
        for name, variant in VARIANTS.items():
            found[name].append(measure(variant, seed, arguments.steps, splits))
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
