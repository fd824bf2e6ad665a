"""The first page's figure: what it records, and words made of pieces, in Node."""

import math
import re

import pytest
from torch.testing import assert_close

from tformer_book.widgets import FirstTranslation, first_translation

WORDS = "first_translation/words.js"

SENTENCES = ["Why did you not call me yesterday?", "A man sleeps."]


@pytest.fixture(scope="module")
def figure():
    return FirstTranslation(SENTENCES)


def spelled(way):
    return "".join(way["predictedPieces"][:-1]).replace("▁", " ").strip()


def test_it_records_what_the_translator_looks_at(figure, page_translator):
    recorded = figure.example["sentences"]
    assert [each["text"] for each in recorded] == SENTENCES
    for text, ways in ((each["text"], each["ways"]) for each in recorded):
        assert spelled(ways[0]) == page_translator.translate(text)
        for way in ways:
            maps = page_translator.attention(text, spelled(way))
            assert way["predictedPieces"] == maps.predicted_pieces
            mean = maps.cross[-1].mean(0)
            assert_close(mean.new_tensor(way["weights"]), mean, rtol=0, atol=0.0005001)


def test_it_records_how_probable_the_words_were_that_came_close(
    figure, page_translator
):
    first = figure.example["sentences"][0]
    text, ways = first["text"], first["ways"]
    for way in ways:
        scored = page_translator.score(text, spelled(way))
        assert scored.pieces == way["predictedPieces"]
        chances = iter(way["chances"])
        rows = zip(scored.pieces, scored.log_probabilities, way["next"], strict=True)
        for piece, log_probability, options in rows:
            probabilities = dict(options)
            expected = pytest.approx(math.exp(log_probability), abs=0.0006)
            assert next(chances) == expected
            assert list(probabilities.values()) == sorted(probabilities.values())[::-1]
            if piece in probabilities:
                assert probabilities[piece] == expected


def test_another_way_begins_alike_and_goes_on_with_the_best_piece(figure):
    [own, *others], [_] = (each["ways"] for each in figure.example["sentences"])
    assert [spelled(each) for each in others[:2]] == [
        "Warum haben Sie mich gestern nicht angerufen?",
        "Warum habt ihr mich gestern nicht angerufen?",
    ]
    for other in others:
        pieces = other["predictedPieces"]
        pairs = zip(own["predictedPieces"], pieces, strict=False)
        parts = next(i for i, (a, b) in enumerate(pairs) if a != b)
        probability = dict(own["next"][parts])[pieces[parts]]
        assert probability >= figure.example["close"]
        for piece, options in list(zip(pieces, other["next"], strict=True))[
            parts + 1 :
        ]:
            assert piece == options[0][0]


def test_only_whole_words_that_came_close_are_offered(js):
    given = {
        "sourcePieces": ["▁I", "</s>"],
        "predictedPieces": ["▁ich", "▁auf", "stehe", ".", "</s>"],
        "weights": [[0.9, 0.1]] * 5,
        "next": [
            [["▁ich", 0.6], ["▁wir", 0.3], ["▁mir", 0.07], ["▁uns", 0.06]],
            # "en" begins no word, and "aufs" may become "aufstehe", which is written
            [["▁stehe", 0.5], ["▁auf", 0.2], ["▁aufs", 0.2], ["en", 0.1]],
            [["stehe", 0.7], ["▁an", 0.3]],  # not where a word begins
            [[".", 0.6], ["▁früh", 0.4]],  # a mark would be parted from its word
            [["</s>", 0.5], ["▁so", 0.5]],
        ],
        "chances": [0.6, 0.2, 0.7, 0.6, 0.5],
    }
    found = js(WORDS, "linked(given, 0.05).others", given)
    assert found == [
        [
            {"text": "wir…", "probability": 0.3, "first": 0.3, "prefix": ["▁wir"]},
            {"text": "mir…", "probability": 0.07, "first": 0.07, "prefix": ["▁mir"]},
        ],
        [
            {
                "text": "stehe…",
                "probability": 0.5,
                "first": 0.5,
                "prefix": ["▁ich", "▁stehe"],
            }
        ],
        [],
    ]
    assert js(WORDS, "linked(given, 0.35).others.map((all) => all.length)", given) == [
        0,
        1,
        0,
    ]
    # the product of its pieces' probabilities, whether they were the best or not
    assert js(WORDS, "linked(given).certain", given) == pytest.approx([0.6, 0.14, 0.6])
    likelier = js(WORDS, "[0, 1].map((g) => likelier(linked(given, 0.05), g))", given)
    assert [each and each["text"] for each in likelier] == [None, "stehe…"]
    long = {**given, "chances": [0.6, 0.9, 0.2, 0.6, 0.5]}  # "auf" was likelier yet
    assert js(WORDS, "likelier(linked(given, 0.05), 1) ?? null", long) is None
    assert js(WORDS, "cameClose({ others: given }, 0)", found) == (
        "It might have written “wir…”\u00a0(30\u00a0%) or “mir…”\u00a0(7\u00a0%)."
    )


