"""The live lab in the built site, by mouse and keyboard, against PyTorch."""

from __future__ import annotations

import contextlib
import itertools
from urllib.parse import parse_qs, quote_plus

import pytest
import torch
from driven import Driven

from tformer.analysis import trace
from tformer_book.press import browser as driver
from tformer_book.press.chapters import address, chapter, read, source
from tformer_book.widgets._model import RUNNING
from tformer_book.widgets.live_lab import MENDED, RIGHT, WRONG

LAB = address("lab")
OTHER = address("before-you-start")
pytestmark = pytest.mark.xdist_group(LAB)
TYPED = [
    "A man is riding a horse.",
    "Two children are playing in the snow.",
    "I do not know where he lives.",
    "My sister works in a hospital.",
    "What time is it?",
    "The dog did not cross the street because it was wide.",
    "There is no milk in the fridge, is there?",
    "Zwei Straßen & 3 cafés in Zürich: $5!",
    "She said that she would come tomorrow.",
    "i like TEA",
]
AGES = """() => {
  const age = document.querySelector('[data-age]');
  window.__ages = [];
  new MutationObserver(() => window.__ages.push(age.textContent))
    .observe(age, {childList: true, characterData: true, subtree: true});
}"""
# Every text that the German was, from the first to the last.
WATCH = """() => {
  const german = document.querySelector('[data-translation]');
  window.__seen = [];
  new MutationObserver(() => window.__seen.push(german.textContent))
    .observe(german, {childList: true, characterData: true, subtree: true});
}"""


class Lab(Driven):
    """What a reader can do in the lab, and what it shows."""

    selector = ".tfl"

    def __init__(self, seen):
        super().__init__(seen)
        self.requests = []
        seen.page.on("request", lambda request: self.requests.append(request.url))

    def control(self, name):
        return self.root.locator(f'[data-control="{name}"]').first

    def search(self, number):
        """Choose a search, in the fold of the settings."""
        if not self.control("search-0").is_visible():
            self.root.locator("[data-settings] > summary").click()
        self.control(f"search-{number}").check(force=True)

    def settled(self):
        """Wait for the model."""
        idle = self.page.locator(".tfl > .tfk-ask:not([data-busy])")
        idle.wait_for(timeout=driver.PATIENCE)
        return self.german()

    def ask(self, text=None):
        if text is not None:
            self.control("text").fill(text)
        self.control("text").press("Enter")
        return self.settled()

    def german(self):
        return self.root.locator("[data-translation]").inner_text()

    def pieces(self):
        return self.root.locator(".tfl-pieces [data-piece]").evaluate_all(
            "all => all.map(e => e.dataset.piece)"
        )

    def alternatives(self):
        """Names and probabilities of the pieces in the panel."""
        rows = self.root.locator("[data-panel] [data-control^=alternative]")
        names = rows.locator(".tfl-name").all_inner_texts()
        exact = rows.locator("[data-exact]").evaluate_all(
            "all => all.map(e => Number(e.dataset.exact))"
        )
        return dict(zip(names, exact, strict=True))

    def answered(self):
        """Wait for the translation without some heads."""
        told = self.root.locator(".tfh-knock:not([data-busy]) [data-odds][data-after]")
        told.wait_for(timeout=driver.PATIENCE)

    def tab_to(self, name, limit=40):
        for _ in range(limit):
            self.page.keyboard.press("Tab")
            if self.focused().startswith(name):
                return
        raise AssertionError(f"Tab does not reach {name}")

    def said(self):
        return self.root.locator("[data-said]").first.inner_text()

    def weights_fetched(self):
        return sum("model.safetensors" in url for url in self.requests)


@pytest.fixture
def fresh(visit, playing):
    """``with fresh("#text=…") as lab``: the page in a browser that knows nothing."""

    @contextlib.contextmanager
    def open_lab(hash=""):
        with playing(visit(LAB + hash, settle=False), ".tfl") as seen:
            yield Lab(seen)

    return open_lab


