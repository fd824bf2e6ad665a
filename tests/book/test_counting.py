"""Layers and heads are counted from 0 in every chapter, as in the code."""

import re

import pytest

from tformer_book.press.chapters import chapters, read, source

FROM_ONE = re.compile(
    r"(?:layer|head)s?\s*\{[^}]*\+ ?1\}"  # in a label
    r"|(?:layer|head)s? 1 (?:to|is the first)\b",  # in a sentence
    re.I,
)


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_no_cell_counts_layers_or_heads_from_1(path):
    found = [
        (cell["id"], match.group())
        for cell in read(path)["cells"]
        for match in FROM_ONE.finditer(source(cell))
    ]
    assert found == []


def test_counting_from_1_would_be_found():
    for text in (
        'f"{ending}, layer {i + 1}"',
        'f"layer {at[0]+1}"',
        'f"Head {head + 1}"',
        "layers 1 to 3",
    ):
        assert FROM_ONE.search(text)
    for text in ('f"layer {i}"', "head 1", "from layer 0 to layer 1 is one step"):
        assert not FROM_ONE.search(text)
