"""Drive the figures in a real notebook: its front end by hand, its kernel by question.

Usage: ``python tools/drive_jupyterlab.py [--python PATH] [--classic] [--shots FOLDER]``

Opens a notebook with the figures in JupyterLab, uses them as a reader does, and asks
the kernel whether it heard: controls set traits, traits set controls, and a sentence is
translated by the model's files that the kernel hands over. ``--python`` names the
Python whose JupyterLab is driven; CONTRIBUTING.md says how to make one with the
versions of Google Colab, which needs ``--classic``, the notebook before JupyterLab.
Not among the tests: it takes a minute, and a second environment.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client import BlockingKernelClient
from playwright.sync_api import Locator, Page

from tformer_book.press.browser import NoBrowserError, chromium
from tformer_book.press.chapters import ROOT

PATIENCE = 180  # seconds
TYPED = "A young girl is reading a book in the park."
SETUP = """\
import sys; sys.path.insert(0, {root!r})
import ipywidgets, anywidget, tformer
from tformer import load_pretrained
from tformer_book import widgets
translator = load_pretrained()
"""
# What stands in the notebook before the figures that ask the model: variable and class.
FIGURES = {"one": "OneQuery", "mask": "MaskLaboratory"}
FIGURE = ".tfk:not(.tfk .tfk)"  # (the lab has other figures inside)
SETTINGS = {
    # All cells are on the page, also those that are not in view.
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


class Kernel:
    """The notebook's kernel, asked beside its front end."""

    def __init__(self, runtime: Path) -> None:
        deadline = time.monotonic() + PATIENCE
        while not (found := sorted(runtime.glob("kernel-*.json"))):
            if time.monotonic() > deadline:
                raise TimeoutError("no kernel was started")
            time.sleep(0.2)
        self.client = BlockingKernelClient(connection_file=str(found[-1]))
        self.client.load_connection_file()
        self.client.start_channels(hb=False)

    def ask(self, expression: str) -> Any:
        """Return the value of an expression, by way of JSON."""
        reply = self.client.execute(
            "import json as _json",
            silent=True,
            user_expressions={"value": f"_json.dumps({expression})"},
            reply=True,
            timeout=PATIENCE,
        )
        value = reply["content"]["user_expressions"]["value"]
        if value["status"] != "ok":
            raise RuntimeError(f"{expression}: {value['evalue']}")
        text = value["data"]["text/plain"]
        return json.loads(ast.literal_eval(text))  # a string's repr

    def becomes(self, expression: str, wanted: Any) -> None:
        """Wait until an expression has a value."""
        deadline = time.monotonic() + PATIENCE
        while (value := self.ask(expression)) != wanted:
            if time.monotonic() > deadline:
                raise AssertionError(f"{expression} is {value!r}, not {wanted!r}")
            time.sleep(0.1)


Names = dict[str, str]


def figures() -> Names:
    """Return what the notebook shows: variables and the classes of their figures."""
    from tformer_book import widgets
    from tformer_book.widgets._model import ModelFigure

    asking = [
        name
        for name in widgets.__all__
        if issubclass(getattr(widgets, name), ModelFigure)
    ]
    return FIGURES | {name.lower(): name for name in asking}


def notebook(path: Path, names: Names) -> None:
    """Write a notebook that shows the figures, one a cell."""
    cells = [nbformat.v4.new_code_cell(SETUP.format(root=str(ROOT)))]
    cells += [
        nbformat.v4.new_code_cell(f"{name} = widgets.{kind}()\n{name}")
        for name, kind in names.items()
    ]
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": spec})
    nbformat.write(book, path)


