"""The figure's own cutting, in Node, against slices of Python's own."""

import itertools

import pytest
import traitlets

from tformer_book.widgets import LabelShift
from tformer_book.widgets.label_shift import CUTS, EOS, ROWS

SETTINGS = [
    (*cuts, ignore) for *cuts, ignore in itertools.product(CUTS, CUTS, (True, False))
]
OTHERS = (("a", "b"), ("c",), ("d", "e", "f", "g"))


@pytest.fixture(scope="module")
def computed(node):
    script = """
    import { explain, lessons } from "./label_shift/maths.js";
    console.log(JSON.stringify(given.map((s) => [lessons(s), explain(s).join(" ")])));
    """
    states = [
        {"rows": rows, "inputs": inputs, "labels": labels, "ignore": ignore}
        for rows in (ROWS, OTHERS)
        for inputs, labels, ignore in SETTINGS
    ]
    keys = [(s["rows"], s["inputs"], s["labels"], s["ignore"]) for s in states]
    return dict(zip(keys, node(script, states), strict=True))


@pytest.mark.parametrize("rows", [ROWS, OTHERS], ids=["two rows", "three rows"])
@pytest.mark.parametrize(("inputs", "labels", "ignore"), SETTINGS)
def test_every_place_is_what_slicing_gives(computed, rows, inputs, labels, ignore):
    figure = LabelShift(rows, inputs=inputs, labels=labels, ignore_padding=ignore)
    found, _ = computed[rows, inputs, labels, ignore]
    if found is not None:
        found = [[(p["reads"], p["says"], p["kind"]) for p in row] for row in found]
    assert found == figure.lessons


def test_each_wrong_cut_is_told_its_symptom(computed):
    def said(inputs, labels, ignore=True):
        return computed[ROWS, inputs, labels, ignore][1]

    first, last, everything = "[:, :-1]", "[:, 1:]", "[:, :]"
    assert "That is right" in said(first, last)
    assert "does no harm" in said(first, last)
    assert "what it has just read" in said(first, first)
    assert "what it has just read" in said(everything, everything)
    assert "before the one it reads" in said(last, first)
    assert "nothing to begin with" in said(last, last)
    assert "stops with an error" in said(first, everything)
    assert "never asked for ⟨eos⟩" in said(first, first)
    assert "2 of 8 labels are ⟨pad⟩" in said(first, last, ignore=False)


def test_only_one_pair_of_cuts_teaches_the_next_piece():
    right = [
        (inputs, labels)
        for inputs, labels in itertools.product(CUTS, CUTS)
        if (found := LabelShift(inputs=inputs, labels=labels).lessons)
        and all(kind in ("next", "left out") for row in found for *_, kind in row)
    ]
    assert right == [("[:, :-1]", "[:, 1:]")]


def test_the_last_column_is_not_the_end_sign():
    figure = LabelShift()
    long, short = figure.lessons
    assert EOS not in [reads for reads, *_ in long]
    assert EOS in [reads for reads, *_ in short]
    assert {kind for reads, _, kind in short if reads == EOS} == {"left out"}


def test_what_is_on_the_screen_can_be_printed():
    assert repr(LabelShift()).endswith("6 next, 2 left out.")
    assert "differ in width" in repr(LabelShift(labels="[:, :]"))


@pytest.mark.parametrize(
    "state", [{"rows": ()}, {"rows": ((),)}, {"inputs": "[1:]"}, {"labels": ""}]
)
def test_a_bad_setting_is_refused(state):
    with pytest.raises((ValueError, traitlets.TraitError)):
        LabelShift(**state)
