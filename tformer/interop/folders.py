"""A folder that another program will open: complete, or not there at all.

It is assembled under a temporary name. Its ``tformer-export.json`` says what the folder
is and lists its files; from that, a later export knows what it may replace.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tformer import __version__
from tformer.common.files import read_json, write_json

NOTE = "tformer-export.json"


@contextmanager
def assembled(folder: Path, to: str, *, force: bool = False) -> Iterator[Path]:
    """A folder to fill, whose files appear once all are written.

    Args:
        folder: where to put them; created if missing, with its parents.
        to: what they are for.
        force: use a folder even if it holds other things; those stay.

    Raises:
        ValueError: ``folder`` is a file, or holds what no export of ours has made.
    """
    check_folder(folder, force=force)
    place = Path(os.path.realpath(folder))
    made = _made(place.parent)
    workshop = Path(tempfile.mkdtemp(".part", f".{place.name[:40]}.", place.parent))
    try:
        yield workshop
        names = sorted(each.name for each in workshop.iterdir())
        about = {"to": to, "made_by": f"tformer {__version__}", "files": names}
        write_json(workshop / NOTE, about)
        old = _listed(place)
        place.mkdir(exist_ok=True)
        for name in [*names, NOTE]:
            os.replace(workshop / name, place / name)
        for name in set(old) - {*names, NOTE}:
            (place / name).unlink(missing_ok=True)
    except BaseException:
        for each in made:
            with suppress(OSError):  # somebody put something there in the meantime
                shutil.rmtree(workshop, ignore_errors=True)
                each.rmdir()
        raise
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


def check_folder(folder: Path, *, force: bool = False) -> None:
    """Raise unless an export may be written here.

    Raises:
        ValueError: a file, or a folder with other things in it.
    """
    if folder.is_symlink() and not folder.exists():
        raise ValueError(f"{folder} is a broken link: name a folder")
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    if not nearest.is_dir():
        raise ValueError(f"{nearest} is a file: name a folder")
    if force or not folder.is_dir():
        return
    others = {each.name for each in folder.iterdir()} - set(_listed(folder))
    if others:
        raise ValueError(
            f"{folder} holds {min(others)}, which no export made: name another folder, "
            "or add --force (force=True) to add to it"
        )


def _listed(folder: Path) -> list[str]:
    """The names of the files that an earlier export says it wrote here."""
    if not (folder / NOTE).is_file():
        return []
    names = read_json(folder / NOTE).get("files")
    kept = names if isinstance(names, list) else []
    return [NOTE, *(each for each in kept if each and each == Path(str(each)).name)]


def _made(folder: Path) -> list[Path]:
    """Make a folder and its parents; return those that were missing, deepest first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing
