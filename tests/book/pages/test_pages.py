"""Every page of the built site, with every request to another host blocked."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Error as PlaywrightError

from tformer_book.press import browser as driver
from tformer_book.press.chapters import HTML, ROOT, address
from tformer_book.press.pictures import BOX, ROOM

LAB = address("lab")
PAGES = driver.site_pages()
CHAPTERS = [p for p in PAGES if p.startswith("book/") and "intro" not in p]
NOTEBOOKS = [p for p in CHAPTERS if (ROOT / p).with_suffix(".ipynb").is_file()]
WITH_FIGURES = [
    page
    for page in PAGES
    if (notebook := (ROOT / page).with_suffix(".ipynb")).is_file()
    and "tformer_book.widgets" in notebook.read_text("utf-8")
]
WIDTHS = (
    1366,
    1280,
    1200,
    992,
    768,
    390,
    320,
)  # of a window, in which figures must fit
MOST_KILOBYTES = 1000
MOST_LAYOUT_SHIFT = 0.1
# Contrast takes axe four times as long as all the rest, and depends on the theme.
CONTRAST = {"runOnly": ["color-contrast"]}
BUT_CONTRAST = {"rules": {"color-contrast": {"enabled": False}}}
# Leave only visible text that looks like none before it: parts of the same classes and
# colours, in a place of the same classes all around. (axe judges no single letter.)
UNLIKE = """() => {
  const known = new Set();
  const texts = '.highlight, p, li, tr, dt, dd, pre, .math, h2, h3';
  for (const text of document.querySelectorAll(texts)) {
    if (!text.isConnected) continue;
    let place = '';
    for (let e = text.parentElement; e; e = e.parentElement)
      place += e.getAttribute('class') + '/';
    const before = known.size, parts = text.checkVisibility()
      ? [text, ...text.querySelectorAll('*')] : [];
    for (const e of parts) {
      const {color, backgroundColor, opacity, fontSize, fontWeight} =
        getComputedStyle(e);
      known.add([place, e.tagName, e.getAttribute('class'), e.textContent.length > 1,
        color, backgroundColor, opacity, fontSize, fontWeight].join());
    }
    if (known.size === before) text.remove();
  }
}"""
NIGHT = """() => {
  for (const name of ['theme', 'mode']) document.documentElement.dataset[name] = 'dark';
  return new Promise((done) => setTimeout(done, 100));
}"""
UNFOLD = "document.querySelectorAll('details').forEach((e) => { e.open = true; })"
AT_ONCE = "* { transition: none !important }"  # half-way a colour would be judged pale
HEIGHTS = """
all => all.map((e) => [e.id, e.querySelector('.tf-widget').offsetHeight])
"""
# What would move, if something changed now.
MOVING = """() => {
  const seconds = (text) => Math.max(...text.split(',').map(parseFloat));
  const found = new Set();
  for (const e of document.querySelectorAll('body *')) {
    const style = getComputedStyle(e);
    if (seconds(style.transitionDuration) > .001 || style.scrollBehavior === 'smooth'
      || (style.animationName !== 'none' && seconds(style.animationDuration) > .001))
      found.add(e.tagName + '.' + e.className);
  }
  return [...found];
}"""
# What sticks out of its figure and cannot be scrolled to, and sliders that lie one upon
# the other: [what, how many pixels].
FAULTS = """() => {
  const found = [];
  const boxOf = (e) => e.getBoundingClientRect();
  for (const figure of document.querySelectorAll('.tfk')) {
    const column = boxOf(figure);
    if (!column.width) continue;
    for (const e of figure.querySelectorAll('*')) {
      const box = boxOf(e);
      if (!box.width || !box.height) continue;
      let inside = e.parentElement;
      while (inside !== figure && getComputedStyle(inside).overflowX === 'visible')
        inside = inside.parentElement;
      if (inside !== figure) continue;
      const out = Math.max(box.right - column.right, column.left - box.left);
      const name = `${figure.className}: ${e.tagName} ${e.className}`;
      if (out > 1.5) found.push([name, out]);
    }
    const parts = [...figure.querySelectorAll('.tfk-slider > *')].map(boxOf);
    parts.forEach((a, i) => parts.slice(i + 1).forEach((b) => {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 2 && high > 4) found.push([`${figure.className}: sliders`, wide]);
    }));
  }
  return found;
}"""
# Where the focus is, and whether something there shows it.
FOCUS = """() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const box = e.getBoundingClientRect();
  const shown = [e, e.nextElementSibling, e.closest('label')].some((each) => {
    if (!each) return false;
    const {outlineStyle, outlineWidth, outlineColor, boxShadow} =
      getComputedStyle(each);
    return (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2
      && outlineColor !== 'rgba(0, 0, 0, 0)') || boxShadow !== 'none';
  });
  return [e.outerHTML.slice(0, 120), shown && e.matches(':focus-visible'),
    box.width * box.height];
}"""
SMUGGLE = """() => {
  return new Promise((done) => {
    addEventListener('securitypolicyviolation', (event) =>
      done([event.effectiveDirective, window.__smuggled ?? false]), {once: true});
    const script = document.createElement('script');
    script.textContent = 'window.__smuggled = true';
    document.body.append(script);
    setTimeout(() => done(['nothing was refused', window.__smuggled ?? false]), 2000);
  });
}"""


def each(names):
    """Parametrize over pages; one page's tests run in one worker, and share visits."""
    return pytest.mark.parametrize(
        "name", [pytest.param(n, marks=pytest.mark.xdist_group(n)) for n in names]
    )


