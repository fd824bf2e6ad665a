"""Take a picture of every interactive figure, and measure how high the figure is.

A picture shows a figure as it is printed: at its last step, without its controls.
Pages show the pictures where no scripts run, where a figure that was not drawn is
printed, and on the cards of links to figures. The heights say how much room a page
keeps for a figure that is not drawn yet. A page whose figures have not changed keeps
its pictures (``_build/pictures``).

Usage: ``python -m tformer_book.press.pictures`` after the site has been built;
`build_site` calls it, too.
"""

from __future__ import annotations

import concurrent.futures as futures
import hashlib
import io
import json
import multiprocessing
import re
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser

from tformer_book import widgets
from tformer_book.press.browser import (
    PATIENCE,
    SIZES,
    STILL,
    UNFOLD,
    NoBrowserError,
    chromium,
    served,
    wait_for_type,
)
from tformer_book.press.chapters import BUILD, HTML

KEPT = BUILD / "pictures"
PLACE = HTML / "_static/pictures"  # where `tformer_book.site.figures` looks for them
WIDTH = 700  # CSS pixels, about the width of the text
# Every figure fits: for a taller one the browser would lay out the page at other sizes.
HEIGHT = 2700
# What a page's pictures depend on: the versions of style sheets and of the figures'
# files, and their states.
STATES = re.compile(
    r"_static/tf/[0-9a-f]+/|"
    r"_static/(?:tokens|type|frame|tformer)\.css\?v=\w+|"
    r'<script type="application/vnd\.jupyter\.widget.*?</script>|'
    r'<figure class="tf-figure" id="[^"]*"',
    re.DOTALL,
)
PRINT = re.compile(r"@media print \{((?:[^{}]*\{[^{}]*\})+[^{}]*)\}")
FIGURE = re.compile(r'<figure class="tf-figure" id="([^"]+)"')
BOX = re.compile(rf'({FIGURE.pattern}><div class="tf-widget")(?: style="([^"]*)")?')
# A figure draws itself anew some frames after the window has another width: its height
# counts once none has changed for a while.
HEIGHTS = """async (width) => {
  const later = (ms) => new Promise((done) => setTimeout(done, ms));
  while (innerWidth !== width) await later(20);
  const figures = [...document.querySelectorAll('.tf-figure[id]')];
  for (const figure of figures) {
    figure.scrollIntoView();
    for (let k = 0; k < 2; k++) await new Promise(requestAnimationFrame);
  }
  const now = () => figures.map((figure) =>
    [figure.id, figure.querySelector('.tf-widget').offsetHeight]);
  let last;
  for (let same = 0, found; same < 5; last = found) {
    await later(80); await new Promise(requestAnimationFrame);
    found = now();
    same = String(found) === String(last) ? same + 1 : 0;
  }
  return last;
}"""
LAST_STEP = """async () => {
  dispatchEvent(new Event('beforeprint'));
  for (let k = 0; k < 2; k++) await new Promise(requestAnimationFrame);
}"""
# Plotly's charts are in no picture, and on an unfolded page take minutes to draw.
CHARTS = "**/vendor/plotly/*"
ROOM = {"wide": "--tf-height", "phone": "--tf-height-narrow"}  # of `tformer.css`
WHITE = "html:root { --tf-paper: var(--tf-card); }"


def on_paper() -> str:
    """The figures' style rules for paper, as rules for any medium."""
    sheets = sorted(Path(widgets.__file__).parent.rglob("*.css"))
    return "".join("".join(PRINT.findall(path.read_text("utf-8"))) for path in sheets)


