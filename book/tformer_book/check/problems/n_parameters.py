"""The grader for `n_parameters` of chapter *The whole Transformer*."""

from typing import Any

import torch

from tformer.config import TransformerConfig
from tformer.model import Transformer
from tformer_book.check import kit

HINTS = (
    "How many attentions, networks and norms are there in one layer of the encoder, "
    "and how many in one of the decoder?",
    "Count one attention (four matrices with their biases), one network (two "
    "matrices, two biases) and one norm. An encoder layer has 1, 1 and 2 of them, a "
    "decoder layer 2, 1 and 3. Then the tables, and the norm that closes each pre-"
    "norm stack.",
    "attention = 4 * (config.d_model**2 + config.d_model)",
)


def built(
    config: TransformerConfig,
    *,
    tables_tied: int = 1,
    tables_untied: int = 3,
    positions: int = 0,
    output_bias: int = 0,
    matrices: int = 4,
    attention_bias: int = 1,
    wide_heads: bool = False,
    ffn_matrices: int = 2,
    ffn_bias: int = 1,
    vectors_per_norm: int = 2,
    attentions: tuple[int, int] = (1, 2),
    norms: tuple[int, int] = (2, 3),
    final_norms_pre: int = 2,
    final_norms_post: int = 0,
    depth: str = "own",
) -> int:
    """A model's parameters by arithmetic; other settings make a known mistake."""
    d, f = config.d_model, config.d_ff
    norm = vectors_per_norm * d
    heads = config.n_heads if wide_heads else 1
    attention = matrices * d * (d * heads + attention_bias)
    ffn = ffn_matrices * d * f + ffn_bias * (d + f)
    layers = [
        attentions[side] * attention + ffn + norms[side] * norm for side in (0, 1)
    ]
    encoder, decoder = config.n_encoder_layers, config.n_decoder_layers
    depths = {
        "own": (encoder, decoder),
        "swapped": (decoder, encoder),
        "encoder's": (encoder, encoder),
        "decoder's": (decoder, decoder),
        "one": (1, 1),
    }[depth]
    tables = tables_tied if config.tie_embeddings else tables_untied
    final = final_norms_pre if config.norm == "pre" else final_norms_post
    return (
        (tables * config.vocab_size + positions * config.max_len) * d
        + output_bias * config.vocab_size
        + sum(n * layer for n, layer in zip(depths, layers, strict=True))
        + final * norm
    )


SLIPS: kit.Table = {
    "tying-ignored": (
        {"tables_tied": 3},
        "You count three tables even where they are tied. With tie_embeddings one "
        "table serves source, target and output, and it counts once.",
    ),
    "output-counted-again": (
        {"tables_tied": 2},
        "With tie_embeddings you count two tables. The output is the same table, read "
        "the other way (h Eᵀ), so there is only one.",
    ),
    "untied-counted-once": (
        {"tables_untied": 1},
        "Without tie_embeddings the model has three tables: source, target, output.",
    ),
    "untied-counted-twice": (
        {"tables_untied": 2},
        "Without tie_embeddings you count two tables. There are three: source, target "
        "and the output projection.",
    ),
    "positions-counted": (
        {"positions": 1},
        "You count the positions. The sinusoids are computed, not trained: they are no "
        "parameters.",
    ),
    "output-bias": (
        {"output_bias": 1},
        "You give the last linear layer a bias of V numbers. Ours is the embedding "
        "table alone, without a bias, as in the paper's section 3.4.",
    ),
    "projection-forgotten": (
        {"matrices": 3},
        "An attention has four projections of D × D: to_query, to_key, to_value, and "
        "to_output, which merges the heads. You count three.",
    ),
    "heads-too-wide": (
        {"wide_heads": True},
        "You give every head projections of the full width D. Each head is D / H wide, "
        "so all heads together take one D × D matrix a projection: the number of heads "
        "changes nothing.",
    ),
    "attention-biases": (
        {"attention_bias": 0},
        "The biases of attention are missing: each of the four projections adds D "
        "numbers.",
    ),
    "ffn-biases": (
        {"ffn_bias": 0},
        "The biases of the feed-forward network are missing: F in the middle, D at the "
        "end.",
    ),
    "biases": (
        {"attention_bias": 0, "ffn_bias": 0},
        "You count no biases. Each attention projection has D of them, the "
        "feed-forward network F + D.",
    ),
    "ffn-one-matrix": (
        {"ffn_matrices": 1},
        "The feed-forward network has two matrices: D × F to widen, F × D to narrow.",
    ),
    "norms-forgotten": (
        {"vectors_per_norm": 0},
        "The norms are missing: each has a gain and a bias, 2 D numbers.",
    ),
    "norm-gain-only": (
        {"vectors_per_norm": 1},
        "A norm has a gain and a bias: 2 D numbers, not D.",
    ),
    "cross-attention-forgotten": (
        {"attentions": (1, 1)},
        "A decoder layer has two attentions: one over the target, one over the "
        "memory. You count one.",
    ),
    "cross-norm-forgotten": (
        {"norms": (2, 2)},
        "A decoder layer has three sub-layers, and each has its norm. You count two "
        "norms.",
    ),
    "decoder-like-encoder": (
        {"attentions": (1, 1), "norms": (2, 2)},
        "You count a decoder layer like an encoder layer. It has one sub-layer more: "
        "cross-attention, with four projections and a norm of its own.",
    ),
    "encoder-like-decoder": (
        {"attentions": (2, 2), "norms": (3, 3)},
        "You count an encoder layer like a decoder layer. The encoder has no "
        "cross-attention.",
    ),
    "final-norms-forgotten": (
        {"final_norms_pre": 0},
        'With norm="pre" each stack ends in one norm more, or its stream would leave '
        "it without any: 2 × 2 D numbers.",
    ),
    "one-final-norm": (
        {"final_norms_pre": 1},
        'With norm="pre" both stacks end in a norm, encoder and decoder. You count '
        "one.",
    ),
    "final-norms-always": (
        {"final_norms_post": 2},
        'With norm="post" the stacks have no norm at their end: each layer ends in '
        'one already. Only norm="pre" adds two.',
    ),
    "layers-swapped": (
        {"depth": "swapped"},
        "You take n_encoder_layers for the decoder and n_decoder_layers for the "
        "encoder.",
    ),
    "encoder-depth-for-both": (
        {"depth": "encoder's"},
        "You take n_encoder_layers for both stacks; the decoder has its own depth.",
    ),
    "decoder-depth-for-both": (
        {"depth": "decoder's"},
        "You take n_decoder_layers for both stacks; the encoder has its own depth.",
    ),
    "one-layer": (
        {"depth": "one"},
        "You count one layer a side. A stack has as many as the configuration says, "
        "and no two layers share a parameter.",
    ),
}


