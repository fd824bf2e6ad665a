"""Execute every chapter once, two at a time, for the site and for the tests.

Usage: ``python -m tformer_book.press.execute [--jobs N] [--force] [--draft]
[CHAPTER.ipynb ...]``

Each chapter runs in a fresh kernel in an empty temporary folder, which proves that it
stands alone. Results go where Jupyter Book looks for them (``_build/.jupyter_cache``)
and, to be read, to ``_build/executed``. A chapter is executed again when its code, the
lock, or a file that its kernel used has changed: a module that it imported, what lies
beside that module, a record that it opened. So an edit of prose, of a tag or label, of
another chapter, of a figure's modules and styles or of a test re-executes nothing;
neither does one of a grader, whose verdicts the tests try. A failing cell ends the run
with the chapter, the cell and the traceback.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures as futures
import hashlib
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat

from tformer_book.press.chapters import (
    BUILD,
    EXECUTED,
    ROOT,
    chapters,
    pages,
    tags,
    without_modules,
)

CACHE = BUILD / ".jupyter_cache"
KEY = BUILD / "executed-with.txt"
SECONDS_PER_CELL = 1800  # a hang ends; a busy machine may take its time
# What decides how a chapter comes out, beside its own code.
ENVIRONMENT = ("TFORMER_DATA", "TFORMER_REQUIRE_DATA")
SKIP_TAG = "run-it"
WIDGETS = "application/vnd.jupyter.widget-state+json"
# What the site takes from the package as it is: no output depends on it.
PUBLISHED = (".js", ".css", ".pyc")
COLOURS = "tformer/figures/tokens.css"  # but for this one, which Python reads, too
GRADERS = "book/tformer_book/check"
# Runs before a chapter's first cell, and after its last: which files did it use?
LISTEN = """
import sys
_opened = set()
sys.addaudithook(lambda event, about: event == "open" and _opened.add(str(about[0])))
"""
TELL = """
import json, pathlib, sys
_modules = [getattr(each, "__file__", None) for each in [*sys.modules.values()]]
_used = sorted({{*_opened, *filter(None, _modules)}})
pathlib.Path({file!r}).write_text(json.dumps(_used))
"""


def fingerprint() -> str:
    """Return a checksum of what all chapters' outputs depend on, but their code."""
    digest = hashlib.sha256(sys.version.encode())
    for path in (*sorted(ROOT.glob("requirements*.txt")), Path(__file__)):
        digest.update(path.read_bytes())
    for name in ENVIRONMENT:
        digest.update(f"{name}={os.environ.get(name, '')};".encode())
    return digest.hexdigest()


def ours(used: Iterable[str]) -> list[str]:
    """Of the files that a kernel used, those that decide what it shows; with the data
    that lies beside a module, which libraries open by themselves."""
    found = set()
    for path in map(Path, used):
        if not path.is_relative_to(ROOT) or ROOT / ".venv" in path.parents:
            continue
        beside = path.parent.iterdir() if path.name == "__init__.py" else ()
        data = (each for each in beside if each.is_file() and each.suffix != ".py")
        found |= {each.relative_to(ROOT).as_posix() for each in (path, *data)}
    return sorted(
        name
        for name in found
        if (name == COLOURS or not name.endswith(PUBLISHED))
        and not name.startswith((f"{GRADERS}/", "_build/", "runs/"))
    )


def state_of(names: Iterable[str]) -> str:
    """Return a checksum of files as they are now."""
    digest = hashlib.sha256()
    for name in names:
        path = ROOT / name
        digest.update(f"{name} {content(path) if path.is_file() else 'gone'};".encode())
    return digest.hexdigest()


