"""``python -m tformer doctor FILE:NAME``."""

from __future__ import annotations

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
