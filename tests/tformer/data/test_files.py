"""Files come whole and right, or not at all, whatever the host does."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import random
import socket
import time
from pathlib import Path

import pytest

from tformer.data import DataError, DataUnavailable, files
from tformer.data.files import Remote, obtain

BODY = random.Random(0).randbytes(300_000)
TERMS = "The terms of toy."


@pytest.fixture
def remote(host) -> Remote:
    host.content["/toy/a.gz"] = BODY
    digest = hashlib.sha256(BODY).hexdigest()
    return Remote("a.gz", f"{host.url}/toy/a.gz", len(BODY), digest)


def fetch(remote: Remote) -> tuple[dict[str, Path], dict[str, str]]:
    return obtain("toy", [remote], terms=TERMS)


def test_a_file_is_downloaded_once_and_then_found(host, cache, remote) -> None:
    paths, checksums = fetch(remote)
    assert paths["a.gz"] == cache / "toy" / "a.gz"
    assert paths["a.gz"].read_bytes() == BODY
    assert checksums == {"toy/a.gz": remote.sha256}
    assert fetch(remote) == (paths, checksums)
    assert host.requests == [("/toy/a.gz", None)]
    assert not list(cache.rglob("*.part"))


def test_the_terms_are_shown_when_downloading_and_only_then(cache, remote, capsys):
    fetch(remote)
    assert capsys.readouterr().err.count(TERMS) == 1
    fetch(remote)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("behaviour", ["breaks off", "stalls"])
def test_a_download_goes_on_where_it_stopped(host, cache, remote, behaviour) -> None:
    host.behaviours = [behaviour]
    start = time.monotonic()
    assert fetch(remote)[0]["a.gz"].read_bytes() == BODY
    assert host.requests[1] == ("/toy/a.gz", f"bytes={len(BODY) // 2}-")
    assert time.monotonic() - start < 20  # the host would keep us for a minute


def test_a_download_resumes_in_another_session(host, cache, remote) -> None:
    host.behaviours = ["breaks off", "503", "503"]
    with pytest.raises(DataUnavailable):
        fetch(remote)
    assert (cache / "toy" / "a.gz.part").stat().st_size == len(BODY) // 2
    host.requests.clear()
    assert fetch(remote)[0]["a.gz"].read_bytes() == BODY
    assert host.requests == [("/toy/a.gz", f"bytes={len(BODY) // 2}-")]


@pytest.mark.parametrize(
    ("behaviours", "n"),
    [(["ignores range"], 2), (["wrong range"], 3), (["416", "416"], 3)],
)
def test_a_host_that_cannot_resume_sends_all(host, remote, cache, behaviours, n):
    host.behaviours = ["breaks off", *behaviours]
    assert fetch(remote)[0]["a.gz"].read_bytes() == BODY
    assert len(host.requests) == n
    if n == 3:
        assert host.requests[-1] == ("/toy/a.gz", None)


def test_a_part_of_something_else_is_thrown_away(host, cache, remote) -> None:
    (cache / "toy").mkdir(parents=True)
    (cache / "toy" / "a.gz.part").write_bytes(b"x" * 1000)
    assert fetch(remote)[0]["a.gz"].read_bytes() == BODY
    assert [wanted for _, wanted in host.requests] == ["bytes=1000-", None]


@pytest.mark.parametrize("behaviour", ["lies", "endless", "page"])
def test_wrong_bytes_are_never_used(host, cache, remote, behaviour) -> None:
    host.behaviours = [behaviour] * 9
    with pytest.raises(DataError) as caught:
        fetch(remote)
    if behaviour != "page":  # a short page looks like a download that broke off
        assert not isinstance(caught.value, DataUnavailable)
        assert "not the file it should be" in str(caught.value)
        assert remote.sha256 in str(caught.value)
    if behaviour == "endless":  # it is not read to its end
        assert f"{len(BODY) + 1} bytes with" in str(caught.value)
    assert not (cache / "toy" / "a.gz").exists()
    assert len(host.requests) == files.ATTEMPTS


def test_a_file_that_is_gone_is_an_error_at_once(host, cache, remote) -> None:
    host.behaviours = ["404"] * 9
    with pytest.raises(DataError, match=r"answered 404 .*\. Put a\.gz into ") as caught:
        fetch(remote)
    assert not isinstance(caught.value, DataUnavailable)
    assert len(host.requests) == 1


@pytest.mark.parametrize("behaviour", ["500", "503", "stalls", "breaks off"])
def test_a_host_that_stays_away_is_told_in_one_line(host, cache, remote, behaviour):
    host.behaviours = [behaviour] * 9
    with pytest.raises(DataUnavailable) as caught:
        fetch(remote)
    message = str(caught.value)
    assert "\n" not in message
    assert f"Put a.gz into {cache / 'toy'}" in message
    assert "TFORMER_DATA=FOLDER" in message
    assert len(host.requests) == files.ATTEMPTS


def test_without_a_network_there_is_no_waiting(cache, monkeypatch) -> None:
    monkeypatch.setattr(files.time, "sleep", lambda _: pytest.fail("waited"))
    with socket.socket() as closed:  # a port that nobody listens on
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/a.gz"
        with pytest.raises(DataUnavailable, match=r"cannot reach the host of http"):
            fetch(Remote("a.gz", url, 3, "0" * 64))


DAMAGED = {"truncated": BODY[:-1], "changed": b"\0" + BODY[1:], "longer": BODY + b"\0"}


@pytest.mark.parametrize("damaged", [*DAMAGED.values(), b""], ids=[*DAMAGED, "empty"])
def test_a_tampered_cache_is_never_used(host, cache, remote, damaged) -> None:
    path = fetch(remote)[0]["a.gz"]
    path.write_bytes(damaged)
    assert fetch(remote)[0]["a.gz"].read_bytes() == BODY
    path.write_bytes(b"tampered again")
    host.behaviours = ["503"] * 9
    with pytest.raises(DataUnavailable):
        fetch(remote)


def test_the_reader_s_own_file_comes_first(cache, remote, tmp_path, monkeypatch):
    fetch(remote)  # the cache holds the right one
    own = tmp_path / "own"
    (own / "toy").mkdir(parents=True)
    (own / "toy" / "a.gz").write_bytes(b"my own edition")
    monkeypatch.setenv("TFORMER_DATA", str(own))
    paths, checksums = fetch(remote)
    assert paths["a.gz"] == own / "toy" / "a.gz"
    assert checksums["toy/a.gz"] == hashlib.sha256(b"my own edition").hexdigest()
    assert (own / "toy" / "a.gz").read_bytes() == b"my own edition"


def test_what_the_reader_lacks_is_downloaded(cache, remote, tmp_path, monkeypatch):
    monkeypatch.setenv("TFORMER_DATA", str(tmp_path))
    assert fetch(remote)[0]["a.gz"] == cache / "toy" / "a.gz"
    assert not (tmp_path / "toy").exists()


def test_a_reader_s_folder_that_is_none_is_named(cache, remote, monkeypatch) -> None:
    monkeypatch.setenv("TFORMER_DATA", "/nowhere/at/all")
    with pytest.raises(DataError, match="_DATA='/nowhere/at/all' is not a folder"):
        fetch(remote)


def test_an_optional_file_may_be_missing(host, cache, remote) -> None:
    absent = Remote("tok/b", f"{host.url}/toy/tok/b", 5, "0" * 64, optional=True)
    paths, checksums = obtain("toy", [remote, absent], terms=TERMS)
    assert (list(paths), list(checksums)) == (["a.gz"], ["toy/a.gz"])
    host.requests.clear()
    obtain("toy", [remote, absent], terms=TERMS)
    assert host.requests == []  # it is not asked for again and again


@pytest.mark.parametrize("name", ["a.gz", "a.gz.part"])
def test_a_file_that_cannot_be_written_is_named_at_once(name, host, cache, remote):
    """No attempt more would help; the temporary name is nobody's business."""
    (cache / "toy" / name).mkdir(parents=True)
    with pytest.raises(DataError, match=r"cannot write .*toy/a\.gz: [^.]*\. Put a\.gz"):
        fetch(remote)
    assert len(host.requests) == 1


