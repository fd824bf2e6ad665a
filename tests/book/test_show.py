"""What is shown is what the package runs, and reaches those who cannot see it."""

import re
import types
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

import tformer.analysis.trace
import tformer.attention
from tformer import figures
from tformer.attention import MultiHeadAttention, attention
from tformer_book import show

WORDS = ["dog", "street"]


def heat(title="Two words"):
    return figures.heat_map([[0.9, 0.1], [0.2, 0.8]], WORDS, WORDS, title=title)


@pytest.mark.parametrize(
    "obj",
    [attention, MultiHeadAttention, MultiHeadAttention.split_heads, tformer.attention],
)
def test_the_source_shown_is_the_source_that_runs(obj):
    shown = show.source(obj)
    markdown = shown.forms["text/markdown"]
    code = re.search(r"```python\n(.*)\n```", markdown, re.DOTALL).group(1)
    file = Path(tformer.attention.__file__).read_text("utf-8")
    body = [line.strip() for line in code.splitlines() if line.strip()]
    assert len(body) > 2
    assert all(line in file for line in body)
    assert "`tformer/attention.py`" in markdown


def test_a_decorated_function_is_said_to_be_where_it_was_written():
    markdown = show.source(tformer.analysis.trace.head_gains).forms["text/markdown"]
    assert markdown.startswith("`head_gains` in `tformer/analysis/trace.py`")


def test_the_source_without_docstrings_computes_the_same():
    code = repr(show.source(attention, docstring=False))
    assert '"""' not in code
    space = dict(vars(tformer.attention))
    exec(code, space)
    q, k, v = torch.randn(3, 4, 5)
    assert torch.equal(space["attention"](q, k, v)[0], attention(q, k, v)[0])


def test_code_that_holds_a_fence_gets_a_longer_one():
    shown = show.source(fenced).forms["text/markdown"]
    assert shown.count("````") == 2


@pytest.mark.parametrize(
    ("name", "caption"),
    [
        ("a`b", "`` a`b `` in "),
        ("a\n\n# A heading <b>", "`a # A heading <b>` in "),
        ("``x``", "``` ``x`` ``` in "),
        (7, "`7` in "),
    ],
)
def test_a_name_is_code_whatever_it_holds(name, caption, monkeypatch):
    monkeypatch.setattr(show.inspect, "getsource", lambda _: "pass")
    monkeypatch.setattr(show.inspect, "getsourcefile", lambda _: show.__file__)
    odd = types.SimpleNamespace(__qualname__=name)
    assert show.source(odd).forms["text/markdown"].startswith(caption)


def fenced():
    """Return Markdown: ```python```."""
    return 0


@pytest.mark.parametrize("obj", [3, len, torch.zeros(2)])
def test_what_has_no_source_is_refused_with_a_remedy(obj):
    with pytest.raises(TypeError, match="give a function, class or module"):
        show.source(obj)


def test_a_figure_becomes_svg_with_its_alternative_text_and_table():
    html = show.figure(heat()).forms["text/html"]
    svg = ElementTree.fromstring(re.search(r"<svg.*</svg>", html, re.DOTALL).group(0))
    assert svg.get("role") == "img"
    assert "dog” (0.90)" in svg.get("aria-label")
    assert re.search(r'<th scope="row">street</th><td>0.200</td><td>0.800</td>', html)


def test_ink_takes_the_colour_of_the_page():
    html = show.figure(heat()).forms["text/html"]
    assert figures.INK not in html
    assert "currentColor" in html
    assert "var(--tf-query, " in html
    assert "<text" in html  # text stays text


def test_two_figures_on_a_page_share_no_id():
    one, two = (show.figure(heat(t)).forms["text/html"] for t in ("a", "b"))
    ids = [set(re.findall(r'\sid="([^"]+)"', html)) for html in (one, two)]
    assert not ids[0] & ids[1]
    for html, own in zip((one, two), ids, strict=True):
        assert set(re.findall(r'(?:href="|url\()#([^")]+)', html)) <= own


