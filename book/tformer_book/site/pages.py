"""What every page loads and shows, apart from its own content."""

from __future__ import annotations

import json
import re
from html import escape, unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

RUN_IT = "run-it"
CHAPTER = re.compile(r"book/(\d\d)-")
UNWANTED = ("thebe", "mathjax")  # formulas are typeset in the build
# What the theme's templates write into every page, and the book does not use. Firefox
# would fetch the next page at once, which the policy of the pages refuses.
SEARCH_SCRIPT = re.compile(
    r'\s*<script src="(?:[^"]*/)?'
    r'(?:searchtools|language_data|searchindex)\.js"></script>'
)
LEFT_OVERS = re.compile(
    r'\s*<script[^>]* src="[^"]*/fontawesome\.js[^"]*"></script>'
    r'|\s*<link rel="preload" as="script" href="[^"]*/fontawesome\.js[^"]*"\s*/?>'
    r'|\s*<link rel="next" [^>]*>'
    r'|\s*<script type="text/x-thebe-config">.*?</script>'
    r"|\s*<script>kernelName = [^<]*</script>",
    re.S,
)
# The theme's arrows that open a part of the table of contents have no names.
NAMELESS = '<summary><span class="toctree-toggle"'
NAMED = '<summary aria-label="Pages inside"><span class="toctree-toggle"'
# The field's name is what it shows, its key included: no label that says less.
SEARCH_FIELD = re.compile(
    r'(<button class="[^"]*search-button-field[^>]*?) aria-label="[^"]*"'
)
# Code, which never wraps: its lines say how high it is (tformer.css), and whether it
# may be wider than its box. Such code is a stop for the Tab key from the start, until
# tformer.js has measured it: it does that only when the code is about to be seen.
CODE = re.compile(
    r'(<div class="highlight-(?:ipython3|python)[^"]*"><div class="highlight")'
    r"><pre>(.*?)</pre>",
    re.S,
)
# The parts of the book in the side bar: all but the one that is being read are folded.
PART = re.compile(
    r'<p aria-level="2" class="caption" role="heading">'
    r'<span class="caption-text">(.*?)</span></p>\s*'
    r'(<ul class="(?:current )?nav bd-sidenav">.*?)'
    r'(?=<p aria-level="2"|</div>\s*</nav>)',
    re.S,
)
# What the foot of a printed page says: the chapter's title, and the book's.
TITLE = re.compile(r"<html( lang=[^>]*>.*?<title>(.*?)</title>)", re.S)
# The first page is open to all sides: its side bar waits for its button.
SIDE_BAR = 'class="bd-sidebar-primary bd-sidebar"'
FOLDED = 'class="bd-sidebar-primary bd-sidebar pst-sidebar-hidden"'
# Pages that are there for one wide figure, the first among them, have a frame of their
# own. Their body says so: a style sheet that asks (`body:has(…)`) is asked at every
# change of a page, and a chart makes hundreds.
ONE_FIGURE = re.compile(r'id="figure-(?:journey|live-lab|playground)"')
# A button that opens a side bar gets the focus back; its tooltip would stay then.
TOGGLE = re.compile(
    r'(<button class="sidebar-toggle [^>]*?)'
    r' data-bs-placement="bottom" data-bs-toggle="tooltip"'
)
TAG = re.compile(r"<[^>]*>")
ALWAYS_FITS = 40  # columns: the width of a narrow phone
ON_A_PHONE = 43  # columns of code on a screen of 390 pixels
TWO_LINES = 190  # signs of a paragraph that takes up two printed lines at most
SHORT = 10  # lines of code that a printed page keeps together
OUTPUT = re.compile(
    r'(<div class="output [^"]*highlight-[^"]*"><div class="highlight")'
    r"(><pre>(?:[^\n]*\n){,16}</pre>)"  # so many of what it has printed
)
DETAILS = 4  # lines of a docstring from which paper has only its first sentence
HANG, DEEPEST = 4, 12  # columns: how far a wrapped line hangs, beyond its own indent
# Where the theme's script measures everything that could scroll, again and again.
MEASURED = re.compile(r'\["pre","\.nboutput[^\]]*\]\.join\(", "\)')
REDIRECT = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<meta http-equiv="refresh" content="0; url={url}">
<link rel="icon" href="_static/favicon.svg">
</head>
<body><p><a href="{url}">{title}</a></p></body>
</html>
"""


def theme_options(app: Sphinx, config: Any) -> None:
    """Add our options to Jupyter Book's (``_config.yml`` would replace them all)."""
    options = config.html_theme_options
    # sphinx-book-theme 1.3 draws a second search field in an otherwise empty bar.
    for key in ("navbar_start", "navbar_center", "navbar_end", "navbar_persistent"):
        options[key] = []
    options["use_download_button"] = False
    options["use_fullscreen_button"] = False
    options["show_toc_level"] = 2
    # Without a default the theme's script complains on a reader's first visit.
    config.html_context["default_mode"] = "auto"
    options["pygments_light_style"] = "a11y-high-contrast-light"
    options["pygments_dark_style"] = "a11y-high-contrast-dark"
    options["extra_footer"] = (
        "<p>Text and figures: CC BY 4.0. Code: MIT. Nothing on this page is loaded "
        "from another site.</p>"
    )


