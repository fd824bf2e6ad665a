"""What a release holds, installed alone, does all that README's "Use it" says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace

import dist
import pytest

from tformer import data
from tformer_book.press.chapters import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
USE_IT = re.search(
    r"^## Use it\n(.*?)^## ", (ROOT / "README.md").read_text(), re.M | re.S
)
PYTHON, COMMANDS = re.findall(r"```(?:python|bash)\n(.*?)```", USE_IT[1], re.S)
# A corpus of the reader's own in place of the large one, and seconds for minutes.
SMALLER = {
    '"multi30k"': '"pairs.tsv"',
    "vocab_size=6000": "vocab_size=400",
    "minutes=10": "steps=2",
    '"test_2016_flickr"': '"test"',
}
SHORTER = {
    "multi30k --steps 300": "pairs.tsv --vocab-size 400 --steps 2",
    "--corpus multi30k": "--corpus pairs.tsv",
}
OWN_MODEL = """\
from tformer import Transformer, TransformerConfig

class Net(Transformer):
    def __init__(self):
        super().__init__(TransformerConfig(20, d_model=16, n_heads=2, d_ff=32))
"""


def changed(text: str, changes: dict[str, str]) -> str:
    """The README's text with each of the changes made; each has a place in it."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> dict[str, Path]:
    """The files of a release, by the end of their names."""
    out = tmp_path_factory.mktemp("dist")
    assert dist.main(out) == 0
    return {path.suffix: path for path in out.iterdir()}


@pytest.fixture(scope="module")
def alone(release, tmp_path_factory) -> SimpleNamespace:
    """A new environment with the wheel, and what it depends on; an empty home."""
    home = tmp_path_factory.mktemp("a new home")
    there = home / "what is there"
    there.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "tformer" not in path.name and path.suffix != ".pth":
            (there / path.name).symlink_to(path)
    uv = [sys.executable, "-m", "uv", "-q"]
    venv = home / "venv"
    subprocess.run([*uv, "venv", "--python", sys.executable, venv], check=True)
    python = venv / "bin/python"
    install = [*uv, "pip", "install", "--no-index", "--no-deps", "--python", python]
    subprocess.run([*install, release[".whl"]], check=True)
    [site] = venv.glob("lib/python*/site-packages")
    (site / "there.pth").write_text(f"{there}\n")
    work = home / "work"
    work.mkdir()
    pairs = data.load("grammar").train[:400]
    (work / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs), "utf-8")
    (work / "model.py").write_text(OWN_MODEL)
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("TFORMER", "PYTH"))
    }

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [python, *arguments],
            cwd=work,
            env={**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return SimpleNamespace(run=run, venv=venv, work=work)


def test_both_files_hold_every_file_of_the_packages(release) -> None:
    listed = subprocess.check_output(
        ["git", "ls-files", "tformer", "book/tformer_book"], cwd=ROOT, text=True
    ).split()
    needed = {
        name
        for name in listed
        if (ROOT / name).is_file() and not name.endswith((".md", ".wat"))
    }
    with zipfile.ZipFile(release[".whl"]) as wheel:
        assert {name.removeprefix("book/") for name in needed} <= set(wheel.namelist())
        strangers = {name.split("/")[0] for name in wheel.namelist()}
    assert {name.split("-")[0] for name in strangers} == {"tformer", "tformer_book"}
    with tarfile.open(release[".gz"]) as sdist:
        packed = {name.partition("/")[2] for name in sdist.getnames()}
    assert needed <= packed


def test_the_python_of_the_readme_runs(alone) -> None:
    code = changed(PYTHON, SMALLER) + "\nimport tformer; print(tformer.__file__)"
    said = alone.run("-c", code)
    assert "BLEU" in said
    assert Path(said.splitlines()[-1]).is_relative_to(alone.venv)


def test_every_command_of_the_readme_runs(alone) -> None:
    lines = changed(COMMANDS, SHORTER).splitlines()
    assert len(lines) == 6
    for line in lines:
        python, *arguments = shlex.split(line, comments=True)
        assert python == "python"
        assert alone.run(*arguments), line
    assert (alone.work / "exported/model.safetensors").is_file()
    assert (alone.venv / "bin/tformer").is_file()
