"""The grader for `cache_bytes` of chapter *Scale*, and known mistakes."""

from typing import Any

from tformer.analysis import cost
from tformer.config import TransformerConfig
from tformer_book.check import kit

HINTS = (
    "For one target piece, in one layer: how many vectors are kept, and how wide is "
    "each?",
    "A key and a value, each `d_model` wide, for every target piece and every source "
    "piece, in each of the decoder's layers and for each sentence.",
    "vectors = 2 * config.n_decoder_layers * rows * (source + target)",
)


def _times(config: TransformerConfig, rows: int, places: int, each: int) -> int:
    return 2 * config.n_decoder_layers * config.d_model * rows * places * each


SLIPS: kit.Table = {
    "keys-only": (
        lambda c, b, s, t, e: _times(c, b, s + t, e) // 2,
        "You keep one vector a piece. The cache holds two: a key and a value.",
    ),
    "target-only": (
        lambda c, b, s, t, e: _times(c, b, t, e),
        "You keep the target's keys and values. Those of the memory are kept as well, "
        "so that cross-attention need not project the source again at every step.",
    ),
    "source-only": (
        lambda c, b, s, t, e: _times(c, b, s, e),
        "You keep the memory's keys and values. Those of the target so far are kept, "
        "too: they are what grows.",
    ),
    "per-head": (
        lambda c, b, s, t, e: _times(c, b, s + t, e) * c.n_heads,
        "You count every head at the full width. The heads share it: each is d / H "
        "wide, so all heads of a layer together keep d numbers for a key.",
    ),
    "memory-once": (
        lambda c, b, s, t, e: (
            _times(c, b, t, e) + _times(c, b, s, e) // c.n_decoder_layers
        ),
        "You keep the source's keys and values once. The memory itself is one for all "
        "layers, but each layer makes keys and values of its own from it.",
    ),
    "one-layer": (
        lambda c, b, s, t, e: _times(c, b, s + t, e) // c.n_decoder_layers,
        "You count one layer. Every decoder layer makes keys and values of its own.",
    ),
    "encoder-layers": (
        lambda c, b, s, t, e: (
            _times(c, b, s + t, e) // c.n_decoder_layers * c.n_encoder_layers
        ),
        "You count the encoder's layers. The encoder runs once and needs no cache: the "
        "decoder's layers keep keys and values, of the memory too.",
    ),
    "all-layers": (
        lambda c, b, s, t, e: (
            _times(c, b, s + t, e)
            // c.n_decoder_layers
            * (c.n_encoder_layers + c.n_decoder_layers)
        ),
        "You count the layers of both stacks. Only the decoder writes step by step, so "
        "only its layers keep anything.",
    ),
    "one-sentence": (
        lambda c, b, s, t, e: _times(c, 1, s + t, e),
        "You count one sentence; each of the rows has a cache of its own.",
    ),
    "numbers-not-bytes": (
        lambda c, b, s, t, e: _times(c, b, s + t, 1),
        "You count numbers. Each takes bytes_each bytes.",
    ),
    "weights-kept": (
        lambda c, b, s, t, e: _times(c, b, (s + t) * t, e),
        "Your cache grows with the square of the length, as attention weights would. "
        "They are used once and thrown away; what is kept are keys and values.",
    ),
}

CONFIG: dict[str, Any] = {"vocab_size": 50, "d_model": 24, "n_heads": 3, "d_ff": 10}

CASES = kit.cases(
    "config rows source target bytes_each",
    (TransformerConfig(**CONFIG, n_encoder_layers=2, n_decoder_layers=5), 7, 11, 4, 4),
    (TransformerConfig(**CONFIG, n_encoder_layers=4, n_decoder_layers=1), 3, 5, 13, 2),
    (TransformerConfig(), 4, 25, 30, 4),
)


def _unknown(
    found: int, wanted: int, config: object, rows: int, source: int, target: int, e: int
) -> kit.Mistake:
    return kit.Mistake(
        "wrong-count",
        f"I don't know this mistake. For {rows} rows, {source} source and {target} "
        f"target pieces at {e} bytes and {config} the cache takes {wanted:,} "
        f"bytes, you say {found:,}.",
    )


def _probe(mine: kit.Function) -> None:
    kit.judge(
        mine,
        CASES,
        cost.cache_bytes,
        SLIPS,
        take=lambda k: kit.as_whole(k, "a number of bytes"),
        otherwise=_unknown,
    )


@kit.grader(_probe)
def cache_bytes(mine: kit.Function) -> str:
    """Grade ``mine(config, rows, source, target, bytes_each) -> int``.

    ``mine`` returns the bytes of the key/value cache when ``target`` pieces are
    written.
    """
    return "Keys and values, source and target, in every decoder layer."