def test_a_cache_that_cannot_be_made_is_named(remote, cache) -> None:
    cache.parent.mkdir(exist_ok=True)
    cache.write_text("a file where the folder should be")
    with pytest.raises(DataError, match=r"cannot write to the cache .*put a\.gz into"):
        fetch(remote)


def _fetch_in_process(folder: Path, remote: Remote, queue) -> None:
    files.cache_folder = lambda: folder
    paths, _ = obtain("toy", [remote], terms="")
    queue.put(hashlib.sha256(paths["a.gz"].read_bytes()).hexdigest())


@pytest.mark.skipif(os.name == "nt", reason="POSIX processes and locks")
def test_processes_that_download_at_once_share_one_download(host, cache, remote):
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    task = {"target": _fetch_in_process, "args": (cache, remote, queue)}
    workers = [context.Process(**task) for _ in range(3)]
    for worker in workers:
        worker.start()
    sums = [queue.get(timeout=30) for _ in workers]
    for worker in workers:
        worker.join()
    assert sums == [remote.sha256] * 3
    assert len(host.requests) == 1


@pytest.mark.parametrize("behaviour", ["drips", "drips headers"])
def test_a_host_that_drips_is_given_up(host, cache, remote, monkeypatch, behaviour):
    """And what came is kept."""
    monkeypatch.setattr(files, "ALLOWANCE", 1.0)
    monkeypatch.setattr(files, "SLOWEST", 10_000_000)
    host.behaviours = [behaviour] * 9
    start = time.monotonic()
    with pytest.raises(DataUnavailable, match=r"too slowly, \d+ of 300000 bytes in 1 "):
        fetch(remote)
    assert time.monotonic() - start < 5  # whole, it would take more than ten
    part = cache / "toy" / "a.gz.part"
    came = part.read_bytes() if behaviour == "drips" else b""
    assert BODY.startswith(came)
    assert len(host.requests) == 1
    host.behaviours = []
    assert fetch(remote)[0]["a.gz"].read_bytes() == BODY
    assert host.requests[1][1] == (f"bytes={len(came)}-" if came else None)


def test_a_large_file_may_take_longer_than_a_small_one(cache, remote, monkeypatch):
    monkeypatch.setattr(files, "ALLOWANCE", 0.0)
    fetch(remote)  # 60 seconds, by its size
    monkeypatch.setattr(files, "SLOWEST", 10**12)
    with pytest.raises(DataUnavailable, match="too slowly"):
        obtain("other", [remote], terms=TERMS)