@pytest.fixture(scope="module")
def opened(chromium, site, playing):
    visit = driver.visit(chromium, site, LAB, settle=False)
    with playing(visit, ".tfl") as seen:
        yield Lab(seen)


@pytest.fixture
def lab(opened):
    opened.search(0)
    opened.control("tab-alternatives").click()
    opened.ask(RUNNING)
    return opened


@pytest.fixture(scope="module")
def translator(page_translator):
    return page_translator


def ids_of(translator, pieces):
    all_ids = range(translator.tokenizer.vocab_size)
    known = {translator.tokenizer.id_to_piece(i): i for i in all_ids}
    return [known[each] for each in pieces]


def name_of(piece):
    """A piece as the list of alternatives has it."""
    if piece == "</s>":
        return "the end"
    return piece[1:] if piece.startswith("▁") else f"-{piece}"


def next_pieces(translator, text, pieces):
    """PyTorch's probability of every piece after some pieces."""
    ids = ids_of(translator, pieces)
    source = torch.tensor([translator.encode(text)])
    target = torch.tensor([[translator.model.config.bos_id, *ids]])
    with torch.no_grad():
        return translator.model(source, target)[0, -1].softmax(-1)


def test_a_recorded_example_shows_at_once_and_nothing_is_loaded(fresh, translator):
    with fresh() as lab:
        assert lab.german() == translator.translate(RIGHT[0])
        assert len(lab.alternatives()) >= 8  # of one piece, before anything is chosen
        lab.control("piece-2").click()
        assert len(lab.alternatives()) == 8
        lab.control("tab-heads").click()
        lab.root.locator(".tfh-overview").wait_for()
        lab.control("tab-decoding").click()
        lab.root.locator(".tfd-tree").wait_for()
        assert not [url for url in lab.requests if "/model/" in url]


def test_ten_typed_sentences_become_the_german_of_pytorch(lab, translator):
    for text in TYPED:
        assert lab.ask(text) == translator.translate(text), text


def test_the_weights_come_once_for_all_pages(fresh, site):
    with fresh() as lab:
        lab.page.goto(site + OTHER)
        lab.page.goto(site + LAB)
        assert lab.weights_fetched() == 0
        lab.ask("A dog runs.")
        assert lab.weights_fetched() == 1
        lab.page.reload()  # the address holds the sentence, so it is translated again
        lab.settled()
        lab.ask("A cat runs.")
        assert lab.weights_fetched() == 1


def test_the_german_appears_piece_by_piece(lab, translator):
    lab.search(1)
    lab.page.wait_for_function(
        "() => document.querySelector('.tfl-note').textContent.includes('greedy')"
    )
    lab.page.evaluate(WATCH)
    text = TYPED[3]
    german = lab.ask(text)
    assert german == translator.translate(text, beam_size=1)
    seen = [each for each in lab.page.evaluate("window.__seen") if each]
    assert len(seen) > len(german.split())
    for before, after in itertools.pairwise(seen):
        assert after.startswith(before)


def test_the_piece_of_which_the_model_is_least_sure_is_asked_at_once(lab, translator):
    for text in TYPED[:3]:
        german = lab.ask(text)
        scored = translator.score(text, german)
        wanted = int(torch.tensor(scored.log_probabilities).argmin())
        pressed = lab.root.locator(".tfl-piece[aria-pressed=true]")
        assert pressed.get_attribute("data-control") == f"piece-{wanted}"
        assert lab.alternatives()[name_of(lab.pieces()[wanted])] == pytest.approx(
            2.718281828 ** scored.log_probabilities[wanted], abs=1e-3
        )
        assert "least sure" in lab.root.locator("[data-panel]").inner_text()
    lab.control("piece-0").click()
    assert pressed.get_attribute("data-control") == "piece-0"
    assert "least sure" not in lab.root.locator("[data-panel]").inner_text()


