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
    said = {"tformer": {"key": "training"}}
    folder = book(
        **{
            "07-masks.ipynb": {},
            "2-nd-thoughts.ipynb": {},
            "by-pencil.ipynb": {"tformer": {}},
            "12-learning.ipynb": said,
            "api/data.md": said,  # only a notebook has metadata
        }
    )
    assert list(chapters.keys().items()) == [
        ("intro", folder / "intro.md"),
        ("masks", folder / "07-masks.ipynb"),
        ("2-nd-thoughts", folder / "2-nd-thoughts.ipynb"),
        ("by-pencil", folder / "by-pencil.ipynb"),
        ("training", folder / "12-learning.ipynb"),
        ("api/data", folder / "api/data.md"),
    ]


def test_a_renamed_chapter_is_found_by_the_key_that_it_keeps(book):
    folder = book(**{"12-training.ipynb": {}})
    assert chapters.chapter("training") == folder / "12-training.ipynb"
    (folder / "12-training.ipynb").unlink()
    folder = book(**{"13-learning.ipynb": {"tformer": {"key": "training"}}})
    assert chapters.chapter("training") == folder / "13-learning.ipynb"
    assert chapters.address("training") == "book/13-learning.html"
    assert chapters.address("training", "#adam") == "book/13-learning.html#adam"


def test_two_pages_with_one_key_are_an_error_that_names_both(book):
    book(**{"03-data.ipynb": {}, "11-data.ipynb": {}})
    with pytest.raises(ValueError, match=r"03-data\.ipynb and 11-data\.ipynb .*'data'"):
        chapters.keys()


def test_an_unknown_key_is_an_error_that_names_the_known_ones(book):
    book(**{"07-masks.ipynb": {}})
    with pytest.raises(KeyError, match="'mask'; there are intro, masks"):
        chapters.chapter("mask")


def test_the_book_has_a_key_for_every_page():
    assert list(chapters.keys().values()) == chapters.pages()
    assert chapters.chapter("training").is_file()
