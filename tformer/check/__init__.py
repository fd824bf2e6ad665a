"""Graders for the book's problems: they run your function and say what is wrong.

Each ``check.<part>(mine)`` runs your function on hidden cases, prints what it found in
the words of a teacher, and returns a `Result` that is true only if all is well, so that
``assert check.attention(mine)`` works, too.
"""

from tformer.check._attention import attention
from tformer.check._basics import gradient, matrix_product, softmax
from tformer.check._data import batches_by_tokens, shift, split
from tformer.check._decoder import (
    cross_attention,
    decoder_layer,
    greedy,
    inputs_and_labels,
)
from tformer.check._embedding import embedding, one_hot, tied_logits
from tformer.check._encoder import encoder_layer, feed_forward, layer_norm
from tformer.check._grade import Result
from tformer.check._heads import merge_heads, multi_head_attention, split_heads
from tformer.check._masks import causal_mask, padding_mask, target_mask
from tformer.check._model import forward, n_parameters
from tformer.check._positions import sinusoids
from tformer.check._search import beam_step
from tformer.check._steps import offset_between, step_by_rotation
from tformer.check._streaming import one_at_a_time
from tformer.check._tokens import best_cut, count_pairs, encode_word, join_pieces, merge
from tformer.check._training import (
    cross_entropy,
    inverse_square_root,
    smoothed_target,
)
from tformer.check._transduction import additive_scores, path_length, recurrent_step

__all__ = [
    "Result",
    "additive_scores",
    "attention",
    "batches_by_tokens",
    "beam_step",
    "best_cut",
    "causal_mask",
    "count_pairs",
    "cross_attention",
    "cross_entropy",
    "decoder_layer",
    "embedding",
    "encode_word",
    "encoder_layer",
    "feed_forward",
    "forward",
    "gradient",
    "greedy",
    "inputs_and_labels",
    "inverse_square_root",
    "join_pieces",
    "layer_norm",
    "matrix_product",
    "merge",
    "merge_heads",
    "multi_head_attention",
    "n_parameters",
    "offset_between",
    "one_at_a_time",
    "one_hot",
    "padding_mask",
    "path_length",
    "recurrent_step",
    "shift",
    "sinusoids",
    "smoothed_target",
    "softmax",
    "split",
    "split_heads",
    "step_by_rotation",
    "target_mask",
    "tied_logits",
]
