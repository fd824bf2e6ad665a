"""Figures keep within their column, whatever the width of the window."""

import pytest

from tformer_book.press import browser as driver
from tformer_book.press.chapters import ROOT

WIDTHS = (1366, 1200, 992, 768, 390, 320)
NOTEBOOKS = {name: (ROOT / name).with_suffix(".ipynb") for name in driver.site_pages()}
WITH_FIGURES = [
    name
    for name, notebook in NOTEBOOKS.items()
    if notebook.is_file() and "tformer_book.widgets" in notebook.read_text("utf-8")
]
# What sticks out of its figure and cannot be scrolled to, and sliders that lie one upon
# the other: [what, how many pixels].
FAULTS = """() => {
  const found = [];
  const boxOf = (e) => e.getBoundingClientRect();
  for (const figure of document.querySelectorAll('.tfk')) {
    const column = boxOf(figure);
    if (!column.width) continue;
    for (const e of figure.querySelectorAll('*')) {
      const box = boxOf(e);
      if (!box.width || !box.height) continue;
      let inside = e.parentElement;
      while (inside !== figure && getComputedStyle(inside).overflowX === 'visible')
        inside = inside.parentElement;
      if (inside !== figure) continue;
      const out = Math.max(box.right - column.right, column.left - box.left);
      const name = `${figure.className}: ${e.tagName} ${e.className}`;
      if (out > 1.5) found.push([name, out]);
    }
    const parts = [...figure.querySelectorAll('.tfk-slider > *')].map(boxOf);
    parts.forEach((a, i) => parts.slice(i + 1).forEach((b) => {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 2 && high > 4) found.push([`${figure.className}: sliders`, wide]);
    }));
  }
  return found;
}"""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.xdist_group(n)) for n in WITH_FIGURES]
)
def test_no_figure_runs_out_of_its_column(visit, name):
    found = {}
    with visit(name) as seen:
        seen.page.evaluate(
            "document.querySelectorAll('details').forEach(e => { e.open = true; })"
        )
        for width in WIDTHS:
            seen.page.set_viewport_size({"width": width, "height": 900})
            seen.page.wait_for_timeout(200)
            if faults := seen.page.evaluate(FAULTS):
                found[width] = faults
    assert found == {}