def test_a_piece_shows_what_pytorch_weighed_there(lab, translator):
    pieces = lab.pieces()
    for t in (0, 2, len(pieces) - 1):
        lab.control(f"piece-{t}").click()
        p = next_pieces(translator, RUNNING, pieces[:t])
        shown = lab.alternatives()
        assert list(shown.values()) == pytest.approx(
            p.topk(len(shown)).values.tolist(), abs=1e-3
        )
    assert "the end" in shown


def test_a_click_on_an_alternative_goes_on_from_there(lab, translator, forced):
    before = lab.pieces()
    lab.control("piece-2").click()
    wanted = lab.root.locator("[data-panel] button:not([aria-current])").first
    name = wanted.locator(".tfl-name").inner_text()
    wanted.click()
    german = lab.settled()
    after = lab.pieces()
    assert after[:2] == before[:2]
    assert after[2] in (f"▁{name}", name.removeprefix("-"))
    with forced(ids_of(translator, after[:3])):
        assert german == translator.translate(RUNNING)
    assert lab.root.locator(".tfl-forced").count() == 3
    lab.control("free").click()
    assert lab.settled() == translator.translate(RUNNING)
    assert lab.root.locator(".tfl-forced").count() == 0


def test_a_knock_out_keeps_the_beginning_that_the_reader_chose(lab, translator, forced):
    lab.control("piece-0").click()
    lab.control("alternative-2").click()
    lab.settled()
    chosen = lab.pieces()[:1]
    lab.control("tab-heads").click()
    lab.control("knock-site").click()
    lab.answered()
    without = lab.root.locator("[data-german=without]").inner_text()
    layers, heads = range(3), range(6)
    gains = {head: 0.0 for head in itertools.product(["cross"], layers, heads)}
    with trace.head_gains(translator.model, gains):
        free = translator.translate(RUNNING)
        with forced(ids_of(translator, chosen)):
            assert without == translator.translate(RUNNING) != free
    lab.control("restore").click()


def test_the_keyboard_does_all_of_it(lab, translator, forced):
    lab.control("text").fill(TYPED[0])
    lab.page.keyboard.press("Enter")
    assert lab.settled() == translator.translate(TYPED[0])
    before = lab.pieces()
    lab.tab_to("piece-")
    pressed = lab.root.locator(".tfl-piece[aria-pressed=true]")
    assert lab.focused() == pressed.get_attribute("data-control")
    lab.page.keyboard.press("Home")
    assert lab.focused() == "piece-0"
    lab.page.keyboard.press("ArrowRight")
    lab.page.keyboard.press("Enter")
    assert lab.focused() == "piece-1"
    lab.tab_to("alternative-")
    lab.page.keyboard.press("Tab")
    assert lab.focused() == "alternative-1"
    lab.page.keyboard.press("Enter")
    german = lab.settled()
    assert lab.pieces()[0] == before[0]
    assert lab.pieces()[1] != before[1]
    with forced(ids_of(translator, lab.pieces()[:2])):
        assert german == translator.translate(TYPED[0])
    assert lab.focused() == "piece-1"  # back where the reader was
    lab.page.keyboard.press("End")
    assert lab.focused() == f"piece-{len(lab.pieces()) - 1}"
    lab.tab_to("tab-")
    lab.page.keyboard.press("ArrowRight")
    assert lab.focused() == "tab-heads"
    assert not lab.root.locator(".tfh-overview").is_visible()
    lab.page.keyboard.press("Enter")
    lab.root.locator(".tfh-overview").wait_for()


def test_settings_change_the_search(lab, translator):
    lab.search(1)
    note = lab.root.locator(".tfl-note")
    note.filter(has_text="greedy").wait_for(timeout=driver.PATIENCE)
    assert lab.settled() == translator.translate(RUNNING, beam_size=1)
    lab.search(0)
    for _ in range(2):
        lab.control("beam_size").press("ArrowLeft")
    note.filter(has_text="2 wide").wait_for(timeout=driver.PATIENCE)
    assert lab.settled() == translator.translate(RUNNING, beam_size=2)
    lab.search(2)
    lab.control("top_k").press("Home")  # the likeliest piece only
    note.filter(has_text="top 1,").wait_for(timeout=driver.PATIENCE)
    assert lab.settled() == translator.translate(RUNNING, beam_size=1)
    for name in ("beam_size", "length_penalty"):
        assert not lab.control(name).is_visible()