def content(path: Path) -> str:
    """A checksum of a file; of the book's own modules, without comments and docstrings,
    which no chapter shows (pages take them from the source)."""
    if path.suffix == ".py" and path.is_relative_to(ROOT / "book"):
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and is_text(body[0]):
                del body[0]
        return hashlib.sha256(ast.dump(tree).encode()).hexdigest()
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_text(node: ast.AST) -> bool:
    """Whether a statement is nothing but a string."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def kernel_environment() -> dict[str, str]:
    """Return the environment that chapters run in."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment.update(
        PLOTLY_RENDERER="plotly_mimetype",  # figures as JSON; the site draws them
        MPLBACKEND="module://matplotlib_inline.backend_inline",
        PYDEVD_DISABLE_FILE_VALIDATION="1",
        PYTHONHASHSEED="0",
        OMP_WAIT_POLICY="PASSIVE",  # two kernels share the cores
    )
    return environment


def run(path: str) -> tuple[dict[str, Any] | None, float, str, list[str]]:
    """Execute one chapter; return it, its seconds, what went wrong, the files used."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    os.environ.update(kernel_environment())
    os.environ.pop("PYTHONPATH", None)
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.setdefault("kernelspec", {"name": "python3"})
    started = time.perf_counter()
    used: list[str] = []
    with (
        tempfile.TemporaryDirectory(prefix="tformer-chapter-") as folder,
        tempfile.NamedTemporaryFile("r", suffix=".json") as told,
    ):
        cell = nbformat.v4.new_code_cell
        notebook.cells.insert(0, cell(LISTEN))
        notebook.cells.append(cell(TELL.format(file=told.name)))
        client = NotebookClient(
            notebook,
            timeout=SECONDS_PER_CELL,
            startup_timeout=SECONDS_PER_CELL,  # a loaded machine imports slowly
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            skip_cells_with_tag=SKIP_TAG,
            record_timing=False,  # would hide the result from Jupyter Book's cache
            extra_arguments=["--log-level=40"],  # kernels' errors only
        )
        message = ""
        try:
            client.execute()
            used = ours(json.load(told))
        except CellExecutionError as error:
            message = str(error)
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
    forget_listening(notebook)
    problem = describe_failure(notebook, message) if message else ""
    without_modules(
        notebook.metadata.get("widgets", {}).get(WIDGETS, {}).get("state", {})
    )
    seconds = time.perf_counter() - started
    return (None if problem else notebook), seconds, problem, used


def forget_listening(notebook: Any) -> None:
    """Take our own two cells out, and count as if they had not been there."""
    del notebook.cells[0], notebook.cells[-1]
    for cell in notebook.cells:
        for counted in (cell, *cell.get("outputs", [])):
            if counted.get("execution_count"):
                counted["execution_count"] -= 1


def describe_failure(notebook: Any, message: str) -> str:
    """Say which cell failed, with its number and id."""
    last = None
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type != "code" or SKIP_TAG in tags(cell):
            continue
        if any(x.output_type == "error" for x in cell.get("outputs", [])):
            last = (number, cell)
            break
        if cell.get("execution_count"):
            last = (number, cell)
    where = f"cell {last[0]} (id {last[1].get('id')})" if last else "before any cell"
    return f"{where}\n{message}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--force", action="store_true", help="forget earlier results")
    parser.add_argument("--draft", action="store_true", help="skip missing chapters")
    options = parser.parse_args()

    missing = [p for p in pages() if not p.is_file()]
    if missing and not options.draft:
        names = ", ".join(str(p.relative_to(ROOT)) for p in missing)
        print(f"execute: _toc.yml names pages that do not exist: {names}")
        return 2

    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn

    key = fingerprint()
    known = KEY.read_text() if KEY.exists() else ""
    if known != key or options.force:
        if known and known != key:
            print("execute: the lock or the data changed: all over again")
        # Jupyter Book, too, would show what it read before.
        for folder in (CACHE, EXECUTED, BUILD / ".doctrees", BUILD / "jupyter_execute"):
            shutil.rmtree(folder, ignore_errors=True)
    BUILD.mkdir(exist_ok=True)
    EXECUTED.mkdir(exist_ok=True)
    KEY.write_text(key)

    cache = get_cache(CACHE)
    report_file = EXECUTED / "report.json"
    report = json.loads(report_file.read_text()) if report_file.exists() else {}
    todo = []
    files = [f.resolve() for f in options.files] or chapters()
    for path in files:
        before = report.get(path.name, {"uses": [], "state": ""})
        as_before = before["state"] == state_of(before["uses"])
        merged = with_outputs(path) if as_before else None
        if merged is None:
            todo.append(path)
            continue
        nbformat.write(merged, EXECUTED / path.name)
        if not is_cached(cache, merged):  # tags and labels are part of its key
            told = {"execution_seconds": before["seconds"]}
            bundle = CacheBundleIn(merged, str(path), data=told)
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
            forget_page(path)
    kept = len(files) - len(todo)
    print(f"execute: {len(todo)} chapters to run, {kept} unchanged", flush=True)
    # The longest first, so that none is left alone at the end.
    todo.sort(key=lambda p: -seconds_hint(p))

    failed = []
    started = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with futures.ProcessPoolExecutor(max(1, options.jobs), context) as pool:
        running = {pool.submit(run, str(path)): path for path in todo}
        for job in futures.as_completed(running):
            path = running[job]
            notebook, seconds, problem, used = job.result()
            if notebook is None:
                failed.append(path)
                print(f"\nexecute: {path.name} FAILED in {problem}\n", flush=True)
                continue
            # The run leaves no trace in the chapter itself: outputs live in _build.
            bundle = CacheBundleIn(
                notebook, str(path), data={"execution_seconds": seconds}
            )
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
            nbformat.write(notebook, EXECUTED / path.name)
            report[path.name] = {
                "seconds": round(seconds, 1),
                "uses": used,
                "state": state_of(used),
            }
            report_file.write_text(json.dumps(report, indent=1, sort_keys=True))
            forget_page(path)
            print(f"execute: {path.name} {seconds:.0f} s", flush=True)
    if todo:
        total = time.perf_counter() - started
        print(f"execute: {len(todo) - len(failed)} of {len(todo)} in {total:.0f} s")
    return 1 if failed else 0


def with_outputs(path: Path) -> Any:
    """Return a chapter with what it showed when it ran; None if its code differs."""
    executed = EXECUTED / path.name
    if not executed.is_file():
        return None
    notebook, ran = (nbformat.read(each, as_version=4) for each in (path, executed))
    if runs(notebook) != runs(ran):
        return None
    for kept in ("language_info", "widgets"):
        if kept in ran.metadata:
            notebook.metadata[kept] = ran.metadata[kept]
    for cell, before in zip(code_cells(notebook), code_cells(ran), strict=True):
        cell.outputs = before.outputs
        cell.execution_count = before.execution_count
    return notebook


def code_cells(notebook: Any) -> list[Any]:
    """Return the cells of code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def runs(notebook: Any) -> list[tuple[str, bool]]:
    """Return what decides how a notebook comes out: code, and which cells run."""
    return [(cell.source, SKIP_TAG in tags(cell)) for cell in code_cells(notebook)]


def is_cached(cache: Any, notebook: Any) -> bool:
    """Whether Jupyter Book would find it in its cache."""
    try:
        cache.match_cache_notebook(notebook)
    except KeyError:
        return False
    return True


def seconds_hint(path: Path) -> float:
    """Guess how long a chapter runs: what its metadata says, else its code."""
    metadata = nbformat.read(path, as_version=4).metadata
    return metadata.get("tformer", {}).get("seconds", path.stat().st_size / 1e5)


def forget_page(path: Path) -> None:
    """Make Sphinx read the chapter again, though its file may not have changed."""
    folder = BUILD / ".doctrees" / path.parent.relative_to(ROOT)
    (folder / f"{path.stem}.doctree").unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
