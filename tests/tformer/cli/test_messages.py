"""What commands say: one clear line each, in which nothing steers a terminal."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from tformer import cli
from tformer.cli import streams
from tformer.cli.options import written
from tformer.translator import Candidate, Translator

ESCAPE = "\x1b[2J"
TINY = [
    *("--vocab-size", "320", "--tokenizer", "bpe", "--d-model", "16", "--heads", "2"),
    *("--d-ff", "32", "--encoder-layers", "1", "--decoder-layers", "1"),
    *("--max-tokens", "256", "--warmup-steps", "20", "--device", "cpu"),
    *("--steps", "1"),
]


@pytest.fixture(autouse=True)
def usual_warnings(monkeypatch):
    monkeypatch.setattr(sys, "warnoptions", [])


# --- warnings ----------------------------------------------------------------------


def test_pairs_that_are_left_out_are_told_of_once_in_a_line(
    pairs_file, tmp_path, capsys
):
    begin = ["train", "--corpus", str(pairs_file), *TINY, "--max-len", "12"]
    assert cli.main([*begin, "--out", str(tmp_path / "a")]) == 0
    told = [each for each in capsys.readouterr().err.splitlines() if "longer" in each]
    assert len(told) == len(set(told)) > 0
    assert all(each.startswith("tformer: warning: ") for each in told)
    assert all(each.endswith("were left out.") for each in told)
    assert cli.main([*begin, "--out", str(tmp_path / "b"), "--quiet"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("quiet", "told"), [(False, ["few pairs"]), (True, [])])
def test_warnings_of_libraries_are_not_the_users(quiet, told, capsys):
    with streams.telling_warnings(quiet):
        warnings.warn_explicit("few\npairs", UserWarning, streams.__file__, 1)
        warnings.warn_explicit("use dim=", UserWarning, "/lib/torch/nn/a.py", 1)
        warnings.warn_explicit("gone in 3.0", FutureWarning, "/lib/numpy/b.py", 1)
        warnings.warn_explicit("call it so", FutureWarning, streams.__file__, 1)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"tformer: warning: {each}" for each in told]


def test_whoever_asks_python_for_warnings_gets_them(monkeypatch):
    monkeypatch.setattr(sys, "warnoptions", ["always"])
    with pytest.warns(UserWarning, match="use dim="), streams.telling_warnings(True):
        warnings.warn_explicit("use dim=", UserWarning, "/lib/torch/nn/a.py", 1)


# --- characters that are not seen --------------------------------------------------


@pytest.mark.parametrize("name", ["\x1b[31m", "a\u202eb", "a\x0bb", "\x9b2J", "\u2028"])
@pytest.mark.parametrize(
    "line",
    [
        "{}",
        "translate one --{}",
        "translate one --model {}",
        "translate --input {}",
        "translate one --output /gone/{}/x",
        "translate one --device {}",
        "train --steps 1 --out new --corpus {}",
        "train --steps 1 --out new --corpus {}.tsv",
        "train --steps 1 --out new --corpus {}.en,{}.de",
        "train --steps 1 --out new --from {}",
        "evaluate --corpus grammar --test {}",
        "export new --to hf --model {}",
        "doctor {}.py:Net",
    ],
)
def test_a_name_in_a_message_cannot_steer_a_terminal(
    line, name, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert cli.main([each.replace("{}", name) for each in line.split(" ")]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert shown[:-1].isprintable()


@pytest.mark.parametrize("way", ["", "--n-best 1", "--score"])
def test_a_translation_on_a_terminal_cannot_steer_it(way, run, capsys, monkeypatch):
    """Pieces of single bytes can spell any character; a file gets it as it is."""
    text = f"eins{ESCAPE}\u202e"
    best = [[Candidate(text, -1.0, -0.5)]]
    monkeypatch.setattr(Translator, "translate", lambda *_, **__: [text])
    monkeypatch.setattr(Translator, "n_best", lambda *_, **__: best)
    for is_terminal in (False, True):
        monkeypatch.setattr(sys.stdout, "isatty", lambda yes=is_terminal: yes)
        line = ["translate", *way.split(), "--model", str(run), f"one\t{text}"]
        assert cli.main(line) == 0
        said = capsys.readouterr().out
        expected = "eins\\x1b[2J\\u202e\n" if is_terminal else f"{text}\n"
        assert said.endswith(expected)


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs bash")
@pytest.mark.parametrize("name", ["a\x1bb", "it's\n\x85", "\\n\u202e", "caf\udce9\x07"])
def test_a_printed_command_is_read_as_it_was_meant(name):
    command = written("--model", name)
    assert command.replace("\n", "").isprintable()
    script = f"printf %s {command}"
    done = subprocess.run(["/bin/bash", "-c", script], capture_output=True, check=True)
    assert done.stdout == f"--model={name}".encode(errors="surrogateescape")


# --- columns -----------------------------------------------------------------------


@pytest.fixture
def numbered(pairs_file, tmp_path) -> Path:
    """Pairs after a column of identifiers, with the columns' names on top."""
    lines = pairs_file.read_text("utf-8").splitlines()
    rows = [f"s-{number}\t{line}" for number, line in enumerate(lines)]
    path = tmp_path / "numbered.tsv"
    path.write_text("\n".join(["id\tEnglish\tGerman", *rows]), encoding="utf-8")
    return path


def test_columns_are_chosen_on_the_command_line(numbered, tmp_path, capsys):
    begin = ["train", "--corpus", str(numbered), "--quiet", *TINY]
    out = ["--out", str(tmp_path / "run")]
    assert cli.main([*begin, *out]) == 2
    line = capsys.readouterr().err
    assert "column 1 holds nothing but numbers or identifiers, such as 's-" in line
    assert "--columns ENGLISH GERMAN" in line
    assert cli.main([*begin, *out, "--columns", "2", "3"]) == 2
    assert "its first line names the columns" in capsys.readouterr().err
    assert cli.main([*begin, *out, "--columns", "English", "German"]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last.endswith(f"--corpus {numbered} --columns English German")
    arguments = last.split("tformer ")[1].split()
    assert cli.main([*arguments, "--limit", "2", "--beam-size", "1", "--quiet"]) == 0


@pytest.mark.parametrize(
    ("corpus", "columns", "message"),
    [
        ("grammar", "1 2", "columns are for one file with tabs, not for 'grammar'"),
        ("a.en,a.de", "1 2", "columns are for one file with tabs"),
        ("{}", "0 1", r"must be two different ones, from 1"),
        ("{}", "2 9", "has 3 columns, but column 9 was requested"),
        ("{}", "English Deutsch", "has no column 'Deutsch': its first line names 'id'"),
        ("{}", "1 German", "has no column '1'"),
    ],
)
def test_columns_that_cannot_be_had(corpus, columns, message, numbered, capsys):
    line = ["evaluate", "--corpus", corpus.format(numbered), "--columns"]
    assert cli.main([*line, *columns.split()]) == 2
    assert message in capsys.readouterr().err


# --- the doctor --------------------------------------------------------------------

CHATTY = """
from torch import nn
print("imported")
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(12, 8), nn.Linear(8, 12)
    def forward(self, ids):
        print("called")
        return self.out(self.table(ids))
"""


def test_what_an_examined_model_prints_is_no_part_of_the_report(tmp_path, capsys):
    file = tmp_path / "chatty_model.py"
    file.write_text(CHATTY)
    cli.main(["doctor", f"{file}:Net", "--json"])
    shown = capsys.readouterr()
    assert json.loads(shown.out)["model"] == "Net"
    assert shown.err.startswith("imported\ncalled\n")
