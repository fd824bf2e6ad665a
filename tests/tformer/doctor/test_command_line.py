"""``python -m tformer doctor FILE:NAME``."""

from __future__ import annotations

import json
import sys

import pytest
from cases import HERE, broken

from tformer import cli

ADAPTER = """

def net():
    return case()[0]


def arguments(model):
    return {"forward": lambda model, ids: model(ids)[0], "loss": criterion}
"""
NO_IDS = ["--pad-id", "none", "--bos-id", "none", "--eos-id", "none"]


def told(tmp_path, capsys, text, *options):
    path = tmp_path / "model.py"
    path.write_text(text + ADAPTER, encoding="utf-8")
    status = cli.main(["doctor", f"{path}:net", *NO_IDS, *options])
    return status, capsys.readouterr().out


@pytest.mark.parametrize("options", [(), ("--with", "arguments")])
def test_a_sound_model_gives_status_0(tmp_path, capsys, options):
    sound = (HERE / "gpt.py").read_text("utf-8")
    if not options:
        sound = sound.replace(
            "def forward(self, idx, targets=None)", "def forward(self, idx)"
        )
        sound = sound.replace(
            "loss = None if targets is None else criterion(logits, targets)",
            "loss = None",
        )
    status, out = told(tmp_path, capsys, sound, *options)
    assert status == 0
    assert out.startswith("GPT: nothing found")
    assert ("loss=…" in out) == (not options)


def test_findings_give_status_1_and_are_printed(tmp_path, capsys):
    leaky = broken("gpt", "is_causal=True", "is_causal=False")
    status, out = told(tmp_path, capsys, leaky, "--with", "arguments")
    assert status == 1
    assert "1. future-leak: " in out


def test_more_ids_than_the_model_can_know_are_refused_before_they_take_memory(
    tmp_path, capsys
):
    path = tmp_path / "model.py"
    path.write_text((HERE / "gpt.py").read_text("utf-8") + ADAPTER, encoding="utf-8")
    n = 10**12
    assert cli.main(["doctor", f"{path}:net", "--vocab-size", str(n)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"tformer: error: --vocab-size {n} is more ids than")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--pad-id", "99"], "pad_id is 99, and the model has 37 ids, 0 to 36"),
        (["--accept", "nonsense"], "accept: 'nonsense' is no code of a finding"),
    ],
)
def test_what_the_model_or_the_doctor_does_not_know_is_one_clear_error(
    tmp_path, capsys, options, said
):
    text = (HERE / "gpt.py").read_text("utf-8")
    path = tmp_path / "model.py"
    path.write_text(text + ADAPTER, encoding="utf-8")
    arguments = ["doctor", f"{path}:net", "--with", "arguments", *options]
    assert cli.main(arguments) == 2
    assert capsys.readouterr().err == f"tformer: error: {said}\n"


MODEL = """
from __future__ import annotations

import dataclasses

import torch
from torch import nn


@dataclasses.dataclass
class Sizes:
    vocab: int = 12


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(Sizes().vocab, 8), nn.Linear(8, 12)

    def forward(self, ids):
        return self.out(self.table(ids))
"""


def notebook(path):
    cells = [
        ["%matplotlib inline\n", "!pip list\n"],
        ["%%bash\n", "ls\n"],
        MODEL.splitlines(keepends=True),
    ]
    cells = [
        {"cell_type": "code", "execution_count": None, "source": source}
        for source in cells
    ]
    path.write_text(json.dumps({"cells": cells, "metadata": {}}), encoding="utf-8")


def test_a_notebook_is_a_file_like_any(tmp_path, capsys):
    notebook(tmp_path / "mine.ipynb")
    assert cli.main(["doctor", f"{tmp_path / 'mine.ipynb'}:Net"]) == 0
    assert "Net: nothing found" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["torch.py", "json.py", "my model.py"])
def test_a_file_may_have_the_name_of_a_library(tmp_path, capsys, name):
    (tmp_path / name).write_text(MODEL, encoding="utf-8")
    assert cli.main(["doctor", f"{tmp_path / name}:Net", "--pad-id", "none"]) == 0
    assert "Net: nothing found" in capsys.readouterr().out
    assert sys.modules["torch"].nn and sys.modules["json"] is json


def test_a_file_of_a_package_imports_its_neighbours(tmp_path, capsys):
    package = tmp_path / "their_package" / "models"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "net.py").write_text(MODEL, encoding="utf-8")
    (package / "use.py").write_text("from .net import Net\n", encoding="utf-8")
    assert cli.main(["doctor", f"{package / 'use.py'}:Net", "--seconds", "60"]) == 0
    assert "Net: nothing found" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", ["undefined = nothing", "undefined = ="])
def test_an_error_in_the_file_is_told_with_its_line(tmp_path, capsys, wrong):
    (tmp_path / "model.py").write_text(f"\n\n{wrong}\n", encoding="utf-8")
    assert cli.main(["doctor", f"{tmp_path / 'model.py'}:Net"]) == 2
    assert "(line 3)" in capsys.readouterr().err


def test_the_report_as_json(tmp_path, capsys):
    leaky = broken("gpt", "is_causal=True", "is_causal=False")
    status, out = told(tmp_path, capsys, leaky, "--with", "arguments", "--json")
    report = json.loads(out)
    assert status == 1 and not report["sound_model"]
    assert [each["code"] for each in report["findings"]] == ["future-leak"]
    status, out = told(
        tmp_path, capsys, leaky, "--with", "arguments", "--accept", "future-leak",
        "--json",
    )  # fmt: skip
    assert status == 0 and json.loads(out)["accepted"] == ["future-leak"]
