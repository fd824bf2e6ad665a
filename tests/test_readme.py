"""What the READMEs say about the package is so."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from tformer_book.press.chapters import ROOT

CORE = (ROOT / "tformer/README.md").read_text("utf-8")
ROWS = re.findall(
    r"^\| (\d+) \| `(\w+\.py)` \| (\d+) \| (.+?) \| (.+?) \|$", CORE, re.M
)
TITLES = {
    "".join(cell["source"]).splitlines()[0]
    for chapter in (ROOT / "book").glob("*.ipynb")
    for cell in json.loads(chapter.read_text("utf-8"))["cells"][:3]
    if cell["source"]
}
PAPER = {"attention", "masks", "embedding", "positions", "norm", "residual"}
PAPER |= {"feedforward", "encoder", "decoder", "config", "model", "loss", "schedule"}


def test_the_core_is_thirteen_files_and_each_is_named_once_in_order():
    assert [int(number) for number, *_ in ROWS] == list(range(1, 14))
    assert {name.removesuffix(".py") for _, name, *_ in ROWS} == PAPER


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_a_core_file_is_as_long_as_the_table_says_and_taught_where_it_says(row):
    _, name, lines, _, chapters = row
    text = (ROOT / "tformer" / name).read_text("utf-8")
    n_lines = text.count("\n")
    assert abs(int(lines) - n_lines) <= max(10, n_lines / 10), f"{name}: {n_lines}"
    assert {f"# {chapter}" for chapter in chapters.split("; ")} <= TITLES
    about = " ".join(text.split('"""')[1].split())  # as its own docstring says
    for chapter in chapters.split("; "):
        assert f"*{chapter}*" in about


def test_a_core_file_uses_only_what_stands_above_it():
    """So it can be read from the top; small helpers apart."""
    above: set[str] = set()
    for _, name, *_ in ROWS:
        text = (ROOT / "tformer" / name).read_text("utf-8")
        used = set(re.findall(r"^from tformer\.(\w+) import", text, re.M))
        used |= {
            each.strip()
            for line in re.findall(r"^from tformer import (.+)$", text, re.M)
            for each in line.split(",")
        }
        assert used & PAPER <= above, name
        above.add(name.removesuffix(".py"))


def test_the_core_is_a_page_of_the_reference():
    page = ROOT / "book/api/core.md"
    assert "{include} ../../tformer/README.md" in page.read_text("utf-8")
    assert (page.parent / "../../tformer/README.md").resolve() == (
        ROOT / "tformer/README.md"
    )
    assert "book/api/core" in yaml.safe_dump(
        yaml.safe_load((ROOT / "_toc.yml").read_text())
    )


def drawn() -> dict[str, int]:
    """On which line of the README's diagram each name stands, from the top."""
    readme = (ROOT / "README.md").read_text("utf-8")
    [diagram] = re.findall(r"```text\n( the book .*?)```", readme, re.S)
    lines = [line.split(maxsplit=2)[2] for line in diagram.splitlines()]
    names = [each.strip() for line in lines for each in re.split("[·:]", line)]
    assert len(names) == len(set(names))
    return {
        each.strip(): number
        for number, line in enumerate(lines)
        for each in re.split("[·:]", line)
    }


def contract(name: str) -> dict:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    return next(each for each in contracts if each["name"] == name)


def test_the_diagram_has_every_room_and_points_where_import_linter_does():
    line_of = drawn()
    there = {
        path.stem
        for path in Path(ROOT / "tformer").iterdir()
        if (path.suffix == ".py" and not path.name.startswith("_"))
        or (path / "__init__.py").is_file()
    }
    assert {name for name, line in line_of.items() if line > 0} == there
    layers = [
        set(re.findall(r"\((\w+)\)", layer)) - {"__main__"}
        for layer in contract("Imports point down in the package")["layers"]
    ]
    lines = [{line_of[name] for name in layer} for layer in layers if layer]
    assert all(len(each) == 1 for each in lines), "a layer stands on two lines"
    order = [line for [line] in lines]
    assert order == sorted(order)
    assert contract("Imports point down")["layers"] == ["tformer_book", "tformer"]


def test_the_package_s_own_page_tells_of_every_folder():
    told = set(re.findall(r"^\| (`.*?) \|", CORE, re.M))
    named = {name for cell in told for name in re.findall(r"`(\w+)/`", cell)}
    there = {p.parent.name for p in (ROOT / "tformer").glob("*/__init__.py")}
    assert named == there