def test_a_recorded_way_is_found_by_how_it_begins(js):
    ways = [{"predictedPieces": each} for each in (["▁a", "▁b"], ["▁a", "▁c", "▁d"])]
    found = js(WORDS, 'beginning(given, ["▁a", "▁c"])', ways)
    assert found == ways[1]
    assert js(WORDS, 'beginning(given, ["▁c"]) ?? null', ways) is None


def test_words_are_made_of_pieces_and_marks_stand_alone(js):
    pieces = ["▁be", "cause", "▁don", "'", "t", "▁go", ".", "</s>"]
    words = js(WORDS, "wordsOf(given)", pieces)
    assert words == [
        {"text": "because", "places": [0, 1]},
        {"text": "don't", "places": [2, 3, 4]},
        {"text": "go", "places": [5]},
        {"text": ".", "places": [6]},
    ]


def test_a_word_pays_the_mean_and_gets_the_sum_of_its_pieces(js):
    given = {
        "sourcePieces": ["▁be", "cause", "▁it", "</s>"],
        "predictedPieces": ["▁we", "il", "▁es", "</s>"],
        "weights": [
            [0.5, 0.2, 0.1, 0.2],
            [0.1, 0.4, 0.3, 0.2],
            [0.0, 0.0, 0.9, 0.1],
            [0.0, 0.0, 0.0, 1.0],
        ],
        "next": [[], [], [], []],
        "chances": [1, 1, 1, 1],
    }
    pair = js(WORDS, "linked(given)", given)
    assert [each["text"] for each in pair["german"]] == ["weil", "es"]
    assert pair["shares"] == [pytest.approx([0.6, 0.2]), pytest.approx([0.0, 0.9])]


def test_what_a_word_looked_at_is_told_and_nothing_that_it_hardly_saw(js):
    given = {
        "english": [{"text": each} for each in ("a", "b", "c")],
        "shares": [[0.2, 0.53, 0.15], [0.9, 0.05, 0.05], [0.09, 0.08, 0.07]],
    }
    assert [js(WORDS, f"lookedAt(given, {g})", given) for g in range(3)] == [
        "gave “b”\u00a053\u00a0% of its attention, “a”\u00a020\u00a0%, and others less",
        "gave “a”\u00a090\u00a0% of its attention",
        "gave the invisible end sign\u00a076\u00a0% of its attention",
    ]
    assert [js(WORDS, f"sawMost(given, {g})", given) for g in range(3)] == [
        "looked most at “b”",
        "looked most at “a”",
        "looked most at the invisible end sign",  # which got the rest
    ]
    many = {"english": given["english"] * 4, "shares": [[0.08] * 12]}
    assert js(WORDS, "lookedAt(given, 0)", many).startswith("spread its attention")
    assert js(WORDS, "sawMost(given, 0)", many).startswith("looked at many words")


