"""The live lab: its examples, its addresses, what it makes of a search."""

import hashlib
import json
import math
from pathlib import Path

import pytest

from studies import lab_doubt
from tformer import load_pretrained
from tformer.common.search import USUAL, SearchSettings
from tformer.translator import Translator
from tformer_book.widgets import LiveLab
from tformer_book.widgets._model import RUNNING, released_model
from tformer_book.widgets._searching import search_steps
from tformer_book.widgets.live_lab import DOUBT, LEVEL, MENDED, RIGHT, WRONG

ADDRESS = "live_lab/address.js"
MATHS = "live_lab/maths.js"

ROOT = Path(__file__).resolve().parents[3]
RUNNING_PAIR = {
    RUNNING: "Der Hund überquerte die Straße nicht, weil er müde war.",
    RUNNING.replace("tired", "wide"): (
        "Der Hund überquerte die Straße nicht, weil sie breit war."
    ),
}
STATES = [
    {"text": "A dog runs."},
    {"text": "50 % & more = #1 + “ü” 日本 😀?", "search": "greedy"},
    {"text": "x", "search": "beam", "beam_size": 6, "length_penalty": 1.7},
    {"text": "x", "search": "sample", "temperature": 0.3, "top_k": 50, "seed": 30},
    {"text": "x", "search": "sample", "top_p": 0.15, "prefix": ["▁Der", "<0xE2>", "&"]},
    {"text": "x", "prefix": ["▁", "+", "</s>"], "view": "heads"},
    {"text": "x", "knocked_out": [["cross", 2, 4], ["encoder", 0, 11]]},
]


@pytest.fixture(scope="module")
def lab():
    return LiveLab()


def test_examples_are_labelled_as_a_person_marked_what_the_model_says():
    kept = json.loads((ROOT / "results/typed-sentences.json").read_text("utf-8"))
    marked = {each["source"]: each for each in kept["aims"] + kept["typed"]}
    said = load_pretrained().translate([*RIGHT, *WRONG])
    for text, german in zip([*RIGHT, *WRONG], said, strict=True):
        if text in RUNNING_PAIR:
            assert (german == RUNNING_PAIR[text]) == (text in RIGHT), german
            continue
        assert german == marked[text]["translation"], "a new model: read it, mark it"
        assert marked[text]["mark"] == ("right" if text in RIGHT else "wrong"), text
        assert WRONG.get(text, "") == marked[text]["remark"]


def test_examples_are_not_offered_for_a_model_that_nobody_judged(lab):
    assert [len(each["items"]) for each in lab.examples] == [len(RIGHT), len(WRONG)]
    assert lab.doubt == {"below": DOUBT, "level": LEVEL}
    released = load_pretrained()
    model = type(released.model)(released.model.config)
    own = LiveLab("A dog.", translator=Translator(model, released.tokenizer))
    assert own.examples == [] and own.doubt == {}


def test_every_sentence_that_goes_wrong_is_mended_by_one_that_comes_out_right(lab):
    assert list(MENDED) == list(WRONG)
    translator = load_pretrained()
    for (how, instead, german), item in zip(
        MENDED.values(), lab.examples[1]["items"], strict=True
    ):
        assert translator.translate(instead) == german, "a new model: read it again"
        assert item["mend"] == {"how": how, "text": instead}


def test_the_lab_opens_on_a_success(lab):
    assert lab.text in RIGHT
    german = lab.translator.translate(lab.text)
    assert f"“{lab.text}” becomes “{german}”" in repr(lab)
    scored = lab.translator.score(lab.text, german)
    assert f"gave {math.exp(min(scored.log_probabilities)):.0%}" in repr(lab)


