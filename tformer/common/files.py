"""Files that are complete or absent, and tensors that say what they are.

Weights and checkpoints are safetensors: plain numbers and a JSON header, so nothing is
ever unpickled. Every file is written under a temporary name and then moved into place,
which the file system does atomically: a killed run leaves the old file or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:  # files can be written without torch
    from torch import Tensor

# The temporary names of `open_atomically`, and in them the name of the file meant.
LEFT_OVER = re.compile(r"\.(.*)\.[a-z0-9_]{8}\.part", re.DOTALL)


@contextmanager
def open_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write that appears in its place only once it is complete.

    Until then it has a temporary name in the same folder, which `sweep` recognises. If
    writing fails or is interrupted, it is removed, and an old file stays as it was.
    Symbolic links are followed: the link stays, its target is replaced. The new file
    has the mode of the old one, or the umask's default. Anything but a regular file,
    such as a pipe or a device, is written directly: it cannot be replaced.

    Args:
        path: the file to write.

    Raises:
        OSError: the folder is missing or cannot be written, the disk is full, …
    """
    through = _descriptor(os.fspath(path))
    try:
        old = os.fstat(through) if through is not None else os.stat(path)
    except FileNotFoundError:  # or a link to something that is not there yet
        old = None
    with _named(path):
        if through is not None or (old and not stat.S_ISREG(old.st_mode)):
            with open(path if through is None else os.dup(through), "wb") as file:
                yield file
            return
        target = os.path.realpath(path)
        folder, name = os.path.split(target)
        # (Named before it is made: a signal in between leaves nothing.)
        hidden = f".{name[:40]}.{secrets.token_hex(4)}.part"
        temporary = os.path.join(folder, hidden)
        try:
            with open(temporary, "xb", opener=_for_the_owner) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            mode = stat.S_IMODE(old.st_mode) if old else 0o666 & ~umask()
            os.chmod(temporary, mode)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):  # the folder may be gone: why says the other error
                os.unlink(temporary)
            raise


def _for_the_owner(path: str, flags: int) -> int:
    """Open a file that nobody else may read, so far."""
    return os.open(path, flags, 0o600)


@contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in an error that names none, as when the disk is full."""
    try:
        yield
    except OSError as error:
        is_ours = error.filename is None or LEFT_OVER.fullmatch(
            os.path.basename(os.fspath(error.filename))
        )
        if error.errno is None or not is_ours:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


@contextmanager
def naming(meant: Path, workshop: Path) -> Iterator[None]:
    """Name, in an error, what was asked for, not the folder where it is made.

    Args:
        meant: the folder that was asked for.
        workshop: where its files are made.
    """
    try:
        yield
    except OSError as error:
        named = isinstance(error.filename, str | bytes | os.PathLike)
        name = Path(os.fsdecode(error.filename) if named else workshop)
        in_the_way = isinstance(error, FileExistsError | IsADirectoryError)
        if error.errno is None or in_the_way or not name.is_relative_to(workshop):
            raise
        name = meant / name.relative_to(workshop)
        raise OSError(error.errno, error.strerror, os.fspath(name)) from None


def _descriptor(path: str) -> int | None:
    """The descriptor that a path such as /dev/stdout or /dev/fd/3 stands for."""
    for _ in range(40):
        folder, name = os.path.split(path)
        folder = os.path.realpath(folder)
        if folder in ("/dev/fd", f"/proc/{os.getpid()}/fd") and name.isdigit():
            return int(name)
        path = os.path.join(folder, name)
        if not os.path.islink(path):
            return None
        path = os.path.join(folder, os.readlink(path))
    return None  # circular links: opening it will say so


def umask() -> int:
    """The permissions that new files of this process do not get."""
    mask = os.umask(0o077)  # it can only be read by setting it
    os.umask(mask)
    return mask


def sweep(folder: Path, names: re.Pattern[str]) -> None:
    """Remove the temporary files that killed writers of some files left in a folder.

    Call it only when nobody else can be writing there.

    Args:
        folder: where the files are.
        names: of the files; temporary files of any others are not touched.
    """
    for file in folder.glob(".*.part"):
        found = LEFT_OVER.fullmatch(file.name)
        if found and names.fullmatch(found[1]) and file.is_file():
            file.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that neither a reader nor a crash ever sees half of it.

    Raises:
        OSError: as `open_atomically`.
    """
    with open_atomically(path) as file:
        file.write(content)


def write_json(path: Path, content: Any) -> None:
    """Write human-readable JSON, atomically.

    Raises:
        TypeError, ValueError: as `as_json`.
    """
    write_atomically(path, as_json(content))


