"""Set-up installs what the lock names, byte for byte, or nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from tformer_book.press.chapters import ROOT


def write_wheel(
    folder: Path, name: str, version: str, content: str = "", script: str = ""
) -> Path:
    """A package of one line, as an index would hold it; perhaps with a program."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": content,
        f"{info}/METADATA": "Metadata-Version: 2.1\n"
        f"Name: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    if script:
        files[f"{name}-{version}.data/scripts/{name}"] = f"#!python\n{script}"
    with zipfile.ZipFile(path, "w") as wheel:
        for inside, text in files.items():
            entry = zipfile.ZipInfo(inside)
            mode = 0o100755 if "/scripts/" in inside else 0o100644
            entry.external_attr = mode << 16
            wheel.writestr(entry, text)
    return path


# Builds "tformer" in place with the standard library alone.
BACKEND = """
import zipfile
def build_editable(folder, config_settings=None, metadata_directory=None):
    name, info = "tformer-1.0-py3-none-any.whl", "tformer-1.0.dist-info/"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        wheel.writestr("tformer.py", "")
        meta = "Metadata-Version: 2.1\\nName: tformer\\nVersion: 1.0\\n"
        wheel.writestr(info + "METADATA", meta)
        tag = "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\n"
        wheel.writestr(info + "WHEEL", tag + "Tag: py3-none-any\\n")
        wheel.writestr(info + "RECORD", "")
    return name
"""


@pytest.fixture
def clone(tmp_path: Path) -> SimpleNamespace:
    """A repository whose lock has one package, whose torch is a file of one line."""
    root, wheels = tmp_path / "clone", tmp_path / "wheels"
    (root / "tools").mkdir(parents=True)
    shutil.copy(ROOT / "tools/setup_env.py", root / "tools")
    locked = write_wheel(wheels, "locked", "1.0", "word = 'right'")
    write_wheel(wheels, "torch", "2.0", "build = 'any'")
    digest = hashlib.sha256(locked.read_bytes()).hexdigest()
    (root / "requirements.txt").write_text(f"locked==1.0 \\\n --hash=sha256:{digest}\n")
    (root / "requirements-torch.txt").write_text("torch==2.0\n")
    (root / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\n'
        'backend-path = ["."]\n'
    )
    (root / "backend.py").write_text(BACKEND)

    def setup(**variables: str) -> subprocess.CompletedProcess[str]:
        found = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
        found |= {"UV_NO_INDEX": "1", "UV_FIND_LINKS": str(wheels)}
        return subprocess.run(
            [sys.executable, "tools/setup_env.py"],
            cwd=root,
            capture_output=True,
            text=True,
            env={**os.environ, **found, **variables},
        )

    def said(code: str) -> str:
        python = root / ".venv/bin/python"
        return subprocess.check_output([python, "-c", code], text=True).strip()

    return SimpleNamespace(root=root, wheels=wheels, setup=setup, said=said)


@pytest.mark.slow
def test_the_lock_torch_and_the_package_are_installed_once(clone) -> None:
    done = clone.setup()
    assert done.returncode == 0, done.stderr
    assert clone.said("import locked, torch, tformer; print(locked.word)") == "right"
    shutil.rmtree(clone.wheels)
    assert clone.setup().stdout == ""  # nothing to do, and nothing to do it with


@pytest.mark.slow
def test_a_file_that_the_lock_does_not_know_is_not_installed(clone) -> None:
    write_wheel(clone.wheels, "locked", "1.0", "word = 'tampered with'")
    done = clone.setup()
    assert done.returncode == 1
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert done.stderr.endswith("setup: the lock could not be installed (see above)\n")
    code = "import importlib.util as u; print(u.find_spec('locked'))"
    assert clone.said(code) == "None"
    assert not (clone.root / ".venv/tformer-setup.txt").exists()


UV = """import os, subprocess, sys
open({told!r}, "w").write(" ".join(sys.argv[1:]))
python = sys.argv.index("--python")
del sys.argv[python : python + 2]
sys.exit({status} or subprocess.call([sys.executable, "-m", "pip", *sys.argv[2:]]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("status", [0, 1])
def test_the_lock_s_uv_installs_the_lock_and_pip_does_where_it_fails(clone, status):
    """What stands for uv here hands on to pip what it was told, or fails."""
    told = clone.root / "told.txt"
    script = UV.format(told=str(told), status=status)
    uv = write_wheel(clone.wheels, "uv", "3.0", script=script)
    digest = hashlib.sha256(uv.read_bytes()).hexdigest()
    with (clone.root / "requirements.txt").open("a") as lock:
        lock.write(f"uv==3.0 \\\n    --hash=sha256:{digest}\n")
    for wheel in clone.wheels.glob("*.whl"):
        folder = clone.root / "index" / wheel.name.partition("-")[0]
        folder.mkdir(parents=True)
        shutil.copy(wheel, folder)
        (folder / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
    index = (clone.root / "index").as_uri()
    done = clone.setup(PIP_NO_INDEX="", PIP_FIND_LINKS="", PIP_INDEX_URL=index)
    assert done.returncode == 0, done.stderr
    assert "--require-hashes" in told.read_text()
    assert told.read_text().startswith("pip install")
    assert clone.said("import locked; print(locked.word)") == "right"


@pytest.fixture
def uv_s_clone(clone) -> SimpleNamespace:
    """The same with an environment as `uv sync` makes it, which has no pip."""
    command = [sys.executable, "-m", "uv", "venv", "-q", "--python", sys.executable]
    subprocess.run([*command, ".venv"], cwd=clone.root, check=True)
    return clone


@pytest.mark.slow
def test_an_environment_that_uv_made_is_brought_to_the_lock(uv_s_clone) -> None:
    done = uv_s_clone.setup(
        PATH=f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""  # nothing that is there is asked for elsewhere
    assert uv_s_clone.said("import locked, torch; print(locked.word)") == "right"
    code = "import importlib.util as u; print(u.find_spec('pip'))"
    assert uv_s_clone.said(code) == "None"
    assert uv_s_clone.setup(PATH="").stdout == ""  # nothing to do


@pytest.mark.slow
def test_an_environment_that_uv_made_needs_uv_and_the_set_up_says_so(uv_s_clone):
    done = uv_s_clone.setup(PATH="")
    assert done.returncode == 1
    assert "No such file or directory: 'uv'" in done.stderr
    assert "Traceback" not in done.stderr
