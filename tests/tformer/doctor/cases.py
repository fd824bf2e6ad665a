"""The patients, sound and with each fault put in."""

from __future__ import annotations

from pathlib import Path

import torch

from tformer import doctor

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


def examined(name: str, *changes: tuple[str, str], **more) -> doctor.Report:
    """The report about a patient with some changes; `more` goes before its own."""
    text = None
    for old, new in changes:
        text = broken(name, old, new) if text is None else text.replace(old, new)
    model, given = admitted(name, text)
    return doctor.examine(model, **{**given, **more})
