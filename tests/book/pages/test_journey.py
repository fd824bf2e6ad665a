"""The journey in the built site, by keyboard, touch and links, against PyTorch."""

from __future__ import annotations

import contextlib
from urllib.parse import quote_plus

import pytest
from driven import Driven

from tformer_book.press import browser as driver
from tformer_book.press.chapters import address
from tformer_book.widgets.journey import OPENING, STOPS, Journey, journey

PAGE = address("journey")
OTHER = "A dog runs in the snow."
pytestmark = pytest.mark.xdist_group(PAGE)

ADDRESSED = """wanted => {
  const found = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  return JSON.stringify(found) === JSON.stringify(wanted);
}"""


class Trip(Driven):
    """What a reader can do on the journey, and what it shows."""

    selector = ".tfj"

    def control(self, name):
        return self.root.locator(f'[data-control="{name}"]').first

    def at(self):
        return int(self.root.locator(".tfj-card").get_attribute("data-stop"))

    def text(self):
        return self.root.locator("[data-text]").inner_text()

    def settled(self):
        self.page.wait_for_timeout(50)
        self.root.locator("form:not([data-busy])").wait_for(timeout=driver.PATIENCE)

    def ask(self, text):
        self.control("text").fill(text)
        self.control("text").press("Enter")
        self.settled()

    def said(self):
        return self.root.locator("[data-said]").first.inner_text()

    def addressed(self, wanted):
        """Wait until the address says just this: it's written when the reader rests."""
        self.page.wait_for_function(ADDRESSED, arg=wanted)

    def exact(self, selector):
        found = self.root.locator(selector).evaluate_all(
            "all => all.map(e => Number(e.dataset.exact))"
        )
        return [float(x) for x in found]


@pytest.fixture
def trip(visit, playing):
    """``with trip("#stop=6") as seen``: the page in a browser that knows nothing."""

    @contextlib.contextmanager
    def start(hash="", **options):
        with playing(visit(PAGE + hash, settle=False, **options), ".tfj-card") as seen:
            yield Trip(seen)

    return start


@pytest.fixture(scope="module")
def states(page_translator):
    return journey(page_translator, OPENING)


def test_the_keyboard_leads_through_all_stops_without_the_model(trip, states):
    with trip() as seen:
        seen.control("stop-1").focus()
        shown = [seen.root.locator(".tfj-title").inner_text()]
        for stop in range(2, STOPS + 1):
            seen.page.keyboard.press("ArrowRight")
            assert seen.at() == stop
            focused = seen.page.evaluate("document.activeElement.dataset.control")
            assert focused == f"stop-{stop}"
            seen.addressed({"stop": str(stop)})
            shown.append(seen.root.locator(".tfj-title").inner_text())
        assert len(set(shown)) == STOPS
        german = seen.root.locator("[data-german]").inner_text()
        assert german == states["translation"]
        seen.page.keyboard.press("Home")
        assert seen.at() == 1
        for stop in range(2, STOPS + 1):
            seen.page.locator("[data-control='next']").focus()
            seen.page.keyboard.press("Enter")
            assert seen.at() == stop
        seen.page.keyboard.press("ArrowLeft")  # the end is no dead end
        assert seen.at() == STOPS - 1
        assert not seen.control("further").is_hidden()
        seen.control("further").press("Enter")
        seen.page.keyboard.press("Home")
        assert seen.at() == 1
        assert not [url for url in seen.seen.asked if "/model/" in url]


def test_numbers_on_the_screen_are_pytorchs(trip, states):
    with trip("#stop=6") as seen:
        weights = states["encoder"][0, 0].flatten().tolist()
        assert seen.exact("[data-cell][data-exact]") == pytest.approx(weights, abs=1e-4)
        seen.control("layer-1").check(force=True)
        seen.control("head-4").check(force=True)
        weights = states["encoder"][1, 4].flatten().tolist()
        assert seen.exact("[data-cell][data-exact]") == pytest.approx(weights, abs=1e-4)
        seen.control("stop-5").click()
        house = states["sourcePieces"].index("▁house")
        sums = states["start"][house, :8].tolist()
        cells = seen.exact("tr.tfj-result [data-cell]")
        assert cells == pytest.approx(sums, abs=1e-3)
        seen.control("piece-1").click()
        assert "“parents”" in seen.text()
        seen.control("stop-13").click()
        best = [each["probability"] for each in states["next"][7]]
        assert seen.exact(".tfj-best td[data-exact]") == pytest.approx(best, abs=1e-4)


def test_a_link_opens_at_its_stop_with_its_sentence(trip, page_translator):
    with trip(f"#stop=15&text={quote_plus(OTHER)}") as seen:
        seen.settled()
        assert seen.at() == 15
        assert seen.control("text").input_value() == OTHER
        german = seen.root.locator("[data-german]").inner_text()
        assert german == journey(page_translator, OTHER)["translation"]
        seen.control("previous").click()
        seen.addressed({"stop": "14", "text": OTHER})


def test_a_link_opens_at_its_layer_and_head_and_piece(trip, states, page_translator):
    with trip() as seen:
        seen.control("stop-6").click()
        seen.control("layer-1").check(force=True)
        seen.control("head-4").check(force=True)
        seen.addressed({"stop": "6", "layer": "1", "head": "4"})
    with trip("#stop=6&layer=1&head=4") as seen:
        weights = states["encoder"][1, 4].flatten().tolist()
        assert seen.exact("[data-cell][data-exact]") == pytest.approx(weights, abs=1e-4)
        assert not [url for url in seen.seen.asked if "/model/" in url]
    with trip(f"#stop=9&piece=1&text={quote_plus(OTHER)}") as seen:
        seen.settled()
        assert "“dog”" in seen.text()
        seen.addressed({"stop": "9", "piece": "1", "text": OTHER})