@contextlib.contextmanager
def server(python: str, folder: Path, *, classic: bool) -> Iterator[str]:
    """Start Jupyter in `folder`; yields the address of its notebook."""
    for name, values in SETTINGS.items():
        file = folder / "settings/@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(values))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **os.environ,
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "OMP_NUM_THREADS": "1",
    }
    if classic:
        command = [python, "-m", "notebook", "--NotebookApp.token="]
        command += ["--NotebookApp.password=", f"--notebook-dir={folder}"]
    else:
        command = [python, "-m", "jupyterlab", "--IdentityProvider.token="]
        command += [f"--ServerApp.root_dir={folder}", "--LabApp.news_url="]
    command += ["--no-browser", "--ip=127.0.0.1", f"--port={port}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    log = folder / "server.log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            command, env=environment, cwd=folder, stdout=stream, stderr=stream
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while f":{port}/" not in log.read_text():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Jupyter did not start:\n{log.read_text()}")
            time.sleep(0.2)
        place = "notebooks" if classic else "lab/tree"
        yield f"http://127.0.0.1:{port}/{place}/figures.ipynb"
    finally:
        process.terminate()
        process.wait()


def run_all(page: Page, *, classic: bool) -> None:
    """Execute every cell, by the front end's own command."""
    if classic:
        ready = "window.Jupyter?.notebook?.kernel?.is_connected()"
        page.wait_for_function(ready, timeout=1000 * PATIENCE)
        page.wait_for_function(
            "Jupyter.notebook.kernel.widget_manager", timeout=1000 * PATIENCE
        )
        page.evaluate("Jupyter.notebook.execute_all_cells()")
        return
    # (before its kernel is there, running a cell asks which one to take)
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for()
    menu = page.get_by_role("menuitem", name="Run", exact=True)
    menu.click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def drive_one_query(root: Locator, kernel: Kernel) -> None:
    """*Attention*: a slider by keyboard, a box by mouse, and what Python sets."""
    slider = root.locator('[data-control="temperature"]')
    slider.press("ArrowRight")
    assert slider.input_value() == "1.1", "JupyterLab kept the arrow key"
    kernel.becomes("one.temperature", 1.1)
    root.locator('[data-control="scaled"]').click()
    kernel.becomes("one.scaled", False)
    # What Python sets, the page shows.
    kernel.ask("[setattr(one, 'temperature', 2.0), 1][1]")
    wait(lambda: slider.input_value() == "2", "the slider follows Python")
    assert abs(sum(kernel.ask("[float(x) for x in one.weights]")) - 1) < 1e-6


def drive_mask(root: Locator, kernel: Kernel) -> None:
    """*Masks*: switch a mask by mouse, and a cell by keyboard."""
    causal = root.locator('[data-control="causal"]')
    before = kernel.ask("mask.causal")
    causal.set_checked(not before, force=True)
    kernel.becomes("mask.causal", not before)
    cell = root.locator('[data-cell="0-0"]')
    cell.focus()
    cell.press("ArrowRight")
    root.locator('[data-cell="0-1"]').press("Space")
    kernel.becomes("len(mask.flips)", 1)


def drive_model_figure(name: str, root: Locator, kernel: Kernel) -> None:
    """Ask the model about a sentence; its files come from the kernel, in parts."""
    line = root.locator('[data-control="text"]').first
    line.fill(TYPED)
    line.press("Enter")
    said = root.locator("[data-said]").first
    wait(lambda: said.inner_text() == "Computed on your machine.", said.inner_text)
    kernel.becomes(f"{name}.text", TYPED)
    german = kernel.ask(f"translator.attention({TYPED!r}).translation")
    words = " ".join(root.inner_text().split())
    assert german.split()[0] in words, f"{german!r} is not in: {words[:600]}"


def wait(true: Callable[[], bool], what: str | Callable[[], str]) -> None:
    """Wait until something holds; else say what did not."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError(f"not so: {what if isinstance(what, str) else what()}")
        time.sleep(0.1)


def drive(page: Page, folder: Path, names: Names) -> Iterator[str]:
    """Use every figure of the open notebook; yields each name when it is done."""
    kernel = Kernel(folder / "runtime")
    for number, name in enumerate(names):
        kernel.becomes(f"{name!r} in globals()", True)
        page.locator(FIGURE).nth(number).wait_for()
    print("ipywidgets", kernel.ask("ipywidgets.__version__"), flush=True)
    for number, (name, kind) in enumerate(names.items()):
        root = page.locator(FIGURE).nth(number)
        root.scroll_into_view_if_needed()
        started = time.monotonic()
        if name == "one":
            drive_one_query(root, kernel)
        elif name == "mask":
            drive_mask(root, kernel)
        else:
            drive_model_figure(name, root, kernel)
        print(f"{kind}: driven, {time.monotonic() - started:.1f} s", flush=True)
        yield name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="whose Jupyter")
    parser.add_argument("--classic", action="store_true", help="not JupyterLab")
    parser.add_argument("--shots", type=Path, help="folder for screenshots")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    names = figures()
    if options.shots:
        options.shots.mkdir(parents=True, exist_ok=True)
    errors: list[str] = []
    with tempfile.TemporaryDirectory(prefix="tformer-jupyter-") as scratch:
        folder = Path(scratch)
        notebook(folder / "figures.ipynb", names)
        try:
            with (
                server(options.python, folder, classic=options.classic) as address,
                chromium() as browser,
            ):
                page = browser.new_page(viewport={"width": 1400, "height": 1000})
                page.set_default_timeout(1000 * PATIENCE)
                page.on("pageerror", lambda error: errors.append(str(error)))
                page.goto(address)
                try:
                    run_all(page, classic=options.classic)
                    for number, name in enumerate(drive(page, folder, names)):
                        if options.shots:
                            root = page.locator(FIGURE).nth(number)
                            root.screenshot(path=options.shots / f"{name}.png")
                finally:
                    if options.shots:
                        page.screenshot(path=options.shots / "notebook.png")
        except NoBrowserError as problem:
            print(f"drive_jupyterlab: {problem}", file=sys.stderr)
            return 2
    for error in errors:
        print(f"page error: {error}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
