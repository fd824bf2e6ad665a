"""A folder that another program will open: complete, or not there at all.

It is assembled under a temporary name. Its ``tformer-export.json`` says what the folder
is and lists its files; from that, a later export knows what it may replace. A note can
be copied or edited, so only files that its format has are believed to be ours.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tformer import __version__
from tformer.common.files import naming, read_json, umask, write_json
from tformer.common.locks import locked
from tformer.common.together import check_files

NOTE = "tformer-export.json"
# The files of each format.
FILES = {
    "hf": (
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "source.spm",
        "target.spm",
        "tokenizer_config.json",
        "vocab.json",
    ),
    "ctranslate2": (
        "config.json",
        "model.bin",
        "shared_vocabulary.json",
        "tokenizer.model",
    ),
    "onnx": ("config.json", "encoder.onnx", "step.onnx", "tokenizer.model"),
    "lab": ("model.safetensors", "tokenizer.model"),
}


@contextmanager
def assembled(folder: Path, to: str, *, force: bool = False) -> Iterator[Path]:
    """A folder to fill, whose files appear once all are written.

    Of several exports to one folder at once, the last one stays.

    Args:
        folder: where to put them; created if missing, with its parents.
        to: the format, one of `FILES`.
        force: use a folder even if it holds other things; those stay.

    Raises:
        ValueError, IsADirectoryError: as `check_folder`.
    """
    check_folder(folder, to, force=force)
    place = Path(os.path.realpath(folder))
    made = _made(place.parent)
    try:
        with _workshop(place) as workshop, naming(folder, workshop):
            yield workshop
            names = sorted(each.name for each in workshop.iterdir())
            about = {"to": to, "made_by": f"tformer {__version__}", "files": names}
            write_json(workshop / NOTE, about)
            with locked(place.parent):
                _check_folder(place, to, force=force)
                _put_in_place(workshop, place, [NOTE, *names])
    except BaseException:
        for each in made:
            with suppress(OSError):  # somebody put something there in the meantime
                each.rmdir()
        raise


@contextmanager
def _workshop(place: Path) -> Iterator[Path]:
    """A temporary folder beside a folder, to make its files in."""
    try:
        made = tempfile.mkdtemp(".part", f".{place.name[:40]}.", place.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(place)) from None
    try:
        yield Path(made)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _put_in_place(workshop: Path, place: Path, names: list[str]) -> None:
    """Move the files, the note first: at every moment it names all that is there."""
    if not place.exists():
        workshop.chmod(0o777 & ~umask())  # it was made for its owner alone
        workshop.rename(place)
        return
    for name in set(_listed(place)) - set(names):
        (place / name).unlink()
    for name in names:
        os.replace(workshop / name, place / name)


def check_folder(folder: Path, to: str, *, force: bool = False) -> None:
    """Raise unless an export to this format may be written here.

    Raises:
        ValueError: a file, or a folder with other things in it.
        IsADirectoryError: a folder stands where one of the files belongs.
    """
    with locked(Path(os.path.realpath(folder)).parent):
        _check_folder(folder, to, force=force)


def _check_folder(folder: Path, to: str, *, force: bool) -> None:
    if folder.is_symlink() and not folder.exists():
        raise ValueError(f"{folder} is a broken link: name a folder")
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    if not nearest.is_dir():
        raise ValueError(f"{nearest} is a file: name a folder")
    check_files(folder, [*FILES[to], NOTE])
    if force or not folder.is_dir():
        return
    others = {each.name for each in folder.iterdir()} - set(_listed(folder))
    if others:
        raise ValueError(
            f"{folder} holds {min(others)}, which no export made: name another folder, "
            "or add --force (force=True) to add to it"
        )


def _listed(folder: Path) -> list[str]:
    """The files here that an earlier export made: its note and its format name them."""
    if not (folder / NOTE).is_file():
        return []
    note = read_json(folder / NOTE)
    names, to = note.get("files"), note.get("to")
    known = FILES.get(to, ()) if isinstance(to, str) else ()
    named = [each for each in known if isinstance(names, list) and each in names]
    return [NOTE, *(each for each in named if (folder / each).is_file())]


def _made(folder: Path) -> list[Path]:
    """Make a folder and its parents; return those that were missing, deepest first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing
