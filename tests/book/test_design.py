"""Colours are written in one file, and what the page shows takes them from there."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from tformer import figures
from tformer.figures import _tokens
from tformer_book.press.chapters import ROOT

STATIC = ROOT / "book/_static"
HEX = re.compile(
    r"(?<!href=)(?<![\w&/])#(?:[0-9a-fA-F]{8}|[0-9a-fA-F]{6}|[0-9a-fA-F]{3,4})\b"
)
FUNCTION = re.compile(r"\b(?:rgb|rgba|hsl|hsla|oklch|oklab)\(\s*[\d.]+")
NAMED = re.compile(r":[^;{}\"']*\b(?:white|black|gr[ae]y|red|green|blue|orange)\b")
# An image knows no variables of the page around it: its colours are copies of tokens.
COPIES = ("book/_static/favicon.svg", "book/_static/model.svg")
FONTS = 60_000  # bytes of all letters together


def sources():
    """Yield the files that could hold colours: (name, text)."""
    done = subprocess.run(
        ["git", "ls-files", "book", "tformer"], cwd=ROOT, capture_output=True, text=True
    )
    for name in done.stdout.split():
        path = ROOT / name
        ours = path.suffix in (".css", ".js", ".py", ".html", ".svg", ".ipynb")
        if ours and "vendor" not in path.parts and path != _tokens.FILE:
            text = path.read_text("utf-8")
            if path.suffix == ".ipynb":
                cells = json.loads(text)["cells"]
                text = "\n".join(
                    "".join(each["source"])
                    for each in cells
                    if each["cell_type"] == "code"
                )
            yield name, text


def literals(name, text):
    """The colours that a text writes out, rather than to name a token."""
    if name.endswith(".py"):  # within strings only: a comment begins with the same sign
        text = "\n".join(re.findall(r"\"[^\"\n]*\"|'[^'\n]*'", text))
    found = HEX.findall(text) + FUNCTION.findall(text)
    return found + (NAMED.findall(text) if name.endswith((".css", ".svg")) else [])


def test_no_colour_is_written_outside_the_tokens():
    known = {value for pair in _tokens._pairs().values() for value in pair}
    known.add(figures.INK)  # stands for the page's own ink, and is never seen
    found = {
        name: wrong
        for name, text in sources()
        if (wrong := set(literals(name, text)) - known)
        or (name not in COPIES and set(literals(name, text)) - {figures.INK})
    }
    assert found == {}


@pytest.mark.parametrize("text", ["color: #b34700", "fill: rgb(1 2 3)", "x: red;"])
def test_a_colour_that_is_written_out_would_be_found(text):
    assert literals("some.css", text)


SELECTOR = re.compile(r"(?:^|[{}])\s*([^{}@;]*:has\([^{}]*)(?=\{)", re.MULTILINE)


def dear(text):
    """The selectors that ask what every element stands beside or in: ``:has(…) … *``.

    Each change of such a page makes Chromium look at every element of it again. One of
    these once held chapter 05 up for twenty seconds on a phone while charts were drawn.
    """
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return [each for each in SELECTOR.findall(text) if each.rstrip().endswith("*")]


def test_no_rule_asks_every_element_what_it_stands_in():
    sheets = ((name, text) for name, text in sources() if name.endswith(".css"))
    assert {name: found for name, text in sheets if (found := dear(text))} == {}
    assert dear("@media print { section:has(> .doors) > * { margin: 0; } }")


def test_every_token_that_is_used_is_defined():
    defined = set(re.findall(r"(--tf-[\w-]+):", _tokens.FILE.read_text("utf-8")))
    for name, text in sources():
        if name.endswith((".css", ".svg", ".html")):
            defined |= set(re.findall(r"(--tf-[\w-]+)\s*:", text))
    # Set by a program where the figure is.
    of_scripts = {"--tf-lines", "--tf-lines-phone", "--tf-hang", "--tf-height"}
    of_scripts |= {"--tf-height-narrow", "--tf-foot"}
    for name, text in sources():
        used = set(re.findall(r"var\((--tf-[\w-]+)[,)]", text))
        assert used - defined - of_scripts == set(), name


def test_the_contract_names_every_token():
    told = (STATIC / "DESIGN.md").read_text("utf-8")
    for name in re.findall(r"--tf-([\w-]+):", _tokens.FILE.read_text("utf-8")):
        family = re.sub(r"-(\d|tiny|small|label|text|h\d)$", "-", name)
        assert f"`{name}`" in told or f"`{family}…`" in told, name


def test_letters_are_light():
    fonts = list((STATIC / "vendor").glob("*/*.woff2"))
    assert len(fonts) == 3
    assert sum(each.stat().st_size for each in fonts) <= FONTS


def test_letters_have_the_signs_of_german_and_of_quotations():
    from fontTools.ttLib import TTFont

    for path in (STATIC / "vendor").glob("*/*.woff2"):
        signs = set(map(chr, TTFont(path).getBestCmap()))
        assert set("aZ09äöüÄÖÜßé“”‘’„–—…×−·±") <= signs, path.name