def test_an_english_word_names_the_german_one_that_looked_at_it_most(js):
    given = {
        "english": [{"text": each} for each in ("a", "b", "c")],
        "german": [{"text": each} for each in ("A", "B")],
        "shares": [[0.2, 0.5, 0.05], [0.3, 0.1, 0.04]],
    }
    assert [js(WORDS, f"seenMostFor(given, {e})", given) for e in range(3)] == [
        "“a” got its largest share of attention from “B”",
        "“b” got its largest share of attention from “A”",
        "No German word paid much attention to “c”",
    ]


def test_the_engines_answer_becomes_what_is_recorded(js):
    attention = {
        "sourcePieces": ["▁A", "</s>"],
        "predictedPieces": ["▁E", "in"],
        "cross": {  # two layers, two heads: the mean of the last layer's
            "shape": [2, 2, 2, 2],
            "data": [9.0] * 8 + [0.2, 0.8, 0.4, 0.6, 0.4, 0.6, 0.8, 0.2],
        },
    }
    option = {"id": 7, "piece": "▁E", "probability": 0.8}
    positions = [
        {"next": [option], "logProbability": math.log(0.8)},
        {"next": [], "logProbability": 0},
    ]
    scored = {"positions": positions}
    given = {"attention": attention, "scored": scored}
    found = js(WORDS, "ofAnswers(given.attention, given.scored)", given)
    assert found["weights"] == [pytest.approx([0.3, 0.7]), pytest.approx([0.6, 0.4])]
    assert found["next"] == [[["▁E", 0.8]], []]
    assert found["chances"] == pytest.approx([0.8, 1])


def test_without_a_sentence_there_is_nothing_to_show():
    with pytest.raises(ValueError, match="at least one English sentence"):
        FirstTranslation([])


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (
            "Hast Sie dort ?",
            "; the model then wrote “Sie” instead of “du”, “dort” instead of “da”",
        ),
        ("Hast du da ?", "; the rest came out the same"),
        ("Hast du ?", "; the model wrote the rest"),
    ],
)
def test_what_a_choice_changed_is_told(js, after, told):
    given = [["Bist", "du", "da", "?"], after.split()]
    assert (
        js(WORDS, "toldOfChoice(0, ...given)", given)
        == f"You chose “Hast” over “Bist”{told}"
    )


@pytest.mark.parametrize(
    ("certain", "others", "notes", "place"),
    [
        (
            [0.3, 0.7, 0.1],
            [[], [], []],
            "---",
            0,
        ),  # the least probable word, "." is none
        (
            [0.9, 0.95, 0.1],
            [[], [], []],
            "---",
            1,
        ),  # all are probable: it looked at many
        ([0.3, 0.7, 0.1], [[], [{}], [{}]], "---", 1),  # one could have been another
        ([0.3, 0.7, 0.1], [[{}], [{}], []], "---", 1),  # … or two: it looked at many
        (
            [0.3, 0.7, 0.1],
            [[{}], [{}], []],
            "!!-",
            0,
        ),  # told of both: the least probable
        ([0.3, 0.7, 0.1], [[{"sense": "she"}], [{}], []], "---", 0),  # it means another
        (
            [0.3, 0.7, 0.1],
            [[{"sense": "they, he"}], [{}], []],
            "---",
            1,
        ),  # … or the same
        ([0.3, 0.7, 0.1], [[{}], [], []], "-!-", 0),  # told of one that is no other
    ],
)
def test_it_ends_with_a_word_that_is_worth_a_look(js, certain, others, notes, place):
    given = {
        "german": [{"text": each} for each in ("Er", "schläft", ".")],
        "shares": [[0.7, 0.3], [0.4, 0.4], [0.1, 0.1]],
        "certain": certain,
        "others": others,
        "notes": [each.strip("-") for each in notes],
        "glosses": ["he", "sleeps", ""],
    }
    assert js(WORDS, "worthALook(given)", given) == place
    given["look"] = "schläft"  # … or with the one that is named
    assert js(WORDS, "worthALook(given)", given) == 1