def test_the_lab_warns_where_few_validation_captions_do_worse(page_translator):
    kept = json.loads((ROOT / "results/lab-doubt.json").read_text("utf-8"))
    weights = released_model().files["model.safetensors"]
    assert kept["model"] == hashlib.sha256(weights).hexdigest(), kept["command"]
    assert (kept["level"], kept["percentiles"][str(LEVEL)]) == (LEVEL, DOUBT)
    right = lab_doubt.per_piece(page_translator, RIGHT)
    invented = [text for text, why in WRONG.items() if "no German word" in why]
    assert max(lab_doubt.per_piece(page_translator, invented)) < DOUBT < min(right)


REMARKS = "import * as remarks from './live_lab/remarks.js';"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A dog runs.", ""),
        ("Über Cafés & Straßen: 3 € or $5!", ""),
        ("Собака спит на диване.", "isn’t written in Latin letters"),
        ("狗在睡觉。", "isn’t written in Latin letters"),
        ("🙂🎉", "There are no words in this"),
        ("12 + 3 = 15", "There are no words in this"),
        ("I love you 🙂", "“🙂” is not from one"),
        ("The word 猫 means cat.", "“猫” is not from one"),
    ],
)
def test_what_cannot_be_english_gets_a_kind_word(js, text, said):
    found = js("live_lab/remarks.js", "foreign(given)", text)
    assert said in found and bool(said) == bool(found)


@pytest.mark.parametrize("text", ["", "   ", "\n\n \t"])
def test_nothing_is_refused_before_anything_is_loaded(js, text):
    said = js("live_lab/remarks.js", "refusal(given)", text)
    assert "type an English sentence" in said


def test_a_low_probability_a_piece_is_warned_of_and_no_other(node):
    script = "console.log(JSON.stringify(given.map(([log, pieces, doubt]) =>"
    script += "remarks.doubtful({ logProbability: log, pieces }, doubt))))"
    doubt = {"below": -0.5, "level": 5}
    low, just, high, unknown = node(
        REMARKS + script,
        [[-6, 10, doubt], [-5, 10, doubt], [-1, 10, doubt], [-99, 10, {}]],
    )
    assert "less sure of it than of 95 % of the captions that it was checked on" in low
    assert just == high == unknown == ""


def test_a_translation_that_was_cut_says_so(js):
    whole, cut = js(
        "live_lab/remarks.js", "given.map((n) => cutAt(n, 128))", [127, 128]
    )
    assert whole == "" and cut.startswith("Cut at 128 pieces")


def test_a_recorded_example_is_pytorchs_translation(lab):
    translator = load_pretrained()
    (best, *_) = lab.example["steps"][-1]["finished"]
    assert best["text"] == translator.translate(lab.text)
    assert lab.example["greedy"][-1]["finished"][0]["text"] == translator.translate(
        lab.text, beam_size=1
    )


def test_python_and_the_page_agree_on_the_usual_settings(js, lab):
    usual = js(ADDRESS, "[usual(), SEARCHES, VIEWS]")
    assert usual[0] == {name: getattr(lab, name) for name in usual[0]}
    tabs = js("live_lab/views.js", "INSIDE.map((each) => each.key)")
    assert usual[2] == ["alternatives", *tabs]


def test_an_address_keeps_the_whole_state(node):
    read = node(
        "import { ofHash, toHash, usual } from './live_lab/address.js';"
        "const states = given.map((each) => ({ ...usual(), ...each }));"
        "console.log(JSON.stringify(states.map((each) => "
        "[each, toHash(each), ofHash(toHash(each))])))",
        STATES,
    )
    for state, hash, again in read:
        assert again == state
        assert hash.isascii() and " " not in hash
    assert read[0][1] == "#text=A+dog+runs."  # nothing that goes without saying


