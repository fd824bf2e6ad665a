"""A page's key outlives its file's name, and leads to the page."""

from __future__ import annotations

import json

import pytest

from tformer_book.press import chapters


@pytest.fixture
def book(tmp_path, monkeypatch):
    """Make a book of these files, each with its metadata, and return its folder."""
    monkeypatch.setattr(chapters, "ROOT", tmp_path)

    def make(**files):
        toc = ["root: book/intro", "chapters:"]
        for name, metadata in {"intro.md": {}, **files}.items():
            path = tmp_path / "book" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"metadata": metadata, "cells": []}), "utf-8")
            if name != "intro.md":
                toc.append(f"  - file: book/{name.rpartition('.')[0]}")
        (tmp_path / "_toc.yml").write_text("\n".join(toc), "utf-8")
        chapters.keys.cache_clear()
        return tmp_path / "book"

    yield make
    chapters.keys.cache_clear()


def test_a_key_is_the_name_without_its_number_unless_the_notebook_says_another(book):
    said = {"tformer": {"key": "snow"}}
    folder = book(
        **{
            "07-rain.ipynb": {},
            "2-suns.ipynb": {},
            "by-pencil.ipynb": {"tformer": {}},
            "12-ice.ipynb": said,
            "api/data.md": said,  # only a notebook has metadata
        }
    )
    assert list(chapters.keys().items()) == [
        ("intro", folder / "intro.md"),
        ("rain", folder / "07-rain.ipynb"),
        ("2-suns", folder / "2-suns.ipynb"),
        ("by-pencil", folder / "by-pencil.ipynb"),
        ("snow", folder / "12-ice.ipynb"),
        ("api/data", folder / "api/data.md"),
    ]


def test_a_renamed_chapter_is_found_by_the_key_that_it_keeps(book):
    folder = book(**{"12-snow.ipynb": {}})
    assert chapters.chapter("snow") == folder / "12-snow.ipynb"
    folder = book(**{"13-ice.ipynb": {"tformer": {"key": "snow"}}})
    assert chapters.chapter("snow") == folder / "13-ice.ipynb"
    assert chapters.address("snow") == "book/13-ice.html"
    assert chapters.address("snow", "#flakes") == "book/13-ice.html#flakes"


def test_two_pages_with_one_key_are_an_error_that_names_both(book):
    book(**{"03-wind.ipynb": {}, "11-wind.ipynb": {}})
    with pytest.raises(ValueError, match=r"03-wind\.ipynb and 11-wind\.ipynb .*'wind'"):
        chapters.keys()


def test_an_unknown_key_is_an_error_that_names_the_known_ones(book):
    book(**{"07-rain.ipynb": {}})
    with pytest.raises(KeyError, match="'ran'; there are intro, rain"):
        chapters.chapter("ran")


def test_the_book_has_a_key_for_every_page():
    assert list(chapters.keys().values()) == chapters.pages()
    assert all(path.is_file() for path in chapters.keys().values())
