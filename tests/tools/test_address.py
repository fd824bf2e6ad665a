"""The repository's address: set in one place, followed everywhere, in a fork too."""

from __future__ import annotations

import functools
import http.server
import io
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import venv
import zipfile
from pathlib import Path

import pytest
from address import AddressError, addresses, set_address, texts

from tformer_book.press import setup_cell
from tformer_book.press.chapters import ROOT, chapter, project, read

OLD = project()["urls"]["Repository"]
HOST = "https://github.com"  # apart: what follows must not be cited anywhere
NEW = f"{HOST}/Some-One/some.where_2"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The texts of the repository, to be changed at will."""
    root = tmp_path / "clone"
    for path in texts(ROOT):
        target = root / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return root


def contents(root: Path) -> dict[Path, bytes]:
    return {path.relative_to(root): path.read_bytes() for path in texts(root)}


def test_all_that_names_the_old_address_names_the_new_one(copy) -> None:
    changed = {str(path.relative_to(copy)) for path in set_address(copy, OLD, NEW)}
    assert {"README.md", "_config.yml", "CITATION.cff", "pyproject.toml"} < changed
    assert f"book/{chapter('training').name}" in changed
    owner, name = OLD.split("/")[-2:]
    for path, content in contents(copy).items():
        assert f"{owner}/{name}".encode() not in content, path
        assert f"{owner}.github.io".encode() not in content, path


def test_a_second_time_nothing_changes_and_the_way_back_leads_home(copy) -> None:
    before = contents(copy)
    set_address(copy, OLD, NEW)
    after = contents(copy)
    assert set_address(copy, NEW, NEW) == []
    assert contents(copy) == after != before
    set_address(copy, NEW, OLD)
    assert contents(copy) == before


def test_every_kind_of_address_follows(copy) -> None:
    set_address(copy, OLD, NEW)
    readme = (copy / "README.md").read_text("utf-8")
    site = "https://some-one.github.io" + "/some.where_2/"
    assert f"({site})" in readme
    assert f"git clone {NEW} && cd some.where_2\n" in readme
    colab = f"https://colab.research.google.com/github/{NEW.removeprefix(HOST)[1:]}"
    name = chapter("attention").name
    assert f"{colab}/blob/main/book/{name}" in readme
    config = (copy / "_config.yml").read_text("utf-8")
    assert f"url: {NEW} " in config
    assert f"baseurl: {site}\n" in config
    first_page = (copy / "book/intro.ipynb").read_text("utf-8")
    assert f'git clone {NEW} && cd some.where_2\\n",' in first_page
    notebook = read(copy / "book" / name)
    [cell] = [each for each in notebook["cells"] if each["id"] == setup_cell.CELL_ID]
    assert "".join(cell["source"]) == setup_cell.render(repository=NEW)


def test_a_longer_name_is_not_taken_for_the_address(copy) -> None:
    others = f"{OLD}-data {OLD}.js {OLD}2"
    (copy / "README.md").write_text(f"{others}\nSee {OLD}.\n", "utf-8")
    set_address(copy, OLD, f"{OLD}.js2")  # and the new one may begin with the old one
    text = (copy / "README.md").read_text("utf-8")
    assert text == f"{others}\nSee {OLD}.js2.\n"


def test_the_site_of_an_owner_s_own_page_has_no_folder() -> None:
    found = addresses(f"{HOST}/Some-One/some-one.github.io")
    assert found["site"] == "https://some-one.github.io/"


@pytest.mark.parametrize(
    "nonsense",
    [
        "",
        "someone/somewhere",
        "http://github.com/someone/somewhere",
        "https://gitlab.com/someone/somewhere",
        f"{HOST}/someone",
        f"{HOST}/someone/somewhere/tree/main",
        f"{HOST}/someone/..",
        f"{HOST}/some one/somewhere",
        f"{HOST}/-someone/somewhere",
        f"{HOST}/someone/some$(where)",
        f"{HOST}/someone/somewhere\n",
        "https://github.com.evil.org/someone/somewhere",
        "https://me@github.com/someone/somewhere",
    ],
)
def test_nonsense_is_refused_and_nothing_changed(tmp_path, nonsense) -> None:
    page = tmp_path / "README.md"
    page.write_text(OLD, "utf-8")
    with pytest.raises(AddressError, match="is no address of a repository"):
        set_address(tmp_path, OLD, nonsense)
    assert page.read_text("utf-8") == OLD


def test_an_address_that_the_book_cites_as_another_s_is_refused(copy) -> None:
    (copy / "book/notation.md").write_text(f"Thanks to {NEW}.", "utf-8")
    before = contents(copy)
    with pytest.raises(AddressError, match=r"is cited in book.notation\.md"):
        set_address(copy, OLD, NEW)
    assert contents(copy) == before


def test_the_command_sets_it_and_says_what_it_changed(copy) -> None:
    def make_address(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "tools/address.py", *arguments]
        return subprocess.run(command, cwd=copy, capture_output=True, text=True)

    done = make_address(f"{NEW}.git/")
    assert done.returncode == 0, done.stderr
    assert "README.md\n" in done.stdout
    assert done.stdout.endswith(f"address: {NEW}\n")
    assert make_address(NEW).stdout == f"address: {NEW} (as it was)\n"
    for wrong in ([], ["ftp://x/y"]):
        done = make_address(*wrong)
        assert done.returncode == 2
        assert len((done.stdout + done.stderr).splitlines()) == 1


# A fork on a host of its own


class Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def host(tmp_path: Path):
    """A server that holds the branch's archive of this repository, as GitHub would."""
    archive = tmp_path / "host/someone/somewhere/archive/refs/heads/main.zip"
    archive.parent.mkdir(parents=True)
    packed = ["tformer", "pyproject.toml", "README.md", "LICENSE"]
    command = ["git", "ls-files", "-z", *packed]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name in listed.stdout.decode().split("\0"):
            if name and (ROOT / name).is_file():
                file.write(ROOT / name, f"somewhere-main/{name}")
    archive.write_bytes(packed.getvalue())
    serve = functools.partial(Silent, directory=tmp_path / "host")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/someone/somewhere"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_a_fork_s_setup_cell_installs_the_fork(host, tmp_path) -> None:
    """Into an environment that has all that Colab has, but not tformer."""
    there = tmp_path / "what is there"
    there.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "tformer" not in path.name and path.suffix != ".pth":
            (there / path.name).symlink_to(path)
    home = tmp_path / "venv"
    venv.create(home, with_pip=True, symlinks=True)
    [site] = home.glob("lib/python*/site-packages")
    (site / "there.pth").write_text(f"{there}\n")
    for old in (*site.glob("setuptools*"), *site.glob("pkg_resources")):
        shutil.rmtree(old)  # Python 3.11 brings one that is too old to build with
    code = setup_cell.render(repository=host, sha256="")
    code += "\nimport tformer; print(tformer.__version__, tformer.__file__)"
    environment = {
        **os.environ,
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # yes, 0: that is how pip reads it
        "no_proxy": "*",
    }
    options = {"capture_output": True, "text": True, "cwd": tmp_path}
    command = [home / "bin/python", "-c", code]
    done = subprocess.run(command, env=environment, **options)
    assert done.returncode == 0, done.stderr
    version, _, place = done.stdout.splitlines()[-1].partition(" ")
    assert version == project()["version"]
    assert Path(place).is_relative_to(home)
    assert (Path(place).parent / "pretrained/model.safetensors").is_file()
