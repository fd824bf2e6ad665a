"""What the chapter on later models repeats from a record, and says about it, is so."""

import json

import pytest
from records import recorded

from tformer_book.press.chapters import ROOT, chapter

CHAPTER = chapter("what-came-after")
RESULT = ROOT / "results" / "variants.json"


@pytest.fixture(scope="module")
def repeated():
    return recorded(CHAPTER)


@pytest.fixture(scope="module")
def losses(repeated):
    return {name: found for name, (found, _) in repeated["variants"].items()}


def mean(numbers):
    return sum(numbers) / len(numbers)


def test_it_repeats_the_recorded_comparison_of_the_variants(repeated):
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    for name in ("steps", "seeds", "device", "date"):
        assert repeated[name] == result[name]
    assert repeated["variants"] == {
        name: ([run["valid_loss"] for run in runs], runs[0]["n_parameters"])
        for name, runs in result["variants"].items()
    }


def test_what_it_says_about_the_record_is_so(losses):
    base = losses["pre-norm"]
    noise = max(base) - min(base)
    assert abs(mean(losses["pre-norm, RMSNorm"]) - mean(base)) < noise / 4
    assert 0.07 < noise < 0.09
    for name in ("post-norm, as in the paper", "pre-norm, rotary positions"):
        assert all(ours > its for ours, its in zip(losses[name], base, strict=True))
        assert mean(losses[name]) - mean(base) < noise
    assert 0.055 < mean(losses["pre-norm, rotary positions"]) - mean(base) < 0.065
    assert max(losses["pre-norm, SwiGLU"]) < min(base)
    assert 0.8 < (mean(base) - mean(losses["pre-norm, SwiGLU"])) / noise < 1.2
    assert min(losses, key=lambda name: mean(losses[name])) == "pre-norm, SwiGLU"
    assert min(losses["pre-norm, one head of keys"]) > max(base)
    assert mean(losses["all five"]) > mean(losses["pre-norm, one head of keys"]) - noise
