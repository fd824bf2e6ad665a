"""Print a table of every page: weight, speed on a slow machine, accessibility.

Usage: ``python -m tformer_book.press.site_report`` (make site-report), after make book.
Weight and layout shift are those of a visit that scrolls through the whole page; shift
is given for a wide window and a phone, findings of axe (serious and critical) for light
and dark. Time to interactive: when the page has loaded and its last long task has
ended, with the CPU slowed down four times, without scrolling; the median of three
visits. It means little on a machine that is busy with other things, so the load is
printed too.
"""

from __future__ import annotations

import os
import statistics
import sys

from playwright.sync_api import Browser

from tformer_book.press.browser import (
    NoBrowserError,
    Visit,
    chromium,
    served,
    site_pages,
    visit,
)
from tformer_book.press.chapters import HTML

SLOWDOWN = 4
VISITS = 3
SETTLED = 4000  # milliseconds without anything new to do
HEAD = (
    "page",
    "KB gz",
    "interactive at 4×",
    "axe light",
    "axe dark",
    "third party",
    "errors",
    "shift wide",
    "shift phone",
)
INTERACTIVE = """() => {
  const navigation = performance.getEntriesByType('navigation')[0];
  const last = window.__tasks.at(-1) ?? [0, 0];
  return Math.max(navigation.domContentLoadedEventEnd, last[0] + last[1]) / 1000;
}"""


def seconds_to_interactive(browser: Browser, address: str, name: str) -> float:
    """Return the median over visits with a slow CPU."""
    times = []
    for _ in range(VISITS):
        with visit(
            browser, address, name, slowdown=SLOWDOWN, settle=False, draw=False
        ) as seen:
            seen.page.wait_for_timeout(SETTLED)
            times.append(seen.page.evaluate(INTERACTIVE))
    return statistics.median(times)


def row(browser: Browser, address: str, name: str) -> tuple[str, ...]:
    """Return one page's line of the table."""
    speed = seconds_to_interactive(browser, address, name)
    visits: list[Visit] = []
    weights, errors, findings, shifts = [], [], [], []
    for size, dark in (("wide", False), ("wide", True), ("phone", False)):
        with visit(browser, address, name, size=size, dark=dark) as seen:
            visits.append(seen)
            weights.append(seen.kilobytes)
            errors.append(len(seen.errors))  # like the weight, before axe runs
            if not dark:
                shifts.append(seen.layout_shift())
            if size == "wide":
                findings.append(len(seen.axe()))
    return (
        name,
        f"{max(weights):.0f}",
        f"{speed:.1f} s",
        *(str(n) for n in findings),
        str(sum(len(each.third_party) for each in visits)),
        str(sum(errors)),
        *(f"{shift:.3f}" for shift in shifts),
    )


def line(cells: tuple[str, ...], width: int) -> str:
    """Return a line of the table, its first column so wide."""
    rest = (
        cell.rjust(len(head)) for cell, head in zip(cells[1:], HEAD[1:], strict=True)
    )
    return "| " + " | ".join([cells[0].ljust(width), *rest]) + " |"


def main() -> int:
    if not (HTML / "index.html").exists():
        print("site-report: nothing is built yet; run: make book", file=sys.stderr)
        return 2
    names = sys.argv[1:] or site_pages()
    width = max(map(len, names))
    print(line(HEAD, width))
    print("|" + "|".join("-" * (n + 2) for n in (width, *map(len, HEAD[1:]))) + "|")
    before = os.getloadavg()[0]
    try:
        with served() as address, chromium() as browser:
            version = browser.version
            for name in names:
                print(line(row(browser, address, name), width), flush=True)
    except NoBrowserError as problem:
        print(f"site-report: {problem}", file=sys.stderr)
        return 2
    print(
        f"\nChromium {version}, {os.cpu_count()} cores, load before and after: "
        f"{before:.1f}, {os.getloadavg()[0]:.1f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
