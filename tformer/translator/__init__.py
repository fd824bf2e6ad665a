"""A model and its tokenizer: text in, text out; and their weights on disk."""

from tformer.translator.translator import (
    AttentionMaps,
    Candidate,
    ScoredTranslation,
    Translator,
)

__all__ = ["AttentionMaps", "Candidate", "ScoredTranslation", "Translator"]
