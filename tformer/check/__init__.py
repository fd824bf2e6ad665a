"""Graders for the book's problems: they run your function and say what is wrong.

Each ``check.<part>(mine)`` runs your function on hidden cases, prints what it found in
the words of a teacher, and returns a `Result` that is true only if all is well, so that
``assert check.attention(mine)`` works, too.
"""

from tformer.check._attention import attention
from tformer.check._basics import gradient, matrix_product, softmax
from tformer.check._data import batches_by_tokens, shift, split
from tformer.check._grade import Result
from tformer.check._masks import causal_mask, padding_mask, target_mask
from tformer.check._model import forward, n_parameters
from tformer.check._positions import sinusoids
from tformer.check._steps import offset_between, step_by_rotation
from tformer.check._streaming import one_at_a_time
from tformer.check._tokens import best_cut, count_pairs, encode_word, join_pieces, merge
from tformer.check._training import cross_entropy, inverse_square_root
from tformer.check._transduction import additive_scores, path_length, recurrent_step

__all__ = [
    "Result",
    "additive_scores",
    "attention",
    "batches_by_tokens",
    "best_cut",
    "causal_mask",
    "count_pairs",
    "cross_entropy",
    "encode_word",
    "forward",
    "gradient",
    "inverse_square_root",
    "join_pieces",
    "matrix_product",
    "merge",
    "n_parameters",
    "offset_between",
    "one_at_a_time",
    "padding_mask",
    "path_length",
    "recurrent_step",
    "shift",
    "sinusoids",
    "softmax",
    "split",
    "step_by_rotation",
    "target_mask",
]
