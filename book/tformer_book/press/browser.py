"""Open pages of the built site in headless Chromium and say what they do.

The site is served compressed, under a base path as on a project page. Every request
that leaves it is recorded and reaches nobody: this Chromium knows this machine alone.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import http.server
import mimetypes
import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from playwright.sync_api import (
    Browser,
    Error,
    Page,
    Route,
    TimeoutError,
    sync_playwright,
)

from tformer_book.press.chapters import HTML, ROOT, pages

BASE = "/some/base/"
SYSTEM_BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
)
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
COMPRESSED = ("text/", "javascript", "json", "svg", "xml")
PATIENCE = 120_000  # milliseconds; a busy machine is slow, not wrong
# "zoomed" is what a window of 1280 pixels leaves at 200 %: each of them is two.
SIZES = {
    "wide": (1280, 900),
    "desk": (1440, 900),
    "phone": (390, 844),
    "narrow": (360, 740),
    "zoomed": (640, 450),
}
# What fades in is too pale half-way; but wait for nothing that never ends.
AT_REST = """() => Promise.race([
  Promise.allSettled(document.getAnimations()
    .filter((each) => each.effect.getComputedTiming().endTime < 5000)
    .map((each) => each.finished)),
  new Promise((resolve) => setTimeout(resolve, 6000))])"""
mimetypes.add_type("text/javascript", ".js")
mimetypes.add_type("font/woff2", ".woff2")

OBSERVE = """
window.__shift = 0; window.__tasks = [];
const unfolds = (s) => s.node?.parentElement?.closest('.bd-sidebar-secondary');
new PerformanceObserver(list => { for (const e of list.getEntries())
  if (!e.hadRecentInput && !e.sources.every(unfolds)) window.__shift += e.value;
}).observe({type: 'layout-shift', buffered: true});
new PerformanceObserver(list => { for (const e of list.getEntries())
  window.__tasks.push([e.startTime, e.duration]);
}).observe({type: 'longtask', buffered: true});
"""

SCROLL = """async () => {
  const frame = () => new Promise(done => {  // (a busy machine may draw none)
    requestAnimationFrame(done); setTimeout(done, 2000);
  });
  const seen = async () => { await frame(); await frame(); };  // by observers, too
  for (let y = 0; y < document.body.scrollHeight; y += innerHeight) {
    scrollTo({top: y, behavior: 'instant'}); await seen();
  }
  // What has moved past the window meanwhile, when figures above took their height.
  for (const box of document.querySelectorAll(
    ':is(.tf-plotly-box, .tf-widget):not([data-ready])')) {
    box.scrollIntoView({behavior: 'instant'}); await seen();
  }
  scrollTo({top: 0, behavior: 'instant'}); await seen();
}"""

STILL = """
.bd-article .highlight { content-visibility: visible !important; }
#pst-skip-link, #pst-back-to-top, .bd-header-article, .bd-header {
  display: none !important;
}
.tf-widget { min-height: 0 !important; overflow: visible !important; display: flow-root;
  padding: 4px; }
.tf-widget :is(details, button:is([data-control="play"], [data-control="start"],
  [data-control="back"], [data-control="forward"], [data-control="end"])) {
  display: none !important;
}
"""  # figures stand as they are, and where they are
UNFOLD = """() => {  // so that figures are drawn; their own folds stay as they are
  for (const fold of document.querySelectorAll('.bd-article details'))
    fold.open ||= !fold.closest('.tf-widget');
}"""
READY = """() => !document.querySelector(
  '.tf-plotly-box:not([data-ready]), .tf-widget:not([data-ready]), '
  + '[data-tf-measuring]')"""
UNCOVER = """for (const cover of document.querySelectorAll('details.tf-cover'))
  cover.open = true;"""
# Have every figure drawn, wherever the window is, as printing does; a printing that is
# over at once, since figures that come while it lasts go to their last step.
DRAW = f"""for (const each of ['beforeprint', 'afterprint'])
  dispatchEvent(new Event(each));
{UNCOVER}"""

OVERFLOW = """() => {
  const width = document.documentElement.clientWidth, found = [];
  for (const e of document.querySelectorAll('.bd-article *')) {
    const box = e.getBoundingClientRect();
    if (!box.width || box.right <= width + 1) continue;
    let parent = e.parentElement, scrolls = false;
    while (parent && parent !== document.body) {
      if (/auto|scroll|hidden|clip/.test(getComputedStyle(parent).overflowX)) {
        scrolls = true; break;
      }
      parent = parent.parentElement;
    }
    if (!scrolls) found.push(e.tagName + '.' + (e.getAttribute('class') || '')
      + ' to ' + Math.round(box.right));
  }
  if (document.documentElement.scrollWidth > width)
    found.push('the page itself: ' + document.documentElement.scrollWidth);
  return found;
}"""


def wait_for_type(page: Page) -> None:
    """Have a page wait for the book's letters, which it does not on slow lines."""

    def waiting(route: Route) -> None:
        sheet = route.fetch()
        text = sheet.text().replace("font-display: optional", "font-display: block")
        route.fulfill(response=sheet, body=text)

    page.route("**/_static/type.css*", waiting)


class NoBrowserError(RuntimeError):
    """No Chromium was found."""


class NoFramesError(Error):
    """A window of Chromium draws nothing any more; its page cannot help that."""


def find_chromium() -> str | None:
    """Return a browser's path: $CHROMIUM, else the system's; None: Playwright's own."""
    if os.environ.get("CHROMIUM"):
        return os.environ["CHROMIUM"]
    return next((p for name in SYSTEM_BROWSERS if (p := shutil.which(name))), None)


@contextlib.contextmanager
def chromium(*flags: str) -> Iterator[Browser]:
    """Start headless Chromium, with further flags of its command line."""
    with sync_playwright() as playwright:
        path = find_chromium()
        if path is None and not Path(playwright.chromium.executable_path).exists():
            raise NoBrowserError(
                "no Chromium found: install it (apt-get install chromium), name one "
                "in $CHROMIUM, or run: .venv/bin/playwright install chromium"
            )
        browser = playwright.chromium.launch(
            executable_path=path, args=[*QUIET, *flags]
        )
        try:
            yield browser
        finally:
            browser.close()


@functools.cache
def compressed(file: Path, version: int) -> bytes:
    """Return a file as a host sends it; `version` tells changed ones apart."""
    return gzip.compress(file.read_bytes(), 6)


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves a folder below BASE, compressed as a static host does."""

    protocol_version = "HTTP/1.1"
    folder = HTML

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        file = self.folder / path.removeprefix(BASE) if path.startswith(BASE) else None
        if file and file.is_dir():
            file = file / "index.html"
        if file is None or not file.is_file():
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        if any(part in kind for part in COMPRESSED):
            body = compressed(file, file.stat().st_mtime_ns)
            self.send_header("Content-Encoding", "gzip")
        else:
            body = file.read_bytes()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle(self) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # a closed tab
            super().handle()

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def served(folder: Path = HTML) -> Iterator[str]:
    """Serve the built site, or another folder; yields its address."""
    handler = type("FolderHandler", (Handler,), {"folder": folder})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{BASE}"
    finally:
        server.shutdown()
        server.server_close()


def site_pages() -> list[str]:
    """Return the addresses, below the site's own, of every page a reader can reach."""
    names = [
        p.relative_to(ROOT).with_suffix(".html").as_posix()
        for p in pages()
        if p.is_file()
    ]
    return [*names, "search.html", "genindex.html"]