def test_on_paper_the_journey_says_which_stop_it_shows(trip):
    with trip("#stop=6") as seen:
        seen.page.emulate_media(media="print")
        assert "Stop 6 of 15" in seen.root.inner_text()
        assert not seen.control("next").is_visible()
        table = seen.page.locator("#the-fifteen-stops-at-a-glance tbody tr")
        assert table.count() == STOPS


def test_play_runs_the_loop_and_stops_at_the_end(trip, states):
    with trip("#stop=14") as seen:
        seen.control("start").click()
        chips = seen.root.locator(".tfj-german .tfj-chip")
        assert chips.count() == 1
        seen.control("play").click()
        seen.root.locator('[data-control="end"][disabled]').wait_for(
            timeout=driver.PATIENCE
        )
        assert chips.count() == len(states["targetPieces"])
        assert seen.control("play").inner_text() == "Play"


def test_what_cannot_be_shown_is_said_kindly(trip):
    with trip("#stop=3") as seen:
        for text, said in (
            ("", "Type an English sentence first"),
            ("  ", "Type an English sentence first"),
            ("word " * 70, "try a shorter one"),
        ):
            seen.ask(text)
            assert said in seen.said()
            assert seen.at() == 3
        for text in ("🙂", "Ich heiße Ödipus & 日本!", "hm"):
            seen.ask(text)
            assert "Computed on your machine" in seen.said()
            for stop in range(1, STOPS + 1):
                seen.control(f"stop-{stop}").click()
                assert seen.at() == stop


def stops_of(seen):
    """The figure at each of its stops."""
    for stop in range(1, STOPS + 1):
        seen.control(f"stop-{stop}").click()
        yield stop


def box(seen, selector):
    return seen.root.locator(selector).bounding_box()


def test_the_map_lights_the_stop_and_nothing_moves_from_stop_to_stop(
    figure_page, playing
):
    with playing(figure_page(Journey(), settle=False), ".tfj-card") as page:
        seen = Trip(page)
        places = set()
        for stop in stops_of(seen):
            lit = seen.root.locator(".tfj-dot[aria-current]")
            assert lit.get_attribute("data-control") == f"stop-{stop}"
            places.add(str([box(seen, x) for x in (".tfj-way", ".tfj-card")]))
        assert len(places) == 1
        assert box(seen, ".tfj-way")["y"] < box(seen, ".tfj-card")["y"]


def test_on_a_phone_the_picture_comes_first_and_the_way_stays_at_the_foot(
    figure_page, playing
):
    opened = figure_page(Journey(), size="phone", settle=False)
    with playing(opened, ".tfj-card") as page:
        seen = Trip(page)
        for stop in stops_of(seen):
            picture, text = box(seen, ".tfj-picture"), box(seen, ".tfj-text")
            assert picture["y"] + picture["height"] <= text["y"]
            way = box(seen, ".tfj-way")
            assert way["y"] + way["height"] <= 844 + 1
            assert 0 <= box(seen, ".tfj-card")["y"] < way["y"], f"stop {stop} begins"
            small = seen.root.locator(".tfj-dot").evaluate_all(
                "all => Math.min(...all.map(e => e.getBoundingClientRect().width))"
            )
            assert small >= 24
            seen.page.mouse.wheel(0, 300)  # the next one begins at its top again
        assert page.overflow() == []
        assert page.axe() == []


@pytest.mark.parametrize("look", [{"size": "phone"}, {"dark": True}], ids=str)
def test_every_stop_fits_its_place_and_has_no_accessibility_finding(trip, look):
    with trip(**look) as seen:
        assert seen.seen.layout_shift() <= 0.01
        for stop in range(1, STOPS + 1):
            seen.control(f"stop-{stop}").click()
            assert seen.at() == stop
            assert seen.seen.overflow() == []
        assert seen.seen.axe() == []
        seen.control("stop-6").click()
        assert seen.seen.axe() == []


def test_a_finger_leads_on(chromium, site):
    context = chromium.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    try:
        page.goto(site + PAGE)
        page.locator(".tfj-card").wait_for(timeout=driver.PATIENCE)
        page.locator('[data-control="next"]').tap()
        page.locator('[data-control="further"]').tap()
        assert page.locator(".tfj-card").get_attribute("data-stop") == "3"
        page.wait_for_function(
            "() => document.querySelector('.tfj-way').getBoundingClientRect().top >= 0"
        )
        page.locator('[data-control="stop-9"]').tap()
        page.locator('[data-control="piece-1"]').tap()
        assert page.locator(".tfj-card").get_attribute("data-stop") == "9"
        assert "“parents”" in page.locator("[data-text]").inner_text()
    finally:
        context.close()


MOVES = "view => view.getAnimations({ subtree: true }).length"


def test_what_flows_travels_to_the_next_stop(trip):
    with trip("#stop=4") as seen:
        view = seen.root.locator(".tfj-view")
        seen.control("next").click()
        assert view.evaluate(MOVES) > 0  # what stands where it stood does not move
    # (that reader wants stillness, too)
    with trip("#stop=4", dark=True) as seen:
        seen.control("next").click()
        assert seen.root.locator(".tfj-view").evaluate(MOVES) == 0
