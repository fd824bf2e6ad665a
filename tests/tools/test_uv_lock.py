"""`uv sync` installs what the hashed lock names, or there is no uv.lock."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_setup_env import write_wheel
from uv_lock import constraints, differences

from tformer_book.press.chapters import ROOT

HASH = "sha256:" + "0" * 64
LOCK = f"""\
one==1.0 \\
    --hash={HASH}
two==2.0 ; sys_platform == 'win32' \\
    --hash={HASH}
torch==3.0
"""


def uv_lock(**versions: str) -> str:
    """What uv would write, with a file of each package."""
    return "".join(
        f'[[package]]\nname = "{name}"\nversion = "{version}"\n'
        f'wheels = [{{ hash = "{HASH}" }}]\n'
        for name, version in {"tformer": "0.1.0", **versions}.items()
    )


def test_every_package_of_the_lock_becomes_a_constraint_with_its_systems() -> None:
    assert constraints(LOCK) == [
        "one==1.0", "two==2.0 ; sys_platform == 'win32'", "torch==3.0",
    ]  # fmt: skip
    lock = (ROOT / "requirements.txt").read_text("utf-8")
    assert len(constraints(lock)) == lock.count("==") - lock.count(" == '")


def test_what_the_cuda_build_brings_along_is_no_difference() -> None:
    made = uv_lock(one="1.0", two="2.0", torch="3.0+cpu")
    assert differences(made, LOCK) == []
    assert differences(made + uv_lock(triton="1.0", **{"nvidia-x": "1"}), LOCK) == []


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ({"one": "1.0", "torch": "3.0"}, ["two 2.0: not in uv.lock"]),
        (
            {"one": "1.1", "two": "2.0", "torch": "3.0"},
            ["one 1.0: not in uv.lock", "one 1.1: only in uv.lock"],
        ),
        (
            {"one": "1.0", "two": "2.0", "torch": "3.1"},
            ["torch 3.0: not in uv.lock", "torch 3.1: only in uv.lock"],
        ),
    ],
)
def test_another_version_is_a_difference(versions, said) -> None:
    assert differences(uv_lock(**versions), LOCK) == said


def test_a_file_that_the_lock_does_not_know_is_a_difference() -> None:
    made = uv_lock(one="1.0", two="2.0", torch="3.0").replace("0" * 64, "1" * 64)
    assert differences(made, LOCK) == [
        f"{name}: a file that the lock does not know" for name in ("one 1.0", "two 2.0")
    ]


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A project with one dependency, and an index that has two versions of it."""
    root, index = tmp_path / "clone", tmp_path / "index"
    (root / "tools").mkdir(parents=True)
    shutil.copy(ROOT / "tools/uv_lock.py", root / "tools")
    (root / "pyproject.toml").write_text(
        '[project]\nname = "tformer"\nversion = "1.0"\nrequires-python = ">=3.11"\n'
        'dependencies = ["locked", "torch"]\n'
    )
    hashes = {}
    for name, version in (("locked", "1.0"), ("locked", "2.0"), ("torch", "1.0")):
        wheel = write_wheel(tmp_path / "wheels", name, version)
        (index / name).mkdir(parents=True, exist_ok=True)
        shutil.copy(wheel, index / name)
        hashes[name, version] = hashlib.sha256(wheel.read_bytes()).hexdigest()
        with (index / name / "index.html").open("a") as page:
            digest = hashes[name, version]
            page.write(f'<a href="{wheel.name}#sha256={digest}">{wheel.name}</a>\n')
    (root / "requirements-torch.txt").write_text("torch==1.0\n")
    monkeypatch.setenv("UV_DEFAULT_INDEX", index.as_uri())
    monkeypatch.setenv("UV_FIND_LINKS", "")

    def run(digest: str) -> subprocess.CompletedProcess[str]:
        lock = f"locked==1.0 \\\n    --hash=sha256:{digest}\n"
        (root / "requirements.txt").write_text(lock)
        command = [sys.executable, "tools/uv_lock.py"]
        return subprocess.run(command, cwd=root, capture_output=True, text=True)

    return SimpleNamespace(run=run, file=root / "uv.lock", hashes=hashes)


@pytest.mark.slow
def test_uv_lock_names_the_lock_s_version_though_there_is_a_newer_one(clone) -> None:
    done = clone.run(clone.hashes["locked", "1.0"])
    assert done.returncode == 0, done.stdout + done.stderr
    made = tomllib.loads(clone.file.read_text("utf-8"))
    versions = {each["name"]: each["version"] for each in made["package"]}
    assert versions == {"locked": "1.0", "torch": "1.0", "tformer": "1.0"}
    assert "manifest" not in made  # `uv sync --locked` finds nothing to change


@pytest.mark.slow
def test_a_uv_lock_with_another_file_is_not_left(clone) -> None:
    done = clone.run("f" * 64)
    assert done.returncode == 1
    assert "locked 1.0: a file that the lock does not know" in done.stdout
    assert not clone.file.exists()
