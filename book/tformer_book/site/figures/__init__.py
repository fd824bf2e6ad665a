"""Captions: every figure has a number; one to play with, a title and an address, too.

Figures are numbered by chapter, as they come on the page, whether scripts draw them,
Plotly or matplotlib; one that is alone on a page that is no chapter has no number. The
captions of charts and drawings are their alternative texts, or how these begin.

The title of a figure to play with is the
name of its class in words ("One query"), unless the metadata of its cell has another:
``"tformer": {"title": "The learning rate"}``. The title makes the address, which stays
when other figures are added: ``CHAPTER.ipynb#figure-one-query``. What it shows is the
first sentence of its class's docstring, or ``"tformer": {"about": "…"}``.

Under it stands what to try first, from the metadata too: ``"tformer": {"try": "…"}``.

Without scripts the page says in words what the figure shows: that sentence, then the
text that a notebook shows where it cannot draw; and it has a picture, which
``book/tformer_book/press/pictures.py`` takes from the built page. ``figures.js`` makes
links to a figure as the reader has set it, and ``dock.js`` brings the figure of a
page's beginning to the section that plays with it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from html import escape, unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from tformer_book import widgets

from ..assets import publish
from ..pages import CHAPTER

HERE = Path(__file__).parent
SCRIPTS = ["figures.js", "dock.js"]
FOLDER = "figures"  # in _static
# What a figure has in its folder that keeps its state in the page's address by itself.
OWN_ADDRESS = "address.js"
# What to try with a figure that stands in many chapters, without a line of its own.
TRY = {"model_map": "click a box: it leads to the chapter about that part."}
# How the HTML begins of what Plotly or matplotlib has drawn.
DRAWN = re.compile(r'<(?:figure|div) class="tf-(?:plotly|figures|training)"')
# … and what it says to those who cannot see it.
ALTERNATIVE = re.compile(
    r'(?:<figure class="tf-plotly"|<svg role="img") aria-label="([^"]*)"'
)
# The kind of a drawing, which the text that stands for it begins with; and of what.
KIND = re.compile(r"(?:Bars|Heat map(?: of ([^:]*))?): ")
PICTURES = "_static/pictures"
WITHOUT_SCRIPTS = (
    "This figure is drawn by a script, and your browser runs none here, so this is "
    "what it shows in words."
)
COPY = (
    '<button type="button" class="tf-copy pst-js-only">Copy link</button>'
    '<span class="tf-copied" role="status"></span>'
)


class Figure(nodes.General, nodes.Element):
    """A figure to play with.

    Attributes (by name, as nodes have them): its ``folder`` in `tformer_book.widgets`,
    its ``title``, a sentence ``about`` it, what to ``try``, its ``number``, and in
    ``words`` what it shows.
    """

    @property
    def name(self) -> str:
        """What text calls it: its number, where it has one."""
        return f"Figure {self['number']}" if self["number"] else "Figure"


def figure_of(
    folder: str, title: str, *content: nodes.Node, about: str = "", to_try: str = ""
) -> Figure:
    """A figure with a title and a description, not numbered yet.

    Args:
        folder: its place in `tformer_book.widgets`.
        title: what its cell calls it; empty for the name of its class.
        content: the nodes that show it.
        about: what its cell says that it shows; empty for what its class says.
        to_try: what its cell says that a reader may try first.
    """
    words = folder.replace("_", " ")
    shown_by = getattr(widgets, words.title().replace(" ", ""))
    about = about or (inspect.getdoc(shown_by) or "").partition("\n")[0]
    title = title or words.capitalize()
    to_try = to_try or TRY.get(folder, "")
    told = {"title": title, "about": about, "try": to_try, "number": "", "words": ""}
    return Figure("", *content, folder=folder, **told)


def shown_as_text(figure: Figure) -> str:
    """What its cell prints where no figure can be drawn; empty if that says nothing."""
    alternatives = figure.parent.parent.children if figure.parent else []
    for each in alternatives:
        if isinstance(each, nodes.Element) and each.get("mime_type") == "text/plain":
            text = " ".join(each.astext().split())
            return "" if text.startswith("<") else text
    return ""


class NumberFigures(SphinxTransform):
    """Give every figure on a page its number and its address."""

    default_priority = 870  # MyST resolves a page's links to itself at 879

    def apply(self, **kwargs: Any) -> None:
        """Number them in the order of the page."""
        chapter = CHAPTER.match(self.env.docname)
        before = f"{int(chapter[1])}." if chapter else ""
        all_here = list(self.document.findall(is_figure))
        slugs = self.env.metadata[self.env.docname].setdefault("myst_slugs", {})
        for count, figure in enumerate(all_here, start=1):
            number = f"{before}{count}" if chapter or len(all_here) > 1 else ""
            if isinstance(figure, nodes.raw):
                if number:
                    told = with_number(figure.astext(), number)
                    figure.replace_self(nodes.raw("", told, **figure.attributes))
                continue
            figure["number"] = number
            figure["ids"] = [free_address(figure["title"], slugs.__contains__)]
            figure["words"] = shown_as_text(figure)
            slugs[figure["ids"][0]] = (figure.line, figure["ids"][0], figure.name)


def is_figure(node: nodes.Node) -> bool:
    """Whether a node is a figure to play with, or the HTML of one that is drawn."""
    if isinstance(node, nodes.raw):  # (a run that has only begun has drawn nothing yet)
        html = node.astext()
        return bool(DRAWN.match(html) and ALTERNATIVE.search(html))
    return isinstance(node, Figure)


def with_number(drawn: str, number: str) -> str:
    """The HTML of a chart or of drawings, with a caption below."""
    alternatives = [unescape(each) for each in ALTERNATIVE.findall(drawn)]
    about = " ".join(without_kind(each) for each in alternatives)
    if not drawn.startswith("<figure"):
        about = in_short(alternatives)
    told = (
        f'<figcaption class="tf-caption"><b>Figure {number}</b>'
        f"<span>{escape(about)}</span></figcaption>"
    )
    if drawn.startswith('<div class="tf-figures"'):
        return f'<figure class="tf-drawn">{drawn}{told}</figure>'
    before, end, after = drawn.partition("</figure>")  # a table may follow
    return f"{before}{told}{end}{after}"


def without_kind(alternative: str) -> str:
    """What a drawing shows: readers see for themselves that it is a heat map."""
    return with_capital(KIND.sub("", alternative, count=1))


def with_capital(text: str) -> str:
    """The text as a sentence begins."""
    return text[:1].upper() + text[1:]


def in_short(alternatives: list[str]) -> str:
    """What drawings show that stand side by side: the first sentence of each.

    A drawing's alternative text goes on with what is to be seen in it.
    """
    firsts = [each.partition(". ")[0].rstrip(".") for each in alternatives]
    if len(firsts) == 1:
        return without_kind(firsts[0]) + "."
    kind = KIND.match(firsts[0])
    of = f"{kind[1]}: " if kind and kind[1] else ""
    return with_capital(of + "; ".join(KIND.sub("", each) for each in firsts)) + "."


def free_address(title: str, is_taken: Callable[[str], bool]) -> str:
    """The address of a figure: its title, with a number where the page has it."""
    address = "figure-" + re.sub(r"\W+", "-", title.lower()).strip("-")
    free, count = address, 1
    while is_taken(free):
        count += 1
        free = f"{address}-{count}"
    return free


def caption(figure: Figure) -> str:
    """The line below a figure: number (the link to it), title, and what to try.

    On paper, where there is nothing to try, it says what the figure shows.
    """
    folder = Path(widgets.__file__).parent / figure["folder"]
    copy = "" if (folder / OWN_ADDRESS).exists() else COPY
    link = f'<a href="#{figure["ids"][0]}">{figure.name}</a>'
    title = f"<span>{escape(figure['title'])}</span>"
    about = f'<span class="tf-about">{escape(figure["about"])}</span>'
    to_try = ""
    if figure["try"]:
        to_try = f'<p class="tf-try"><b>Try this:</b> {escape(figure["try"])}</p>'
    told = f"{link}{title}{about}{to_try}{copy}"
    return f'<figcaption class="tf-caption">{told}</figcaption>'


def picture(translator: Any, figure: Figure) -> str:
    """The picture of a figure and what it shows: without scripts, and on paper.

    A browser that is to print loads it first, because it is lazy and comes into sight.
    """
    docname = translator.builder.current_docname
    above = "../" * docname.count("/")
    page, about = docname.rpartition("/")[2], escape(figure["about"])
    address = f"{above}{PICTURES}/{page}/{figure['ids'][0]}.webp"
    return f'<img class="tf-picture" src="{address}" alt="{about}" loading="lazy">'


def open_figure(translator: Any, figure: Figure) -> None:
    """Write the beginning of a figure."""
    translator.body.append(f'<figure class="tf-figure" id="{figure["ids"][0]}">')


def close_figure(translator: Any, figure: Figure) -> None:
    """Write what it shows in words, its caption and its end."""
    words = escape(" ".join([WITHOUT_SCRIPTS, figure["about"], figure["words"]]))
    translator.body.append(
        f"<noscript><p>{words}</p></noscript>{picture(translator, figure)}"
        f"{caption(figure)}</figure>\n"
    )


def copy_script(app: Sphinx, problem: Exception | None) -> None:
    """Put the scripts on the site."""
    if not problem and app.builder.format == "html":
        publish(app, HERE, SCRIPTS)


def add_script(
    app: Sphinx, page: str, template: str, context: Any, doctree: nodes.document | None
) -> None:
    """Load them with the pages that have figures."""
    if doctree and next(doctree.findall(Figure), None):
        for script in SCRIPTS:
            app.add_js_file(f"{FOLDER}/{script}", type="module")


def setup(app: Sphinx) -> None:
    """Connect to the build."""
    app.add_node(Figure, html=(open_figure, close_figure))
    app.add_transform(NumberFigures)
    app.connect("html-page-context", add_script)
    app.connect("build-finished", copy_script)
