"""Numbers that a chapter repeats from a record are those of the record."""

import pytest
from records import recorded, result


def test_the_page_for_readers_own_data_repeats_the_recorded_runs():
    pairs = zip(recorded("your-data"), result("your-data")["rows"], strict=True)
    assert all(ours.items() <= theirs.items() for ours, theirs in pairs)


@pytest.fixture(scope="module")
def repeated():
    return recorded("transduction")


def test_chapter_01_repeats_the_recorded_comparison_of_the_models(repeated):
    measured = result("models-on-grammar")
    assert repeated["steps"] == measured["steps"]
    for name, found in measured["models"].items():
        wanted = {key: found[key] for key in ("n_parameters", "cpu_seconds")}
        assert repeated[name] == wanted | found["exact_match"]
        assert all(repeated[key] == found[key] for key in ("device", "date"))


def test_what_chapter_01_says_about_the_record_is_so(repeated):
    """It says: about equal in parameters, not worse, much better on longer ones."""
    ours, theirs = repeated["transformer"], repeated["recurrent"]
    assert 0.9 < ours["n_parameters"] / theirs["n_parameters"] < 1.1
    assert 0.9 < ours["cpu_seconds"] / theirs["cpu_seconds"] < 1.1
    assert round(ours["n_parameters"], -5) == round(theirs["n_parameters"], -5) == 9e5
    assert theirs["longer"] > ours["longer"] + 0.2
    for split in ("valid", "random", "unseen_combination"):
        assert theirs[split] > ours[split] - 0.02
    assert result("models-on-grammar")["train_pairs"] == 6000


@pytest.fixture(scope="module")
def losses():
    variants = recorded("what-came-after")["variants"]
    return {name: found for name, (found, _) in variants.items()}


def mean(numbers):
    return sum(numbers) / len(numbers)


def test_the_chapter_on_later_models_repeats_the_comparison_of_the_variants():
    repeated, variants = recorded("what-came-after"), result("variants")
    for name in ("steps", "seeds", "device", "date"):
        assert repeated[name] == variants[name]
    assert repeated["variants"] == {
        name: ([run["valid_loss"] for run in runs], runs[0]["n_parameters"])
        for name, runs in variants["variants"].items()
    }


def test_what_the_chapter_on_later_models_says_about_the_record_is_so(losses):
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