def test_the_same_figure_gives_the_same_page():
    first, second = (show.figure(heat()).forms["text/html"] for _ in range(2))
    assert first == second


def test_figures_stand_side_by_side():
    assert show.figure(heat("a"), heat("b")).forms["text/html"].count("<svg") == 2


def test_a_plotly_figure_keeps_its_own_format():
    chart = figures.bars(["a"], {"b": [1.0]}, up="y", alt="One bar.")
    assert show.figure(chart, alt="A single bar.") is chart
    assert chart.layout.meta["alt"] == "A single bar."


def test_a_figure_without_words_is_refused():
    from matplotlib.figure import Figure

    with pytest.raises(ValueError, match="alt="):
        show.figure(Figure())
    assert "Nothing" in show.figure(Figure(), alt="Nothing yet.").forms["text/html"]


def test_what_is_no_figure_is_refused():
    with pytest.raises(TypeError, match="ndarray|Tensor"):
        show.figure(torch.zeros(2))


def test_numbers_stand_under_their_names():
    shown = show.numbers(
        torch.tensor([[1.0, -float("inf")]]), rows=["it"], columns=["dog", "<x>"]
    )
    html = shown.forms["text/html"]
    assert '<th scope="row">it</th><td>1.000</td><td>−∞</td>' in html
    assert "&lt;x&gt;" in html
    assert repr(shown) == "\tdog\t<x>\nit\t1.000\t−∞"


def test_numbers_that_do_not_fit_their_names_are_refused():
    with pytest.raises(ValueError, match=r"\(1, 2\) does not fit"):
        show.numbers([[1, 2]], rows=["it"], columns=["dog"])


def test_sentences_wrap_in_a_table_and_say_their_language():
    shown = show.texts(
        [["A <dog>", "Ein Hund"]], columns=["a", "b"], languages=["en", "de"]
    )
    html = shown.forms["text/html"]
    assert '<td lang="de"' in html
    assert "A &lt;dog&gt;" in html
    assert shown.forms["text/plain"] == "a\tb\nA <dog>\tEin Hund"


def test_numbers_among_texts_stand_right_with_a_proper_minus():
    rows = [["well-known", "-1.5", "12 %"], ["4", "", "—"]]
    html = show.texts(rows, columns=["a", "b", "c"]).forms["text/html"]
    heads = re.findall(r"<th [^>]*>", html)
    assert ["right" in each for each in heads] == [False, True, True]
    cells = re.findall(r"text-align:(\w+);[^>]*>([^<]*)</td>", html)
    assert cells == [
        ("left", "well-known"),
        ("right", "−1.5"),
        ("right", "12 %"),
        ("left", "4"),
        ("right", ""),
        ("right", "—"),
    ]


def test_a_row_that_does_not_fit_its_columns_is_refused():
    with pytest.raises(ValueError, match="one text for each of"):
        show.texts([["only one"]], columns=["a", "b"])


def test_no_text_that_is_shown_can_become_html():
    """Whatever is given, anywhere, comes back as text, and nothing else."""
    nasty = "\"><script>alert(1)</script><b x='&amp;"
    shown = [
        show.texts([[nasty]], columns=[nasty], languages=[nasty]),
        show.numbers(
            [[1.0]], rows=[nasty], columns=[nasty], corner=nasty, caption=nasty
        ),
        show.figure(figures.heat_map([[1.0]], [nasty], [nasty], title=nasty)),
        show.figure(figures.heat_map([[1.0]], ["a"], ["b"]), alt=nasty),
    ]
    for each in shown:
        markup = each._repr_mimebundle_()["text/html"]
        found = _Elements()
        found.feed(markup)
        assert not {"script", "b"} & found.names
        assert nasty in found.texts


class _Elements(HTMLParser):
    """The elements of some HTML, and all its texts and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.texts: list[str | None] = []

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.texts += [value for _, value in attrs]

    def handle_data(self, data):
        self.texts.append(data)
