"""The built site's map, its list for programs, and its page for a wrong address."""

from __future__ import annotations

import re
import xml.etree.ElementTree as Tree
from urllib.parse import urlsplit

import pytest
import yaml

from tformer_book.press import browser as driver
from tformer_book.press.chapters import HTML, ROOT

SITE = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["html"]["baseurl"]
PAGES = {name for name in driver.site_pages() if name.startswith("book/")}


def test_the_map_lists_every_page() -> None:
    root = Tree.parse(HTML / "sitemap.xml").getroot()
    places = [each.text for each in root.iterfind(".//{*}loc")]
    assert {each.removeprefix(SITE) for each in places} == PAGES
    assert len(places) == len(PAGES)


def test_the_list_for_programs_leads_to_every_page_and_says_what_it_is_for() -> None:
    text = (HTML / "llms.txt").read_text("utf-8")
    lines = re.findall(r"^- \[(.+)\]\((.+)\): (.+)$", text, re.M)
    assert {place.removeprefix(SITE) for _, place, _ in lines} == PAGES
    assert all(len(about) >= 20 for *_, about in lines)


@pytest.fixture
def host(chromium):
    """A page of a browser for which this site's host is there, as GitHub Pages is."""
    base = urlsplit(SITE)

    def answer(route) -> None:
        place = urlsplit(route.request.url)
        assert place.netloc == base.netloc, "asked of another host"
        file = HTML / place.path.removeprefix(base.path)
        if place.path.startswith(base.path) and file.is_file():
            route.fulfill(path=file)
        else:
            route.fulfill(path=HTML / "404.html", status=404, content_type="text/html")

    context = chromium.new_context(viewport={"width": 390, "height": 800})
    context.route("**/*", answer)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("place", ["nothing", "book/nothing.html", "a/b/c/d/nothing/"])
def test_a_wrong_address_at_any_depth_leads_back_to_the_book(host, place) -> None:
    said: list[str] = []
    host.on("console", lambda message: said.append(message.text))
    assert host.goto(SITE + place).status == 404
    assert host.locator("h1").inner_text() == "There is no page at this address"
    hrefs = host.locator("nav a").evaluate_all("all => all.map((e) => e.href)")
    assert {each.removeprefix(SITE) for each in hrefs} == PAGES
    assert host.evaluate("document.documentElement.scrollWidth") <= 390
    only_that = [text for text in said if "status of 404" not in text]
    assert only_that == []
    host.get_by_role("link", name="Notation").click()
    host.wait_for_url("**/book/notation.html")
    assert host.title().startswith("Notation")


def test_the_page_for_wrong_addresses_is_accessible(chromium, site) -> None:
    with driver.visit(chromium, site, "404.html", settle=False) as seen:
        assert seen.axe() == []
