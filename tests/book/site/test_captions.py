"""The numbers, titles and addresses of figures, tried on small documents."""

from __future__ import annotations

import importlib
import types
from collections import defaultdict

import pytest
from docutils import nodes
from docutils.utils import new_document


@pytest.fixture(scope="module")
def figures():
    return importlib.import_module("tformer_book.site.figures")


def output(figure, text):
    """A cell's output as MyST-NB has it: once for each kind of page."""
    shown = nodes.container("", figure, mime_type="widget")
    printed = nodes.container(
        "", nodes.literal_block(text, text), mime_type="text/plain"
    )
    return nodes.container("", shown, printed, nb_element="mime_bundle")


def numbered(figures, page, *titled, text="Nothing is lit.", to_try=""):
    """The figures of a page, and its addresses; each is given as (folder, title)."""
    document = new_document(page)
    made = [figures.figure_of(*each, to_try=to_try) for each in titled]
    document += [output(each, text) for each in made]
    metadata = defaultdict(dict)
    document.settings.env = types.SimpleNamespace(docname=page, metadata=metadata)
    figures.NumberFigures(document).apply()
    return made, metadata[page]["myst_slugs"]


CHAPTER = "book/05-chapter"


def test_a_figure_has_its_chapters_number_and_the_name_of_its_class(figures):
    shown = [("model_map", ""), ("one_query", "")]
    made, _ = numbered(figures, CHAPTER, *shown)
    assert [each.name for each in made] == ["Figure 5.1", "Figure 5.2"]
    assert [each["title"] for each in made] == ["Model map", "One query"]
    assert "What one query takes from every key" in made[1]["about"]


def test_the_title_is_the_address_and_text_can_link_to_it(figures):
    _, alone = numbered(figures, CHAPTER, ("one_query", ""))
    _, second = numbered(figures, CHAPTER, ("heads", ""), ("one_query", ""))
    assert "figure-one-query" in alone
    assert second["figure-one-query"][1:] == ("figure-one-query", "Figure 5.2")


def test_a_cell_names_its_figure_and_two_of_one_name_differ(figures):
    shown = [("heads", "Look, a head!"), ("heads", ""), ("heads", "")]
    made, slugs = numbered(figures, CHAPTER, *shown)
    assert [each["ids"] for each in made] == [
        ["figure-look-a-head"],
        ["figure-heads"],
        ["figure-heads-2"],
    ]
    assert len(slugs) == 3


def test_outside_the_chapters_a_figure_alone_has_no_number_and_several_are_counted(
    figures,
):
    [lab], _ = numbered(figures, "book/lab", ("live_lab", ""))
    assert lab.name == "Figure"
    assert "Live lab" in figures.caption(lab)
    several, _ = numbered(figures, "book/intro", ("clocks", ""), ("heads", ""))
    assert [each.name for each in several] == ["Figure 1", "Figure 2"]


CHART = (
    '<figure class="tf-plotly" aria-label="It falls &amp; falls."><div></div></figure>'
)
MAP = '<figure><svg role="img" aria-label="Heat map: {}."></svg></figure>'
DRAWN = f'<div class="tf-figures">{MAP.format("one. More")}{MAP.format("two")}</div>'


def test_what_is_drawn_is_counted_with_what_is_to_play_with(figures):
    document = new_document(CHAPTER)
    played = figures.figure_of("one_query", "")
    document += nodes.raw("", CHART, format="html")
    document += output(played, "It asks.")
    document += nodes.raw("", DRAWN, format="html", classes=["output"])
    document += nodes.raw("", '<div class="tf-training"></div>', format="html")
    metadata = defaultdict(dict)
    document.settings.env = types.SimpleNamespace(docname=CHAPTER, metadata=metadata)
    figures.NumberFigures(document).apply()
    chart, drawn, begun = (each.astext() for each in document.findall(nodes.raw))
    assert played.name == "Figure 5.2"
    assert "<b>Figure 5.1</b>" in chart and "<b>Figure 5.3</b>" in drawn
    assert "<span>It falls &amp; falls.</span></figcaption></figure>" in chart
    assert "<span>One; two.</span></figcaption></figure>" in drawn
    assert "Figure" not in begun
    assert [each["classes"] for each in document.findall(nodes.raw)][1] == ["output"]


def test_a_caption_says_what_is_shown_and_not_by_which_kind_of_drawing(figures):
    heat = "Heat map of attention weights: "
    one = figures.in_short([heat + "where each looks. The first looks back."])
    assert one == "Where each looks."
    two = figures.in_short([heat + "step 1. More", heat + "step 2"])
    assert two == "Attention weights: step 1; step 2."
    assert figures.in_short(["Heat map: one.", "Heat map: two."]) == "One; two."
    assert figures.without_kind("Bars: how many. Most.") == "How many. Most."
    assert figures.without_kind("Recorded: a score.") == "Recorded: a score."


def test_only_a_figure_that_keeps_its_own_address_has_no_link_to_copy(figures):
    [lab, query], _ = numbered(figures, "x", ("live_lab", ""), ("one_query", ""))
    assert "tf-copy" not in figures.caption(lab)
    assert "tf-copy" in figures.caption(query)


def test_a_cell_says_what_to_try_and_the_model_map_has_a_line_of_its_own(figures):
    [own], _ = numbered(figures, "x", ("one_query", ""), to_try="drag <a> handle.")
    assert "<b>Try this:</b> drag &lt;a&gt; handle.</p>" in figures.caption(own)
    [heads, of_all], _ = numbered(figures, "x", ("heads", ""), ("model_map", ""))
    assert "tf-try" not in figures.caption(heads)
    assert "click a box" in figures.caption(of_all)


def test_without_scripts_a_page_says_what_its_notebook_prints(figures):
    [figure], _ = numbered(figures, CHAPTER, ("heads", ""), text="head 3 < head 4")
    builder = types.SimpleNamespace(current_docname=CHAPTER)
    page = types.SimpleNamespace(body=[], builder=builder)
    figures.close_figure(page, figure)
    assert "head 3 &lt; head 4" in page.body[0]
    picture = "../_static/pictures/05-chapter/figure-heads.webp"
    assert f'src="{picture}"' in page.body[0]
    [figure], _ = numbered(figures, CHAPTER, ("heads", ""), text="<Heads at 0x7f>")
    assert figure["words"] == ""


def test_a_cell_may_say_what_its_figure_shows(figures):
    own = figures.figure_of("heads", "", about="Where it looks.")
    assert own["about"] == "Where it looks."
    assert figures.figure_of("heads", "")["about"] not in ("", own["about"])
