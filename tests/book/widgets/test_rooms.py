"""A figure is a folder: nothing else names it."""

import subprocess
import sys

import pytest

from tformer_book import widgets

HOME = "tformer_book.widgets."
LOADED = f"import sys; print([n for n in sys.modules if n.startswith('{HOME}')])"


def loaded_by(code):
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", widgets.__all__)
def test_a_figure_has_the_name_of_its_folder(name):
    kind = getattr(widgets, name)
    assert kind.__name__ == name
    home = kind.__module__.rpartition(".")[2]
    assert home.replace("_", "") == name.lower()
    assert name in dir(widgets)


def test_a_figure_is_imported_when_it_is_asked_for_and_no_other_one():
    assert loaded_by("from tformer_book import widgets").strip() == "[]"
    loaded = loaded_by("from tformer_book.widgets import SoftmaxBars")
    assert "softmax_bars" in loaded
    assert "heads" not in loaded


def test_a_figure_that_is_not_there_is_named():
    with pytest.raises(AttributeError, match="'tformer_book.widgets'.*'Hands'"):
        widgets.Hands  # noqa: B018
