"""How often the program waits for an accelerator: the table in benchmarks/README.md.

    python tests/tformer/accelerator/counts.py

Counted on the pretend device: no GPU is needed, and no time is measured.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from unittest import mock

if __name__ == "__main__":  # the device must come first
    sys.path[:0] = [
        str(Path(__file__).parent),
        str(Path(__file__).parents[1] / "train"),
    ]

import pretend
import torch
from small_runs import quick, quick_fit, small, word_corpus

from tformer import Transformer, decode
from tformer.decode.stepping import Stepper
from tformer.tokenization import Tokenizer
from tformer.train import loop, ranks

PRECISIONS = ("fp32", "fp16", "bf16")
SEARCHES: dict[str, Callable] = {
    "greedy": decode.greedy,
    "beam": decode.beam_search,
    "beam, no cache": lambda *a, **k: decode.beam_search(*a, use_cache=False, **k),
    "sampling": decode.sample,
    "sampling, top k and top p": lambda *a, **k: decode.sample(
        *a, top_k=5, top_p=0.9, **k
    ),
}


def learned_pieces() -> Tokenizer:
    sentences = [side for pair in word_corpus().train for side in pair]
    return Tokenizer.train(sentences, 310, algorithm="bpe")


def in_training(
    precision: str, tokenizer: Tokenizer, **changes: float
) -> tuple[int, int]:
    """Waits in the steps between two readings of the loss, and in a reading."""
    found = {"step": 0, "_look": 0}

    def counted(name: str) -> mock._patch:
        plain = getattr(loop.Loop, name)

        def call(*args):
            with pretend.waits() as waits:
                result = plain(*args)
            found[name] = max(found[name], waits.total())
            return result

        return mock.patch.object(loop.Loop, name, call)

    device = mock.patch.object(ranks, "choose_device", return_value=pretend.DEVICE)
    settings = {"recipe": quick(precision=precision, **changes), "steps": 10}
    folder = tempfile.TemporaryDirectory()
    with folder as place, device, counted("step"), counted("_look"):
        quick_fit(tokenizer, place, **settings)
    return found["step"], found["_look"]


def in_decoding(search: Callable) -> int:
    """The most waits between two calls of the model, several sentences at once."""
    torch.manual_seed(0)
    model = Transformer(small()).to(pretend.DEVICE)
    ids = torch.randint(4, 310, (5, 7)).to(pretend.DEVICE)
    totals: list[int] = []
    plain = Stepper._logits
    with pretend.waits() as waits:

        def spy(stepper: Stepper) -> torch.Tensor:
            totals.append(pretend.so_far())
            return plain(stepper)

        with mock.patch.object(Stepper, "_logits", spy):
            search(model, ids, max_len=8)
    assert len(totals) > 4 and waits.total() > 0
    return max(b - a for a, b in pairwise(totals))


def table() -> str:
    """In Markdown."""
    tokenizer = learned_pieces()
    lines = ["| | Waits |", "|---|---|"]
    for precision in PRECISIONS:
        in_steps, in_reading = in_training(precision, tokenizer)
        lines.append(f"| a training step, {precision} | {in_steps} |")
    lines.append(
        f"| reading loss and norm, every {loop.LOG_EVERY} steps | {in_reading} |"
    )
    for name, search in SEARCHES.items():
        lines.append(f"| a step of decoding: {name} | {in_decoding(search)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    pretend.install()
    print(table())
