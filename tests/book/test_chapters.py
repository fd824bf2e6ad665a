"""The chapters as they are stored, and as they came out when they were executed."""

from __future__ import annotations

import json
import re

import pytest

from tformer_book.press import setup_cell, strip
from tformer_book.press.chapters import (
    EXECUTED,
    ROOT,
    chapters,
    pages,
    read,
    source,
    tags,
)

CHAPTERS = chapters()
MACHINE_PATH = re.compile(r"/(?:home|root|Users|work|tmp|content)/[\w.-]+")
COLAB_DRIVE = "/content/drive"  # where every Colab machine has it
FIGURES = ("image/png", "image/svg+xml", "image/jpeg")
WIDGETS = "application/vnd.jupyter.widget-state+json"
PLOTLY = "application/vnd.plotly.v1+json"

each_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)


def executed(path):
    """Return the chapter as ``make book`` last executed it."""
    file = EXECUTED / path.name
    if not file.exists():
        pytest.fail(f"{path.name} was not executed: run make book first")
    return read(file)


def outputs(notebook):
    """Yield each output of a notebook with its cell."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            yield cell, output


def test_every_page_of_the_table_of_contents_exists():
    assert pages(), "_toc.yml names no page"
    missing = [str(p.relative_to(ROOT)) for p in pages() if not p.is_file()]
    assert not missing


@each_chapter
def test_a_chapter_is_stored_without_outputs_and_with_stable_ids(path):
    assert path.read_text(encoding="utf-8") == strip.text_of(read(path))


@each_chapter
def test_the_setup_cell_is_the_template_to_the_letter(path):
    assert setup_cell.is_right(read(path)), "run: make setup-cells"


@each_chapter
def test_a_chapter_opens_with_one_title(path):
    cells = read(path)["cells"]
    assert cells[0]["cell_type"] == "markdown"
    prose = "\n".join(source(c) for c in cells if c["cell_type"] == "markdown")
    outside_code = re.sub(r"```.*?```", "", prose, flags=re.S)
    assert len(re.findall(r"^# ", outside_code, flags=re.M)) == 1
    assert source(cells[0]).startswith("# ")


@each_chapter
def test_a_chapter_names_no_machine(path):
    found = MACHINE_PATH.findall(path.read_text(encoding="utf-8"))
    assert set(found) <= {COLAB_DRIVE}


@each_chapter
def test_a_cell_fits_a_screen(path):
    for cell in read(path)["cells"]:
        if cell["cell_type"] == "code" and setup_cell.TAG not in tags(cell):
            lines = source(cell).splitlines()
            assert len(lines) <= 40, f"{cell['id']}: {len(lines)} lines"
            assert all(len(x) <= 100 for x in lines), f"{cell['id']}: a long line"


@each_chapter
@pytest.mark.chapters
def test_an_executed_chapter_holds_what_figures_show_and_not_their_code(path):
    widgets = executed(path)["metadata"].get("widgets", {}).get(WIDGETS, {})
    states = [each["state"] for each in widgets.get("state", {}).values()]
    assert not [state for state in states if "_esm" in state or "_css" in state]


@each_chapter
@pytest.mark.chapters
def test_every_cell_ran_and_none_failed(path):
    stored, ran = read(path), executed(path)
    code = [c for c in stored["cells"] if c["cell_type"] == "code"]
    done = [c for c in ran["cells"] if c["cell_type"] == "code"]
    assert [source(c) for c in done] == [source(c) for c in code]
    for cell in done:
        if "run-it" not in tags(cell) and source(cell).strip():
            assert cell["execution_count"], f"{cell['id']} did not run"
    for cell, output in outputs(ran):
        assert output["output_type"] != "error", f"{cell['id']}: {output}"
        name = output.get("name")
        assert name != "stderr", f"{cell['id']} wrote to stderr: {output['text']}"


@each_chapter
@pytest.mark.chapters
def test_every_printed_figure_has_an_alternative_text(path):
    # Tags and alt texts are read from the chapter, outputs from its execution.
    stored = {c["id"]: c for c in read(path)["cells"]}
    for cell, output in outputs(executed(path)):
        data, metadata = output.get("data", {}), output.get("metadata", {})
        about = stored.get(cell["id"], cell)["metadata"].get("mystnb", {})
        for kind in FIGURES:
            if kind in data:
                own = metadata.get(kind, {}).get("alt") or metadata.get("alt")
                alt = own or about.get("image", {}).get("alt")
                assert alt, f"{cell['id']}: an image without alt text"
        if PLOTLY in data:
            layout = data[PLOTLY].get("layout", {})
            alt = (layout.get("meta") or {}).get("alt")
            assert alt, f"{cell['id']}: layout.meta['alt'] is missing"


@each_chapter
@pytest.mark.chapters
def test_outputs_name_no_machine(path):
    for cell, output in outputs(executed(path)):
        found = MACHINE_PATH.findall(json.dumps(output.get("text", "")))
        for kind in ("text/plain", "text/html"):
            found += MACHINE_PATH.findall(json.dumps(output.get("data", {}).get(kind)))
        assert not found, f"{cell['id']}: {found}"
