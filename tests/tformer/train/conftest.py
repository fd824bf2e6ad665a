"""What the tests of training share."""

from __future__ import annotations

import pytest
from small_runs import word_corpus

from tformer.tokenization import Tokenizer


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    sentences = [side for pair in word_corpus().train for side in pair]
    return Tokenizer.train(sentences, 310, algorithm="bpe")
