"""What the commands read and write, and what they say about it.

Results go to standard output, everything said about them to standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

CHUNK = 64  # lines translated at once


class UsageError(Exception):
    """Something the user can put right; its text is the one line they see."""


def decoded(lines: Iterable[str], name: str) -> Iterator[str]:
    """Lines without their ends; what is not UTF-8 is the user's mistake."""
    try:
        for line in lines:
            yield line.removesuffix("\n")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{name} is not UTF-8 (byte {error.object[error.start]:#04x}): convert it"
        ) from error


def read_lines(path: Path) -> list[str]:
    """The lines of a file."""
    if not path.is_file():
        raise UsageError(f"--input {path}: there is no such file")
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        return list(decoded(file, str(path)))


def check_writable(path: str, option: str) -> None:
    """Refuse an impossible output file now, not after an hour's work."""
    target = Path(path)
    if target.is_dir():
        raise UsageError(f"{option} {target} is a folder: name a file")
    if not target.parent.is_dir():
        raise UsageError(f"{option} {target}: there is no folder {target.parent}")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise UsageError(f"{option} {target} cannot be written: permission denied")


@contextmanager
def writer(path: str | None) -> Iterator[TextIO]:
    """The file of that name, or standard output."""
    if path is None:
        yield sys.stdout
        return
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        yield file


def write(path: Path, text: str) -> None:
    """Write the whole file or leave the old one."""
    part = path.with_name(path.name + ".part")
    part.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    part.replace(path)


def unbroken(text: str) -> str:
    """A translation in one line and one column: any character may come by chance."""
    return " ".join(text.splitlines()).replace("\t", " ")


def bar(total: int, unit: str, quiet: bool) -> Any:
    """A progress bar where somebody watches long work."""
    from tqdm import tqdm

    hidden = quiet or total <= CHUNK or not sys.stderr.isatty()
    return tqdm(total=total, unit=unit, desc="translating", disable=hidden)


def say(message: str) -> None:
    """Tell the user something that is no result."""
    print(message, file=sys.stderr, flush=True)


def one_line(error: BaseException) -> str:
    """What an error says, in one line."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    return text or type(error).__name__


def use_utf8() -> None:
    """German needs more than ASCII, whatever the locale says."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8")