def taken(browser: Browser, site: str, page_name: str, folder: Path) -> None:
    """Write the pictures of a page's figures, and their heights, into a folder."""
    with browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT},
        device_scale_factor=1.5,
        reduced_motion="reduce",
        service_workers="block",
    ) as context:
        page = context.new_page()
        page.add_init_script("localStorage.setItem('mode', 'light')")
        page.route(CHARTS, lambda route: route.abort())
        wait_for_type(page)
        page.goto(f"{site}book/{page_name}.html", timeout=PATIENCE)
        still = page.add_style_tag(content=STILL + on_paper() + WHITE)
        page.evaluate(UNFOLD)
        for figure in page.locator(".tf-figure[id]").all():
            figure.scroll_into_view_if_needed(timeout=PATIENCE)
            box = figure.locator(".tf-widget[data-ready]")
            box.wait_for(timeout=PATIENCE)
            page.wait_for_load_state("networkidle", timeout=PATIENCE)
            page.evaluate(LAST_STEP)
            drawn = box.locator(".tfk").first
            shot = drawn.screenshot(animations="disabled", timeout=PATIENCE)
            name = f"{figure.get_attribute('id')}.webp"
            picture = Image.open(io.BytesIO(shot)).convert("RGB")
            picture.save(folder / name, "WEBP", quality=72, method=6)
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        still.evaluate("style => style.remove()")
        heights: dict[str, dict[str, int]] = {}
        for size, name in ROOM.items():
            width, height = SIZES[size]
            page.set_viewport_size({"width": width, "height": height})
            for figure, pixels in page.evaluate(HEIGHTS, width):
                heights.setdefault(figure, {})[name] = pixels
    (folder / "heights.json").write_text(json.dumps(heights), "utf-8")


def make_room(page: Path, heights: dict[str, dict[str, int]]) -> None:
    """Write the heights of its figures into a page, so that nothing moves later."""

    def with_style(found: re.Match[str]) -> str:
        styles = (f"{name}:{pixels}px" for name, pixels in heights[found[2]].items())
        return f'{found[1]} style="{";".join(styles)}"'

    page.write_text(BOX.sub(with_style, page.read_text("utf-8")), "utf-8")


def take_some(site: str, pages: dict[str, Path]) -> None:
    """Take the pictures of these pages in one browser."""
    with chromium() as browser:
        for page, folder in pages.items():
            half = folder.with_suffix(".half")
            shutil.rmtree(half, ignore_errors=True)
            half.mkdir(parents=True)
            taken(browser, site, page, half)
            half.rename(folder)


def take(site: str, pages: dict[str, Path]) -> None:
    """Take them in two browsers at a time, since each waits for half of the time."""
    names = sorted(pages)
    shares = [{name: pages[name] for name in names[k::2]} for k in range(2)]
    context = multiprocessing.get_context("spawn")
    with futures.ProcessPoolExecutor(2, context) as pool:
        for done in [pool.submit(take_some, site, share) for share in shares if share]:
            done.result()


def main() -> int:
    """Take the missing pictures, and put all of them where pages look for them."""
    pages, look = {}, on_paper() + WHITE
    for path in sorted((HTML / "book").glob("*.html")):
        text = path.read_text("utf-8")
        if FIGURE.search(text):
            state = look + "".join(STATES.findall(text))
            pages[path.stem] = KEPT / hashlib.sha256(state.encode()).hexdigest()[:16]
    missing = {page: folder for page, folder in pages.items() if not folder.exists()}
    if missing:
        try:
            with served(HTML) as site:
                take(site, missing)
        except NoBrowserError as problem:
            print(f"pictures: none, {problem}", file=sys.stderr)
            return 0
    for old in set(KEPT.iterdir()) - set(pages.values()):
        shutil.rmtree(old)
    shutil.rmtree(PLACE, ignore_errors=True)
    for page, folder in pages.items():
        shutil.copytree(folder, PLACE / page, ignore=lambda *_: ["heights.json"])
        heights = json.loads((folder / "heights.json").read_text("utf-8"))
        make_room(HTML / f"book/{page}.html", heights)
    n = sum(1 for _ in PLACE.rglob("*.webp"))
    print(f"pictures: {n} figures, {len(missing)} pages taken anew")
    return 0


if __name__ == "__main__":
    sys.exit(main())