def as_json(content: Any) -> bytes:
    """Human-readable JSON, as a file holds it.

    Raises:
        TypeError: something that JSON cannot express.
        ValueError: a number is NaN or infinite, which JSON cannot express.
    """
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    # A file name that is not UTF-8 holds lone surrogates, which JSON can escape.
    return (text + "\n").encode("utf-8", "backslashreplace")


def read_json(path: Path) -> dict[str, Any]:
    """Read an object that `write_json` wrote.

    Raises:
        ValueError: damaged, or not such a file; the message names it.
    """
    content = parsed(path.read_bytes(), origin=str(path))
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds {type(content).__name__}, not a JSON object")
    return content


def parsed(text: str | bytes, *, origin: str) -> Any:
    """What some JSON says.

    Raises:
        ValueError: it is not JSON, or nested too deeply; the message names its origin.
    """
    try:
        return json.loads(text.decode("utf-8") if isinstance(text, bytes) else text)
    except (ValueError, RecursionError) as error:  # or not UTF-8
        raise ValueError(f"{origin} is not JSON ({error}): copy it again") from error


def save_tensors(
    path: Path, tensors: dict[str, Tensor], metadata: dict[str, Any]
) -> None:
    """Write named tensors with JSON metadata, and checksums over both.

    The same tensors and metadata always give the same bytes.

    Args:
        path: ends in ``.safetensors``.
        tensors: by name; moved to the CPU.
        metadata: anything that JSON can hold.
    """
    from safetensors.torch import save

    tensors = {name: each.detach().cpu().contiguous() for name, each in tensors.items()}
    header = {name: json.dumps(value) for name, value in metadata.items()}
    header["sha256"] = checksum(tensors)
    header["sha256_of_header"] = _header_checksum(header)
    with open_atomically(path) as file:
        file.writelines(_ordered(save(tensors, header)))


def _ordered(content: bytes) -> tuple[bytes, memoryview]:
    """The same tensors with their header sorted: safetensors shuffles metadata."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(content[8:start]), sort_keys=True).encode()
    header += b" " * (-len(header) % 8)  # so that the numbers are aligned in memory
    return len(header).to_bytes(8, "little") + header, memoryview(content)[start:]


def read_header(path: Path) -> tuple[dict[str, tuple[int, ...]], dict[str, Any]]:
    """What `save_tensors` wrote except the numbers: shapes by name, and metadata.

    Raises:
        FileNotFoundError: no such file.
        ValueError: truncated, not safetensors, not ours, or its header was changed.
    """
    with _opened(path) as file:
        names = list(file.keys())
        shapes = {name: tuple(file.get_slice(name).get_shape()) for name in names}
        header = _checked_header(path, file.metadata())
    header.pop("sha256")
    return shapes, _metadata(path, header)


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote.

    Raises:
        FileNotFoundError: no such file.
        ValueError: truncated, not safetensors, not ours, or changed since then.
    """
    with _opened(path) as file:
        names = list(file.keys())
        tensors = {name: file.get_tensor(name) for name in names}
        header = _checked_header(path, file.metadata())
    if header.pop("sha256") != checksum(tensors):
        raise _changed(path)
    return tensors, _metadata(path, header)


def _metadata(path: Path, header: dict[str, str]) -> dict[str, Any]:
    return {
        name: parsed(value, origin=f"{path}: {name} in its header")
        for name, value in header.items()
    }


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A safetensors file; all its faults are reported in one way."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        with open(path, "rb") as opened:
            name = os.fspath(path)
            if os.fsencode(name) != name.encode("utf-8", "replace"):
                name = f"/dev/fd/{opened.fileno()}"  # safetensors accepts UTF-8 only
            with safe_open(name, framework="pt") as file:
                yield file
    except OSError as error:
        if error.errno is not None:  # it cannot be read, whatever is in it
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise _truncated(path, error) from error
    except SafetensorError as error:
        raise _truncated(path, error) from error


def _truncated(path: Path, error: Exception) -> ValueError:
    return ValueError(
        f"{path} is truncated or not a safetensors file ({error}): "
        "copy or download it again"
    )


def _checked_header(path: Path, header: dict[str, str] | None) -> dict[str, str]:
    header = header or {}
    if not {"sha256", "sha256_of_header"} <= header.keys():
        raise ValueError(f"{path} was not written by tformer: it carries no checksum")
    if header.pop("sha256_of_header") != _header_checksum(header):
        raise _changed(path)
    return header


def _changed(path: Path) -> ValueError:
    return ValueError(
        f"{path} was changed after it was written: its checksum does not match. "
        "Copy or download it again"
    )


def _header_checksum(header: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()


def checksum(tensors: dict[str, Tensor]) -> str:
    """The SHA-256 of named tensors: of names, dtypes, shapes and numbers."""
    import torch

    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()
