"""Byte-pair encoding: by pencil, by its properties, and beside sentencepiece."""

from __future__ import annotations

import random
from collections import Counter
from itertools import chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tformer import data
from tformer.tokenization.byte_pairs import (
    END_OF_WORD,
    BytePairEncoding,
    count_pairs,
    merge,
)

# The dictionary of Sennrich et al. 2016, algorithm 1: each word so many times.
PAPER = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3
WORDS = st.text(alphabet="abcé.", min_size=1, max_size=6)
TEXTS = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
CORPORA = st.lists(TEXTS, min_size=1, max_size=6)
SIZES = st.integers(0, 12)


# By pencil


def test_pairs_are_counted_as_often_as_their_words_occur():
    counts = count_pairs({("l", "o", "w", "</w>"): 5, ("l", "o", "</w>"): 2})
    assert counts == {("l", "o"): 7, ("o", "w"): 5, ("w", "</w>"): 5, ("o", "</w>"): 2}


@pytest.mark.parametrize(
    ("symbols", "pair", "merged"),
    [
        ("banana", ("a", "n"), ("b", "an", "an", "a")),
        ("aaa", ("a", "a"), ("aa", "a")),
        ("aaaa", ("a", "a"), ("aa", "aa")),
        ("abc", ("b", "a"), ("a", "b", "c")),
        ("ab", ("a", "b"), ("ab",)),
        ("", ("a", "b"), ()),
    ],
)
def test_a_merge_joins_every_occurrence_from_the_left(symbols, pair, merged):
    assert merge(symbols, pair) == merged


def test_the_papers_dictionary_gives_the_merges_one_finds_with_a_pencil():
    """e s, s t and t </w> occur 9 times each: the first in the alphabet is taken."""
    encoding = BytePairEncoding.train(PAPER, 5)
    nine, seven = [("e", "s"), ("es", "t"), ("est", "</w>")], [("l", "o"), ("lo", "w")]
    assert encoding.merges == nine + seven
    assert encoding.pieces("lowest") == ["low", "est</w>"]  # a word never seen
    assert encoding.steps("lowest") == [
        ["l", "o", "w", "e", "s", "t", "</w>"],
        ["l", "o", "w", "es", "t", "</w>"],
        ["l", "o", "w", "est", "</w>"],
        ["l", "o", "w", "est</w>"],
        ["lo", "w", "est</w>"],
        ["low", "est</w>"],
    ]


def test_ids_are_special_tokens_then_the_mark_then_characters_then_merges():
    encoding = BytePairEncoding.train(["ab ab b"], 2)
    assert encoding.merges == [("b", "</w>"), ("a", "b</w>")]
    special = ["<pad>", "<s>", "</s>", "<unk>"]
    assert encoding.vocabulary == [*special, "</w>", "a", "b", "b</w>", "ab</w>"]
    assert encoding.vocab_size == 9
    assert encoding.encode("ab b a") == [8, 7, 5, 4]
    ids = (encoding.pad_id, encoding.bos_id, encoding.eos_id, encoding.unk_id)
    assert ids == (0, 1, 2, 3)


# Properties


def naive(sentences: list[str], n_merges: int) -> list[tuple[str, str]]:
    """The algorithm as it is told: count everything anew before each merge."""
    words = Counter((*word, END_OF_WORD) for word in " ".join(sentences).split())
    merges = []
    for _ in range(n_merges):
        counts = Counter()
        for symbols, n in words.items():
            for pair in pairwise(symbols):
                counts[pair] += n
        if not counts:
            break
        most = max(counts.values())
        best = sorted(pair for pair in counts if counts[pair] == most)[0]
        merges.append(best)
        words = {merge(symbols, best): n for symbols, n in words.items()}
    return merges


@given(CORPORA, SIZES)
def test_counting_only_what_changed_learns_what_counting_anew_learns(corpus, n_merges):
    assert BytePairEncoding.train(corpus, n_merges).merges == naive(corpus, n_merges)


@given(CORPORA, SIZES)
def test_each_merge_knows_how_often_its_pair_stood_there(corpus, n_merges):
    encoding = BytePairEncoding.train(corpus, n_merges)
    words = Counter((*word, END_OF_WORD) for word in " ".join(corpus).split())
    for pair, n in zip(encoding.merges, encoding.counts, strict=True):
        assert n == count_pairs(words)[pair] == max(count_pairs(words).values())
        words = {merge(symbols, pair): k for symbols, k in words.items()}


def test_counts_that_do_not_fit_the_merges_are_refused():
    with pytest.raises(ValueError, match="2 counts for 1 merges: give one for each"):
        BytePairEncoding("ab", [("a", "b")], [3, 2])
    assert BytePairEncoding("ab", [("a", "b")]).counts == []


@given(CORPORA, SIZES)
def test_known_characters_come_back_as_they_went_in(corpus, n_merges):
    encoding = BytePairEncoding.train(corpus, n_merges)
    for text in [*corpus, " ".join(corpus), "".join("".join(corpus).split())]:
        assert encoding.decode(encoding.encode(text)) == " ".join(text.split())


