"""What a Transformer has to multiply: the cost model that measurements stand against.

A product of (m, k) and (k, n) counts 2·m·k·n operations. Norms, softmax, dropout and
Adam are not counted: they are few, and what they take shows as a lower share.
"""

from __future__ import annotations

from tformer import TransformerConfig


def encoder(config: TransformerConfig, rows: int, source: int) -> int:
    """Operations to read ``rows`` sources of this length, padding counted."""
    d, f = config.d_model, config.d_ff
    each = 8 * d * d + 4 * d * f + 4 * source * d  # projections, network, attention
    return rows * source * config.n_encoder_layers * each


def decoder(
    config: TransformerConfig, rows: int, source: int, target: int, seen: float
) -> int:
    """Operations of the decoder for ``target`` new places a row.

    Args:
        config: the sizes.
        rows: sentences, or hypotheses.
        source: length of the memory.
        target: new places a row.
        seen: how many places each of them looks back at, on average.
    """
    d, f = config.d_model, config.d_ff
    each = 8 * d * d + 4 * d * d + 4 * d * f + 4 * (seen + source) * d
    return round(rows * target * config.n_decoder_layers * each)


def memory(config: TransformerConfig, rows: int, source: int) -> int:
    """Operations to make the memory's keys and values, in every layer."""
    return rows * source * config.n_decoder_layers * 4 * config.d_model**2


def vocabulary(config: TransformerConfig, places: int) -> int:
    """Operations to score every piece at so many places."""
    return 2 * places * config.d_model * config.vocab_size


def training_step(
    config: TransformerConfig, rows: int, source: int, target: int, labels: int
) -> int:
    """Forward and backward (twice the forward) of a padded batch.

    The causal mask is not taken off: kernels differ in whether they use it.
    """
    forward = (
        encoder(config, rows, source)
        + memory(config, rows, source)
        + decoder(config, rows, source, target, seen=target)
        + vocabulary(config, labels)
    )
    return 3 * forward


def search(
    config: TransformerConfig, rows: int, source: int, pieces: int, width: int = 1
) -> int:
    """A search with a key/value cache: greedy, or a beam this wide."""
    return (
        encoder(config, rows, source)
        + memory(config, rows, source)
        + decoder(config, rows * width, source, pieces, seen=(pieces + 1) / 2)
        + vocabulary(config, rows * width * pieces)
    )