def colab_link(app: Sphinx, docname: str) -> str:
    """Return the address that opens a chapter in Colab."""
    options = app.config.html_theme_options
    repository = options["repository_url"].removeprefix("https://github.com/")
    branch = options.get("repository_branch") or "main"
    base = "https://colab.research.google.com/github"
    return f"{base}/{repository}/blob/{branch}/{docname}.ipynb"


def replace_run_it_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Put a note with a link where a cell needs a running notebook."""
    cells = [
        node
        for node in doctree.findall(nodes.container)
        if node.get("nb_element") == "cell_code" and f"tag_{RUN_IT}" in node["classes"]
    ]
    for cell in cells:
        said = cell.get("cell_metadata", {}).get("tformer", {})
        about, only_colab = said.get("note", ""), said.get("where") == "colab"
        link = colab_link(app, app.env.docname)
        text = nodes.paragraph()
        if about:
            text += nodes.Text(about + " ")
        need = "Google Colab" if only_colab else "a running notebook"
        text += nodes.Text(f"This part needs {need}: ")
        text += nodes.reference("", "open this chapter in Colab", refuri=link)
        if not only_colab:
            text += nodes.Text(", or run it on your own machine with ")
            text += nodes.literal("", "make lab")
        text += nodes.Text(".")
        note = nodes.admonition("", nodes.title("", "Run it"), text)
        note["classes"] += ["tip", "admonition-run-it"]
        cell.replace_self(note)


def number_chapter(app: Sphinx, doctree: nodes.document) -> None:
    """Begin a chapter's title with its number, which its file's name has.

    Done before Sphinx collects the titles for its menus.
    """
    if found := CHAPTER.match(app.env.docname):
        title = next(doctree.findall(nodes.title))
        title.insert(0, nodes.Text(" "))
        title.insert(0, nodes.inline("", found[1], classes=["tf-chapter"]))


def mark_short(app: Sphinx, doctree: nodes.document) -> None:
    """Mark paragraphs of two lines: paper doesn't part them, from a heading neither."""
    for each in doctree.findall(nodes.paragraph):
        if len(each.astext()) <= TWO_LINES:
            each["classes"].append("tf-short")


