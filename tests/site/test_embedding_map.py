"""The figure of chapter 03, driven by mouse and keyboard, against PyTorch."""

import json

import browser as driver
import pytest
import torch
from torch.nn.functional import normalize

from tformer import load_pretrained
from tformer.widgets import EmbeddingMap
from tformer.widgets.embedding_map import KINDS, N_AXES, principal_axes

pytestmark = pytest.mark.xdist_group("embedding map")


@pytest.fixture(scope="module")
def table():
    translator = load_pretrained()
    unit = normalize(translator.model.source_embedding.weight.detach(), dim=-1)
    names = [translator.tokenizer.id_to_piece(i) for i in range(len(unit))]
    return names, unit


class Shown:
    """What a reader can do with the figure, and what it shows."""

    def __init__(self, page, table):
        self.page = page
        self.names, self.unit = table
        self.root = page.locator(".tfem").first

    def control(self, name):
        return self.root.locator(f'[data-control="{name}"]')

    @property
    def chosen(self):
        return self.root.get_attribute("data-chosen")

    def search(self, text):
        self.control("search").fill(text)
        self.control("search").press("Enter")

    def start(self):
        self.control("kind-0").check(force=True)
        self.control("axes-0").check(force=True)
        self.zoom(1)
        self.search("dog")

    def zoom(self, x):
        self.control("zoom").evaluate(
            "(e, x) => { e.value = x; e.dispatchEvent(new Event('input')); }", x
        )

    def list(self):
        """(piece, cosine, rank on the map), as they are written in the list."""
        rows = self.root.locator(".tfem-near tbody tr").all()
        texts = [
            [row.locator("button").inner_text(), *row.locator("td").all_inner_texts()]
            for row in rows
        ]
        return [
            (piece, float(cosine), int(rank.rstrip(".").replace(",", "")))
            for piece, _, cosine, rank in texts
        ]

    def best(self, piece, n=8):
        """(piece, cosine) by PyTorch."""
        alike = self.unit @ self.unit[self.names.index(piece)]
        best = alike.topk(n + 1)
        found = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [(self.names[i], cosine) for i, cosine in found][1:]

    def agrees(self, piece):
        assert self.chosen == piece
        shown, wanted = self.list(), self.best(piece)
        assert [name for name, _, _ in shown] == [name for name, _ in wanted]
        assert [cosine for _, cosine, _ in shown] == pytest.approx(
            [cosine for _, cosine in wanted], abs=0.00501
        )

    def dot(self, piece):
        """Where on the page a marked dot is."""
        mark = f'[data-mark="{self.names.index(piece)}"]'
        box = self.root.locator(mark).first.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.fixture(scope="module")
def opened(figure_page, playing):
    visit = figure_page(EmbeddingMap(), settle=False)
    with playing(visit, ".tfem") as seen:
        yield seen


@pytest.fixture
def shown(opened, table):
    page = Shown(opened.page, table)
    page.start()
    page.root.scroll_into_view_if_needed()
    return page


def test_the_list_is_pytorchs(shown):
    shown.agrees("▁dog")
    for word, piece in (("street", "▁street"), ("Straße", "▁Straße"), ("not", "▁not")):
        shown.search(word)
        shown.agrees(piece)


def test_the_dots_lie_where_the_principal_axes_put_them(shown):
    places, shares = principal_axes(shown.unit, N_AXES)
    for axes in (0, 1):
        shown.control(f"axes-{axes}").check(force=True)
        pair = places[:, 2 * axes : 2 * axes + 2]
        low, high = pair.amin(0), pair.amax(0)
        half = 1.06 * (high - low).max() / 2
        box = shown.control("map").bounding_box()
        for piece in ("▁dog", shown.list()[0][0], shown.list()[5][0]):
            away = (pair[shown.names.index(piece)] - (low + high) / 2) / half
            x = box["x"] + box["width"] * (1 + away[0]) / 2
            y = box["y"] + box["height"] * (1 - away[1]) / 2
            assert shown.dot(piece) == pytest.approx((x.item(), y.item()), abs=1.5)
        said = shown.root.locator("figcaption").inner_text()
        assert f"{100 * shares[2 * axes]:.1f}\xa0%" in said
        both = 100 * shares[2 * axes : 2 * axes + 2].sum()
        facts = shown.root.locator(".tfem-facts").inner_text()
        assert f"hold {both:.1f}\xa0% of what tells the 6,000 rows apart" in facts


def test_the_map_admits_which_neighbours_it_loses(shown):
    places, _ = principal_axes(shown.unit, 2)
    here = shown.names.index("▁dog")
    far = torch.dist
    ranks = []
    for piece, _, rank in shown.list():
        mine = far(places[shown.names.index(piece)], places[here])
        nearer = (torch.cdist(places, places[here : here + 1])[:, 0] < mine).sum()
        assert rank == pytest.approx(nearer.item(), rel=0.05, abs=15)  # 0.1 % steps
        ranks.append(rank)
    kept = sum(rank <= 8 for rank in ranks)
    assert f", {kept} " in shown.root.locator(".tfem-facts").inner_text()


def test_a_word_is_found_by_its_beginning_and_chosen_by_a_click(shown):
    shown.control("search").fill("")
    shown.control("search").type("stree")
    assert shown.control("match-0").inner_text() == "▁street"
    assert shown.chosen == "▁dog"
    shown.control("match-0").click()
    shown.agrees("▁street")
    shown.search("xyzxyz")
    assert "No piece begins with “xyzxyz”" in shown.root.inner_text()
    assert shown.chosen == "▁street"


