"""The live lab opens a model of the reader's own: by mouse, by keyboard, or not at all.

The page holds the lab alone, as the site publishes it.
"""

from __future__ import annotations

import pytest

from tformer import interop, load_pretrained
from tformer_book.press import browser as driver
from tformer_book.widgets import LiveLab

TEXT = "A man is riding a horse."


@pytest.fixture(scope="module")
def own(make_translator, tmp_path_factory):
    """A small model of somebody's, exported for the lab; and what it says."""
    folder = tmp_path_factory.mktemp("own") / "lab"
    interop.export(make_translator([TEXT, "Zwei Hunde."]), "lab", folder)
    return folder, load_pretrained(folder)


@pytest.fixture
def lab(figure_page, playing):
    with playing(figure_page(LiveLab()), ".tfl") as seen:
        yield seen.page


def german(page):
    page.locator(".tfl > .tfk-ask:not([data-busy])").wait_for(timeout=driver.PATIENCE)
    return page.locator("[data-translation]").inner_text()


def ask(page, text=TEXT):
    page.locator("[data-control=text]").first.fill(text)
    page.locator("[data-control=text]").first.press("Enter")
    return german(page)


def choose(page, *files):
    """Choose files, and wait for what the lab says of them."""
    page.locator("[data-own]").evaluate("details => { details.open = true; }")
    page.locator("[data-control=own-files]").set_input_files([*files])
    told = "() => /answers now|cannot be opened/.test("
    told += "document.querySelector('[data-own-said]').textContent)"
    page.wait_for_function(told, timeout=driver.PATIENCE)
    return page.locator("[data-own-said]").inner_text()


def both(folder):
    return folder / "tokenizer.model", folder / "model.safetensors"


def test_it_answers_in_the_place_of_the_released_model_until_sent_back(
    own, lab, page_translator
):
    folder, translator = own
    requests = []
    lab.on("request", lambda request: requests.append(request.url))
    said = choose(lab, *both(folder))
    n_parameters = translator.model.n_parameters()
    assert said == f"Your model answers now: {n_parameters:,} parameters, 330 pieces."
    assert ask(lab) == translator.translate(TEXT)
    for tab in ("heads", "decoding", "teacher"):
        lab.locator(f"[data-control=tab-{tab}]").click()
    assert not [url for url in requests if "/model/" in url]  # nothing of the page's
    assert lab.locator("[data-examples]").is_hidden()  # judged for another model
    lab.locator("[data-control=own-back]").click()
    assert ask(lab) == page_translator.translate(TEXT)
    assert lab.locator("[data-examples]").is_visible()


def test_a_wrong_file_is_refused_in_words_and_the_released_model_goes_on(
    own, lab, page_translator, tmp_path
):
    folder, _ = own
    assert "no tokenizer.model among them" in choose(lab, folder / "model.safetensors")
    whole = (folder / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "tokenizer.model").write_bytes(b"no tokenizer")
    assert "truncated" in choose(lab, *both(tmp_path))
    said = choose(lab, folder / "model.safetensors", tmp_path / "tokenizer.model")
    assert "take both from one run" in said
    assert lab.locator("[data-control=own-back]").is_hidden()
    assert ask(lab) == page_translator.translate(TEXT)


def test_the_keyboard_reaches_the_file_picker(lab):
    lab.on("filechooser", lambda _: None)  # from here on, well before it is asked for
    lab.locator("[data-own] summary").focus()
    lab.keyboard.press("Enter")
    lab.keyboard.press("Tab")
    focused = "document.activeElement.dataset.control"
    assert lab.evaluate(focused) == "own-files"
    with lab.expect_file_chooser() as asked:
        lab.keyboard.press("Enter")
    assert asked.value.is_multiple()


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_the_control_is_accessible_and_fits_a_phone(size, own, figure_page, playing):
    with playing(figure_page(LiveLab(), size=size), ".tfl") as seen:
        choose(seen.page, own[0] / "model.safetensors")
        assert seen.axe() == []
        widths = "e => [e.scrollWidth, e.clientWidth]"
        wide, shown = seen.page.locator("[data-own]").evaluate(widths)
        assert wide <= shown