def _cases() -> list[kit.Case]:
    """Sizes that all differ, so that no letter can stand for another."""
    sizes: dict[str, Any] = {
        "vocab_size": 101,
        "d_model": 24,
        "n_heads": 4,
        "d_ff": 70,
        "max_len": 37,
    }
    depths: dict[str, Any] = {"n_encoder_layers": 2, "n_decoder_layers": 5}
    return [
        kit.Case(
            {
                "config": TransformerConfig(
                    **sizes, **depths, norm=norm, tie_embeddings=tied
                )
            }
        )
        for norm in ("post", "pre")
        for tied in (True, False)
    ]


def _true_count(config: TransformerConfig) -> int:
    with torch.device("meta"):  # shapes only, no numbers
        return Transformer(config).n_parameters()


def _take(found: object) -> int:
    return kit.as_whole(found, "a whole number of parameters")


def _unknown(found: int, wanted: int, config: TransformerConfig) -> kit.Mistake:
    sign = "too many" if found > wanted else "too few"
    return kit.Mistake(
        "wrong-count",
        f"I don't know this mistake. For {config} the model has {wanted:,} "
        f"parameters, you count {found:,}: {abs(found - wanted):,} {sign}. "
        "Compare with sum(p.numel() for p in part.parameters()), part by part.",
    )


def _probe_counts(mine: kit.Function) -> None:
    kit.judge(mine, _cases(), _true_count, SLIPS, built, take=_take, otherwise=_unknown)


def _probe_other_sizes(mine: kit.Function) -> None:
    """A second look, so that no constant can be memorised."""
    config = TransformerConfig(
        vocab_size=57, d_model=6, n_heads=3, d_ff=11, n_encoder_layers=1
    )
    found, right = kit.Case({"config": config}).ask(mine, _take), _true_count(config)
    if found != right:
        raise kit.Mistake(
            "wrong-count",
            f"Right for some sizes, but {config} has {right:,} parameters and you "
            f"count {found:,}. Is there a number in your function that should be a "
            "letter?",
        )


@kit.grader(_probe_counts, _probe_other_sizes)
def n_parameters(mine: kit.Function) -> str:
    """Grade ``mine(config) -> int``, the parameters of a model by arithmetic.

    ``mine`` takes a `tformer.TransformerConfig`.
    """
    return (
        "It counts every hidden configuration to the last number: tied and not, pre- "
        "and post-norm, stacks of different depth."
    )
