"""What the page for readers' own data repeats from a record is that of the record."""

import json

from records import recorded

from tformer_book.press.chapters import ROOT, chapter


def test_the_page_repeats_the_recorded_runs():
    repeated = recorded(chapter("your-data"))
    result = json.loads((ROOT / "results" / "your-data.json").read_text("utf-8"))
    assert len(repeated) == len(result["rows"])
    for ours, theirs in zip(repeated, result["rows"], strict=True):
        assert ours.items() <= theirs.items()