def prune(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Drop scripts and styles that the book, or this page, does not use."""

    def wanted(asset: Any) -> bool:
        attributes = getattr(asset, "attributes", None) or {}
        name = str(getattr(asset, "filename", None) or asset)
        body = str(attributes.get("body") or "")
        return not any(word in (name + body).lower() for word in UNWANTED)

    for key in ("script_files", "css_files"):
        context[key] = [asset for asset in context[key] if wanted(asset)]


def finish(app: Sphinx, problem: Exception | None) -> None:
    """Take out of the written pages what no event lets us leave out.

    Sphinx's search is not used (``search``): its scripts and its index stay away.
    """
    if problem or app.builder.format != "html":
        return
    site = Path(app.outdir)
    first = f"{app.config.root_doc}.html"
    for path in site.glob("_static/*webpack-macros.html"):
        path.unlink()  # templates, copied by mistake
    for path in site.rglob("*.html"):
        html = path.read_text(encoding="utf-8")
        pruned = CODE.sub(with_lines, LEFT_OVERS.sub("", html))
        pruned = OUTPUT.sub(r'\1 data-tf-short="true"\2', pruned)
        pruned = SEARCH_FIELD.sub(r"\1", pruned.replace(NAMELESS, NAMED))
        pruned = TOGGLE.sub(r"\1", SEARCH_SCRIPT.sub("", pruned))
        pruned = with_folds(pruned)
        pruned = TITLE.sub(with_foot, pruned, count=1)
        if path == site / first:
            pruned = pruned.replace(SIDE_BAR, FOLDED)
            pruned = of_kind("tf-one-figure tf-first", pruned)
        elif ONE_FIGURE.search(pruned):
            pruned = of_kind("tf-one-figure", pruned)
        if pruned != html:
            path.write_text(pruned, encoding="utf-8")
    index = REDIRECT.format(title=escape(app.config.html_title), url=first)
    (site / "index.html").write_text(index, encoding="utf-8")
    spare_measuring(site / "_static/scripts/pydata-sphinx-theme.js")


def of_kind(names: str, page: str) -> str:
    """Give a page's body class names for the style sheets."""
    return page.replace("<body data-", f'<body class="{names}" data-', 1)


def with_foot(found: re.Match[str]) -> str:
    """Let the style sheet know the page's title."""
    rest, title = found.groups()
    *chapter, book = unescape(title).split(" — ")
    foot = json.dumps(" · ".join(dict.fromkeys([*chapter, book])), ensure_ascii=False)
    # (In ASCII: it stands before the page says in what its letters are written.)
    said = escape(foot).encode("ascii", "xmlcharrefreplace").decode()
    return f'<html style="--tf-foot: {said}"{rest}'


def with_folds(page: str) -> str:
    """Fold the parts in the side bar, but for the one with the page, or the first."""
    current = 'class="current nav' in page
    parts = 0

    def folded(found: re.Match[str]) -> str:
        nonlocal parts
        name, links = found.groups()
        parts += 1
        is_open = "current nav" in links if current else parts == 1
        state = " open" if is_open else ""
        return (
            f'<details class="tf-part"{state}><summary>{name}</summary>\n{links}'
            "</details>\n"
        )

    return PART.sub(folded, page)


def with_lines(found: re.Match[str]) -> str:
    """Return a block of code that says how many lines it has, and if they are few.

    On a phone lines wrap, so it says how many they are there, too.
    """
    start, code = found.groups()
    rows = unescape(TAG.sub("", code)).split("\n")
    longest = max(map(len, rows))
    stop = ' tabindex="0" data-tf-scrolls="true"' if longest > ALWAYS_FITS else ""
    lines = f"--tf-lines:{code.count(chr(10))}"
    wrapped = sum(lines_of(row, ON_A_PHONE) for row in rows[:-1])
    if wrapped > code.count("\n"):
        lines += f";--tf-lines-phone:{wrapped}"
        code = "\n".join(map(hanging, rows, code.split("\n")))
    code, hidden = without_details(code)
    is_short = code.count("\n") - hidden <= SHORT
    short = ' data-tf-short="true"' if is_short else ""
    return f'{start} style="{lines}"{short}><pre{stop}>{code}</pre>'


def without_details(code: str) -> tuple[str, int]:
    """Return code whose docstrings' details can be left out on paper, and their lines.

    A docstring's first line stays, and its last, if that is only its end.
    """
    rows, begun, hidden = code.split("\n"), None, 0
    for i, row in enumerate(rows):
        if 'class="sd"' not in row or row.count('"""') != 1:
            continue
        if begun is None:
            begun = i
            continue
        is_end = TAG.sub("", row).strip() == '"""'
        if is_end and i - begun >= DETAILS:
            rows[begun + 1] = f'<span class="tf-details">{rows[begun + 1]}'
            rows[i] = f"</span>{row}"
            hidden += i - begun - 1
        begun = None
    return "\n".join(rows), hidden


def hang(row: str) -> int:
    """At which column a row of code goes on where it wraps."""
    return min(len(row) - len(row.lstrip()) + HANG, DEEPEST)


def hanging(row: str, html: str) -> str:
    """Return a row's HTML, in a box that wraps as code is indented by hand."""
    if len(row) <= ON_A_PHONE:
        return html
    return f'<span class="tf-row" style="--tf-hang:{hang(row)}ch">{html}</span>'


def lines_of(row: str, width: int) -> int:
    """How many lines a row of code takes that wraps after a space, or anywhere."""
    n, column, margin = 1, 0, hang(row)
    for word, gap in re.findall(r"(\S*)(\s*)", row):
        if column > margin and column + len(word) > width:
            n, column = n + 1, margin
        column += len(word)
        while column > width:
            n, column = n + 1, margin + column - width
        column += len(gap)
    return n


def spare_measuring(script: Path) -> None:
    """Stop the theme from measuring every box after each change of the page.

    On a slow machine that takes a second; ``tformer.js`` looks at boxes as they come
    into view, and only then.
    """
    code = script.read_text(encoding="utf-8")
    spared, times = MEASURED.subn('"pst-none"', code)
    if times != 1 and "pst-none" not in code:
        raise ExtensionError(f"{script.name} has changed: look at MEASURED")
    script.write_text(spared, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect to the build."""
    app.add_js_file("tf-print.js", defer="defer")
    app.add_js_file("tf-settings.js", defer="defer")
    app.connect("build-finished", finish, priority=600)
    app.connect("config-inited", theme_options)
    app.connect("doctree-read", replace_run_it_cells)
    app.connect("doctree-read", number_chapter, priority=400)
    app.connect("doctree-read", mark_short)
    app.connect("html-page-context", prune, priority=990)