@given(CORPORA, SIZES, TEXTS)
def test_pieces_are_the_words_cut_up_and_end_where_words_end(corpus, n_merges, text):
    """Also for words never seen: no piece holds characters of two words."""
    pieces = BytePairEncoding.train(corpus, n_merges).pieces(text)
    assert "".join(pieces) == "".join(word + END_OF_WORD for word in text.split())
    assert all(END_OF_WORD not in each.removesuffix(END_OF_WORD) for each in pieces)


@given(CORPORA, SIZES, TEXTS)
def test_the_steps_go_one_merge_at_a_time(corpus, n_merges, text):
    """From characters to pieces."""
    encoding = BytePairEncoding.train(corpus, n_merges)
    steps = encoding.steps(text)
    assert steps[0] == list(chain(*((*word, END_OF_WORD) for word in text.split())))
    assert steps[-1] == encoding.pieces(text)
    ranks = []
    for before, after in pairwise(steps):
        merges = [pair for pair in encoding.merges if merge(before, pair) == (*after,)]
        assert merges
        ranks.append(encoding.merges.index(merges[0]))
    assert ranks == sorted(set(ranks))


@given(CORPORA, SIZES)
def test_training_words_are_spelled_as_training_left_them(corpus, n_merges):
    encoding = BytePairEncoding.train(corpus, n_merges)
    for word in " ".join(corpus).split():
        symbols = (*word, END_OF_WORD)
        for pair in encoding.merges:
            symbols = merge(symbols, pair)
        assert encoding.pieces(word) == list(symbols)


@given(CORPORA, SIZES)
def test_the_order_of_the_sentences_changes_nothing(corpus, n_merges):
    """Not even with ties: in the second order other pairs are met first."""
    first = BytePairEncoding.train(corpus, n_merges)
    second = BytePairEncoding.train(corpus[::-1], n_merges)
    assert (first.merges, first.vocabulary) == (second.merges, second.vocabulary)


@given(CORPORA)
def test_merging_goes_on_until_every_word_is_one_piece_and_then_stops(corpus):
    encoding = BytePairEncoding.train(corpus, 10_000)
    assert len(encoding.merges) < 10_000
    text = " ".join(corpus)
    assert encoding.pieces(text) == [word + END_OF_WORD for word in text.split()]


@given(CORPORA)
def test_no_two_merges_make_the_same_piece(corpus):
    """Between its own two ends a stretch of text is always merged in the same way."""
    merges = BytePairEncoding.train(corpus, 10_000).merges
    assert len({left + right for left, right in merges}) == len(merges)


# Across words and special tokens: "merge the most frequent pair, wherever it stands"


def literally(symbols: tuple[str, ...], n_merges: int) -> list[str]:
    """ "Merge whatever pair is most frequent", on running text with its markers."""
    learned = []
    for _ in range(n_merges):
        counts = count_pairs({symbols: 1})
        best = max(counts, key=lambda pair: counts[pair])
        learned.append("".join(best))
        symbols = merge(symbols, best)
    return learned


SENTENCES = ["the dog barks", "the cat sleeps", "the dog sleeps", "the cat barks"]


def test_merging_whatever_is_most_frequent_learns_a_marker_glued_to_a_word():
    """What words and special tokens are kept apart for, seen in a small corpus."""
    running = tuple(chain.from_iterable(("<s>", *each, "</s>") for each in SENTENCES))
    learned = literally(running, 8)
    assert "<s>the" in {piece.rstrip() for piece in learned}
    assert any(" " in piece.strip() for piece in literally(running, 20))  # two words


@pytest.mark.parametrize("n_merges", [8, 20, 1000])
def test_no_merge_crosses_words_or_takes_a_special_token_in(n_merges):
    encoding = BytePairEncoding.train(SENTENCES, n_merges)
    words = {word + END_OF_WORD for each in SENTENCES for word in each.split()}
    for left, right in encoding.merges:
        assert any(left + right in word for word in words)
    assert not {"<s>", "</s>", "<pad>", "<unk>"} & set(chain(*encoding.merges))


def test_a_marker_in_a_text_is_text_and_never_the_special_id():
    encoding = BytePairEncoding.train(["<s> a b </s>", "<s> b a </s>"], 100)
    ids = encoding.encode("<s> a </s>")
    assert min(ids) > 3
    assert encoding.decode(ids) == "<s> a </s>"


def test_the_mark_itself_in_a_text_comes_back_as_text():
    encoding = BytePairEncoding.train(["< / w > a b"], 10)
    assert encoding.decode(encoding.encode("a</w>b")) == "a</w>b"


# Characters never seen


def test_an_unknown_character_is_unk_alone_and_breaks_nothing_around_it():
    encoding = BytePairEncoding.train(PAPER, 5)
    assert encoding.pieces("lowXlow") == ["low", "X", "low", "</w>"]
    low, end = encoding.vocabulary.index("low"), encoding.vocabulary.index("</w>")
    assert encoding.encode("lowXlow") == [low, encoding.unk_id, low, end]
    assert encoding.decode(encoding.encode("lowX 犬 low")) == "low⁇ ⁇ low"


