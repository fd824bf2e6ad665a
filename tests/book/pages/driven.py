"""What a reader can do with any figure, for the tests that drive one."""

from __future__ import annotations

from tformer_book.press import browser as driver

SET = "(e, x) => { e.value = x; e.dispatchEvent(new Event('input')); }"


class Driven:
    """A figure on a page that is open; each figure's tests add what it alone has.

    Attributes:
        selector: finds its box.
        seen: the page as `visit` opened it.
    """

    selector = ""

    def __init__(self, seen):
        self.seen, self.page = seen, seen.page
        self.root = seen.page.locator(self.selector).first

    def control(self, name):
        return self.root.locator(f'[data-control="{name}"]')

    def pick(self, name):
        self.control(name).check(force=True)

    def press(self, name, key, times=1):
        self.control(name).focus()
        for _ in range(times):
            self.page.keyboard.press(key)

    def set(self, name, value):
        self.control(name).evaluate(SET, value)

    def focused(self):
        return self.page.evaluate("document.activeElement.dataset.control ?? ''")

    def text(self, selector):
        return self.root.locator(selector).inner_text()

    def heard(self, text):
        live = self.root.locator("[aria-live]")
        live.filter(has_text=text).wait_for(timeout=driver.PATIENCE)
