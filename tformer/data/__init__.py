"""Corpora of English–German pairs, and the batches that training consumes.

``load`` gives a ``Corpus``; ``encode_pairs`` encodes its pairs as ids; ``batches``
cuts an epoch of them into padded tensors. Chapter *Data*.
"""

from tformer.data.batches import (
    Batch,
    Batches,
    EncodedPairs,
    batches,
    cut,
    encode_pairs,
)
from tformer.data.corpus import Corpus, DataError, DataUnavailable, vocabulary_for
from tformer.data.loading import load
from tformer.data.sampling import PieceSampler

__all__ = [
    "Batch",
    "Batches",
    "Corpus",
    "DataError",
    "DataUnavailable",
    "EncodedPairs",
    "PieceSampler",
    "batches",
    "cut",
    "encode_pairs",
    "load",
    "vocabulary_for",
]