@pytest.mark.parametrize(
    ("hash", "found"),
    [
        ("", None),
        ("#what-to-try", None),
        ("#text=+", None),
        ("#text=a&search=best&view=x", {}),
        ("#text=a&beam=99&alpha=-1", {"beam_size": 6, "length_penalty": 0}),
        ("#text=a&beam=2.6&seed=x&top-k=", {"beam_size": 3}),
        ("#text=a&temperature=Infinity&top-p=0.123", {"top_p": 0.1}),
        ("#text=" + "a" * 9999, {"text": "a" * 2000}),
        (
            "#text=a&out=cross.2.4+decoder.1+moon.1.1+encoder.0.1",
            {"knocked_out": [["cross", 2, 4], ["encoder", 0, 1]]},
        ),
        ("#text=%E0%A4%A", {"text": "\ufffd%A"}),
    ],
)
def test_an_address_that_makes_no_sense_gives_what_is_usual(js, hash, found):
    read, usual = js(ADDRESS, "[ofHash(given), usual()]", hash)
    assert read == (found if found is None else {**usual, "text": "a", **found})


@pytest.mark.parametrize(
    "settings",
    [
        USUAL,
        SearchSettings(search="greedy"),
        SearchSettings(search="sample", temperature=1.2, seed=3),
    ],
    ids=lambda each: each.search,
)
def test_each_piece_of_a_translation_is_found_in_the_steps_of_its_search(js, settings):
    translator = load_pretrained()
    steps = search_steps(translator, RUNNING, settings)
    best = steps[-1]["finished"][0]
    positions = js(
        MATHS, "positionsOf(given.steps, given.best)", {"steps": steps, "best": best}
    )
    assert [each["piece"] for each in positions] == [*best["pieces"], "</s>"]
    product = 1.0
    for each in positions:
        product *= each["probability"]
        for entry in each["next"]:
            if entry["piece"] == each["piece"]:
                assert entry["probability"] == pytest.approx(
                    each["probability"], rel=1e-3
                )
    assert product == pytest.approx(2.718281828 ** best["logProbability"], rel=1e-3)


def test_the_lab_opens_with_the_piece_of_which_the_model_was_least_sure(js):
    found = js(
        MATHS,
        "given.map((all) => leastSure(all.map((probability) => ({ probability }))))",
        [[0.9, 0.2, 0.7], [0.5], [0.4, 0.3, 0.3], []],
    )
    assert found == [1, 0, 1, -1]


OWN = "import { exchangeable, filesOf } from './live_lab/own_model.js';\n"
SAID = (
    "const said = (work) => { try { return work(); } catch (e) { return e.message; } };"
)


def test_the_two_files_of_a_model_are_found_by_their_endings(node):
    script = "const names = given.map((name) => ({ name }));"
    script += "console.log(JSON.stringify(filesOf(names)))"
    for weights in ("model.safetensors", "MODEL.SAFETENSORS"):
        found = node(OWN + script, ["tokenizer.model", weights])
        assert found == {
            "weights": {"name": weights},
            "tokenizer": {"name": "tokenizer.model"},
        }


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ([], "there is no model.safetensors among them"),
        (["model.safetensors"], "there is no tokenizer.model among them"),
        (["a.safetensors", "b.safetensors", "t.model"], "there are 2 files *.safet"),
        (["m.safetensors", "t.model", "card.json"], "card.json is neither"),
    ],
)
def test_other_files_are_refused_in_words_that_say_what_to_choose(names, why, node):
    script = "const names = given.map((name) => ({ name }));"
    script += "console.log(JSON.stringify(said(() => filesOf(names))))"
    message = node(OWN + SAID + script, names)
    assert message.startswith("Choose model.safetensors and tokenizer.model")
    assert why in message


def test_an_exchanged_engine_answers_for_all_who_hold_it_and_is_closed_at_last(node):
    script = """
    const closed = [];
    const make = (name) => ({
      translate: (...inputs) => [name, ...inputs], close: () => closed.push(name) });
    const held = exchangeable(make("first"));
    const answers = [held.translate(1, 2)];
    held.use(make("second"));
    answers.push(held.translate(3));
    held.use(make("third"));
    held.use(null);
    answers.push(held.translate(4));
    console.log(JSON.stringify({ answers, closed }));
    """
    found = node(OWN + script)
    assert found["answers"] == [["first", 1, 2], ["second", 3], ["first", 4]]
    assert found["closed"] == ["second", "third"]  # the first is the page's: it stays