@dataclass
class Visit:
    """One page in one browser window, and what it did so far."""

    page: Page
    name: str
    third_party: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # of its own host, workers included
    errors: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def kilobytes(self) -> float:
        """What travelled, compressed, in units of 1000 bytes."""
        return sum(self.sizes.values()) / 1000

    def settle(self) -> None:
        """Uncover what is to be predicted, scroll through, wait for every figure."""
        self.page.evaluate(UNCOVER)
        self.page.evaluate(SCROLL)
        # Asked by the clock: a page that isn't drawn has no frames to ask in. On a busy
        # machine no frame may have been drawn where a figure was: it is scrolled again.
        try:
            self.page.wait_for_function(READY, timeout=PATIENCE / 2, polling=100)
        except TimeoutError:
            self.draw_a_frame()
            self.page.evaluate(SCROLL)
            self.page.wait_for_function(READY, timeout=PATIENCE / 2, polling=100)
        self.page.wait_for_load_state("networkidle", timeout=PATIENCE)

    def draw_a_frame(self) -> None:
        """Have the window drawn once, whether anything in it changes or not."""
        try:
            self.page.screenshot()
        except TimeoutError as problem:
            raise NoFramesError(
                f"the window of {self.name} draws nothing: {problem}"
            ) from problem

    def axe(self, within: str = "html", **options: Any) -> list[str]:
        """Return the serious and critical accessibility findings in a part of the page.

        Options are those of ``axe.run``, such as ``runOnly=["color-contrast"]``.
        """
        script = resources.files("axe_playwright_python") / "axe.min.js"
        self.page.evaluate(script.read_text(encoding="utf-8"))
        self.page.evaluate(AT_REST)
        result: list[dict[str, Any]] = self.page.evaluate(
            # preload: it would ask for style sheets once more, some at wrong addresses
            "async ([within, how]) => (await axe.run(within, how)).violations",
            [within, {"resultTypes": ["violations"], "preload": False, **options}],
        )
        return [
            f"{v['impact']}: {v['id']}: {node['target']} {node['html'][:160]}"
            for v in result
            if v["impact"] in ("serious", "critical")
            for node in v["nodes"][:4]
        ]

    def overflow(self) -> list[str]:
        """Return the elements that stick out of the window to the right."""
        found: list[str] = self.page.evaluate(OVERFLOW)
        return found

    def layout_shift(self) -> float:
        """Return the sum of layout shifts that no input caused.

        The contents at the right unfold where the reader is: that is no jump.
        """
        return float(self.page.evaluate("window.__shift"))


@contextlib.contextmanager
def visit(
    browser: Browser,
    address: str,
    name: str,
    *,
    size: str = "wide",
    dark: bool = False,
    slowdown: float = 1,
    settle: bool = True,
    draw: bool = True,
    touch: bool = False,
) -> Iterator[Visit]:
    """Open one page of the site in a fresh browser context.

    It is waited for until every figure stands (``settle``); or all are told to come,
    and are not waited for; or (without ``draw``) they come when the window is near.
    A window that stops drawing is replaced by another, once.
    """
    with contextlib.ExitStack() as windows:
        window = functools.partial(
            _window, browser, address, name, size, dark, slowdown, touch
        )
        seen = windows.enter_context(window())
        if settle:
            try:
                seen.settle()
            except NoFramesError:
                seen = windows.enter_context(window())
                seen.settle()
        elif draw:
            seen.page.evaluate(DRAW)
        yield seen


@contextlib.contextmanager
def _window(
    browser: Browser,
    address: str,
    name: str,
    size: str,
    dark: bool,
    slowdown: float,
    touch: bool,
) -> Iterator[Visit]:
    """Load one page, and note all that it asks for and complains of."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        device_scale_factor=2 if size == "zoomed" else 1,
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce" if dark else "no-preference",
        service_workers="block",
        has_touch=touch,
    )
    page = context.new_page()
    seen = Visit(page, name)
    page.add_init_script(OBSERVE)
    if dark:
        page.add_init_script("localStorage.setItem('mode', 'dark')")

    def note(request: Any) -> None:
        own = request.url.startswith((address, "data:", "blob:"))
        (seen.asked if own else seen.third_party).append(request.url)

    page.on("request", note)
    page.on(
        "console",
        lambda m: (
            seen.errors.append(f"{m.type}: {m.text[:300]}")
            if m.type in ("error", "warning")
            else None
        ),
    )
    page.on("pageerror", lambda e: seen.errors.append(f"page error: {e}"[:300]))
    page.on(
        "response",
        lambda r: (
            seen.errors.append(f"{r.status}: {r.url}") if r.status >= 400 else None
        ),
    )
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    names: dict[str, str] = {}
    session.on(
        "Network.responseReceived",
        lambda e: names.__setitem__(e["requestId"], e["response"]["url"]),
    )

    def finished(event: dict[str, Any]) -> None:
        url = names.get(event["requestId"], "")
        if url.startswith(address):
            seen.sizes[url] = int(event["encodedDataLength"])

    session.on("Network.loadingFinished", finished)
    if slowdown > 1:
        session.send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
    try:
        page.goto(address + name, wait_until="load", timeout=PATIENCE)
        yield seen
    finally:
        context.close()
