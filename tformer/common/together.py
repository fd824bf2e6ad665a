"""Files of one folder that change together: all of them, or none.

A model's weights are useless beside another model's tokenizer, but the file system
replaces only one file at a time. So new files are first written to a folder inside the
folder. One renaming makes that the valid set; from then on, `current` reads each file
from there until it has been put in its place. If a writer is killed, what is valid
stays valid, and the next one finishes its work.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tformer.common.files import naming
from tformer.common.locks import locked

STAGED, VALID = ".tformer-saving", ".tformer-saved"  # being written; complete


@contextmanager
def together(folder: Path) -> Iterator[Path]:
    """A folder to fill with files that then replace those of the same names.

    Args:
        folder: where the files belong; it exists.

    Raises:
        IsADirectoryError: a folder stands where a file belongs.
        OSError: the folder cannot be written.
    """
    staged, valid = folder / STAGED, folder / VALID
    with locked(folder), naming(folder, staged), naming(folder, valid):
        _put_in_place(folder)
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir()
        try:
            yield staged
            check_files(folder, [each.name for each in staged.iterdir()])
            staged.rename(valid)
        except BaseException:
            shutil.rmtree(staged, ignore_errors=True)
            raise
        _put_in_place(folder)


def current(folder: Path, name: str) -> Path:
    """Where the valid file of this name is, whenever the last writer was killed."""
    newest = folder / VALID / name
    return newest if newest.is_file() else folder / name


def discard(folder: Path) -> None:
    """Remove what a writer that was killed has left to be finished."""
    for name in (VALID, STAGED):
        shutil.rmtree(folder / name, ignore_errors=True)


def check_files(folder: Path, names: list[str]) -> None:
    """Raise an IsADirectoryError if a folder stands where a file belongs."""
    for name in names:
        if (folder / name).is_dir():
            raise IsADirectoryError(
                f"{folder / name} is a folder, where a file of that name belongs: move "
                "it away"
            )


def _put_in_place(folder: Path) -> None:
    """Move each file of a complete set to its place: links and modes stay."""
    valid = folder / VALID
    if not valid.is_dir():
        return
    for file in sorted(valid.iterdir()):
        place = os.path.realpath(folder / file.name)
        with suppress(FileNotFoundError):
            file.chmod(stat.S_IMODE(os.stat(place).st_mode))
        shutil.move(file, place)  # a link may lead to another disk
    valid.rmdir()