def test_decoding_skips_the_ids_that_are_no_text_and_needs_no_last_mark():
    encoding = BytePairEncoding.train(PAPER, 5)
    low, est = encoding.encode("lowest")
    assert encoding.decode([1, low, est, low, 2, 0, 0]) == "lowest low"
    assert encoding.decode([]) == encoding.decode([0, 1, 2]) == ""


def test_no_text_has_no_pieces():
    encoding = BytePairEncoding.train(PAPER, 5)
    assert encoding.pieces(" \n") == encoding.encode("") == []
    assert encoding.steps("") == [[]]


# Errors


@pytest.mark.parametrize(
    ("sentences", "n_merges", "error", "message"),
    [
        ([], 3, ValueError, "no words to learn from"),
        (["", "  \n"], 3, ValueError, "no words to learn from"),
        (["a"], -1, ValueError, "n_merges=-1 must be 0 or more"),
        (["a"], True, TypeError, "n_merges=True must be an int"),
        (["a"], 1.5, TypeError, r"n_merges=1\.5 must be an int"),
        ("a text", 3, TypeError, "list of texts, got one text"),
        (["a", None], 3, TypeError, "expected a text .*NoneType"),
        (["x a</w>b"], 3, ValueError, "'a</w>b' contains '</w>'.*remove it"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(sentences, n_merges, error, message):
    with pytest.raises(error, match=message):
        BytePairEncoding.train(sentences, n_merges)


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ([5, 10], ValueError, "piece id 10 is outside the vocabulary of 10"),
        ([-1], ValueError, "piece id -1 is outside"),
        ([1.0], TypeError, r"must be integers, got 1\.0"),
        ("low", TypeError, "did you mean encode"),
    ],
)
def test_ids_that_are_none_are_refused(ids, error, message):
    encoding = BytePairEncoding.train(["abc abc"], 2)
    with pytest.raises(error, match=message):
        encoding.decode(ids)


@pytest.mark.parametrize(
    ("alphabet", "merges", "message"),
    [
        ("ab", [("a", "c")], "joins a piece that is neither"),
        ("ab", [("ab", "a"), ("a", "b")], "joins a piece that is neither"),
        ("ab", [("</w>", "a")], "crosses a word's end"),
        ("ab", [("a", "</w>"), ("a</w>", "b")], "crosses a word's end"),
        (["ab"], [], "'ab' is not one visible character"),
        (" a", [], "' ' is not one visible character"),
    ],
)
def test_merges_that_do_not_fit_together_are_refused(alphabet, merges, message):
    with pytest.raises(ValueError, match=message):
        BytePairEncoding(alphabet, merges)


def test_what_is_no_text_is_a_type_error():
    encoding = BytePairEncoding.train(PAPER, 5)
    for method in (encoding.encode, encoding.pieces, encoding.steps):
        with pytest.raises(TypeError, match="expected a text"):
            method(b"low")


def test_an_encoding_can_be_made_again_from_its_merges():
    trained = BytePairEncoding.train(PAPER, 5)
    again = BytePairEncoding({*"".join(PAPER)}, trained.merges)
    assert again.vocabulary == trained.vocabulary
    assert again.encode("lowest newer") == trained.encode("lowest newer")
    assert repr(again) == f"BytePairEncoding(5 merges, vocab_size={again.vocab_size})"


# Beside sentencepiece


@pytest.fixture(scope="module")
def tool():
    from studies import bpe_against_sentencepiece

    return bpe_against_sentencepiece


def test_sentencepiece_learns_the_same_pieces_but_for_the_order_of_ties(tool):
    """Of equally frequent pairs it takes a shorter one; we go by the alphabet."""
    corpus = data.load("grammar")
    parts = (corpus.train, corpus.valid)
    sides = ([side for pair in part for side in pair] for part in parts)
    found = tool.compare(*sides, 200)
    assert found["most_frequent"] == 1  # each of its merges is a best one by our count
    assert found["same_pieces"] >= 0.97
    assert found["valid_words_spelled_alike"] >= 0.97


def test_where_nothing_is_tied_sentencepiece_learns_the_same_merges(tool):
    draw = random.Random(3)
    words = {
        "".join(draw.choices("abcde", k=5)): draw.randint(1, 999) for _ in range(60)
    }
    text = [word for word, n in words.items() for _ in range(n)]
    symbols = {(*word, END_OF_WORD): n for word, n in words.items()}
    for pair in naive(text, 12):
        (_, first), (_, second) = count_pairs(symbols).most_common(2)
        assert first > second
        symbols = {merge(each, pair): n for each, n in symbols.items()}
    found = tool.compare(text, text, 12)
    assert found["same_piece_at_same_place"] == found["most_frequent"] == 1
    assert found["valid_words_spelled_alike"] == 1
