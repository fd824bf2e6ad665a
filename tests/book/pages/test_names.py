"""What has a label and a text: its name begins with what is seen (WCAG 2.5.3).

Who speaks to the machine says what stands there.
"""

from __future__ import annotations

import pytest

from tformer_book import widgets
from tformer_book.press import browser as driver
from tformer_book.press.chapters import address

# Each control that shows letters or digits and is named otherwise, with both.
MISNAMED = """() => {
  const plain = text =>
    text.toLowerCase().replace(/[^\\p{L}\\p{N}.,−-]+/gu, ' ').trim();
  const seenIn = node => {  // what stands in it, less the controls that it holds
    const copy = node.cloneNode(true);
    const parts = [...copy.querySelectorAll('*')];  // and less what is hidden in it
    [...node.querySelectorAll('*')].forEach((inner, i) => {
      if (!inner.checkVisibility({opacityProperty: true})) parts[i].remove();
    });
    copy.querySelectorAll('[aria-label]').forEach(inner => inner.remove());
    return plain(copy.textContent);
  };
  const controls = 'button, a, td, [role=gridcell], [role=button], [role=tab]';
  return [...document.querySelectorAll(controls)]
    .filter(e => e.hasAttribute('aria-label') && e.checkVisibility())
    .map(e => [seenIn(e), plain(e.getAttribute('aria-label'))])
    .filter(([seen, name]) => seen && !name.startsWith(seen));
}"""
FIGURES = {
    "Heads": ".tfk-grid td[aria-label]",
    "MaskLaboratory": ".tfk-grid td[aria-label]",
    "HeadSplit": "td[aria-label]",
    "TrainingReplay": "td[aria-label]",
    "MatrixProduct": "button[aria-label]",
    "TeacherForcing": "button[aria-label]",
}


@pytest.mark.parametrize("figure", FIGURES)
def test_a_control_of_a_figure_is_named_after_what_it_shows(figure_page, figure):
    with figure_page(getattr(widgets, figure)()) as seen:
        seen.page.wait_for_selector(
            FIGURES[figure], state="attached", timeout=driver.PATIENCE
        )
        assert seen.page.evaluate(MISNAMED) == []


def test_the_search_field_is_named_after_what_it_shows(visit):
    with visit(address("attention"), settle=False) as seen:
        field = seen.page.locator(".search-button-field").first
        field.wait_for(state="attached")
        assert field.get_attribute("aria-label") is None
        assert "Search" in field.text_content()
