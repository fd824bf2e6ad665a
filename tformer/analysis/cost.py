"""What a Transformer costs, by arithmetic: operations, memory, and the cache.

A product of (m, k) and (k, n) counts 2·m·k·n operations, a multiplication and an
addition for each term. Norms, softmax, dropout and Adam are not counted: they are few.
Tests hold the operations to PyTorch's own counter and the bytes to what it keeps. Free
of torch, like the configurations it reads.

Letters: d the width, f the inner width of the feed-forward networks, H heads.

Source: Vaswani et al. 2017, table 1 and section 5.2. Chapter *Scale*.
"""

from dataclasses import dataclass, replace

from tformer.config import ModelConfig, TransformerConfig
from tformer.parts import ATTENTIONS, FEED_FORWARDS

FLOAT = 4  # bytes of a number in float32
COPIES = 4  # of each weight in training: itself, its gradient, Adam's two averages

# The paper's two models (table 3; section 5.1 for the vocabulary).
BASE = TransformerConfig(
    vocab_size=37_000,
    d_model=512,
    n_heads=8,
    d_ff=2048,
    n_encoder_layers=6,
    n_decoder_layers=6,
)
BIG = replace(BASE, d_model=1024, n_heads=16, d_ff=4096, dropout=0.3)


# Operations -------------------------------------------------------------------------


def encoder(config: TransformerConfig, rows: int, source: int) -> int:
    """Operations to read ``rows`` sources of this length, padding counted."""
    weights = ATTENTIONS[config.attention].matrices(config)
    weights += FEED_FORWARDS[config.feed_forward].matrices(config)
    each = 2 * weights + 4 * source * config.d_model  # products, attention
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
    d = config.d_model
    weights = ATTENTIONS[config.attention].matrices(config) + 2 * d * d
    weights += FEED_FORWARDS[config.feed_forward].matrices(config)
    each = 2 * weights + 4 * (seen + source) * d
    return round(rows * target * config.n_decoder_layers * each)


def memory(config: TransformerConfig, rows: int, source: int) -> int:
    """Operations to make the memory's keys and values, in every layer."""
    each = 4 * config.d_model * config.key_width
    return rows * source * config.n_decoder_layers * each


def vocabulary(config: TransformerConfig, places: int) -> int:
    """Operations to score every piece at this many places."""
    return 2 * places * config.d_model * config.vocab_size


def forward(
    config: TransformerConfig, rows: int, source: int, target: int, labels: int
) -> int:
    """Operations of one pass over a padded batch.

    The causal mask is not taken off: kernels differ in whether they use it.

    Args:
        config: the sizes.
        rows: sentences.
        source: pieces of each source, padding counted.
        target: pieces of each target, padding counted.
        labels: places whose next piece is scored.
    """
    return (
        encoder(config, rows, source)
        + memory(config, rows, source)
        + decoder(config, rows, source, target, seen=target)
        + vocabulary(config, labels)
    )


def training_step(
    config: TransformerConfig, rows: int, source: int, target: int, labels: int
) -> int:
    """Operations of `forward` and of the backward pass, which takes twice as many.

    Each product of the forward pass has two in the backward pass: one for the gradient
    of either factor.
    """
    return 3 * forward(config, rows, source, target, labels)


def search(
    config: TransformerConfig, rows: int, source: int, pieces: int, width: int = 1
) -> int:
    """Operations of a search with a key/value cache: greedy, or a beam this wide."""
    return (
        encoder(config, rows, source)
        + memory(config, rows, source)
        + decoder(config, rows * width, source, pieces, seen=(pieces + 1) / 2)
        + vocabulary(config, rows * width * pieces)
    )


def recurrent_layer(d: int, length: int) -> int:
    """Operations of a GRU layer of width d: six products with a (d, d) matrix each."""
    return 12 * length * d * d


def attention_layer(d: int, length: int) -> int:
    """Operations of self-attention: four projections, the scores, and the mixing."""
    return 8 * length * d * d + 4 * length * length * d


# Memory -----------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainingMemory:
    """The bytes that a training step in float32 holds, by what they are for."""

    weights: int
    gradients: int
    moments: int
    activations: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.gradients + self.moments + self.activations


def bytes_to_train(config: ModelConfig) -> int:
    """The bytes of weights, gradients and Adam's averages, and of fixed tables."""
    return FLOAT * (COPIES * config.n_parameters + config.n_constants)


def training_memory(
    config: TransformerConfig, rows: int, source: int, target: int
) -> TrainingMemory:
    """The bytes that are held when the forward pass ends and the backward pass begins.

    Args:
        config: the sizes.
        rows: sentences of the batch.
        source: pieces of each source, padding counted.
        target: pieces of each target, padding counted.
    """
    weights = FLOAT * config.n_parameters
    return TrainingMemory(
        weights=weights,
        gradients=weights,
        moments=2 * weights,
        activations=FLOAT
        * (rows * activations(config, source, target) + side_by_side(config)),
    )


def activations(config: TransformerConfig, source: int, target: int) -> int:
    """Numbers of one sentence pair that the backward pass needs.

    Each sub-layer keeps what its norm and its products were given. Self-attention keeps
    7 d for a piece: the stream, the norm's output, query, key, value, what the heads
    found, and what dropout let through. The feed-forward network keeps 3 d + f, and
    cross-attention 5 d for a target piece and 2 d, key and value, for a source piece.
    A norm adds two numbers, and the fused kernel one per head, in place of the
    attention weights; of a causal mask it keeps a row. The logits are never kept, see
    `tformer.loss.projected_cross_entropy`. This is for the paper's parts; others keep
    about as much.
    """
    d, f, heads = config.d_model, config.d_ff, config.n_heads
    layers, decoders = config.n_encoder_layers, config.n_decoder_layers
    ends = (3 if config.norm == "pre" else 2) * d  # embedding, memory or loss, norm
    of_source = layers * (10 * d + f + heads + 4) + decoders * 2 * d + ends
    of_target = decoders * (15 * d + f + 2 * heads + 6 + target) + ends
    return source * of_source + target * of_target


def kept_for_each_token(config: ModelConfig) -> int:
    """Numbers that the backward pass needs at least for a token of either side."""
    if isinstance(config, TransformerConfig):
        return activations(config, 1, 1) // 2
    return config.n_kept


def side_by_side(config: TransformerConfig) -> int:
    """Numbers in copies of weights: projections of one input are made one matrix."""
    layers = 3 * config.n_encoder_layers + 5 * config.n_decoder_layers
    return layers * config.d_model**2


def cache_bytes(
    config: TransformerConfig,
    rows: int,
    source: int,
    target: int,
    bytes_each: int = FLOAT,
) -> int:
    """Bytes of the key/value cache once ``target`` pieces are written.

    Every decoder layer keeps a key and a value, d numbers each (fewer if grouped), for
    every piece of the target so far and for every piece of the memory.

    Args:
        config: the sizes.
        rows: sentences, or hypotheses.
        source: pieces of each source.
        target: pieces written so far.
        bytes_each: 4 in float32, 2 in half precision.
    """
    each = 2 * config.n_decoder_layers * config.key_width
    return rows * (source + target) * each * bytes_each
