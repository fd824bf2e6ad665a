"""The figure of *Embeddings*, driven by mouse and keyboard, against PyTorch."""

import json
import re

import pytest
import torch
from driven import Driven
from torch.nn.functional import normalize

from tformer import load_pretrained
from tformer_book.press import browser as driver
from tformer_book.widgets import EmbeddingMap
from tformer_book.widgets.embedding_map import KINDS, N_AXES, principal_axes

pytestmark = pytest.mark.xdist_group("embedding map")


@pytest.fixture(scope="module")
def table():
    translator = load_pretrained()
    unit = normalize(translator.model.source_embedding.weight.detach(), dim=-1)
    names = [translator.tokenizer.id_to_piece(i) for i in range(len(unit))]
    return names, unit


def as_read(piece):
    """A byte that is a visible character, as that character."""
    byte = re.fullmatch("<0x([2-7].)>", piece)
    code = int(byte[1], 16) if byte else 0
    return chr(code) if 0x20 < code < 0x7F else piece


class Shown(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tfem"

    def __init__(self, seen, table):
        super().__init__(seen)
        self.names, self.unit = table

    @property
    def chosen(self):
        return self.root.get_attribute("data-chosen")

    def search(self, text):
        self.control("search").fill(text)
        self.control("search").press("Enter")

    def start(self):
        self.root.locator("details.tfem-others").evaluate("e => { e.open = true }")
        self.control("kind-0").check(force=True)
        self.control("axes-0").check(force=True)
        self.search("dog")
        self.still()

    def still(self):
        """Wait until the dots have glided to their places."""
        self.page.wait_for_timeout(1200)

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
        assert [name for name, _, _ in shown] == [as_read(name) for name, _ in wanted]
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
    page = Shown(opened, table)
    page.start()
    page.root.scroll_into_view_if_needed()
    return page


def test_the_list_is_pytorchs(shown):
    shown.agrees("▁dog")
    for word, piece in (("street", "▁street"), ("Straße", "▁Straße"), ("not", "▁not")):
        shown.search(word)
        shown.agrees(piece)


def both_maps(table):
    _, unit = table
    words = EmbeddingMap().words
    return [
        principal_axes(unit, N_AXES, of=unit[words])[0],
        principal_axes(unit, N_AXES)[0],
    ]


def test_distances_between_dots_are_those_of_the_principal_axes(shown, table):
    for axes, places in enumerate(both_maps(table)):
        shown.control(f"axes-{axes}").check(force=True)
        shown.still()
        words = ["▁dog", "▁walking", "▁rot", shown.list()[5][0]]
        drawn = torch.tensor([shown.dot(word) for word in words])
        true = places[[shown.names.index(word) for word in words]].float()
        far, wanted = torch.pdist(drawn), torch.pdist(true)
        scale = far.max() / wanted.max()
        assert (far - scale * wanted).abs().max() < 2.5  # pixels
        right_of = (drawn[1, 0] < drawn[2, 0], true[1, 0] < true[2, 0])
        assert right_of[0] == right_of[1] or axes  # walking and red: not mirrored


def test_each_true_neighbour_is_joined_and_called_lost_if_it_is(shown, table):
    places = both_maps(table)[0]
    here = shown.names.index("▁dog")
    ids = [shown.names.index(piece) for piece, *_ in shown.list()]
    dots = list(dict.fromkeys([*EmbeddingMap().words, *ids]))
    far = torch.cdist(places[dots], places[here : here + 1])[:, 0]
    lost = 0
    for piece, _, rank in shown.list():
        mine = far[dots.index(shown.names.index(piece))]
        true = int((far < mine).sum())  # the dog itself is nearest
        assert abs(rank - true) <= 1  # places come in steps
        link = shown.root.locator(f'[data-link="{shown.names.index(piece)}"]')
        assert ("tfem-lost" in link.get_attribute("class")) == (rank > 8)
        lost += rank > 8
    facts = shown.root.locator(".tfem-facts").inner_text()
    assert f", {8 - lost} are among its 8 nearest dots" in facts
    figure = EmbeddingMap()
    assert f"{100 * figure.shares[0]:.1f}\xa0% of the variance" in facts
    assert f"{figure.kept[0]} of their 280 pairs" in facts


def test_a_byte_reads_as_the_character_that_it_is(shown):
    for word in ("happy", "cold", "wonderful"):  # words with bytes as neighbours
        shown.search(word)
        shown.agrees(f"▁{word}")
        assert not any(re.match("<0x[2-7]", piece) for piece, *_ in shown.list())


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


def test_a_complete_word_is_chosen_when_the_reader_pauses(shown):
    shown.control("search").fill("street")  # as a link sets it, too
    shown.page.wait_for_timeout(900)
    shown.agrees("▁street")


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
    x, y = shown.dot("▁walking")
    shown.page.mouse.move(x, y)
    assert shown.root.locator(".tfem-under").inner_text().startswith("Here: ▁walking (")
    shown.page.mouse.click(x, y)
    shown.agrees("▁walking")
    assert shown.control("search").input_value() == "walking"  # a link will keep it


def test_arrow_keys_walk_over_the_map(shown, table):
    places = both_maps(table)[0]
    shown.control("map").focus()
    for key, axis, sign in (
        ("ArrowUp", 1, 1),
        ("ArrowLeft", 0, -1),
        ("ArrowDown", 1, -1),
        ("ArrowRight", 0, 1),
    ):
        before = places[shown.names.index(shown.chosen), axis]
        shown.page.keyboard.press(key)
        after = places[shown.names.index(shown.chosen), axis]
        assert sign * (after - before) > -1e-3
    shown.agrees(shown.chosen)
    assert shown.page.evaluate("document.activeElement.dataset.control") == "map"


def test_the_other_pieces_come_as_grey_dots_by_kind(shown):
    count = """(root) => ((root.querySelector('.tfem-grey').getAttribute('d') || '')
      .match(/M/g) || []).length"""
    named = shown.root.locator("[data-mark]").count()
    assert shown.root.evaluate(count) == 0
    shown.control("kind-1").check(force=True)
    assert shown.root.evaluate(count) == 6000 - named
    parts = []
    for i in range(2, len(KINDS)):
        shown.control(f"kind-{i}").check(force=True)
        parts.append(shown.root.evaluate(count))
    assert sum(parts) == 6000 - named and min(parts) > 10


def test_the_table_behind_the_map_has_the_nearest_dots(shown, table):
    summary = shown.root.locator(".tfk-table summary")
    summary.click()
    rows = shown.root.locator(".tfk-table tbody tr").all()
    first = [shown.names.index("▁dog")]
    places = both_maps(table)[0]
    cells = [row.locator("td").all_inner_texts() for row in rows]
    numbers = [[float(x.replace("−", "-")) for x in row[:3]] for row in cells]
    assert numbers[0][:2] == pytest.approx(places[first[0]].tolist(), abs=2e-3)
    distances = [row[2] for row in numbers]
    assert distances == sorted(distances) and cells[0][3] == "chosen"
    summary.click()


def test_findings_are_announced_once_the_reader_pauses(shown):
    shown.search("street")
    live = shown.root.locator("[aria-live]")
    live.filter(has_text="street: nearest are").wait_for(timeout=driver.PATIENCE)


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_playing_moves_nothing_else_on_the_page(figure_page, playing, table, size):
    visit = figure_page(EmbeddingMap(), size=size, settle=False)
    with playing(visit, ".tfem") as seen:
        shown = Shown(seen, table)
        shown.root.scroll_into_view_if_needed()
        height = shown.root.bounding_box()["height"]
        near = shown.root.locator(".tfem-near").bounding_box()
        box = shown.root.bounding_box()
        assert near["x"] + near["width"] <= box["x"] + box["width"] + 1
        for word in ("a", "Straße", "internation", "zzzz", "e", "because"):
            shown.search(word)
            assert shown.root.bounding_box()["height"] == pytest.approx(height, abs=1)
        shown.root.locator("details.tfem-others").evaluate("e => { e.open = true }")
        height = shown.root.bounding_box()["height"]
        for i in range(len(KINDS)):
            shown.control(f"kind-{i}").check(force=True)
            assert shown.root.bounding_box()["height"] == pytest.approx(height, abs=1)


def test_every_control_has_a_name(shown):
    unnamed = shown.root.locator(
        "input:not([type=hidden]), select, button"
    ).evaluate_all(
        """all => all.filter(e => !(e.ariaLabel || e.labels?.[0]?.textContent.trim()
        || e.textContent.trim())).map(e => e.outerHTML)"""
    )
    assert unnamed == []


def test_the_state_came_from_the_same_map(shown):
    near = json.loads(shown.root.get_attribute("data-near"))
    assert [as_read(name) for name, _ in near] == [name for name, *_ in shown.list()]
