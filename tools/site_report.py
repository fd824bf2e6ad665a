"""Print a table of every page: weight, speed on a slow machine, accessibility.

Usage: ``python tools/site_report.py`` (make site-report), after make book. Time to
interactive: when the page has loaded and its last long task has ended, with the CPU
slowed down four times, without scrolling.
"""

from __future__ import annotations

import sys

from browser import NoBrowserError, chromium, served, site_pages, visit
from chapters import HTML

SLOWDOWN = 4
HEAD = ("page", "KB gz", "interactive at 4×", "axe", "third party", "errors", "shift")
INTERACTIVE = """() => {
  const navigation = performance.getEntriesByType('navigation')[0];
  const last = window.__tasks.at(-1) ?? [0, 0];
  return Math.max(navigation.domContentLoadedEventEnd, last[0] + last[1]) / 1000;
}"""


def main() -> int:
    if not (HTML / "index.html").exists():
        print("site-report: nothing is built yet; run: make book", file=sys.stderr)
        return 2
    rows = [HEAD]
    try:
        with served() as address, chromium() as browser:
            for name in site_pages():
                with visit(browser, address, name) as seen:
                    kilobytes = f"{seen.kilobytes:.0f}"
                    requests = str(len(seen.third_party))
                    errors = str(len(seen.errors))
                    shift = f"{seen.layout_shift():.3f}"
                    findings = str(len(seen.axe()))  # last: it fetches files itself
                with visit(
                    browser, address, name, slowdown=SLOWDOWN, settle=False
                ) as seen:
                    seen.page.wait_for_timeout(4000)
                    seconds = seen.page.evaluate(INTERACTIVE)
                speed = f"{seconds:.1f} s"
                rows.append((name, kilobytes, speed, findings, requests, errors, shift))
    except NoBrowserError as problem:
        print(f"site-report: {problem}", file=sys.stderr)
        return 2
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    for number, row in enumerate(rows):
        cells = [row[0].ljust(widths[0])]
        cells += [c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)]
        print("| " + " | ".join(cells) + " |")
        if number == 0:
            print("|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return 0


if __name__ == "__main__":
    sys.exit(main())
