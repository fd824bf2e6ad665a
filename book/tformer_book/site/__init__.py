"""The book's own Sphinx extension: light, offline, accessible pages.

Jupyter Book's defaults fetch scripts from other hosts, ship half a megabyte of icons
and leave Plotly figures blank. This extension makes every page stand on its own:

- ``pages``: which scripts and styles a page loads; "run it" cells; page furniture;
- ``bar``: the bar at the top of every page, and the mark;
- ``drawings``: draws diagrams that chapters type;
- ``plotly``: draws Plotly outputs with the bundle in ``_static/vendor``, with a table
  behind each;
- ``widgets``: boxes for the figures to play with, and the files that draw them;
- ``figures``: their numbers, titles and addresses, and what they show in words;
- ``engine``: the trained model, for figures that ask it;
- ``formulas``: typesets TeX, so that pages need no script for it;
- ``images``: alternative texts for printed figures;
- ``tables``: tables of words, which a phone shows as cards;
- ``citations``: links to the bibliography, and back;
- ``claims``: the script of the list of claims;
- ``reference``: the API reference from docstrings;
- ``sessions``: the course, on the page for teachers;
- ``cards``: the review cards, and the deck that asks them;
- ``code``: folds code that isn't the lesson, and the switch that opens it;
- ``problems``: what stands below a function to write: a link, hints;
- ``predictions``: covers what a reader is asked to predict;
- ``keep``: what the reader has done, kept in the browser;
- ``search``: answers with sections, while one types;
- ``hover``: cards for links to terms, works and figures;
- ``social``: what a link to a page shows elsewhere;
- ``found``: a map of the site, and the page for addresses that lead nowhere;
- ``icons``: cuts the icon fonts down to the icons in use;
- ``policy``: the content-security policy of every page.
"""

from __future__ import annotations

from typing import Any

from . import (
    bar,
    cards,
    citations,
    claims,
    code,
    drawings,
    engine,
    figures,
    formulas,
    found,
    hover,
    icons,
    images,
    keep,
    pages,
    plotly,
    policy,
    predictions,
    problems,
    reference,
    search,
    sessions,
    social,
    tables,
    widgets,
)


def setup(app: Any) -> dict[str, Any]:
    """Register everything with Sphinx."""
    plotly.setup(app)
    images.setup(app)
    tables.setup(app)
    drawings.setup(app)
    widgets.setup(app)
    figures.setup(app)
    engine.setup(app)
    pages.setup(app)
    problems.setup(app)
    code.setup(app)
    predictions.setup(app)
    cards.setup(app)
    keep.setup(app)
    bar.setup(app)
    citations.setup(app)
    claims.setup(app)
    reference.setup(app)
    sessions.setup(app)
    search.setup(app)
    hover.setup(app)
    social.setup(app)
    found.setup(app)
    formulas.setup(app)
    icons.setup(app)
    policy.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