def test_a_link_opens_translated_with_its_settings_and_knock_outs(fresh, translator):
    with fresh() as lab:
        lab.ask(TYPED[1])
        lab.search(2)
        lab.control("seed").press("ArrowRight")
        lab.control("temperature").press("ArrowLeft")
        note = lab.root.locator(".tfl-note")
        note.filter(has_text="temperature 0.9, seed 1").wait_for()
        lab.control("piece-0").click()
        lab.control("alternative-1").click()
        german, pieces = lab.settled(), lab.pieces()
        assert german and lab.root.locator(".tfl-forced").count() == 1
        lab.control("tab-heads").click()
        lab.control("knock-site").click()
        lab.answered()
        without = lab.root.locator("[data-german=without]").inner_text()
        lab.control("copy").click()
        link = lab.control("link").input_value()
        lab.page.wait_for_url(link)  # it is written when the reader rests
    hash = link.partition("#")[2]
    assert parse_qs(hash)["text"] == [TYPED[1]]
    with fresh("#" + hash) as lab:
        assert lab.control("text").input_value() == TYPED[1]
        assert lab.control("search-2").is_checked()
        assert lab.control("seed").input_value() == "1"
        assert lab.control("tab-heads").get_attribute("aria-selected") == "true"
        assert lab.settled() == german
        assert lab.pieces() == pieces
        lab.answered()
        assert lab.root.locator("[data-german=without]").inner_text() == without
        assert lab.page.url == link


def test_a_link_to_the_recorded_sentence_loads_nothing(fresh, translator):
    with fresh("#text=" + quote_plus(RIGHT[0]) + "&view=decoding") as lab:
        assert lab.german() == translator.translate(RIGHT[0])
        lab.root.locator(".tfd-tree").wait_for()
        assert not [url for url in lab.requests if "/model/" in url]


def test_old_german_is_marked_as_soon_as_the_english_is_another(lab, translator):
    node = lab.root.locator(".tfl-german")
    age = lab.root.locator("[data-age]")
    assert node.get_attribute("data-stale") is None and age.inner_text() == ""
    lab.control("text").fill(RUNNING + " A cat.")
    assert node.get_attribute("data-stale") == "true"
    assert age.inner_text() == "The German of the previous sentence"
    lab.control("text").fill(RUNNING)
    assert node.get_attribute("data-stale") is None and age.inner_text() == ""
    lab.page.evaluate(AGES)
    lab.ask(TYPED[0])
    assert "Translating …" in lab.page.evaluate("window.__ages")
    assert age.inner_text() == ""


def test_pieces_of_which_the_model_was_unsure_carry_their_probability(lab, translator):
    text = TYPED[5]
    german = lab.ask(text)
    scored = translator.score(text, german)
    chips = lab.root.locator(".tfl-piece")
    for chip, log_p in zip(chips.all(), scored.log_probabilities, strict=True):
        share = 2.718281828**log_p
        number = [each.strip() for each in chip.locator("small").all_inner_texts()]
        assert number == ([f"{100 * share:.0f}\u00a0%"] if share < 0.5 else [])
        assert ("tfl-weak" in chip.get_attribute("class")) == (share < 0.5)
    assert chips.locator("small").count() >= 1
    legend = lab.root.locator(".tfl-legend")
    assert "less than 50\u00a0%" in legend.inner_text()
    lab.ask(RIGHT[0])
    assert chips.locator("small").count() == 0
    assert "at least 50\u00a0%" in legend.inner_text()


def test_a_sentence_that_is_known_to_go_wrong_can_be_mended_in_one_click(
    lab, translator
):
    (_, instead, german) = MENDED[RUNNING]
    known = lab.root.locator("[data-known]")
    assert f"Known to go wrong: {WRONG[RUNNING]}" in known.inner_text()
    known.locator("button").click()
    assert lab.settled() == translator.translate(instead) == german
    assert lab.control("text").input_value() == instead
    assert not known.is_visible()


