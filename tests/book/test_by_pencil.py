"""The page that computes a whole forward pass quotes the numbers that it computes."""

from __future__ import annotations

import re

import pytest
import torch
from torch.testing import assert_close

from tformer_book.press.chapters import chapter, read, source

CELLS = read(chapter("by-pencil"))["cells"]
DECIMAL = re.compile(r"[-−]?\d+\.\d{3}\b")


@pytest.fixture(scope="module")
def computed():
    """Run the page's cells, and collect each number that is in a list or a table."""
    names: dict = {}
    numbers: set[str] = set()

    def collect(value):
        if isinstance(value, list):
            for each in value:
                collect(each)
        elif isinstance(value, float):
            numbers.add(f"{abs(value):.3f}")

    for cell in CELLS:
        if cell["cell_type"] == "code" and not (
            cell["id"] == "setup" or cell["id"].startswith("overview")
        ):
            exec(compile(source(cell), cell["id"], "exec"), names)
            for value in list(names.values()):
                collect(value)
    return names, numbers


def test_the_numbers_by_hand_are_the_models(computed):
    names, _ = computed
    ids = [torch.tensor([names[name]]) for name in ("source", "target")]
    with torch.no_grad():
        logits = names["model"](*ids)[0]
    assert_close(logits, torch.tensor(names["logits"]), rtol=1e-5, atol=1e-5)


def test_every_number_of_the_prose_was_computed(computed):
    names, numbers = computed
    three = [0, 5, 0.802, 1]  # the page works out the norm of these
    mean = sum(three) / 4
    squares = [(x - mean) ** 2 for x in three]
    variance = sum(squares) / 4
    own = {f"{x:.3f}" for x in [*squares, variance, variance**0.5, names["loss"]]}
    prose = "\n".join(source(c) for c in CELLS if c["cell_type"] == "markdown")
    prose = prose.split("## Problems")[0]
    quoted = {x.lstrip("-−") for x in DECIMAL.findall(prose)}
    assert len(quoted) > 25
    assert sorted(quoted - numbers - own) == []


def test_the_words_change_places_and_the_masks_matter(computed):
    names, _ = computed
    across = names["cross_weights"]
    assert [row.index(max(row)) for row in across] == [1, 0, 2]
    assert min(max(row) for row in across) > 0.5
    rivals = [sorted(row)[-2:] for row in names["probabilities"]]
    assert all(best > 5 * second for second, best in rivals)
