"""Fixtures for driving the built site in headless Chromium."""

from __future__ import annotations

import browser as driver
import pytest
from chapters import HTML


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/site" in item.path.as_posix():
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
