"""The first page's figure: what it records, and words made of pieces, in Node."""

import pytest
from torch.testing import assert_close

from tformer_book.widgets import FirstTranslation

WORDS = "first_translation/words.js"

SENTENCES = ["Why did you not call me yesterday?", "A man sleeps."]


@pytest.fixture(scope="module")
def figure():
    return FirstTranslation(SENTENCES)


def test_it_records_what_the_translator_looks_at(figure, page_translator):
    recorded = figure.example["sentences"]
    assert [each["text"] for each in recorded] == SENTENCES
    for each in recorded:
        maps = page_translator.attention(each["text"])
        assert each["predictedPieces"] == maps.predicted_pieces
        mean = maps.cross[-1].mean(0)
        assert_close(mean.new_tensor(each["weights"]), mean, rtol=0, atol=0.0005001)


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
    }
    pair = js(WORDS, "linked(given)", given)
    assert [each["text"] for each in pair["german"]] == ["weil", "es"]
    assert pair["shares"] == [pytest.approx([0.6, 0.2]), pytest.approx([0.0, 0.9])]


def test_a_word_is_said_to_look_at_two_words_at_most_and_at_none_that_it_hardly_saw(js):
    shares = [[0.2, 0.5, 0.15], [0.9, 0.05, 0.05], [0.09, 0.08, 0.07]]
    seen = [
        [each["e"] for each in js(WORDS, f"mostSeen(given, {g})", {"shares": shares})]
        for g in range(3)
    ]
    assert seen == [[1, 0], [0], []]


def test_the_engines_answer_becomes_what_is_recorded(js):
    attention = {
        "sourcePieces": ["▁A", "</s>"],
        "predictedPieces": ["▁E", "in"],
        "cross": {  # two layers, two heads: the mean of the last layer's
            "shape": [2, 2, 2, 2],
            "data": [9.0] * 8 + [0.2, 0.8, 0.4, 0.6, 0.4, 0.6, 0.8, 0.2],
        },
    }
    found = js(WORDS, "ofAttention('A', given)", attention)
    assert found["weights"] == [pytest.approx([0.3, 0.7]), pytest.approx([0.6, 0.4])]


def test_without_a_sentence_there_is_nothing_to_show():
    with pytest.raises(ValueError, match="at least one English sentence"):
        FirstTranslation([])
