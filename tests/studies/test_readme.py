"""The table of recorded results leads to each file's script."""

from __future__ import annotations

import json
import re

from tformer_book.press.chapters import ROOT

ROWS = re.findall(
    r"^\| \[`(.+?)`\].*?\| \[`(.+?)`\].*?\| .+? \| `(.+?)` \|$",
    (ROOT / "studies/README.md").read_text("utf-8"),
    re.M,
)


def test_every_result_is_there_with_the_command_that_it_names():
    told = {name: command for name, _, command in ROWS}
    assert told == {
        path.name: json.loads(path.read_text("utf-8"))["command"]
        for path in (ROOT / "results").glob("*.json")
    }


def test_the_command_runs_the_script():
    for _, script, command in ROWS:
        module = command.split()[2]
        assert script == module.replace(".", "/") + ".py"
        assert (ROOT / script).is_file()