_FACTS = {}


def faults_of_figures(page):
    """Return what is wrong with a page's figures, by the width of the window."""
    if not page.locator(".tfk").count():
        return {}
    page.evaluate(UNFOLD)
    found = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(200)
        if faults := page.evaluate(FAULTS):
            found[width] = faults
    return found


def look_at(seen, size):
    """Return what one visit of a page brought to light."""
    page = seen.page
    found = {
        "third_party": list(seen.third_party),
        "kilobytes": seen.kilobytes,
        "shift": seen.layout_shift(),
        "overflow": seen.overflow(),
        "formulas": page.locator("span.math, div.math").count(),
        "drawn_formulas": page.locator("mjx-container").count(),
        "formula_errors": page.locator("mjx-merror").count(),
        "charts": page.locator(".tf-plotly-box").count(),
        "drawn_charts": page.locator(".tf-plotly-box .main-svg").count(),
        "figures": dict(page.eval_on_selector_all(".tf-figure[id]", HEIGHTS)),
        "widgets": page.locator(".tf-widget").count(),
        "drawn_widgets": page.locator(".tf-widget-view > *").count(),
        "lab links": page.locator("a.tf-lab-link:visible").evaluate_all(
            "all => all.map((e) => e.href)"
        ),
        "images": page.eval_on_selector_all(
            ".bd-article img",
            "all => all.map(e => ["
            "e.alt, e.checkVisibility() && e.naturalWidth, e.src])",
        ),
        "axe": seen.axe(**BUT_CONTRAST),
    }
    if size == "wide":  # the same page by night, for a reader who wants stillness
        page.emulate_media(reduced_motion="reduce")
        found["moving"] = page.evaluate(MOVING)
        page.evaluate(UNLIKE)
        found["contrast"] = seen.axe(**CONTRAST)
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        page.add_style_tag(content=AT_ONCE)
        page.evaluate(NIGHT)
        found["contrast by night"] = seen.axe(**CONTRAST)
        found["faults of figures"] = faults_of_figures(page)
    else:  # the same page at 200 percent on a desk
        width, height = driver.SIZES["zoomed"]
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(100)
        found["overflow at 200 %"] = seen.overflow()
        found["toggles at 200 %"] = page.locator(".primary-toggle:visible").count()
    found["errors"] = list(seen.errors)
    return found


@pytest.fixture
def facts(visit):
    """Return what a page does in one window size.

    A page is opened once for all tests that ask about it, also if that fails.
    """

    def look(name, *, size="wide"):
        if (name, size) not in _FACTS:
            try:
                with visit(name, size=size) as seen:
                    _FACTS[name, size] = look_at(seen, size)
            except PlaywrightError as problem:
                _FACTS[name, size] = problem
        if isinstance(_FACTS[name, size], Exception):
            pytest.fail(f"{name} ({size}) did not settle: {_FACTS[name, size]}")
        return _FACTS[name, size]

    return look


@each(PAGES)
def test_a_page_asks_no_other_host_for_anything(facts, name):
    assert facts(name)["third_party"] == []


@each(PAGES)
def test_a_page_causes_no_error_or_warning(facts, name):
    assert facts(name)["errors"] == []


@each(PAGES)
def test_a_page_with_all_its_assets_weighs_at_most_a_megabyte(facts, name):
    assert 20 < facts(name)["kilobytes"] <= MOST_KILOBYTES


@each(PAGES)
@pytest.mark.parametrize("size", ["wide", "phone"])
def test_nothing_jumps_while_a_page_loads(facts, name, size):
    assert facts(name, size=size)["shift"] <= MOST_LAYOUT_SHIFT


@each(PAGES)
@pytest.mark.parametrize("size", ["wide", "phone"])
def test_a_page_keeps_room_for_a_figure_that_is_not_drawn_yet(facts, name, size):
    room = {
        figure: dict(re.findall(r"(--[\w-]+):(\d+)px", style))[ROOM[size]]
        for _, figure, style in BOX.findall((HTML / name).read_text("utf-8"))
    }
    drawn = facts(name, size=size)["figures"]
    assert room.keys() == drawn.keys()
    for figure, height in drawn.items():
        assert int(room[figure]) == pytest.approx(height, abs=30), figure


