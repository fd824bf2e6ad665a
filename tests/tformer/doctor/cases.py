"""The patients, sound and with each fault put in."""

from __future__ import annotations

from pathlib import Path

import torch

HERE = Path(__file__).parent / "patients"
NAMES = sorted(each.stem for each in HERE.glob("*.py"))


def text_of(name: str) -> str:
    return (HERE / f"{name}.py").read_text("utf-8")


def broken(name: str, old: str, new: str) -> str:
    """The patient's text with one change; the text to change has to be there."""
    text = text_of(name)
    assert old in text, f"{name} has no {old!r}"
    return text.replace(old, new)


def admitted(name: str, text: str | None = None, *, seed: int = 0, **sizes):
    """The model and the arguments of `examine`."""
    names: dict = {"__name__": name}
    exec(compile(text or text_of(name), f"{name}.py", "exec"), names)
    torch.manual_seed(seed)
    return names["case"](**sizes)
