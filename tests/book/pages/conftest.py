"""Fixtures for driving the built site in headless Chromium."""

from __future__ import annotations

import contextlib
import json
import shutil

import pytest
from ipywidgets import embed

from tformer_book.press import browser as driver
from tformer_book.press.chapters import HTML, ROOT, without_modules
from tformer_book.widgets._model import released_model
from tformer_book.widgets._modules import publish

FIGURE_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Figures</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="_static/tokens.css">
<link rel="stylesheet" href="_static/tformer.css">
<style>:root {{ color-scheme: light dark }}
body {{ font: 16px system-ui, sans-serif; background: Canvas; color: CanvasText }}
@media (max-width: 600px) {{ body {{ margin: 16px }} }}</style>
<script type="application/vnd.jupyter.widget-state+json">{state}</script>
</head><body><main class="bd-article"><h1>Figures</h1>{boxes}</main>
<script type="module" src="{script}"></script></body></html>
"""
FIGURE_BOX = """<div class="tf-widget">
<script type="application/vnd.jupyter.widget-view+json">{view}</script></div>"""


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/book/pages" in item.path.as_posix():
            item.add_marker(pytest.mark.site)


@pytest.fixture(scope="session")
def site():
    """Serve the built site under a base path; its address."""
    if not (HTML / "index.html").exists():
        pytest.fail("the site is not built: run make book first")
    with driver.served() as address:
        yield address


@pytest.fixture
def visit(chromium, site):
    """Open a page: ``with visit("book/intro.html", size="phone") as seen: …``."""

    def open_page(name, **options):
        return driver.visit(chromium, site, name, **options)

    return open_page


@pytest.fixture(scope="session")
def playing():
    """``playing(visit, ".tfq")``: the page with its figure; nothing may go wrong."""

    @contextlib.contextmanager
    def play(visit, *selectors, state="visible"):
        with visit as seen:
            for each in selectors:
                seen.page.wait_for_selector(each, state=state, timeout=driver.PATIENCE)
            yield seen
            assert seen.errors == []
            assert seen.third_party == []

    return play


@pytest.fixture(scope="session")
def figure_page(chromium, tmp_path_factory):
    """Open a page that holds figures and nothing else, without building the site.

    ``with figure_page(Heads(), size="phone") as seen: …`` takes the options of `visit`.
    Its host script, its model files and their addresses are those of the site.
    """
    folder = tmp_path_factory.mktemp("figures")
    model = folder / "_static" / "model"
    model.mkdir(parents=True)
    sheets = ("tformer/figures/tokens.css", "book/_static/tformer.css")
    for sheet in map(ROOT.joinpath, sheets):
        shutil.copy(sheet, folder / "_static")
    for name, content in released_model().files.items():
        (model / name).write_bytes(content)
    host = ROOT / "book/tformer_book/site/widgets.js"
    script = publish(folder / "_static/tf", host) / host.name

    def text(value):
        return json.dumps(value).replace("</", "<\\/")

    with driver.served(folder) as address:

        def open_page(*figures, **options):
            state = embed.dependency_state(figures, drop_defaults=False)
            data = embed.embed_data(views=figures, state=state)
            without_modules(data["manager_state"]["state"])
            boxes = [FIGURE_BOX.format(view=text(v)) for v in data["view_specs"]]
            page = f"{figures[0].model_id}.html"
            (folder / page).write_text(
                FIGURE_PAGE.format(
                    state=text(data["manager_state"]),
                    boxes="".join(boxes),
                    script=script.relative_to(folder).as_posix(),
                ),
                encoding="utf-8",
            )
            return driver.visit(chromium, address, page, **options)

        yield open_page


@pytest.fixture(scope="session")
def finger():
    """Drag by touch: ``finger(page, (x, y), (x, y))``, in pixels of the window."""

    def drag(page, start, end, moves=8):
        session = page.context.new_cdp_session(page)
        session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})

        def touch(kind, *points):
            points = [{"x": x, "y": y} for x, y in points]
            session.send(
                "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}
            )

        touch("touchStart", start)
        for i in range(1, moves + 1):
            share = i / moves
            touch(
                "touchMove",
                tuple(a + (b - a) * share for a, b in zip(start, end, strict=True)),
            )
        touch("touchEnd")
        session.detach()

    return drag