@each(PAGES)
def test_nothing_is_wider_than_a_phone(facts, name):
    assert facts(name, size="phone")["overflow"] == []


@each(PAGES)
def test_nothing_is_lost_at_200_percent(facts, name):
    seen = facts(name, size="phone")
    assert seen["overflow at 200 %"] == []
    assert seen["toggles at 200 %"] == 1  # the side bar can be opened


@each(PAGES)
def test_nothing_moves_for_a_reader_who_wants_stillness(facts, name):
    assert facts(name)["moving"] == []


@each([address("attention")])
def test_the_theme_changes_at_once_for_a_reader_who_wants_stillness(visit, name):
    """A transition of every element, each after its parent's, took a minute."""
    with visit(name, dark=True, settle=False) as seen:
        begun = seen.page.evaluate(
            """() => {
              document.documentElement.dataset.theme = "light";
              getComputedStyle(document.querySelector(".bd-article p")).color;
              return document.getAnimations().length;
            }"""
        )
    assert begun == 0


@each([*PAGES[:2], "search.html"])
def test_the_tab_key_shows_where_it_is(visit, name):
    with visit(name) as seen:
        stops = []
        for _ in range(40):
            seen.page.keyboard.press("Tab")
            stops.append(seen.page.evaluate(FOCUS))
    stops = [stop for stop in stops if stop]
    assert len({html for html, *_ in stops}) > 8
    assert [html for html, shown, area in stops if not shown or not area] == []


@each(PAGES)
def test_a_page_says_what_it_may_run_before_it_runs_anything(name):
    html = (HTML / name).read_text(encoding="utf-8")
    found = re.search(
        r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html
    )
    assert found
    assert found.start() < html.index("<script")
    rules = dict(rule.strip().split(" ", 1) for rule in found[1].split(";"))
    assert rules["default-src"] == "'none'"
    allowed = rules["script-src"].split()
    named = ("'self'", "'wasm-unsafe-eval'")
    assert all(x in named or x.startswith("'sha256-") for x in allowed)
    assert rules["connect-src"] == rules["worker-src"] == "'self'"
    assert not re.search(r"<[^>]+\son[a-z]+=", html), "an inline event handler"


def test_a_script_that_was_smuggled_in_does_not_run(visit):
    with visit(PAGES[0], settle=False) as seen:
        directive, ran = seen.page.evaluate(SMUGGLE)
    assert directive.startswith("script-src")
    assert not ran


@each(PAGES)
@pytest.mark.parametrize(
    ("size", "found"),
    [
        ("wide", "axe"),
        ("phone", "axe"),
        ("wide", "contrast"),
        ("wide", "contrast by night"),
    ],
    ids=["wide", "phone", "light", "dark"],
)
def test_axe_finds_nothing_serious(facts, name, size, found):
    assert facts(name, size=size)[found] == []


@each(PAGES)
def test_every_formula_chart_and_widget_is_drawn(facts, name):
    seen = facts(name)
    assert seen["drawn_formulas"] >= seen["formulas"]
    assert seen["formula_errors"] == 0
    assert seen["drawn_charts"] >= seen["charts"]
    assert seen["drawn_widgets"] >= seen["widgets"]


@each(WITH_FIGURES)
def test_no_figure_runs_out_of_its_column(facts, name):
    assert facts(name)["faults of figures"] == {}


@each([name for name in PAGES if name != LAB])
def test_every_page_links_the_lab(facts, name):
    assert any(link.endswith("/" + LAB) for link in facts(name)["lab links"])


@each(PAGES)
def test_every_image_is_there_and_says_what_it_shows(facts, name):
    for alt, width, source in facts(name)["images"]:
        # (What only paper shows is loaded by printing: test_printing.py.)
        assert width is False or width > 0, f"{source} did not load"
        assert alt, f"{source} has no alternative text"
        assert not alt.endswith((".png", ".svg")), f"{source}: alt {alt!r}"


@each(NOTEBOOKS)
def test_a_chapter_opens_in_colab(name):
    html = (HTML / name).read_text(encoding="utf-8")
    links = re.findall(r'href="(https://colab\.research\.google\.com[^"]*)"', html)
    path = name.replace(".html", ".ipynb")
    assert links
    assert all(link.endswith(f"/blob/main/{path}") for link in links)


@each(CHAPTERS[:1])
def test_the_theme_button_repaints_charts(visit, name):
    with visit(name) as seen:
        text = ".tf-plotly-box .xtick text"
        assert seen.page.locator(text).count()  # *Before you start* has charts
        colour = f"getComputedStyle(document.querySelector('{text}')).fill"
        before = seen.page.evaluate(colour)
        seen.page.evaluate("document.documentElement.dataset.theme = 'dark'")
        seen.page.wait_for_function(f"{colour} !== {before!r}")


