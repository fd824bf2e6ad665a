"""The grader for `cache_bytes` of chapter *Scale*, and known mistakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tformer.analysis import cost
from tformer.config import TransformerConfig
from tformer_book.check._compare import Slip, recognise
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import as_whole, call

Wrong = Callable[[TransformerConfig, int, int, int, int], int]


def _times(config: TransformerConfig, rows: int, places: int, each: int) -> int:
    return 2 * config.n_decoder_layers * config.d_model * rows * places * each


MISTAKES: tuple[tuple[str, str, Wrong], ...] = (
    (
        "keys-only",
        "You keep one vector a piece. The cache holds two: a key and a value.",
        lambda c, b, s, t, e: _times(c, b, s + t, e) // 2,
    ),
    (
        "target-only",
        "You keep the target's keys and values. Those of the memory are kept as well, "
        "so that cross-attention need not project the source again at every step.",
        lambda c, b, s, t, e: _times(c, b, t, e),
    ),
    (
        "source-only",
        "You keep the memory's keys and values. Those of the target so far are kept, "
        "too: they are what grows.",
        lambda c, b, s, t, e: _times(c, b, s, e),
    ),
    (
        "per-head",
        "You count every head at the full width. The heads share it: each is d / H "
        "wide, so all heads of a layer together keep d numbers for a key.",
        lambda c, b, s, t, e: _times(c, b, s + t, e) * c.n_heads,
    ),
    (
        "one-layer",
        "You count one layer. Every decoder layer makes keys and values of its own.",
        lambda c, b, s, t, e: _times(c, b, s + t, e) // c.n_decoder_layers,
    ),
    (
        "encoder-layers",
        "You count the encoder's layers. The encoder runs once and needs no cache: the "
        "decoder's layers keep keys and values, of the memory too.",
        lambda c, b, s, t, e: (
            _times(c, b, s + t, e) // c.n_decoder_layers * c.n_encoder_layers
        ),
    ),
    (
        "all-layers",
        "You count the layers of both stacks. Only the decoder writes step by step, so "
        "only its layers keep anything.",
        lambda c, b, s, t, e: (
            _times(c, b, s + t, e)
            // c.n_decoder_layers
            * (c.n_encoder_layers + c.n_decoder_layers)
        ),
    ),
    (
        "one-sentence",
        "You count one sentence; each of the rows has a cache of its own.",
        lambda c, b, s, t, e: _times(c, 1, s + t, e),
    ),
    (
        "numbers-not-bytes",
        "You count numbers. Each takes bytes_each bytes.",
        lambda c, b, s, t, e: _times(c, b, s + t, 1),
    ),
    (
        "weights-kept",
        "Your cache grows with the square of the length, as attention weights would. "
        "They are used once and thrown away; what is kept are keys and values.",
        lambda c, b, s, t, e: _times(c, b, (s + t) * t, e),
    ),
)

CONFIG: dict[str, Any] = {"vocab_size": 50, "d_model": 24, "n_heads": 3, "d_ff": 10}
CASES = (
    (TransformerConfig(**CONFIG, n_encoder_layers=2, n_decoder_layers=5), 7, 11, 4, 4),
    (TransformerConfig(**CONFIG, n_encoder_layers=4, n_decoder_layers=1), 3, 5, 13, 2),
    (TransformerConfig(), 4, 25, 30, 4),
)
NAMES = ("config", "rows", "source", "target", "bytes_each")


def _probe(mine: Function) -> None:
    found = [
        as_whole(call(mine, dict(zip(NAMES, case, strict=True))), "a number of bytes")
        for case in CASES
    ]
    right = [cost.cache_bytes(*case) for case in CASES]
    if found == right:
        return
    recognise(
        found,
        [
            Slip(name, says, [wrong(*case) for case in CASES])
            for name, says, wrong in MISTAKES
        ],
    )
    i = next(i for i in range(len(found)) if found[i] != right[i])
    _, rows, source, target, each = CASES[i]
    raise Mistake(
        "wrong-count",
        f"I don't know this mistake. For {rows} rows, {source} source and {target} "
        f"target pieces at {each} bytes and {CASES[i][0]} the cache takes {right[i]:,} "
        f"bytes, you say {found[i]:,}.",
    )


def cache_bytes(mine: Function) -> Result:
    """Grade ``mine(config, rows, source, target, bytes_each) -> int``.

    Args:
        mine: the bytes of the key/value cache when ``target`` pieces are written.

    Returns:
        True only if every hidden case is right.
    """
    praise = "Keys and values, source and target, in every decoder layer."
    return grade("cache_bytes", mine, [_probe], praise)
