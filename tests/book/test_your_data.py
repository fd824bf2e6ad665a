"""What the page for readers' own data repeats from a record is that of the record."""

import ast
import json

from chapters import ROOT, read, source


def test_the_page_repeats_the_recorded_runs():
    cells = read(ROOT / "book" / "your-data.ipynb")["cells"]
    [cell] = [cell for cell in cells if cell["id"] == "recorded"]
    repeated = ast.literal_eval(ast.parse(source(cell)).body[0].value)
    result = json.loads((ROOT / "results" / "your-data.json").read_text("utf-8"))
    assert len(repeated) == len(result["rows"])
    for ours, theirs in zip(repeated, result["rows"], strict=True):
        assert ours.items() <= theirs.items()
