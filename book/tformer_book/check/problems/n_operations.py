"""The grader for `n_operations` of chapter *Scale*, and known mistakes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from tformer.analysis import cost
from tformer.config import TransformerConfig
from tformer_book.check._compare import recognise, slips
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import as_whole, call


@dataclass(frozen=True)
class Count:
    """The arithmetic of a forward pass; other fields make a known mistake."""

    of_a_term: int = 2
    projections: int = 4
    pair_products: int = 2
    network_products: int = 2
    looks_across: str = "source"
    across_keys: str = "source"
    scores_pieces: str = "target"
    depths: str = "own"
    passes: int = 1

    def of(self, config: TransformerConfig, source: int, target: int) -> int:
        """Count the operations for one sentence pair."""
        d, f = config.d_model, config.d_ff
        encoders, decoders = config.n_encoder_layers, config.n_decoder_layers
        if self.depths == "swapped":
            encoders, decoders = decoders, encoders
        project, network = d * d, self.network_products * d * f
        memory = source if self.looks_across == "source" else target
        keys = source if self.across_keys == "source" else target
        places = {"target": target, "both": source + target, "none": 0}
        encoder = source * (
            self.projections * project + network + self.pair_products * source * d
        )
        decoder = (
            target * (self.projections * project + network)
            + target * self.pair_products * (target + memory) * d
            + target * 2 * project
            + keys * 2 * project
        )
        vocabulary = places[self.scores_pieces] * d * config.vocab_size
        products = encoders * encoder + decoders * decoder + vocabulary
        return self.passes * self.of_a_term * products


MISTAKES: dict[str, tuple[dict[str, object], str]] = {
    "multiplications-only": (
        {"of_a_term": 1},
        "You count multiplications alone. Each term of a product is multiplied and "
        "added, so (m, k) times (k, n) takes 2 m k n operations.",
    ),
    "backward-too": (
        {"passes": 3},
        "You count the backward pass as well, which takes twice the forward pass. "
        "Asked for is the forward pass alone.",
    ),
    "output-projection-forgotten": (
        {"projections": 3},
        "Self-attention has four projections for every piece: query, key, value, and "
        "the one that merges the heads. You count three.",
    ),
    "scores-without-mixing": (
        {"pair_products": 1},
        "Words meet in two products: queries with keys for the scores, and weights "
        "with values for the mix. You count one of them.",
    ),
    "no-pairs": (
        {"pair_products": 0},
        "You leave out the two products in which every word meets every other, the "
        "scores and the mixing: they are small for short sentences, but not nothing.",
    ),
    "network-one-product": (
        {"network_products": 1},
        "The feed-forward network has two products: one widens to d_ff, the other "
        "comes back.",
    ),
    "cross-looks-at-target": (
        {"looks_across": "target"},
        "In cross-attention a target piece is compared with the pieces of the source, "
        "so its two products are (T, S), not (T, T).",
    ),
    "memory-per-target": (
        {"across_keys": "target"},
        "Keys and values of cross-attention are made of the memory, one pair for each "
        "source piece. You count them for each target piece.",
    ),
    "vocabulary-forgotten": (
        {"scores_pieces": "none"},
        "The last product is missing: at each target place all V pieces are scored.",
    ),
    "vocabulary-on-both-sides": (
        {"scores_pieces": "both"},
        "You score the vocabulary at source places, too. The encoder's output is not "
        "unembedded: only target places are.",
    ),
    "layers-swapped": (
        {"depths": "swapped"},
        "You take n_encoder_layers for the decoder and n_decoder_layers for the "
        "encoder.",
    ),
}

SIZES: dict[str, Any] = {"vocab_size": 101, "d_model": 24, "n_heads": 4, "d_ff": 70}
CONFIG = TransformerConfig(**SIZES, n_encoder_layers=2, n_decoder_layers=5)
CASES = ((CONFIG, 7, 11), (CONFIG, 13, 4), (TransformerConfig(), 25, 30))


def _probe(mine: Function) -> None:
    names = ("config", "source", "target")
    found = [
        as_whole(call(mine, dict(zip(names, case, strict=True))), "a whole number")
        for case in CASES
    ]
    right = [cost.forward(config, 1, s, t, labels=t) for config, s, t in CASES]
    if found == right:
        return

    def counts(**changes: Any) -> list[int]:
        wrong = dataclasses.replace(Count(), **changes)
        return [wrong.of(*case) for case in CASES]

    recognise(found, slips(counts, MISTAKES))
    i = next(i for i in range(len(found)) if found[i] != right[i])
    config, source, target = CASES[i]
    raise Mistake(
        "wrong-count",
        f"I don't know this mistake. For {config} with {source} source and {target} "
        f"target pieces there are {right[i]:,} operations, you count {found[i]:,}. "
        "Compare product by product with FlopCounterMode.",
    )


def n_operations(mine: Function) -> Result:
    """Grade ``mine(config, source, target) -> int``, the operations of a forward pass.

    Args:
        mine: takes a `tformer.TransformerConfig` and the lengths of one pair.

    Returns:
        True only if every hidden case is counted right.
    """
    praise = "Stacks of different depth, lengths that differ: every product is counted."
    return grade("n_operations", mine, [_probe], praise)
