"""The figure's own byte-pair encoding, in Node, against the package's `byte_pairs`."""

import random

import pytest

from tformer.tokenization.byte_pairs import BytePairEncoding, count_pairs, merge
from tformer_book.widgets import MergeByMerge
from tformer_book.widgets.merge_by_merge import ENGLISH, GERMAN, PAPER

MATHS = "merge_by_merge/maths.js"


def texts():
    draw = random.Random(0)
    for letters in ("ab", "abc.", "aé😀\uff5e"):  # code points beyond 16 bits, too
        for _ in range(12):
            words = [
                "".join(draw.choices(letters, k=draw.randint(1, 6))) for _ in "12345"
            ]
            yield " ".join(draw.choices(words, k=9))
    yield from (ENGLISH, GERMAN, PAPER, "", " \n ")


def test_the_page_learns_the_packages_merges_and_counts(js):
    given = [text for text in texts() if text.split()]
    found = js(MATHS, "given.map(learn)", given)
    for text, each in zip(given, found, strict=True):
        encoding = BytePairEncoding.train([text], 10_000)
        assert each["merges"] == [" ".join(pair) for pair in encoding.merges]
        assert each["counts"] == encoding.counts


def test_the_page_replays_merges_as_the_package_does(js):
    encoding = BytePairEncoding.train([*texts(), "low lowest dogs cross it is"], 60)
    given = {"texts": list(texts()), "merges": [" ".join(p) for p in encoding.merges]}
    found = js(
        MATHS,
        "given.texts.map((t) => replay(t, given.merges).map((s) => "
        "[s.rank, s.words.flat()]))",
        given,
    )
    for text, steps in zip(given["texts"], found, strict=True):
        assert [pieces for _, pieces in steps] == encoding.steps(text)
        ranks = [rank for rank, _ in steps]
        for rank, pieces in steps:  # stopping early is an encoding with fewer merges
            fewer = BytePairEncoding(
                [p for p in encoding.vocabulary if len(p) == 1],
                encoding.merges[: rank + 1],
            )
            assert fewer.pieces(text) == pieces
        assert ranks == sorted(set(ranks))


def test_the_page_counts_and_merges_one_pair_as_the_package_does(js):
    words = [["aaab", 3], ["ba", 2], ["a", 1]]
    counts, merged = js(
        MATHS,
        "[[...countPairs(given)], given.map(([w]) => mergePair([...w], 'a', 'a'))]",
        words,
    )
    wanted = count_pairs({tuple(word): n for word, n in words})
    assert dict(counts) == {" ".join(pair): n for pair, n in wanted.items()}
    assert merged == [list(merge(word, ("a", "a"))) for word, _ in words]


def test_a_later_cell_reads_the_pieces_that_are_on_the_screen():
    encoding = BytePairEncoding.train([ENGLISH, GERMAN, PAPER], 50)
    shown = MergeByMerge(encoding, n_merges=10, text="the lowest street")
    assert shown.shown.merges == encoding.merges[:10]
    assert shown.pieces == shown.shown.pieces("the lowest street")
    assert "after 10 merges: " + " ".join(shown.pieces) in repr(shown)
    shown.learned_here, shown.n_merges = True, 2
    assert shown.pieces == BytePairEncoding.train([shown.text], 2).pieces(shown.text)
    shown.text = ""
    assert shown.pieces == []
    assert "0 words in 0 pieces" in repr(shown)


def test_without_an_encoding_the_text_is_learned_from():
    shown = MergeByMerge(text=PAPER, n_merges=5)
    assert shown.learned_here
    assert shown.shown.merges == BytePairEncoding.train([PAPER], 5).merges


def test_what_travels_with_the_page_is_small():
    words = [f"{a}{b}{c}" for a in "abcdefgh" for b in "ijklmnop" for c in "qrstuvwx"]
    encoding = BytePairEncoding.train(words, 400)
    state = MergeByMerge(encoding).get_state(["merges", "counts", "alphabet"])
    assert state["merges"][0] == " ".join(encoding.merges[0])
    assert len(str(state)) < 25 * len(encoding.merges)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": "a" * 501}, "501 characters; the figure takes 500"),
        ({"curves": {"a": ([1, 2], [3.0])}}, "'a' has 2 sizes and 1 values"),
        ({"curves": dict.fromkeys("abc", ([], []))}, "at most 2 curves, got 3"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        MergeByMerge(**arguments)


def test_more_merges_than_a_page_can_carry_are_refused():
    text = " ".join(f"{i:05d}" for i in range(5000))
    encoding = BytePairEncoding.train([text], 6000)
    assert len(encoding.merges) > 5000
    with pytest.raises(ValueError, match="too many to travel"):
        MergeByMerge(encoding)
