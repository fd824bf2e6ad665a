"""Locks on files and folders: the operating system releases them, however we end."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt

FAR = 1 << 30  # Windows forbids to read what is locked: a byte far behind the last


def lock(handle: int, *, wait: bool = True) -> None:
    """Lock an open file: it stays locked until it is closed.

    Args:
        handle: as from `os.open`, at the file's start.
        wait: until nobody else has locked it.

    Raises:
        BlockingIOError: somebody else has locked it, and we are not to wait.
        OSError: the drive has no locks.
    """
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return
    os.lseek(handle, FAR, os.SEEK_SET)
    try:
        while True:
            try:
                return msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            except PermissionError as error:
                if not wait:
                    raise BlockingIOError(error.errno, error.strerror) from None
                time.sleep(0.05)
    finally:
        os.lseek(handle, 0, os.SEEK_SET)


def close_and_remove(handle: int, file: Path) -> None:
    """Unlock a file that was there only to be locked, and remove it if we may."""
    if fcntl is None:  # Windows removes no open file, and so none that is locked
        os.close(handle)
    with suppress(OSError):
        file.unlink()
    if fcntl is not None:  # only now, so that nobody locks what is about to go
        os.close(handle)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait until nobody else has locked this folder, and keep them out.

    What cannot be locked, such as a folder that is missing or on some network drives,
    is unguarded.
    """
    with ExitStack() as stack:
        with suppress(OSError):
            handle = _opened(folder)
            stack.callback(os.close, handle)
            lock(handle)
        yield


def _opened(folder: Path) -> int:
    """The folder; on Windows, which opens none, a file that stands for it."""
    if fcntl is not None:
        return os.open(folder, os.O_RDONLY)
    name = hashlib.sha256(os.path.realpath(folder).encode()).hexdigest()[:32]
    file = Path(tempfile.gettempdir()) / f"tformer-{name}.lock"
    return os.open(file, os.O_RDWR | os.O_CREAT)