def test_a_neighbour_in_the_list_leads_on_and_keeps_the_focus(shown):
    first = shown.list()[0][0]
    shown.control("near-0").focus()
    shown.page.keyboard.press("Enter")
    shown.agrees(first)
    focused = "document.activeElement.dataset.control"
    assert shown.page.evaluate(focused) == "near-0"


def test_a_piece_of_our_sentence_is_a_click_away(shown):
    buttons = shown.root.locator('[data-control^="example-"]')
    sentence = "The dog did not cross the street because it was tired."
    assert buttons.all_inner_texts() == list(
        dict.fromkeys(load_pretrained().tokenizer.pieces(sentence))
    )
    buttons.nth(2).click()
    shown.agrees(buttons.nth(2).inner_text())


def test_a_click_on_a_dot_chooses_it_and_hovering_names_it(shown):
    shown.zoom(6)
    for piece, *_ in shown.list():
        x, y = shown.dot(piece)
        box = shown.control("map").bounding_box()
        inside = 8 < x - box["x"] < box["width"] - 8
        if not inside or not 8 < y - box["y"] < box["height"] - 8:
            continue
        shown.page.mouse.move(x, y)
        said = shown.root.locator(".tfem-under").inner_text()
        assert said.startswith("Here: ")
        named = said.removeprefix("Here: ").split(" (id ")[0]
        shown.page.mouse.click(x, y)
        shown.agrees(named)
        return
    pytest.fail("no neighbour lies in the window")


def test_arrow_keys_walk_over_the_map(shown):
    places, _ = principal_axes(shown.unit, 2)
    shown.control("map").focus()
    for key, axis, sign in (
        ("ArrowRight", 0, 1),
        ("ArrowUp", 1, 1),
        ("ArrowLeft", 0, -1),
        ("ArrowDown", 1, -1),
    ):
        before = places[shown.names.index(shown.chosen), axis]
        shown.page.keyboard.press(key)
        after = places[shown.names.index(shown.chosen), axis]
        assert sign * (after - before) > -1e-3
    shown.agrees(shown.chosen)
    assert shown.page.evaluate("document.activeElement.dataset.control") == "map"


def test_only_dots_of_the_chosen_kind_are_shown_and_walked_to(shown):
    count = """(root) => [...root.querySelectorAll('.tfem-dots')].map((p) =>
      ((p.getAttribute('d') || '').match(/M/g) || []).length)"""
    everything = shown.root.evaluate(count)
    assert sum(everything) == 6000 and everything[0] == 0
    shown.control("kind-1").check(force=True)
    only = shown.root.evaluate(count)
    assert only[1] == everything[1] and sum(only) == 6000
    assert only[0] == 6000 - everything[1]
    shown.control("map").focus()
    shown.page.keyboard.press("ArrowRight")
    assert shown.chosen.startswith("▁")
    shown.search("dog")
    shown.control("kind-4").check(force=True)  # words lie there, but are not shown
    shown.page.mouse.click(*shown.dot(shown.list()[3][0]))
    assert shown.chosen == "▁dog"


def test_the_table_behind_the_map_has_the_nearest_dots(shown):
    shown.root.locator("summary").click()
    rows = shown.root.locator("details tbody tr").all()
    first = [shown.names.index("▁dog")]
    places, _ = principal_axes(shown.unit, 2)
    cells = [row.locator("td").all_inner_texts() for row in rows]
    numbers = [[float(x.replace("−", "-")) for x in row[:3]] for row in cells]
    assert numbers[0][:2] == pytest.approx(places[first[0]].tolist(), abs=2e-3)
    distances = [row[2] for row in numbers]
    assert distances == sorted(distances) and cells[0][3] == "chosen"
    shown.root.locator("summary").click()


def test_findings_are_announced_once_the_reader_pauses(shown):
    shown.search("street")
    live = shown.root.locator("[aria-live]")
    live.filter(has_text="street: nearest are").wait_for(timeout=driver.PATIENCE)


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_playing_moves_nothing_else_on_the_page(figure_page, playing, table, size):
    visit = figure_page(EmbeddingMap(), size=size, settle=False)
    with playing(visit, ".tfem") as seen:
        shown = Shown(seen.page, table)
        shown.root.scroll_into_view_if_needed()
        height = shown.root.bounding_box()["height"]
        near = shown.root.locator(".tfem-near").bounding_box()
        box = shown.root.bounding_box()
        assert near["x"] + near["width"] <= box["x"] + box["width"] + 1
        for word in ("a", "Straße", "internation", "zzzz", "e", "because"):
            shown.search(word)
            assert shown.root.bounding_box()["height"] == pytest.approx(height, abs=1)
        for i in range(len(KINDS)):
            shown.control(f"kind-{i}").check(force=True)
            shown.zoom(i + 1)
            assert shown.root.bounding_box()["height"] == pytest.approx(height, abs=1)


def test_every_control_has_a_name(shown):
    unnamed = shown.root.locator("input, select, button").evaluate_all(
        """all => all.filter(e => !(e.ariaLabel || e.labels?.[0]?.textContent.trim()
        || e.textContent.trim())).map(e => e.outerHTML)"""
    )
    assert unnamed == []


def test_the_state_came_from_the_same_map(shown):
    near = json.loads(shown.root.get_attribute("data-near"))
    assert [name for name, _ in near] == [name for name, _, _ in shown.list()]
