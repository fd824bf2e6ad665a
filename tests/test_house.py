"""Facts about the repository that must stand in one place, or agree."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tformer_book.press import setup_cell
from tformer_book.press.chapters import ROOT, chapters, key, project

VENDOR = ROOT / "book/_static/vendor"
LOCK, TORCH = ROOT / "requirements.txt", ROOT / "requirements-torch.txt"


def tracked():
    """Return the files that git knows; without git, nothing can be said."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.decode().split("\0") if name]


def test_the_version_is_the_same_everywhere():
    import tformer

    version = project()["version"]
    assert tformer.__version__ == version
    assert importlib.metadata.version("tformer") == version
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == version


def test_the_repository_is_the_same_everywhere():
    url = project()["urls"]["Repository"]
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    assert config["repository"]["url"] == url
    assert "path_to_book" not in config["repository"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["repository-code"] == url
    owner = url.removeprefix("https://github.com/")
    readme = (ROOT / "README.md").read_text()
    assert f"colab.research.google.com/github/{owner}/blob/main/book/" in readme
    assert url in setup_cell.render()


def pins() -> dict[str, str]:
    """Package → version of the whole lock."""
    text = LOCK.read_text() + TORCH.read_text()
    found = re.findall(r"^([\w.-]+)==([^\s;]+)", text, flags=re.M)
    assert len(found) == len(re.findall(r"^\w", text, flags=re.M))
    return dict(found)


def test_pins_stand_in_the_lock_only():
    text = LOCK.read_text() + TORCH.read_text()
    assert not re.search(r"nvidia|cuda|://|--index", text)
    assert re.findall(r"^\w+==[\d.]+$", TORCH.read_text(), flags=re.M) == [
        f"torch=={pins()['torch']}"
    ]
    assert "==" not in " ".join(project()["dependencies"])


def test_every_package_of_the_lock_but_torch_has_checksums():
    packages = re.split(r"^(?=\w)", LOCK.read_text(), flags=re.M)[1:]
    assert len(packages) > 100
    for package in packages:
        name, *hashes = package.split(" \\\n")
        assert hashes, name
        for each in hashes:
            assert re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}\n?", each), name
    # Wheels for every system are among them, not only this one's.
    counts = {each.split("==")[0]: each.count("--hash") for each in packages}
    assert counts["numpy"] > 30


def test_the_lock_fits_the_ranges():
    """Every dependency of every extra is in the lock, in a version that fits."""
    from packaging.requirements import Requirement

    about = project()
    wanted = list(about["dependencies"])
    for extra in about["optional-dependencies"].values():
        wanted += extra
    locked = {name.lower(): version for name, version in pins().items()}
    for text in wanted:
        need = Requirement(text)
        if need.name != "tformer":
            assert need.name.lower() in locked, f"{need.name}: run make lock"
            assert need.specifier.contains(locked[need.name.lower()]), text


def test_vendored_files_are_what_VENDOR_md_says():
    listed = {}
    for line in (VENDOR / "VENDOR.md").read_text().splitlines():
        if match := re.match(r"\| `(.+?)` \| .* \| `([0-9a-f]{64})` \|", line):
            listed[match[1]] = match[2]
    files = {
        p.relative_to(VENDOR).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in VENDOR.rglob("*")
        if p.is_file() and p.name != "VENDOR.md"
    }
    assert listed == files


def test_no_file_is_huge_and_no_data_set_is_kept():
    for path in tracked():
        if path.is_file():
            assert path.stat().st_size < 13_000_000, path
            assert not path.name.endswith((".gz", ".zip", ".ckpt", ".pt")), path


def test_python_files_name_no_machine():
    for path in tracked():
        if path.suffix in (".py", ".js", ".md", ".yml", ".toml") and path.is_file():
            text = path.read_text(encoding="utf-8", errors="ignore")
            assert not re.search(r"/(root|home/\w+|Users/\w+)/", text), path


def test_the_package_names_chapters_by_their_titles_so_that_numbers_can_move():
    titles = set()
    for chapter in (ROOT / "book").glob("*.ipynb"):
        first = json.loads(chapter.read_text("utf-8"))["cells"][0]["source"]
        heading = next(line for line in first if line.startswith("# "))
        titles.add(heading.removeprefix("# ").partition(":")[0].strip())
    named = set()
    for path in tracked():
        homes = [ROOT / "tformer"]
        homes += [ROOT / "book/tformer_book" / each for each in ("widgets", "check")]
        if path.suffix in (".py", ".js") and any(map(path.is_relative_to, homes)):
            text = " ".join(path.read_text("utf-8").replace("//", " ").split())
            assert not re.search(r"\bchapters?:? \d", text, re.I), path
            named |= set(re.findall(r"\bchapters? \*(.+?)\*", text, re.I))
    assert len(named) > 10
    assert named <= titles


TEXTS = {".py", ".js", ".md", ".yml", ".toml", ".ipynb", ".html", ".svg"}
# A link in Markdown (in a notebook, too), in HTML or a drawing.
LINK = re.compile(r"\]\([^)\s]*\)|<[^>]*\shref=[^>]*>")


def named_beside_links(path: Path, names: str) -> list[str]:
    """Return which of these files a text names, its links apart.

    In a script, a whole string is a link, or what becomes one.
    """
    text = LINK.sub("", path.read_text("utf-8", errors="ignore"))
    if path.suffix == ".js":
        text = re.sub(rf'"(?:{names})(?:\.html)?"', "", text)
    return re.findall(rf"(?<![\w-])(?:{names})(?![\w-])", text)


def test_a_chapters_file_is_named_by_links_only_so_that_it_can_be_renamed():
    """All else, tables and tests among it, calls a chapter by its key."""
    names = [path.stem for path in chapters() if key(path) != path.stem]
    assert len(names) > 15
    found = {
        path.relative_to(ROOT): named
        for path in tracked()
        if path.suffix in TEXTS and path.is_file() and path != ROOT / "_toc.yml"
        if (named := named_beside_links(path, "|".join(names)))
    }
    assert found == {}


def modules_after(code: str) -> set[str]:
    """Return the top-level modules that are loaded once some code has run."""
    code += "; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_the_package_loads_no_plotting_or_notebook_library():
    """Neither the package alone nor all that it offers; torch itself may load some."""
    everything = "import tformer; [getattr(tformer, name) for name in tformer.__all__]"
    loaded = modules_after(f"import torch; {everything}") - modules_after(
        "import torch"
    )
    assert "tformer" in loaded
    assert not loaded & {
        "matplotlib", "plotly", "ipywidgets", "anywidget", "IPython", "sacrebleu",
        "sacremoses", "platformdirs", "tqdm",
    }  # fmt: skip


def test_help_does_not_wait_for_torch():
    helped = "from tformer import cli; assert cli.main(['--help']) == 0"
    for code in ("import tformer", "import tformer.common.search", helped):
        assert not modules_after(code) & {"torch", "numpy", "sentencepiece"}


def test_the_package_offers_its_names_though_it_imports_them_late():
    import importlib

    import tformer

    assert set(tformer.__all__) <= set(dir(tformer))
    for name in tformer.__all__:
        assert getattr(tformer, name) is not None
    assert (
        tformer.load_pretrained
        is importlib.import_module("tformer.pretrained").load_pretrained
    )
    assert tformer.masks is importlib.import_module("tformer.masks")
    for name in ("nothing", "_nothing", "__path_to_nothing__"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(tformer, name)
