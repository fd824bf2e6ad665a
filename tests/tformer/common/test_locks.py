"""Locks on files and folders, as POSIX makes them and as Windows does."""

import errno
import fcntl
import os
import subprocess
import sys

import pytest

from tformer.common import locks
from tformer.common.locks import close_and_remove, lock, locked

OTHER = """
import os, sys
from pathlib import Path
from tests.tformer.common import test_locks as here
system, folder = sys.argv[1], Path(sys.argv[2])
here.on(system)
handle = os.open(folder / "file", os.O_RDWR)
try:
    here.lock(handle, wait=False)
except BlockingIOError:
    print("taken", flush=True)
with here.locked(folder):
    print((folder / "said").read_text(), flush=True)
"""


class Windows:
    """What its C library calls a lock, made of what POSIX has of that kind."""

    LK_NBLCK = 2

    @staticmethod
    def locking(handle, mode, n_bytes):
        assert mode == Windows.LK_NBLCK
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, n_bytes, 0, os.SEEK_CUR)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None


def on(system):
    if system == "windows":
        locks.fcntl, locks.msvcrt = None, Windows


@pytest.fixture(params=["posix", "windows"])
def system(request, monkeypatch):
    monkeypatch.setattr(locks, "fcntl", fcntl)
    monkeypatch.setattr(locks, "msvcrt", None, raising=False)
    on(request.param)
    return request.param


def test_another_process_waits_or_is_told(system, tmp_path):
    file = tmp_path / "file"
    file.write_text("who holds it")
    handle = os.open(file, os.O_RDWR)
    lock(handle, wait=False)
    command = [sys.executable, "-c", OTHER, system, tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        with locked(tmp_path):
            assert other.stdout.readline() == "taken\n"
            (tmp_path / "said").write_text("it is free now")
        assert other.stdout.readline() == "it is free now\n"
    assert os.read(handle, 100) == b"who holds it"
    close_and_remove(handle, file)
    assert [each.name for each in tmp_path.iterdir()] == ["said"]


def test_a_folder_that_is_missing_is_unguarded(system, tmp_path):
    with locked(tmp_path / "none"):
        assert not (tmp_path / "none").exists()
