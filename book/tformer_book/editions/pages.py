"""Open the pages of the built site, drawn and prepared."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page

from tformer_book.editions.contents import Chapter
from tformer_book.press.browser import (
    DRAW,
    PATIENCE,
    READY,
    STILL,
    UNFOLD,
    wait_for_type,
)
from tformer_book.press.pictures import HEIGHT


def script(name: str) -> str:
    """A function for a page: what the last expression of a file is."""
    text = (Path(__file__).parent / name).read_text("utf-8")
    return text.rstrip().removesuffix(";")


PREPARE = script("prepare.js")


@dataclass(frozen=True)
class Heading:
    id: str
    level: int
    title: str


@dataclass(frozen=True)
class Opened:
    """A page, ready to be printed or taken down.

    Attributes:
        page: in Chromium.
        headings: of its sections and their sections, in order.
        links: where it leads, as whole addresses.
    """

    page: Page
    headings: tuple[Heading, ...]
    links: tuple[str, ...]


@contextlib.contextmanager
def opened(
    browser: Browser,
    site: str,
    chapter: Chapter,
    *,
    width: int,
    media: Literal["screen", "print"] = "screen",
    scale: float = 1,
) -> Iterator[Opened]:
    """Open a page as wide as it will be read, draw its figures, and prepare it."""
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT},
        device_scale_factor=scale,
        reduced_motion="reduce",
        service_workers="block",
    )
    try:
        page = context.new_page()
        page.add_init_script("localStorage.setItem('mode', 'light')")
        wait_for_type(page)
        page.goto(site + chapter.address, wait_until="load", timeout=PATIENCE)
        page.emulate_media(media=media, reduced_motion="reduce")
        page.evaluate(UNFOLD)
        page.add_style_tag(content=STILL)
        page.evaluate(DRAW)
        page.wait_for_function(READY, timeout=PATIENCE)
        page.wait_for_load_state("networkidle", timeout=PATIENCE)
        page.evaluate("document.fonts.ready.then(() => true)")
        found = page.evaluate(PREPARE)
        yield Opened(
            page,
            tuple(Heading(**each) for each in found["headings"]),
            tuple(found["links"]),
        )
    finally:
        context.close()
