"""The search, driven by mouse and keyboard, against `tformer.decode`."""

import pytest
import torch
from driven import Driven

from tformer import decode
from tformer_book.press import browser as driver
from tformer_book.widgets import Decoding

pytestmark = pytest.mark.xdist_group("decoding")
NEW = "Two dogs play in the snow."


class Search(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tfd"

    def pick(self, number):
        self.control(f"search-{number}").check(force=True)

    def go(self, step):
        self.control("step").fill(str(step))

    def nodes(self, status=None):
        of = f'[data-status="{status}"]' if status else ""
        return self.root.locator(f'[role="treeitem"]{of}:visible')

    def finished(self):
        rows = self.root.locator(".tfd-found tbody tr[data-ids]")
        return [
            (
                [int(i) for i in row.get_attribute("data-ids").split()],
                float(row.get_attribute("data-log-p")),
                float(row.get_attribute("data-score")),
            )
            for row in rows.all()
        ]

    def next(self):
        """The bars: {piece: [p, and what was drawn from]}."""
        rows = self.root.locator(".tfd-next tbody tr[data-piece]")
        return {
            row.get_attribute("data-piece"): [
                float(cell.get_attribute("data-exact"))
                for cell in row.locator("td[data-exact]").all()
            ]
            for row in rows.all()
        }

    def heading(self):
        return self.root.locator(".tfd-heading").first.inner_text()

    def ask(self, text):
        self.control("text").fill(text)
        self.control("text").press("Enter")
        self.wait()

    def wait(self):
        self.page.wait_for_timeout(300)  # a changed setting waits for the next
        self.root.locator("form:not([data-busy])").wait_for(timeout=driver.PATIENCE)


@pytest.fixture(scope="module")
def translator(page_translator):
    return page_translator


@pytest.fixture(scope="module")
def opened(figure_page, playing):
    visit = figure_page(Decoding())
    with playing(visit) as seen:
        yield seen


@pytest.fixture
def search(opened):
    shown = Search(opened)
    shown.pick(2)
    shown.control("beam_size").fill("4")
    shown.control("length_penalty").fill("0.6")
    shown.wait()
    shown.control("end").or_(shown.control("play")).first.scroll_into_view_if_needed()
    shown.control("step").press("End")
    return shown


def best(translator, text, n, alpha):
    (found,) = decode.n_best(
        translator.model,
        torch.tensor([translator.encode(text)]),
        n=n,
        beam_size=n,
        length_penalty=alpha,
        max_len=128,
    )
    return found


def agree(mine, theirs):
    assert [ids for ids, _, _ in mine[: len(theirs)]] == [each.ids for each in theirs]
    for (_, log_p, score), each in zip(mine, theirs, strict=False):
        assert log_p == pytest.approx(each.log_probability, abs=1e-2)
        assert score == pytest.approx(each.score, abs=1e-2)


def test_the_recorded_beam_shows_without_the_model(search, translator):
    text = search.control("text").input_value()
    agree(search.finished(), best(translator, text, 4, 0.6))
    assert not [url for url in search.seen.asked if "/model/" in url]
    for number, name in ((0, "greedy"), (1, "sample")):
        search.pick(number)
        assert search.root.locator("[data-note]").inner_text() == "", name
    search.control("temperature").press("ArrowRight")
    assert "need the model" in search.root.locator("[data-note]").inner_text()
    search.control("temperature").press("ArrowLeft")
    assert search.root.locator("[data-note]").inner_text() == ""
    assert not [url for url in search.seen.asked if "/model/" in url]


def test_the_penalty_ranks_anew_without_another_search(search, translator):
    text = search.control("text").input_value()
    for alpha in (0, 3):
        search.control("length_penalty").fill(str(alpha))
        agree(search.finished(), best(translator, text, 4, alpha))
    assert "α = 3.0" in search.root.inner_text()


def test_steps_go_forward_and_back_by_mouse_and_by_keyboard(search):
    search.control("start").click()
    assert search.nodes().count() == 1 + 8  # bos, and two for each of the beam
    assert search.control("back").is_disabled()
    assert search.nodes("live").count() == 1 + 4
    search.control("forward").click()
    assert search.nodes().count() == 1 + 16
    search.control("step").focus()
    search.page.keyboard.press("ArrowRight")
    assert search.control("step").input_value() == "3"
    search.page.keyboard.press("ArrowLeft")
    search.page.keyboard.press("ArrowLeft")
    assert search.nodes().count() == 1 + 8
    search.control("end").focus()
    search.page.keyboard.press("Enter")
    assert search.nodes("live").count() == 0
    assert search.control("forward").is_disabled()
    assert search.finished()


def test_playing_goes_on_by_itself_and_stops(search):
    search.control("play").click()
    assert search.control("step").input_value() == "1"
    search.page.wait_for_function(
        "() => document.querySelector('[data-control=step]').value === '3'"
    )
    search.control("play").click()
    assert search.control("play").inner_text() == "Play"
    stood = search.control("step").input_value()
    search.page.wait_for_timeout(1200)
    assert search.control("step").input_value() == stood


def test_arrow_keys_walk_the_tree_and_show_what_may_follow(search, translator):
    text = search.control("text").input_value()
    search.go(4)
    search.root.locator('[role="treeitem"][tabindex="0"]').focus()
    search.page.keyboard.press("Home")
    at = "document.activeElement"
    assert "the start" in search.page.evaluate(f"{at}.ariaLabel")
    assert search.heading().startswith("At the start")
    with torch.no_grad():
        logits = translator.model(
            torch.tensor([translator.encode(text)]), torch.tensor([[1]])
        )[0, -1]
    p = logits.softmax(-1)
    for piece, (shown,) in search.next().items():
        i = next(
            i
            for i in p.argsort(descending=True).tolist()
            if translator.tokenizer.id_to_piece(i) == piece
        )
        assert shown == pytest.approx(float(p[i]), abs=1e-4)
    for key, level in (("ArrowRight", "2"), ("ArrowRight", "3"), ("ArrowLeft", "2")):
        search.page.keyboard.press(key)
        assert search.page.evaluate(f"{at}.ariaLevel") == level
    before = search.heading()
    search.page.keyboard.press("ArrowDown")
    assert "dropped" in search.page.evaluate(f"{at}.ariaLabel")
    assert search.heading() != before
    search.page.keyboard.press("End")
    assert search.page.evaluate(f"{at}.ariaLevel") == "5"
    tabs = search.root.locator('[role="treeitem"][tabindex="0"]')
    assert tabs.count() == 1


def test_a_click_on_a_node_shows_what_may_follow(search):
    search.go(3)
    search.nodes().filter(has_text="Hund").first.click()
    assert search.heading().startswith("After “Der Hund”")
    assert "● kept" in search.root.locator(".tfd-next").inner_text()


def test_marks_tell_branches_apart_without_colour(search):
    search.go(3)
    for status, mark in (("live", "●"), ("dropped", "✗")):
        texts = search.nodes(status).all_inner_texts()
        assert texts and all(text.strip().startswith(mark) for text in texts)
    search.control("end").click()
    texts = search.nodes("finished").all_inner_texts()
    assert all(text.strip()[0] in "✓★" for text in texts)
    assert sum("★" in text for text in texts) == 1


def test_the_table_behind_the_tree_has_every_node(search):
    search.go(3)
    search.root.locator("summary").click()
    rows = search.root.locator("details tbody tr")
    assert rows.count() == search.nodes().count() - 1
    assert "dropped" in rows.last.inner_text()
    search.root.locator("summary").click()


def test_a_typed_sentence_is_searched_in_the_page(search, translator):
    first = search.control("text").input_value()
    search.ask(NEW)
    agree(search.finished(), best(translator, NEW, 4, 0.6))
    for size in (1, 6):
        search.control("beam_size").fill(str(size))
        search.wait()
        agree(search.finished(), best(translator, NEW, size, 0.6))
    search.pick(0)
    search.wait()
    source_ids = torch.tensor([translator.encode(NEW)])
    (greedy,) = decode.greedy(translator.model, source_ids, max_len=128)
    ((ids, log_p, _),) = search.finished()
    (scored,) = decode.score(translator.model, source_ids, [greedy])
    assert ids == greedy
    assert log_p == pytest.approx(scored.log_probability, abs=1e-2)
    search.ask(first)


def test_a_sample_shows_what_it_was_drawn_from(search, translator):
    search.ask(NEW)
    search.pick(1)
    search.control("temperature").fill("1.5")
    search.control("top_k").fill("5")
    search.control("top_p").fill("1")
    search.control("seed").fill("2")
    search.wait()
    search.control("start").click()
    source_ids = torch.tensor([translator.encode(NEW)])
    with torch.no_grad():
        logits = translator.model(source_ids, torch.tensor([[1]]))[0, -1]
    p = logits.softmax(-1)
    logits[[0, 1, 3]] = -torch.inf  # never drawn
    drawn = decode.distribution(logits, temperature=1.5, top_k=5)
    names = [translator.tokenizer.id_to_piece(i) for i in range(len(p))]
    shown = search.next()
    for piece, (before, after) in shown.items():
        assert before == pytest.approx(float(p[names.index(piece)]), abs=1e-3)
        assert after == pytest.approx(float(drawn[names.index(piece)]), abs=1e-3)
    assert sum(after > 0 for _, after in shown.values()) == 5
    assert "● drawn" in search.root.locator(".tfd-taken").inner_text()
    search.ask("The dog did not cross the street because it was tired.")


def test_an_empty_sentence_is_refused_in_words(search):
    before = search.finished()
    search.ask(" ")
    assert "nothing to translate" in search.root.locator("[data-said]").inner_text()
    assert search.finished() == before
    search.control("text").fill(
        "The dog did not cross the street because it was tired."
    )


def test_findings_are_announced(search):
    search.control("start").click()
    live = search.root.locator("[aria-live]")
    live.filter(has_text="4 kept, 0 finished, 4 dropped").wait_for(
        timeout=driver.PATIENCE
    )


@pytest.mark.parametrize("kind", ["greedy", "sample", "beam"])
@pytest.mark.parametrize("look", [{}, {"size": "phone"}, {"dark": True}], ids=str)
def test_it_fits_and_has_no_accessibility_finding(figure_page, look, kind):
    with figure_page(Decoding(search=kind), **look) as seen:
        assert seen.axe() == []
        assert seen.overflow() == []
        assert seen.layout_shift() <= 0.01
        seen.page.locator('[data-control="step"]').fill("5")
        seen.page.locator("summary").click()
        assert seen.axe() == []
        assert seen.overflow() == []
