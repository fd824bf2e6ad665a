"""When chapters are executed again, and what is kept of their figures."""

import pytest
from tformer_book.press import execute
from tformer_book.press.chapters import without_modules


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a figure, in a repository of its own; its folder."""
    monkeypatch.setattr(execute, "ROOT", tmp_path)
    monkeypatch.setattr(execute, "__file__", str(tmp_path / "requirements.txt"))
    (tmp_path / "requirements.txt").write_text("torch\n")
    folder = tmp_path / "tformer" / "widgets" / "heads"
    folder.mkdir(parents=True)
    for name in ("__init__.py", "heads.js", "heads.css", "card.json"):
        (folder / name).write_text("before")
    return folder


@pytest.mark.parametrize(
    ("name", "again"),
    [
        ("heads.js", False),
        ("view.js", False),
        ("heads.css", False),
        ("__init__.py", True),
        ("card.json", True),
    ],
)
def test_how_a_figure_is_drawn_executes_no_chapter_again(package, name, again):
    known = execute.fingerprint()
    (package / name).write_text("after")
    assert (execute.fingerprint() != known) == again


def test_what_is_kept_of_a_figure_is_its_name_and_its_data():
    figure = {"figure": "heads", "_esm": "code", "_css": "style", "layer": 2}
    others = {"_esm": "of another library"}, {"value": 3}
    models = [{"state": dict(each)} for each in (figure, *others)]
    without_modules(dict(enumerate(models)))
    assert [each["state"] for each in models] == [
        {"figure": "heads", "layer": 2},
        *others,
    ]