@pytest.mark.parametrize("english", first_translation.SENTENCES)
def test_the_examples_say_what_their_words_mean_and_of_no_others(english):
    recorded = FirstTranslation().example["sentences"]
    [given] = [each for each in recorded if each["text"] == english]
    words = {word for way in given["ways"] for word in re.findall(r"\w+", spelled(way))}
    assert words == set(given["meanings"])


def test_meanings_are_shown_of_all_words_else_what_they_usually_mean(js):
    german = [{"text": each, "places": []} for each in ("Du", "gehst", "fort", "?")]
    given = {"german": german, "certain": [0.7, 0.55, 0.05, 0.9]}
    of = '{ of: { Du: "you", gehst: "go", fort: "away" } }'
    assert js(WORDS, f"glossed(given, {of})", given) == ["you", "go", "away", ""]
    some = '{ of: { Du: "you" }, usual: { du: "thou", fort: "off" } }'
    usual = ["thou", "(unsure)", "off", ""]
    assert js(WORDS, f"glossed(given, {some})", given) == usual
    unsure = ["", "(unsure)", "(a guess)", ""]
    assert js(WORDS, "glossed(given)", given) == unsure


def test_usual_meanings_are_of_words_that_the_model_can_write():
    tokenizer = FirstTranslation().translator.tokenizer.target
    usual = first_translation.USUAL
    assert len(usual) > 600
    for word, meaning in usual.items():
        assert re.fullmatch(r"[A-Za-zÄÖÜäöüß]+", word)
        assert 1 <= len(meaning) <= 14
        assert tokenizer.decode(tokenizer.encode(word)) == word


def test_a_note_is_told_of_its_words_where_all_of_them_stand(js):
    german = [{"text": each} for each in ("Warum", "haben", "Sie", "angerufen", "?")]
    notes = [[["hast", "angerufen"], "is called"], [["haben", "Sie"], "polite"]]
    given = [german, notes]
    assert js(WORDS, "noted(...given)", given) == ["", "polite", "polite", "", ""]
    assert js(WORDS, "noted(given[0])", given) == [""] * 5


@pytest.mark.parametrize("english", first_translation.SENTENCES)
def test_notes_quote_words_that_are_written(english):
    recorded = FirstTranslation().example["sentences"]
    [given] = [each for each in recorded if each["text"] == english]
    ways = [re.findall(r"\w+", spelled(way)) for way in given["ways"]]
    assert given["notes"]
    for words, note in given["notes"]:
        assert any(set(words) <= set(way) for way in ways)
        assert all(re.search(rf"\b{word}\b", note) for word in words)
    [other] = FirstTranslation({"You have called.": {"hast": "have"}}).example[
        "sentences"
    ]
    assert other["notes"] == []


def test_how_sure_the_model_was_is_told(js):
    given = {
        "german": [
            {"text": "hast", "places": [0]},
            {"text": "angerufen", "places": [1, 2]},
            {"text": "?", "places": [3]},
        ],
        "certain": [0.61, 0.4, 0.001],
    }
    assert [js(WORDS, f"howSure(given, {g})", given) for g in range(3)] == [
        "It found “hast” 61\u00a0% likely",
        "It found “angerufen” 40\u00a0% likely",
        "It found “?” very unlikely",
    ]


def test_a_word_that_came_close_is_whole_where_its_translation_is_there(js):
    ways = [
        {"predictedPieces": pieces, "chances": [0.5, 0.4, 0.9]}
        for pieces in (["▁a"], ["▁rot", "em", "▁Kleid"])
    ]
    other = {"text": "rot…", "probability": 0.5, "prefix": ["▁rot"]}
    given = {"ways": ways, "other": other}
    named = 'named(given.other, given.ways, { of: { rotem: "red" } })'
    red = {"meaning": "red", "sense": "red"}
    whole = {**other, "text": "rotem", "probability": 0.2, **red}
    assert js(WORDS, named, given) == whole
    assert js(WORDS, "named(given.other, [])", given) == other
