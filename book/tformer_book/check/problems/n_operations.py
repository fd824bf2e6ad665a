"""The grader for `n_operations` of chapter *Scale*, and known mistakes."""

from typing import Any

from tformer.analysis import cost
from tformer.config import TransformerConfig
from tformer_book.check import kit

HINTS = (
    "A product of (m, k) and (k, n) costs 2mkn. Which products does one encoder layer"
    " have, for a sentence of n pieces?",
    "With n pieces: four projections, 8nd²; the network, 4ndf; scores and mix, 4n²d. "
    "The decoder has them, too, and looks across: queries and output for each target "
    "piece, keys and values for each source piece, 4 × target × source × d. The "
    "logits come last.",
    "matrices = 8 * config.d_model**2 + 4 * config.d_model * config.d_ff",
)


def built(
    config: TransformerConfig,
    source: int,
    target: int,
    *,
    of_a_term: int = 2,
    projections: int = 4,
    pair_products: int = 2,
    network_products: int = 2,
    looks_across: str = "source",
    across_keys: str = "source",
    scores_pieces: str = "target",
    depths: str = "own",
    passes: int = 1,
) -> int:
    """Operations of a forward pass; other settings make a known mistake."""
    d, f = config.d_model, config.d_ff
    encoders, decoders = config.n_encoder_layers, config.n_decoder_layers
    if depths == "swapped":
        encoders, decoders = decoders, encoders
    project, network = d * d, network_products * d * f
    places = {"source": source, "target": target, "both": source + target, "none": 0}
    encoder = source * (projections * project + network + pair_products * source * d)
    decoder = (
        target * (projections * project + network)
        + target * pair_products * (target + places[looks_across]) * d
        + target * 2 * project
        + places[across_keys] * 2 * project
    )
    vocabulary = places[scores_pieces] * d * config.vocab_size
    return passes * of_a_term * (encoders * encoder + decoders * decoder + vocabulary)


SLIPS: kit.Table = {
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
CASES = kit.cases(
    "config source target",
    *((CONFIG, 7, 11), (CONFIG, 13, 4), (TransformerConfig(), 25, 30)),
)


def _right(config: TransformerConfig, source: int, target: int) -> int:
    return cost.forward(config, 1, source, target, labels=target)


def _unknown(
    found: int, wanted: int, config: object, source: int, target: int
) -> kit.Mistake:
    return kit.Mistake(
        "wrong-count",
        f"I don't know this mistake. For {config} with {source} source and {target} "
        f"target pieces there are {wanted:,} operations, you count {found:,}. "
        "Compare product by product with FlopCounterMode.",
    )


def _probe(mine: kit.Function) -> None:
    kit.judge(
        mine,
        CASES,
        _right,
        SLIPS,
        built,
        take=lambda k: kit.as_whole(k, "a whole number"),
        otherwise=_unknown,
    )


@kit.grader(_probe)
def n_operations(mine: kit.Function) -> str:
    """Grade ``mine(config, source, target) -> int``, the operations of a forward pass.

    ``mine`` takes a `tformer.TransformerConfig` and the lengths of one pair.
    """
    return "Stacks of different depth, lengths that differ: every product is counted."
