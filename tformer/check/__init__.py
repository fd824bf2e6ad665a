"""Graders for the book's problems: they run your function and say what is wrong.

Each ``check.<part>(mine)`` runs your function on hidden cases, prints what it found in
the words of a teacher, and returns a `Result` that is true only if all is well, so that
``assert check.attention(mine)`` works, too.
"""

from tformer.check._attention import attention
from tformer.check._grade import Result
from tformer.check._training import cross_entropy, inverse_square_root

__all__ = ["Result", "attention", "cross_entropy", "inverse_square_root"]
