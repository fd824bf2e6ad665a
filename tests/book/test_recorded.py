"""Numbers that a chapter repeats from a record are those of the record."""

import json

import pytest
from records import recorded

from tformer_book.press.chapters import ROOT, chapter

CHAPTER = chapter("transduction")
RESULT = ROOT / "results" / "models-on-grammar.json"


@pytest.fixture(scope="module")
def repeated():
    return recorded(CHAPTER)


def test_chapter_01_repeats_the_recorded_comparison_of_the_models(repeated):
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    assert repeated["steps"] == result["steps"]
    for name, found in result["models"].items():
        wanted = {key: found[key] for key in ("n_parameters", "cpu_seconds")}
        assert repeated[name] == wanted | found["exact_match"]
        assert (repeated["device"], repeated["date"]) == (
            found["device"],
            found["date"],
        )


def test_what_chapter_01_says_about_the_record_is_so(repeated):
    """It says: about equal in parameters, not worse, much better on longer ones."""
    ours, theirs = repeated["transformer"], repeated["recurrent"]
    assert 0.9 < ours["n_parameters"] / theirs["n_parameters"] < 1.1
    assert 0.9 < ours["cpu_seconds"] / theirs["cpu_seconds"] < 1.1
    assert round(ours["n_parameters"], -5) == round(theirs["n_parameters"], -5) == 9e5
    assert theirs["longer"] > ours["longer"] + 0.2
    for split in ("valid", "random", "unseen_combination"):
        assert theirs[split] > ours[split] - 0.02
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    assert result["train_pairs"] == 6000