@each(CHAPTERS[:1])
def test_a_chapter_shows_its_number_in_its_title_and_in_the_menu(visit, name):
    number = name.removeprefix("book/")[:2]
    with visit(name, settle=False) as seen:
        assert seen.page.locator("article h1").first.inner_text().startswith(number)
        assert seen.page.title().startswith(number)
        current = seen.page.locator(".bd-sidebar-primary li.current > a").first
        assert current.inner_text().strip().startswith(number)


@each([address("attention")])
def test_the_menu_shows_the_page_that_a_link_led_to(visit, name):
    with visit(address("playground"), settle=False) as seen:
        page = seen.page
        menu = page.locator(".bd-sidebar-primary")
        menu.evaluate("e => { e.scrollTop = e.scrollHeight }")
        page.goto(page.url.replace(address("playground"), name))
        page.wait_for_function(
            """() => {
              const [menu, link] = ['', ' li.current > a'].map(inside =>
                document.querySelector('.bd-sidebar-primary' + inside)
                  .getBoundingClientRect());
              return link.top >= menu.top && link.bottom <= menu.bottom;
            }""",
            polling=50,
            timeout=10_000,
        )


# Whether the contents mark one section, of this title, and show it.
MARKED = """title => {
  const links = document.querySelectorAll('#pst-page-toc-nav a[aria-current=true]');
  const [line, box] = [links[0], links[0]?.closest('.bd-sidebar-secondary')]
    .map(e => e?.getBoundingClientRect());
  const isSeen = links.length === 1 && line.top >= box.top && line.bottom <= box.bottom;
  return isSeen && links[0].textContent.trim() === title;
}"""


@each([address("training")])
def test_the_contents_follow_the_reader_down_a_long_page_and_up_again(visit, name):
    with visit(name) as seen:
        for title in ("The live run", "Adam, by hand", "What to remember", "Dropout"):
            heading = seen.page.get_by_role("heading", name=title, exact=False).first
            heading.evaluate("e => e.scrollIntoView({behavior: 'instant'})")
            seen.page.wait_for_function(MARKED, arg=title)
        seen.page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
        seen.page.wait_for_function(  # before the first section, none is marked
            "() => !document.querySelector('#pst-page-toc-nav .active, "
            "#pst-page-toc-nav [aria-current]')"
        )


@each([address("decoding-and-scoring")])
def test_on_a_phone_code_hangs_where_it_wraps_and_a_drawing_keeps_its_shape(
    visit, name
):
    with visit(name, size="phone") as seen:
        row = seen.page.locator(".tf-row:visible").first
        indent = row.evaluate("e => parseFloat(getComputedStyle(e).paddingLeft)")
        boxes = row.evaluate("e => [...e.getClientRects()].length")
        assert (indent > 20, boxes) == (True, 1)
        drawing = seen.page.locator(".tf-drawing").first
        wide = drawing.evaluate(
            "e => e.firstElementChild.getBoundingClientRect().width"
        )
        assert wide >= 400  # letters stay large enough to read
        drawing.scroll_into_view_if_needed()
        seen.page.wait_for_function(
            "e => e.scrollWidth > e.clientWidth && e.tabIndex === 0",
            arg=drawing.element_handle(),
        )


@each([address("what-came-after"), "book/journey.html"])
def test_on_a_phone_tables_of_words_are_cards(visit, name):
    cell = ".tf-cards tbody td:not(:first-child):not(:empty)"
    widths = f"() => [...document.querySelectorAll('{cell}')].map(e => e.clientWidth)"
    with visit(name, size="phone") as seen:
        assert min(seen.page.evaluate(widths)) > 300
        assert seen.page.locator(".tf-label").first.is_visible()
    with visit(name) as seen:
        assert not seen.page.locator(".tf-label").first.is_visible()


@each([address("attention")])
def test_a_swipe_over_a_chart_scrolls_the_page_and_zooms_nothing(visit, name, finger):
    with visit(name, size="phone", touch=True) as seen:
        chart = seen.page.locator(".tf-plotly-box:visible").first
        chart.evaluate("e => e.scrollIntoView({ block: 'center' })")
        seen.page.wait_for_timeout(300)
        ranges = "e => ['xaxis', 'yaxis'].map(a => e.graph._fullLayout[a].range)"
        before, top = chart.evaluate(ranges), seen.page.evaluate("scrollY")
        box = chart.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        finger(seen.page, (x, y), (x, y - 150))
        seen.page.wait_for_timeout(300)
        assert seen.page.evaluate("scrollY") - top > 50
        assert chart.evaluate(ranges) == before
        assert chart.locator(".modebar-btn:visible").count() == 0
