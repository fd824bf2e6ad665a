"""The API reference holds every public module and name, once."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from types import SimpleNamespace

import pytest
from sphinx.ext.napoleon import GoogleDocstring

import tformer
import tformer_book
from tformer_book.press.chapters import ROOT

PAGES = [ROOT / "book/api.md", *sorted((ROOT / "book/api").glob("*.md"))]
LISTED = re.findall(
    r"^\.\. automodule:: (\S+)$", "\n".join(p.read_text("utf-8") for p in PAGES), re.M
)
OWN_AFFAIRS = (  # a figure's file is its own affair, and so is a command's, a problem's
    "tformer.cli.",
    "tformer.doctor.examinations",
    "tformer_book.widgets.",
    "tformer_book.check.",
    *(f"tformer_book.{name}" for name in ("site", "press", "course", "editions")),
)
MODULES = [
    name
    for package in (tformer, tformer_book)
    for _, name, _ in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not any(part.startswith("_") for part in name.split("."))
    and not name.startswith(OWN_AFFAIRS)
]


def public_names(module):
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and callable(value)
        and getattr(value, "__module__", "") == module.__name__
    ]
    return set(names)


def test_no_module_is_listed_twice():
    assert len(LISTED) == len(set(LISTED))


@pytest.mark.parametrize("name", MODULES)
def test_a_public_module_is_in_the_reference_or_all_its_names_are_exported(name):
    if name in LISTED:
        return
    module = importlib.import_module(name)
    package = sys.modules[name.rpartition(".")[0]]
    if not public_names(module):
        return
    exported = getattr(package, "__all__", ()) if package is not tformer else ()
    left_out = public_names(module) - set(exported)
    assert package.__name__ in LISTED, f"add {name} to a page of book/api"
    assert not left_out, f"add {name} to a page of book/api"


def test_every_module_has_its_line_in_the_overview():
    overview = (ROOT / "book/api.md").read_text("utf-8")
    for name in LISTED:
        if name.count(".") == 1:
            assert re.search(rf"^ +{re.escape(name)}$", overview, re.M), name


@pytest.fixture(scope="module")
def reference():
    return importlib.import_module("tformer_book.site.reference")


def rewritten(reference, text):
    lines = text.splitlines()
    reference.returns_as_fields(None, "function", "f", None, None, lines)
    return lines


def test_several_returned_values_become_a_list(reference):
    text = "Do it.\n\nReturns:\n    output: (..., Dv)\n    weights: (..., Tk);\n"
    text += "        rows"
    assert rewritten(reference, text) == [
        "Do it.",
        "",
        ":returns:",
        "    - ``output``: (..., Dv)",
        "    - ``weights``: (..., Tk); rows",
    ]


def test_a_colon_in_a_returned_sentence_makes_no_type(reference):
    text = "Returns:\n    For each pair: source,\n    target.\n\nRaises:\n    Error: x"
    assert rewritten(reference, text) == [
        ":returns: For each pair: source, target.",
        "",
        "Raises:",
        "    Error: x",
    ]


def test_a_colon_in_a_propertys_first_line_makes_no_type(reference):
    lines = ["Log p of the whole: the sum."]
    reference.returns_as_fields(None, "property", "p", None, None, lines)
    docstring = GoogleDocstring(lines, what="property")
    assert docstring.lines() == ["", "Log p of the whole: the sum."]


def test_what_a_package_exports_is_not_repeated_in_its_files(reference):
    from tformer.data import batches

    env = SimpleNamespace(temp_data={"autodoc:module": "tformer.data.batches"})
    app = SimpleNamespace(env=env)

    def skips(name, obj):
        return reference.skip_exported(app, "module", name, obj, False, None)

    assert skips("batches", batches)
    assert skips("no_such_name", batches) is None
    assert skips("batches", object()) is None
    env.temp_data["autodoc:module"] = "tformer.data"
    assert skips("batches", batches) is None


def test_a_long_signature_has_boxes_and_the_description_keeps_its_list(reference):
    page = (
        '<dl class="py"><dt class="sig sig-object py" id="f">f(<dl>\n<dd>x,</dd>\n'
        "</dl>\n)</dt>\n<dd><p>It is f.</p></dd></dl>"
    )
    made = reference.with_boxes(page)
    assert '(<div class="tf-parameters">\n<div>x,</div>\n</div>\n)</dt>' in made
    assert made.endswith("</dt>\n<dd><p>It is f.</p></dd></dl>")
    assert reference.with_boxes(made) == made
