"""What a link to a page shows elsewhere: a title, a description, a picture."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from html import unescape

import pytest
import yaml
from PIL import Image

from tformer_book.press.chapters import HTML, ROOT

TAG = re.compile(r'<meta (?:name|property)="([^"]+)" content="([^"]*)"')
NEEDED = ("description", "og:title", "og:description", "og:url", "og:image")
MOST = 100_000  # bytes of a picture


@pytest.fixture(scope="module")
def heads():
    """Page -> its tags; pages that only lead on to another have none."""
    found = {}
    for path in sorted(set(HTML.rglob("*.html")) - {HTML / "404.html"}):
        head = path.read_text("utf-8").split("</head>")[0]
        if 'http-equiv="refresh"' not in head and "_static" not in path.parts:
            tags = {key: unescape(text) for key, text in TAG.findall(head)}
            found[path.relative_to(HTML).as_posix()] = tags
    return found


def site():
    return yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["html"]["baseurl"]


def test_every_page_says_what_it_is(heads):
    assert len(heads) > 40
    for page, tags in heads.items():
        assert all(tags.get(key) for key in NEEDED), page
        assert tags["twitter:card"] == "summary_large_image", page
        assert 20 <= len(tags["description"]) <= 205, (page, tags["description"])


def test_a_chapter_is_described_by_what_it_teaches(heads):
    told = {p: t["description"] for p, t in heads.items() if re.match(r"book/\d\d-", p)}
    assert len(told) == 17
    for page, text in told.items():
        assert text.startswith("After this chapter you can "), page
        assert text.endswith("."), (page, text)


@pytest.mark.parametrize("key", ["description", "og:title", "og:url"])
def test_no_two_pages_say_the_same(heads, key):
    counts = Counter(tags[key] for tags in heads.values())
    assert [text for text, count in counts.items() if count > 1] == []


def test_addresses_begin_with_the_one_address_of_the_site(heads):
    with (ROOT / "pyproject.toml").open("rb") as file:
        name = tomllib.load(file)["project"]["urls"]["Repository"].rsplit("/", 1)[1]
    assert f"/{name}/" in site()
    for page, tags in heads.items():
        assert tags["og:url"] == f"{site()}{page}"
        assert tags["og:image"].startswith(f"{site()}_static/social/")


def test_pictures_are_as_large_as_asked_and_light(heads):
    for page, tags in heads.items():
        path = HTML / tags["og:image"].removeprefix(site())
        assert path.stat().st_size <= MOST, page
        with Image.open(path) as picture:
            assert (picture.format, picture.size) == ("PNG", (1200, 630)), page


def test_every_chapter_has_a_picture_of_its_own(heads):
    pictures = [
        (HTML / tags["og:image"].removeprefix(site())).read_bytes()
        for page, tags in heads.items()
        if re.match(r"book/\d\d-", page)
    ]
    assert len(pictures) == len(set(pictures)) == 17