def test_the_lab_says_when_the_model_does_not_know(lab):
    remarks = lab.root.locator(".tfl-remarks")
    lab.ask(RIGHT[1])
    assert remarks.inner_text() == ""
    lab.ask("The neighbours are very friendly.")
    assert "Take this German with care" in remarks.inner_text()
    lab.ask("Собака спит.")
    assert "Latin letters" in remarks.inner_text()
    assert "Cut at 128 pieces" in remarks.inner_text()


def test_enter_translates_and_with_shift_begins_a_new_line(lab, translator):
    field = lab.control("text")
    field.fill("A man is")
    before = field.bounding_box()["height"]
    field.press("End")
    field.press("Shift+Enter")
    lab.page.keyboard.type("riding a horse.")
    assert field.input_value() == "A man is\nriding a horse."
    assert field.bounding_box()["height"] > before
    field.press("Enter")
    assert lab.settled() == translator.translate(TYPED[0])
    assert field.input_value() == "A man is\nriding a horse."


def test_the_search_is_shown_from_its_first_step_and_can_be_played(lab):
    lab.control("tab-decoding").click()
    step = lab.control("step")
    assert step.input_value() == "1"
    lab.control("end").click()
    assert int(step.input_value()) > 5
    lab.ask(TYPED[0])
    assert step.input_value() == "1"
    lab.control("play").click()
    lab.page.wait_for_function(
        "() => document.querySelector('[data-control=step]').value === '3'"
    )
    lab.control("start").click()


@pytest.mark.parametrize(
    ("tab", "key"),
    [
        ("heads", "inside-the-model"),
        ("decoding", "decoding-and-scoring"),
        ("teacher", "decoder"),
    ],
)
def test_every_view_inside_leads_to_its_chapter(lab, tab, key):
    path = chapter(key)
    title = source(read(path)["cells"][0]).splitlines()[0].removeprefix("# ")
    lab.control(f"tab-{tab}").click()
    link = lab.root.locator(f'[data-view="{tab}"] .tfl-book a')
    assert (link.inner_text(), link.get_attribute("href")) == (
        title,
        f"{path.stem}.html",
    )


@pytest.mark.parametrize(
    "hash",
    ["#what-to-try", "#text=", "#text=%E0%A4%A&seed=x&beam=99&search=best&begin=a"],
)
def test_an_address_without_sense_does_no_harm(fresh, hash):
    with fresh(hash) as lab:
        assert lab.control("beam_size").input_value() in ("4", "6")
        if "begin" in hash:  # a link is translated by itself
            lab.settled()
            assert "no piece “a”" in lab.said() or lab.german()


def test_examples_are_labelled_and_an_honest_choice_of_both_kinds(lab, translator):
    lab.root.locator("[data-examples] summary").click()
    groups = lab.root.locator("[data-examples] .tfl-group")
    assert "come out right" in groups.nth(0).inner_text()
    assert "go wrong" in groups.nth(1).inner_text()
    for group, sentences in enumerate((RIGHT, WRONG)):
        buttons = groups.nth(group).locator("[data-control^=example]")
        assert buttons.all_inner_texts() == list(sentences)
    lab.control("example-1-1").click()
    assert lab.settled() == translator.translate(list(WRONG)[1])


def test_the_views_inside_show_the_same_sentence(lab, translator):
    lab.ask(TYPED[0])
    lab.control("tab-heads").click()
    maps = translator.attention(TYPED[0])
    query = lab.root.locator(".tfh [data-pane] [data-cell='1-0']").first
    lab.root.locator(".tfh tbody th", has_text="▁Mann").first.wait_for()
    assert float(query.get_attribute("data-exact")) == pytest.approx(
        maps.cross[0, 0, 1, 0].item(), abs=1e-3
    )
    lab.control("tab-decoding").click()
    step = lab.root.locator(".tfd-view [data-control=step]")
    step.press("End")  # it begins at the first step
    best = lab.root.locator(".tfd-found tbody th").first
    best.filter(has_text=translator.translate(TYPED[0])).wait_for()
    lab.ask(TYPED[3])  # the open view follows, from its first step on
    lab.page.wait_for_function(
        "() => document.querySelector('.tfd-view [data-control=step]').value === '1'"
    )
    step.press("End")
    best.filter(has_text="Schwester").wait_for()


