"""The site as one file: it can be read from the disk, and works behind its server."""

from __future__ import annotations

import contextlib
import functools
import http.server
import shlex
import threading
import zipfile

import pytest

from tformer_book.press import browser as driver
from tformer_book.press import offline
from tformer_book.press.chapters import HTML


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The folder that a reader gets."""
    assert (HTML / "index.html").exists(), "the site is not built: run make book first"
    place = tmp_path_factory.mktemp("offline")
    offline.pack(HTML, place / "site.zip")
    with zipfile.ZipFile(place / "site.zip") as packed:
        packed.extractall(place)
    return place / offline.FOLDER


@contextlib.contextmanager
def plain_server(folder):
    """What the README's command starts: Python's server, as it comes."""
    plain = http.server.SimpleHTTPRequestHandler
    handler = type("Quiet", (plain,), {"log_message": lambda *_: None})
    handler = functools.partial(handler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def test_the_readme_has_the_line_that_starts_a_server(unpacked):
    text = (unpacked / "README.txt").read_text()
    assert f"    {offline.COMMAND}\n" in text
    assert shlex.split(offline.COMMAND)[:3] == ["python", "-m", "http.server"]


def test_behind_that_server_figures_are_drawn_without_an_error(chromium, unpacked):
    with (
        plain_server(unpacked) as address,
        driver.visit(chromium, address, "book/intro.html", settle=False) as seen,
    ):
        seen.page.wait_for_selector(".tf-widget[data-ready]", timeout=driver.PATIENCE)
        assert seen.page.locator(".tf-widget-view svg").count()
        assert seen.errors == []
        assert seen.third_party == []


def test_opened_from_the_disk_a_page_has_its_text_and_its_styles(chromium, unpacked):
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.goto((unpacked / "index.html").as_uri())
        page.wait_for_selector("article.bd-article h1", timeout=driver.PATIENCE)
        assert page.url.endswith("book/intro.html")
        styled = "getComputedStyle(document.querySelector('.tf-doors a')).borderRadius"
        assert page.evaluate(styled) != "0px"
    finally:
        context.close()


def test_the_same_site_makes_the_same_file_without_notes_of_the_build(tmp_path):
    site = tmp_path / "site"
    (site / "book").mkdir(parents=True)
    for name in ("index.html", "book/a.html", ".buildinfo", "book/theme.css.map"):
        (site / name).write_text(name)
    assert offline.pack(site, tmp_path / "one.zip") == 3
    offline.pack(site, tmp_path / "two.zip")
    one, two = (tmp_path / f"{name}.zip" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    with zipfile.ZipFile(one) as packed:
        assert sorted(packed.namelist()) == [
            f"{offline.FOLDER}/{name}"
            for name in ("README.txt", "book/a.html", "index.html")
        ]


def test_without_a_site_it_says_what_to_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(offline, "HTML", tmp_path)
    assert offline.main(["--out", str(tmp_path / "site.zip")]) == 2
    assert "make book" in capsys.readouterr().err
    assert not (tmp_path / "site.zip").exists()
