"""A generated corpus (under construction)."""

from tformer.data.corpus import Corpus


def load() -> Corpus:
    raise NotImplementedError("the generated corpus is not here yet")
