"""Judge translations: scores, sentences, checks, and attention against the truth.

``scores`` puts a number on a test set, with the recipe that makes it comparable;
``checks`` looks for what a score hides (loops, empty outputs, exact matches by
phenomenon); ``aligning`` reads word links from attention and counts their errors;
``looking`` measures what heads look at and what a word is worth to them.
Chapters *Decoding and scoring* and *Inside the trained model*.
"""

from tformer.evaluate.aligning import (
    AlignmentRule,
    alignment_error_rate,
    alignment_rules,
    diagonal_links,
    links_from_attention,
    word_links,
)
from tformer.evaluate.checks import Checks, Share, check, exact_by_phenomenon, loop
from tformer.evaluate.looking import HiddenPieces, head_shares, hide_pieces
from tformer.evaluate.scores import (
    Metric,
    Report,
    Row,
    Sentence,
    bleu_chrf,
    moses_tokenise,
    score,
    tokenised_bleu,
)

__all__ = [
    "AlignmentRule",
    "Checks",
    "HiddenPieces",
    "Metric",
    "Report",
    "Row",
    "Sentence",
    "Share",
    "alignment_error_rate",
    "alignment_rules",
    "bleu_chrf",
    "check",
    "diagonal_links",
    "exact_by_phenomenon",
    "head_shares",
    "hide_pieces",
    "links_from_attention",
    "loop",
    "moses_tokenise",
    "score",
    "tokenised_bleu",
    "word_links",
]
