"""Writing files: whole or not at all, wherever the name leads."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

from tformer.common import files
from tformer.common.together import together

POSIX = pytest.mark.skipif(os.name == "nt", reason="POSIX files")
BYTES = pytest.param(
    "caf\udce9",
    marks=pytest.mark.skipif(
        sys.platform != "linux", reason="elsewhere, names are no bytes"
    ),
)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def run(code: str, *arguments: object, **options) -> subprocess.CompletedProcess:
    """Run code in a Python of its own, with ``files`` and ``path`` at hand."""
    begin = "import sys; from tformer.common import files; from pathlib import Path\n"
    command = [sys.executable, "-c", begin + code, *map(str, arguments)]
    return subprocess.run(command, stderr=subprocess.PIPE, timeout=60, **options)


def test_a_file_appears_whole_and_nothing_else_does(tmp_path):
    with files.open_atomically(tmp_path / "a") as file:
        file.write(b"half")
        assert "a" not in names(tmp_path)
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"half"


def _fail(file, error: BaseException) -> None:
    file.write(b"new")
    raise error


@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
def test_what_fails_midway_leaves_the_old_file_and_no_other(error, tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(type(error)), files.open_atomically(tmp_path / "a") as file:
        _fail(file, error)
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_folder_that_vanishes_hides_no_other_error(tmp_path):
    def vanish(error: Exception | None) -> None:
        place = tmp_path / "place"
        place.mkdir()
        with files.open_atomically(place / "a"):
            shutil.rmtree(place)
            if error:
                raise error

    with pytest.raises(ValueError, match="mine"):
        vanish(ValueError("mine"))
    with pytest.raises(FileNotFoundError) as caught:
        vanish(None)
    assert caught.value.filename == str(tmp_path / "place" / "a")


@pytest.mark.parametrize("name", ["card.json", ""])
def test_files_that_change_together_are_named_as_they_will_be(name, tmp_path):
    with (
        pytest.raises(OSError, match="No space") as caught,
        together(tmp_path) as place,
    ):
        raise OSError(28, "No space left", str(place / name))
    assert caught.value.filename == str(tmp_path / name)
    assert names(tmp_path) == []


@POSIX
def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path):
    resource = pytest.importorskip("resource")
    (tmp_path / "a").write_bytes(b"old")
    code = "files.write_atomically(Path(sys.argv[1]), b'x' * 1_000_000)"

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = run(code, tmp_path / "a", preexec_fn=small_files)
    assert b"OSError: [Errno 27] File too large" in done.stderr
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_neighbours_file_is_left_alone(tmp_path):
    others = [tmp_path / name for name in ("a.part", ".a.part", "a.tmp", ".a")]
    for each in others:
        each.write_text("mine")
    files.write_atomically(tmp_path / "a", b"new")
    assert len(names(tmp_path)) == 5
    assert {each.read_text() for each in others} == {"mine"}


@POSIX
def test_a_link_stays_a_link_and_its_target_is_written(tmp_path):
    (tmp_path / "far").mkdir()
    target = tmp_path / "far" / "target"
    target.write_bytes(b"old")
    (tmp_path / "one").symlink_to("far/target")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    (tmp_path / "new").symlink_to("far/not-yet")
    files.write_atomically(tmp_path / "two", b"new")
    files.write_atomically(tmp_path / "new", b"newer")
    assert target.read_bytes() == b"new"
    assert (tmp_path / "far" / "not-yet").read_bytes() == b"newer"
    assert names(tmp_path / "far") == ["not-yet", "target"]
    assert all((tmp_path / link).is_symlink() for link in ("one", "two", "new"))


@POSIX
def test_links_in_a_circle_are_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        files.write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").is_symlink()


@POSIX
def test_a_device_stays_a_device(tmp_path):
    path = tmp_path / "null"  # of our own: the machine's is not put at risk
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.stat("/dev/null").st_rdev)
        path.write_bytes(b"")
    except PermissionError:
        pytest.skip("only root may make a device, in some places")
    files.write_atomically(path, b"new")
    assert stat.S_ISCHR(path.stat().st_mode)
    assert names(tmp_path) == ["null"]


@POSIX
def test_a_named_pipe_is_written_through(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    reader.start()
    files.write_atomically(path, b"new")
    reader.join(timeout=30)
    assert got == [b"new"]
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert names(tmp_path) == ["pipe"]


@POSIX
@pytest.mark.parametrize("name", ["/dev/fd/1", "LINK"])
@pytest.mark.parametrize("mode", ["ab", "pipe"])
def test_standard_output_is_written_where_it_stands(name, mode, tmp_path):
    """Also where it leads to a file: what stands there is not replaced."""
    if name == "LINK":  # as /dev/stdout is, which is not put at risk
        name = tmp_path / "link"
        name.symlink_to("/dev/fd/1")
    code = (
        "print('before', flush=True)\n"
        "files.write_atomically(Path(sys.argv[1]), b'here\\n')\n"
        "print('after')"
    )
    log = tmp_path / "log"
    log.write_bytes(b"old\n")
    if mode == "pipe":
        done = run(code, name, stdout=subprocess.PIPE)
        assert done.stdout == b"before\nhere\nafter\n"
    else:
        with log.open("ab") as out:
            done = run(code, name, stdout=out)
        assert log.read_bytes() == b"old\nbefore\nhere\nafter\n"
    assert done.stderr == b""


@POSIX
def test_a_new_file_has_the_umasks_mode_and_an_old_one_keeps_its(tmp_path):
    before = os.umask(0o027)
    try:
        files.write_atomically(tmp_path / "new", b"")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    (tmp_path / "old").write_bytes(b"")
    (tmp_path / "old").chmod(0o604)
    files.write_atomically(tmp_path / "old", b"")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o604


@pytest.mark.parametrize("name", ["a" * 200, "ü" * 127, BYTES])
def test_any_name_that_the_file_system_takes_will_do(name, tmp_path):
    files.write_atomically(tmp_path / name, b"new")
    assert names(tmp_path) == [name]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        files.write_atomically(tmp_path / "gone" / "a", b"")
    assert caught.value.filename == str(tmp_path / "gone" / "a")
    with pytest.raises(IsADirectoryError):
        files.write_atomically(tmp_path, b"")


def test_what_a_killed_writer_left_is_swept_and_nothing_else(tmp_path):
    code = (
        "import os\n"
        "with files.open_atomically(Path(sys.argv[1])) as file:\n"
        "    file.write(b'x'); os._exit(9)"
    )
    run(code, tmp_path / "model.safetensors")
    [left] = names(tmp_path)
    assert left.startswith(".model.safetensors.")
    mine = [".notes.part", ".x", ".x.abcdefgh.part", "model.safetensors.part", "notes"]
    for name in mine:
        (tmp_path / name).write_text("mine")
    files.sweep(tmp_path, re.compile("other"))
    assert names(tmp_path) == sorted([*mine, left])
    files.sweep(tmp_path, re.compile(r"model\.safetensors"))
    assert names(tmp_path) == mine


def test_the_same_tensors_give_the_same_bytes(tmp_path):
    facts = {f"fact {i}": i for i in range(20)}
    tensors = {f"weight {i}": torch.arange(3) + i for i in range(20)}
    contents = set()
    for number in range(5):
        path = tmp_path / f"{number}.safetensors"
        files.save_tensors(path, dict(reversed(tensors.items())), facts)
        contents.add(path.read_bytes())
        found, said = files.load_tensors(path)
        assert said == facts
        assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    assert len(contents) == 1


def test_json_holds_a_name_that_is_not_utf_8(tmp_path):
    import json

    name = "caf\udce9 ü"
    files.write_json(tmp_path / "a.json", {"name": name})
    assert json.loads((tmp_path / "a.json").read_text("utf-8")) == {"name": name}


@pytest.mark.parametrize("content", [b"{", b"", b"\xff", b"[1]", b"3"])
def test_what_is_no_json_object_is_refused_by_its_name(content, tmp_path):
    path = tmp_path / "card.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"card\.json (is not JSON|holds)"):
        files.read_json(path)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_json_never_holds_what_json_cannot_say(number, tmp_path):
    file = tmp_path / "history.json"
    files.write_json(file, {"loss": 1.5})
    with pytest.raises(ValueError, match="not JSON compliant"):
        files.write_json(file, {"loss": [number]})
    assert files.read_json(file) == {"loss": 1.5}


@POSIX
@pytest.mark.parametrize("name", ["a b", "füü", BYTES])
def test_tensors_come_back_from_a_file_of_any_name(name, tmp_path):
    path = tmp_path / f"{name}.safetensors"
    files.save_tensors(path, {"weight": torch.arange(3)}, {"fact": name})
    tensors, facts = files.load_tensors(path)
    assert tensors["weight"].tolist() == [0, 1, 2]
    assert facts == {"fact": name}


def test_a_file_that_cannot_be_read_is_not_called_truncated(tmp_path, monkeypatch):
    path = tmp_path / "a.safetensors"
    files.save_tensors(path, {"x": torch.ones(2)}, {})

    def refuse(*arguments):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(files, "open", refuse, raising=False)
    with pytest.raises(PermissionError) as caught:
        files.load_tensors(path)
    assert caught.value.filename == str(path)
