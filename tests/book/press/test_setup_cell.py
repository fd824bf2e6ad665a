"""The setup cell, run as a reader's notebook would run it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import shutil
import subprocess
import sys
import venv
import zipfile
from types import SimpleNamespace

import pytest

from tformer_book.press import chapters, setup_cell

SHA256 = "0123456789abcdef" * 4


@pytest.fixture
def cell():
    """Return the cell, compiled for this version and a made-up repository."""
    code = setup_cell.render(repository="https://example.invalid/book", sha256=SHA256)
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
    assert command[-1].endswith(f"/refs/tags/v{version}.zip#sha256={SHA256}")
    kept = pip.constraints.splitlines()
    for name in ("torch", "numpy", "ipywidgets"):
        assert f"{name}=={importlib.metadata.version(name)}" in kept
    assert not any(line.startswith("tformer==") for line in kept)
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_before_a_release_it_installs_the_branch(monkeypatch):
    release = setup_cell.pyproject()["tool"]["tformer"]
    if release["version"]:
        assert f"#sha256={release['sha256']}" in setup_cell.render()
    assert '/archive/refs/heads/main.zip"' in setup_cell.render(sha256="")
    assert '/archive/refs/heads/main.zip"' in setup_cell.render(version="99.0.0")
    assert "@" not in setup_cell.render().replace("[notebooks] @ ", "")


def test_without_a_network_it_says_so(cell, pip, monkeypatch):
    pretend_tformer_is(monkeypatch, None)
    pip.returncode, pip.stderr = 1, "Could not fetch URL"
    with pytest.raises(SystemExit, match=r"network\?(.|\n)*Could not fetch URL"):
        exec(cell, {})


@pytest.fixture
def host(tmp_path):
    """Archives laid out as the repository's host does, of the branch and of the tag."""
    version = setup_cell.project()["version"]
    for name in ("heads/main", f"tags/v{version}"):
        archive = tmp_path / f"archive/refs/{name}.zip"
        archive.parent.mkdir(parents=True)
        with zipfile.ZipFile(archive, "w") as file:
            top = f"tformer-{version}"
            file.writestr(
                f"{top}/pyproject.toml",
                '[build-system]\nrequires = []\nbuild-backend = "make"\n'
                'backend-path = ["."]\n',
            )
            file.writestr(f"{top}/make.py", BACKEND.replace("@VERSION@", version))
    return tmp_path


@pytest.fixture
def run_cell(host):
    """Run a cell in a bare environment; the last line that it prints, or its error."""
    home = host / "venv"
    venv.create(home, with_pip=True, symlinks=True)

    def run(code):
        code += "\nimport tformer; print(tformer.word)"
        return subprocess.run(
            [home / "bin/python", "-c", code],
            capture_output=True,
            text=True,
            cwd=host,
        )

    yield run
    shutil.rmtree(home)


@pytest.mark.slow
def test_pip_itself_understands_what_the_cell_asks_for(host, run_cell):
    code = setup_cell.render(repository=host.as_uri(), sha256="")
    for _ in range(2):  # the second time there is nothing to do
        done = run_cell(code)
        assert done.returncode == 0, done.stderr
        said = done.stdout.splitlines()
        assert said[-1] == "here"
    assert said == ["here"]


@pytest.mark.slow
def test_a_released_archive_is_installed_only_if_its_checksum_is_right(host, run_cell):
    [tag] = host.glob("archive/refs/tags/*.zip")
    digest = hashlib.sha256(tag.read_bytes()).hexdigest()
    done = run_cell(setup_cell.render(repository=host.as_uri(), sha256=SHA256))
    assert done.returncode == 1
    assert "could not be installed" in done.stderr
    assert digest in done.stderr  # what came instead
    done = run_cell(setup_cell.render(repository=host.as_uri(), sha256=digest))
    assert done.returncode == 0, done.stderr


def test_a_release_is_noted_with_its_checksum(host, monkeypatch, tmp_path):
    root = tmp_path / "clone"
    root.mkdir()
    text = (setup_cell.ROOT / "pyproject.toml").read_text("utf-8")
    url = setup_cell.project()["urls"]["Repository"]
    (root / "pyproject.toml").write_text(text.replace(url, host.as_uri()), "utf-8")
    for module in (setup_cell, chapters):
        monkeypatch.setattr(module, "ROOT", root)
    [tag] = host.glob("archive/refs/tags/*.zip")
    digest = hashlib.sha256(tag.read_bytes()).hexdigest()
    for _ in range(2):
        setup_cell.note_release()
        assert setup_cell.pyproject()["tool"]["tformer"] == {
            "version": setup_cell.project()["version"],
            "sha256": digest,
        }
        assert f"#sha256={digest}" in setup_cell.render()
    tag.unlink()
    with pytest.raises(OSError, match="No such file"):
        setup_cell.note_release()


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
