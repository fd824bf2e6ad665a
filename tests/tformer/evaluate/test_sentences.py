"""Sentences of a report one by one: rows, worst and best by a stated rule."""

from __future__ import annotations

import pytest

from tformer import evaluate
from tformer.evaluate import Report, Sentence
from tformer_book import show


def report(*pairs: tuple[str, str]) -> Report:
    """A report of (reference, translation) pairs, without corpus scores."""
    sentences = [
        Sentence(f"source {i}", reference, translation)
        for i, (reference, translation) in enumerate(pairs)
    ]
    return Report(0.0, "", 0.0, "", sentences)


WELL = "Der Hund schläft heute im Garten."
GRADED = report(
    (WELL, "Der Hund schläft im Garten."),  # 0: good
    (WELL, WELL),  # 1: perfect
    (WELL, "xyz"),  # 2: nothing right
    (WELL, "Der Hund."),  # 3: poor
    (WELL, "xyz"),  # 4: nothing right, again
    (WELL, WELL),  # 5: perfect, again
)


def test_rows_hold_the_sentences_in_order_with_their_lengths():
    rows = GRADED.table()
    assert [row.number for row in rows] == list(range(6))
    assert [row.source for row in rows] == [f"source {i}" for i in range(6)]
    said = [sentence.translation for sentence in GRADED.sentences]
    assert [row.translation for row in rows] == said
    assert [row.words for row in rows] == [5, 6, 1, 2, 1, 6]
    assert {row.reference_words for row in rows} == {6}
    assert [row.is_exact for row in rows] == [False, True, False, False, False, True]


def test_a_sentence_is_scored_as_sacrebleu_scores_it_alone():
    from sacrebleu import sentence_bleu, sentence_chrf

    for row in GRADED.table():
        assert row.chrf == sentence_chrf(row.translation, [WELL]).score
        assert row.bleu == sentence_bleu(row.translation, [WELL]).score


def test_a_short_sentence_that_is_right_has_the_full_bleu():
    # "Halt!" has no 4-gram: without effective order its BLEU would be near 0.
    [row] = report(("Halt!", "Halt!")).table()
    assert row.bleu == pytest.approx(100)


def test_worst_and_best_are_ranked_by_chrf_and_ties_by_order():
    assert [row.number for row in GRADED.worst(6)] == [2, 4, 3, 0, 1, 5]
    assert [row.number for row in GRADED.best(6)] == [1, 5, 0, 3, 2, 4]
    assert [row.number for row in GRADED.worst(1)] == [2]
    assert len(GRADED.best()) == 6


def test_chrf_of_one_bigram_of_characters_is_what_a_hand_computes():
    # "ab" for "abc": precision 2/2, recall 2/3 of characters; bigrams 1/1 and 1/2; no
    # trigram in the translation. sacreBLEU means over the orders that both have:
    # P = 1, R = (2/3 + 1/2) / 2 = 7/12, F2 = 5 P R / (4 P + R).
    [row] = report(("abc", "ab")).table()
    recall = 7 / 12
    assert row.chrf == pytest.approx(100 * 5 * recall / (4 + recall))


def test_rows_make_a_table_for_a_page():
    rows = [(r.source, r.translation, f"{r.chrf:.0f}") for r in GRADED.worst(2)]
    shown = show.texts(rows, columns=("English", "the model", "chrF"))
    assert "source 2\txyz\t0" in repr(shown)


@pytest.mark.parametrize("n", [0, -3])
def test_fewer_than_one_sentence_cannot_be_shown(n):
    with pytest.raises(ValueError, match=f"n={n} must be at least 1"):
        GRADED.worst(n)


def test_exact_match_counts_equal_strings_and_nothing_less():
    assert GRADED.exact_match == pytest.approx(2 / 6)
    almost = report((WELL, WELL.lower()), (WELL, WELL[:-1]), (WELL, WELL + " "))
    assert almost.exact_match == 0
    assert GRADED.to_dict(sentences=False)["exact_match"] == GRADED.exact_match


# Checks


def checks_of(*pairs: tuple[str, str], **options) -> evaluate.Checks:
    return evaluate.check(report(*pairs), **options)


def test_a_sound_report_has_no_findings():
    found = checks_of((WELL, WELL), ("Ja.", "Nein, nie."))
    assert found.empty == found.looping == found.too_long == found.too_short == ()
    assert found.copied == () and found.at_limit is None and found.n_sentences == 2
    assert found.length_ratio == pytest.approx(8 / 7)


def test_each_finding_names_its_sentences():
    found = checks_of(
        (WELL, ""),
        (WELL, "Der Hund der Hund schläft."),
        ("Ja.", "Ja, ja und ja."),
        (WELL, "Der Hund."),
        (WELL, "source 4"),
        (WELL, "  "),
    )
    assert found.empty == (0, 5)
    assert found.looping == (1,)
    assert found.too_long == (2,)
    assert found.too_short == (0, 3, 4, 5)
    assert found.copied == (4,)
    counts = "2 empty, 1 looping, 1 too long, 4 too short, 1 copied"
    assert str(found) == f"{counts}; length ratio 0.419"


@pytest.mark.parametrize(
    ("n_reference", "n_words", "kind"),
    [
        (1, 3, ""),  # three times as long, but two words are no runaway
        (1, 4, "too_long"),
        (6, 12, "too_long"),
        (6, 11, ""),
        (6, 3, "too_short"),
        (6, 4, ""),
        (4, 2, ""),
    ],
)
def test_lengths_are_odd_from_twice_or_half_and_three_words(n_reference, n_words, kind):
    words = list("abcdefghijkl")
    found = checks_of((" ".join(words[:n_reference]), " ".join(words[:n_words])))
    assert found.too_long == ((0,) if kind == "too_long" else ())
    assert found.too_short == ((0,) if kind == "too_short" else ())


def test_what_source_and_reference_do_too_is_no_finding():
    again = Sentence("No no no no!", "Nein!", "Nein nein nein nein!")
    same = Sentence("Hamburg.", "Hamburg.", "Hamburg.")
    found = evaluate.check(Report(0.0, "", 0.0, "", [again, same]))
    assert found.looping == found.copied == ()


class ByLetter:
    """A tokenizer whose pieces are letters."""

    def encode_all(self, texts):
        return [[*range(len(text))] for text in texts]


def test_translations_as_long_as_the_search_allows_are_named():
    found = checks_of(("a", "abc"), ("a", "abcd"), tokenizer=ByLetter(), max_len=4)
    assert found.at_limit == (1,)
    assert "1 at the limit" in str(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Die Frau, die die Katze sieht, lacht.", ""),
        ("die die die Katze", "die"),
        ("Ein Hund. Ein Hund!", "ein hund"),
        ("a b c d e f g h a b c d e f g h", "a b c d e f g h"),
        ("a b c d e f g h i a b c d e f g h i", ""),
        ("er sah er kam er sah er kam", "er sah er kam"),
        ("", ""),
        ("sehr, sehr, sehr gut", "sehr"),
    ],
)
def test_loops_are_groups_said_twice_or_words_said_three_times(text, expected):
    assert evaluate.loop(text) == expected


def test_a_loop_in_nothing_is_refused():
    with pytest.raises(TypeError, match="expected a sentence, got None"):
        evaluate.loop(None)
