"""When chapters are executed again, and what is kept of their figures."""

import nbformat
import pytest

from tformer_book.press import execute
from tformer_book.press.chapters import without_modules


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with a figure, a grader, a module and the data beside it."""
    monkeypatch.setattr(execute, "ROOT", tmp_path)
    files = {
        "tformer/norm.py": "# why\nx = 1",
        "tformer/pretrained/__init__.py": "",
        "tformer/pretrained/card.json": "{}",
        "book/tformer_book/widgets/heads/__init__.py": '"""Heads."""\ny = 1',
        "book/tformer_book/widgets/heads/heads.js": "let z;",
        "book/tformer_book/check/problems/shift.py": "text = 'no'",
        "results/run.json": "[]",
        "tformer/figures/tokens.css": "--tf-key: blue",
        "tests/test_norm.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


EVERYTHING = (
    "tformer/norm.py",
    "tformer/pretrained/__init__.py",
    "book/tformer_book/widgets/heads/__init__.py",
    "book/tformer_book/check/problems/shift.py",
    "results/run.json",
    "tformer/figures/tokens.css",
)


@pytest.mark.parametrize(
    ("name", "text", "again"),
    [
        ("tformer/norm.py", "# why\nx = 2", True),
        ("tformer/norm.py", "# why not\nx = 1", True),  # a chapter may show it
        ("tformer/pretrained/card.json", "[]", True),
        ("results/run.json", "[1]", True),
        ("tformer/figures/tokens.css", "--tf-key: red", True),  # as figures drew it
        ("book/tformer_book/widgets/heads/__init__.py", '"""Heads."""\ny = 2', True),
        ("book/tformer_book/widgets/heads/__init__.py", '"""Words."""\ny = 1', False),
        ("book/tformer_book/widgets/heads/heads.js", "let more;", False),
        ("book/tformer_book/check/problems/shift.py", "text = 'yes'", False),
        ("tests/test_norm.py", "assert True", False),
    ],
)
def test_a_chapter_is_executed_again_where_a_file_that_it_used_says_other_things(
    repository, name, text, again
):
    elsewhere = ["/usr/lib/python3/json/__init__.py", str(repository / ".venv/x.py")]
    used = execute.ours([*elsewhere, *(str(repository / each) for each in EVERYTHING)])
    known = execute.state_of(used)
    (repository / name).write_text(text)
    assert (execute.state_of(used) != known) == again


def test_a_file_that_is_gone_is_a_change(repository):
    known = execute.state_of(["results/run.json"])
    (repository / "results/run.json").unlink()
    assert execute.state_of(["results/run.json"]) != known


def test_a_chapter_tells_which_files_it_used_and_nobody_sees_that_it_was_asked(
    repository,
):
    """Modules that it imported, records that it opened."""
    cell = nbformat.v4.new_code_cell
    code = f"import sys; sys.path.insert(0, {str(repository / 'tformer')!r})\n"
    code += "import norm, pretrained; print(norm.x)"
    read = f"open({str(repository / 'results/run.json')!r}).read()"
    path = repository / "chapter.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell(code), cell(read)]), path)
    notebook, _, problem, used = execute.run(str(path))
    assert problem == ""
    assert used == [
        "results/run.json",
        "tformer/norm.py",
        "tformer/pretrained/__init__.py",
        "tformer/pretrained/card.json",
    ]
    assert [each.source for each in notebook.cells] == [code, read]
    assert [each.execution_count for each in notebook.cells] == [1, 2]
    assert notebook.cells[1].outputs[0].execution_count == 2


def test_a_failing_cell_is_named_as_the_chapter_counts_it(repository):
    cell = nbformat.v4.new_code_cell
    path = repository / "chapter.ipynb"
    cells = [cell("x = 1"), cell("1 / 0", id="wrong")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    notebook, _, problem, _ = execute.run(str(path))
    assert notebook is None
    assert problem.startswith("cell 2 (id wrong)")
    assert "ZeroDivisionError" in problem


def test_what_is_kept_of_a_figure_is_its_name_and_its_data():
    figure = {"figure": "heads", "_esm": "code", "_css": "style", "layer": 2}
    others = {"_esm": "of another library"}, {"value": 3}
    models = [{"state": dict(each)} for each in (figure, *others)]
    without_modules(dict(enumerate(models)))
    assert [each["state"] for each in models] == [
        {"figure": "heads", "layer": 2},
        *others,
    ]


def test_tags_and_labels_are_no_reason_to_execute_a_chapter_again(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(execute, "EXECUTED", tmp_path / "executed")
    (tmp_path / "executed").mkdir()
    path = tmp_path / "chapter.ipynb"

    def store(where, source="print(1)", shown=(), **metadata):
        cell = nbformat.v4.new_code_cell(source, id="a", metadata=metadata)
        cell.outputs = [nbformat.v4.new_output("stream", text=each) for each in shown]
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), where)

    store(tmp_path / "executed/chapter.ipynb", shown=["1\n"], tags=["hide-input"])
    store(path, tags=["lesson"])
    [cell] = execute.with_outputs(path).cells
    assert cell.outputs[0].text == "1\n"
    assert cell.metadata.tags == ["lesson"]
    store(path, tags=["run-it"])  # this one isn't executed
    assert execute.with_outputs(path) is None
    store(path, "print(2)", tags=["lesson"])
    assert execute.with_outputs(path) is None