def test_the_teacher_gives_what_the_lab_shows(lab, translator):
    german = lab.ask(TYPED[0])
    lab.control("tab-teacher").click()
    field = lab.control("german")
    lab.page.wait_for_function(
        "german => document.querySelector('[data-control=german]')?.value === german",
        arg=german,
    )
    p = lab.root.locator(".tft [data-position='2'] [data-exact]").first
    scored = translator.score(TYPED[0], german)
    assert float(p.get_attribute("data-exact")) == pytest.approx(
        2.718281828 ** scored.log_probabilities[2], abs=1e-3
    )
    other = german.replace("Mann", "Hund")
    field.fill(other)
    field.press("Enter")
    row = lab.root.locator(".tft [data-position='1']")
    row.filter(has_text="▁Hund").wait_for(state="attached", timeout=driver.PATIENCE)
    scored = translator.score(TYPED[0], other)
    assert float(p.get_attribute("data-exact")) == pytest.approx(
        2.718281828 ** scored.log_probabilities[2], abs=1e-3
    )


def test_a_place_of_the_page_in_the_address_changes_nothing(lab, translator):
    german = lab.ask(TYPED[2])
    lab.page.evaluate("location.hash = '#what-to-try'")
    lab.page.wait_for_timeout(200)
    assert lab.german() == german
    lab.page.evaluate("location.hash = '#text=A+cat.&search=greedy'")
    lab.page.wait_for_function(
        "() => document.querySelector('[data-control=text]').value === 'A cat.'"
    )
    lab.page.wait_for_function(
        "() => document.querySelector('.tfl-note').textContent.includes('greedy')"
    )
    assert lab.settled() == translator.translate("A cat.", beam_size=1)
    assert lab.control("search-1").is_checked()


def test_a_changed_setting_does_not_wipe_a_sentence_that_is_being_typed(lab):
    german = lab.german()
    lab.control("text").fill("Half a sen")
    lab.search(1)
    lab.page.wait_for_timeout(1000)
    assert lab.control("text").input_value() == "Half a sen"
    assert lab.german() == german


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_tab_is_accessible_and_fits_a_phone(visit, dark):
    with visit(LAB, size="phone", dark=dark) as seen:
        lab = Lab(seen)
        lab.control("piece-1").click()
        lab.root.locator("[data-examples] summary").click()
        for name in ("alternatives", "heads", "decoding", "teacher"):
            lab.control(f"tab-{name}").click()
            assert seen.axe() == []
            assert seen.overflow() == []


def test_what_cannot_be_translated_is_said_in_words(lab):
    german = lab.german()
    lab.ask("   ")
    assert "type an English sentence" in lab.said()
    assert lab.german() == german
    lab.ask("word " * 300)
    assert "pieces, and the model reads at most" in lab.said()
    assert lab.german() == german  # marked as old
    assert lab.root.locator(".tfl-german").get_attribute("data-stale") == "true"
    lab.control("text").fill("A dog runs through the snow. " * 3)
    lab.page.keyboard.press("Enter")
    lab.control("ask").click()  # it says Stop
    lab.settled()
    assert "Stopped" in lab.said() or "Computed" in lab.said()


def test_every_control_has_a_name(lab):
    unnamed = lab.root.locator("input:not([type=hidden]), select, button").evaluate_all(
        """all => all.filter(e => !(e.ariaLabel || e.labels?.[0]?.textContent.trim()
        || e.textContent.trim())).map(e => e.outerHTML)"""
    )
    assert unnamed == []
