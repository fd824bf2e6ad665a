"""The table of recorded results leads to each file's script."""

from __future__ import annotations

import json
import re
from statistics import mean, stdev

from tformer_book.press.chapters import ROOT

TEXT = (ROOT / "studies/README.md").read_text("utf-8")
ROWS = re.findall(
    r"^\| \[`(.+?)`\].*?\| \[`(.+?)`\].*?\| .+? \| `(.+?)` \|$", TEXT, re.M
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


def test_the_table_of_scores_is_that_of_the_record():
    sets = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
    means = {}
    for name in ("chosen", "chosen-before"):
        runs = json.loads((ROOT / f"results/{name}.json").read_text("utf-8"))["runs"]
        scores = [
            [run["scores"][each]["tokenised_bleu"] for each in sets] for run in runs
        ]
        means[name] = [f"{mean(x):.2f}" for x in zip(*scores, strict=True)]
        if name == "chosen-before":
            continue
        for run, row in zip(runs, scores, strict=True):
            told = " | ".join(f"{x:.2f}" for x in row)
            alpha = run["scores"]["valid"]["length_penalty"]
            minutes = run["seconds"] / 60
            seed = f"| seed {run['seed']} | {alpha} | {told} | {minutes:.1f} |"
            assert seed in TEXT
            for each in sets:
                assert run["scores"][each]["tokenised_signature"] in TEXT
        spread = [
            f"**{mean(x):.2f} ± {stdev(x):.2f}**" for x in zip(*scores, strict=True)
        ]
        assert " | ".join(spread) in TEXT
    first, second, third = means["chosen-before"]
    assert f"{first}, {second} and {third}" in " ".join(TEXT.split())
