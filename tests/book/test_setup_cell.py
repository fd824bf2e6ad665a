"""The setup cell, run as a reader's notebook would run it."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
import venv
import zipfile
from types import SimpleNamespace

import pytest
import setup_cell


@pytest.fixture
def cell():
    """Return the cell, compiled for this version and a made-up repository."""
    code = setup_cell.render(repository="https://example.invalid/book")
    return compile(code, "setup cell", "exec")


@pytest.fixture
def pip(monkeypatch):
    """Record what the cell asks pip for, and answer for it."""
    seen = SimpleNamespace(commands=[], constraints="", returncode=0, stderr="")

    def run(command, **options):
        seen.commands.append(command)
        with open(command[command.index("-c") + 1]) as file:
            seen.constraints = file.read()
        return SimpleNamespace(returncode=seen.returncode, stderr=seen.stderr)

    monkeypatch.setattr(subprocess, "run", run)
    return seen


def pretend_tformer_is(monkeypatch, installed):
    real = importlib.metadata.version

    def version(name):
        if name != "tformer":
            return real(name)
        if installed is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return installed

    monkeypatch.setattr(importlib.metadata, "version", version)


def test_it_does_nothing_where_the_right_version_is_installed(cell, pip, capsys):
    exec(cell, {})
    assert not pip.commands
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("installed", [None, "0.0.1"])
def test_it_installs_the_tag_and_moves_nothing_else(
    cell, pip, monkeypatch, capsys, installed
):
    pretend_tformer_is(monkeypatch, installed)
    exec(cell, {})
    (command,) = pip.commands
    version = setup_cell.project()["version"]
    assert command[-1].startswith("tformer[notebooks] @ https://example.invalid/book/")
    assert command[-1].endswith(f"/v{version}.zip")
    kept = pip.constraints.splitlines()
    for name in ("torch", "numpy", "ipywidgets"):
        assert f"{name}=={importlib.metadata.version(name)}" in kept
    assert not any(line.startswith("tformer==") for line in kept)
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_without_a_network_it_says_so(cell, pip, monkeypatch):
    pretend_tformer_is(monkeypatch, None)
    pip.returncode, pip.stderr = 1, "Could not fetch URL"
    with pytest.raises(SystemExit, match=r"network\?(.|\n)*Could not fetch URL"):
        exec(cell, {})


@pytest.mark.slow
def test_pip_itself_understands_what_the_cell_asks_for(tmp_path):
    """In a bare environment, from an archive laid out as the repository's host does."""
    version = setup_cell.project()["version"]
    archive = tmp_path / f"archive/refs/tags/v{version}.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as file:
        top = f"tformer-{version}"
        file.writestr(
            f"{top}/pyproject.toml",
            '[build-system]\nrequires = []\nbuild-backend = "make"\n'
            'backend-path = ["."]\n',
        )
        file.writestr(f"{top}/make.py", BACKEND.replace("@VERSION@", version))
    home = tmp_path / "venv"
    venv.create(home, with_pip=True, symlinks=True)
    python = home / "bin/python"
    code = setup_cell.render(repository=tmp_path.as_uri())
    for _ in range(2):  # the second time there is nothing to do
        done = subprocess.run(
            [python, "-c", code + "\nimport tformer; print(tformer.word)"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        said = done.stdout.splitlines()
        assert said[-1] == "here"
    assert said == ["here"]
    shutil.rmtree(home)


# A build backend of a few lines, so that the test needs no network.
BACKEND = """
import zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "tformer-@VERSION@-py3-none-any.whl"
    info = "tformer-@VERSION@.dist-info/"
    meta = "Metadata-Version: 2.1\\nName: tformer\\nVersion: @VERSION@\\n"
    meta += "Provides-Extra: notebooks\\n"
    tag = "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\n"
    tag += "Tag: py3-none-any\\n"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        wheel.writestr("tformer.py", "word = 'here'")
        wheel.writestr(info + "METADATA", meta)
        wheel.writestr(info + "WHEEL", tag)
        wheel.writestr(info + "RECORD", "")
    return name
"""
if sys.platform == "win32":
    pytest.skip("paths of a POSIX virtual environment", allow_module_level=True)
