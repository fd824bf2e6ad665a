"""Every mistake that the graders of chapter 02 know is made here on purpose."""

import re
from collections import Counter
from itertools import pairwise

import pytest

from tformer.tokenization import byte_pairs
from tformer.tokenization.byte_pairs import END_OF_WORD, BytePairEncoding
from tformer_book import check

MARK = re.escape(END_OF_WORD)


def counted(words, *, times=lambda n: n, pairs=pairwise):
    counts = Counter()
    for symbols, n in words.items():
        for pair in pairs(symbols):
            counts[pair] += times(n)
    return counts


def one_long_list(words):
    run = [x for symbols, n in words.items() for x in symbols * n]
    return Counter(pairwise(run))


def across_neighbours(words):
    counts = counted(words)
    for left, right in pairwise(words):
        counts[left[-1], right[0]] += 1
    return counts


def pops_words(words):
    counts = Counter()
    while words:
        symbols, n = words.popitem()
        for pair in pairwise(symbols):
            counts[pair] += n
    return counts


COUNTS = {
    "frequency-ignored": lambda words: counted(words, times=lambda n: 1),
    "across-words": one_long_list,
    "last-pair-missed": lambda words: counted(
        words, pairs=lambda s: [(s[i], s[i + 1]) for i in range(len(s) - 2)]
    ),
    "once-per-word": lambda words: counted(words, pairs=lambda s: {*pairwise(s)}),
    "order-ignored": lambda words: counted(
        words, pairs=lambda s: (tuple(sorted(pair)) for pair in pairwise(s))
    ),
    "every-other-pair": lambda words: counted(
        words, pairs=lambda s: zip(s[::2], s[1::2], strict=False)
    ),
    "keys-are-strings": lambda words: counted(
        words, pairs=lambda s: (a + b for a, b in pairwise(s))
    ),
    "not-a-mapping": lambda words: counted(words).most_common(),
    "wrong-count": lambda words: counted(words, times=lambda n: n + 1),
    "changes-inputs": pops_words,
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_wrong_count_is_named(name):
    result = check.count_pairs(COUNTS[name])
    assert not result
    assert result.diagnosis == name


def test_counting_over_the_border_of_neighbours_is_counting_across_words():
    assert check.count_pairs(across_neighbours).diagnosis == "across-words"


def first_only(symbols, pair):
    for i in range(len(symbols) - 1):
        if tuple(symbols[i : i + 2]) == pair:
            return [*symbols[:i], "".join(pair), *symbols[i + 2 :]]
    return list(symbols)


def right_kept(symbols, pair):
    both = list(pairwise([*symbols, ""]))
    return ["".join(pair) if each == pair else each[0] for each in both]


def string_replace(symbols, pair):
    return " ".join(symbols).replace(" ".join(pair), "".join(pair)).split()


def either_order(symbols, pair):
    merged, i = [], 0
    while i < len(symbols):
        here = tuple(symbols[i : i + 2])
        if here in (pair, pair[::-1]):
            merged.append("".join(here))
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged


def from_the_right(symbols, pair):
    merged, i = [], len(symbols)
    while i > 0:
        if tuple(symbols[max(0, i - 2) : i]) == pair:
            merged.append("".join(pair))
            i -= 2
        else:
            merged.append(symbols[i - 1])
            i -= 1
    return merged[::-1]


def last_lost(symbols, pair):
    merged, i = [], 0
    while i < len(symbols) - 1:
        if tuple(symbols[i : i + 2]) == pair:
            merged.append("".join(pair))
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged


MERGES = {
    "first-only": first_only,
    "right-kept": right_kept,
    "string-replace": string_replace,
    "either-order": either_order,
    "from-the-right": from_the_right,
    "last-lost": last_lost,
    "not-symbols": lambda symbols, pair: "".join(symbols),
    "wrong-merge": lambda symbols, pair: list(symbols),
}


@pytest.mark.parametrize("name", MERGES)
def test_a_wrong_merge_is_named(name):
    result = check.merge(MERGES[name])
    assert not result
    assert result.diagnosis == name


def replayed(symbols, merges, join=byte_pairs.merge):
    for pair in merges:
        symbols = join(symbols, pair)
    return list(symbols)


def repeatedly(symbols, merges, choose):
    while fits := [pair for pair in merges if pair in set(pairwise(symbols))]:
        symbols = byte_pairs.merge(symbols, choose(fits, symbols))
    return list(symbols)


def leftmost(word, merges):
    symbols = [*word, END_OF_WORD]
    i = 0
    while i < len(symbols) - 1:
        if (symbols[i], symbols[i + 1]) in merges:
            symbols[i : i + 2] = ["".join(symbols[i : i + 2])]
            i = 0
        else:
            i += 1
    return symbols


def longest_match(word, merges):
    rest, known, found = word + END_OF_WORD, {a + b for a, b in merges}, []
    known |= {END_OF_WORD, *word}
    while rest:
        best = max((p for p in known if rest.startswith(p)), key=len)
        found.append(best)
        rest = rest.removeprefix(best)
    return found


def one_merge(word, merges):
    symbols = (*word, END_OF_WORD)
    for pair in merges:
        if pair in set(pairwise(symbols)):
            return list(byte_pairs.merge(symbols, pair))
    return list(symbols)


def pops_merges(word, merges):
    symbols = (*word, END_OF_WORD)
    while merges:
        symbols = byte_pairs.merge(symbols, merges.pop(0))
    return symbols


ENCODERS = {
    "no-end-mark": lambda word, merges: replayed([*word], merges),
    "mark-in-letters": lambda word, merges: replayed([*(word + END_OF_WORD)], merges),
    "no-merges": lambda word, merges: [*word, END_OF_WORD],
    "latest-first": lambda word, merges: repeatedly(
        (*word, END_OF_WORD), merges, lambda fits, _: fits[-1]
    ),
    "leftmost-first": leftmost,
    "longest-match": longest_match,
    "first-only": lambda word, merges: replayed(
        [*word, END_OF_WORD], merges, first_only
    ),
    "one-merge-only": one_merge,
    "not-pieces": lambda word, merges: " ".join(replayed([*word, END_OF_WORD], merges)),
    "wrong-pieces": lambda word, merges: [word + END_OF_WORD],
    "changes-inputs": pops_merges,
}


@pytest.mark.parametrize("name", ENCODERS)
def test_a_wrong_encoding_is_named(name):
    result = check.encode_word(ENCODERS[name])
    assert not result
    assert result.diagnosis == name


JOINERS = {
    "marks-left": "".join,
    "no-blanks": lambda pieces: re.sub(MARK, "", "".join(pieces)),
    "blank-after-each-piece": lambda pieces: re.sub(MARK, "", " ".join(pieces)),
    "trailing-blank": lambda pieces: re.sub(MARK, " ", "".join(pieces)),
    "last-word-lost": lambda pieces: " ".join(
        re.findall(f"(.*?){MARK}", "".join(pieces))
    ),
    "last-letter-cut": lambda pieces: re.sub(MARK, " ", "".join(pieces))[:-1],
    "not-a-text": lambda pieces: re.split(MARK, "".join(pieces)),
    "wrong-text": lambda pieces: " ".join(pieces[::-1]),
}


@pytest.mark.parametrize("name", JOINERS)
def test_a_wrong_text_is_named(name):
    result = check.join_pieces(JOINERS[name])
    assert not result
    assert result.diagnosis == name


def test_marks_cut_off_before_joining_with_blanks_is_the_same_mistake():
    found = check.join_pieces(
        lambda pieces: " ".join(piece.removesuffix(END_OF_WORD) for piece in pieces)
    )
    assert found.diagnosis == "blank-after-each-piece"


def zeros_too(words):
    counts = counted(words)
    counts["never", "there"] += 0
    return dict(counts)


def test_right_parts_are_accepted():
    assert check.count_pairs(byte_pairs.count_pairs)
    assert check.count_pairs(zeros_too)
    assert check.merge(byte_pairs.merge)
    assert check.merge(lambda symbols, pair: list(byte_pairs.merge(symbols, pair)))
    assert check.encode_word(lambda w, merges: replayed([*w, END_OF_WORD], merges))
    assert check.encode_word(
        lambda w, merges: BytePairEncoding(
            {*w, *"".join(a + b for a, b in merges).replace(END_OF_WORD, "")}, merges
        ).pieces(w)
    )
    assert check.encode_word(
        lambda w, merges: repeatedly((*w, END_OF_WORD), merges, lambda fits, _: fits[0])
    )
    assert check.join_pieces(lambda pieces: re.sub(MARK, " ", "".join(pieces)).rstrip())


@pytest.mark.parametrize("part", ["count_pairs", "merge", "encode_word", "join_pieces"])
def test_a_stub_is_told_that_it_is_one(part):
    def stub(*arguments):
        raise NotImplementedError

    assert getattr(check, part)(stub).diagnosis == "stub"
    assert getattr(check, part)(lambda *a: None).diagnosis == "returns-nothing"


# --- the most probable cut --------------------------------------------------------


def all_cuts(word, log_p):
    if not word:
        return [[]]
    heads = [word[:i] for i in range(1, len(word) + 1) if word[:i] in log_p]
    return [[h, *rest] for h in heads for rest in all_cuts(word[len(h) :], log_p)]


def cut(word, log_p, value=None, best=max):
    value = value or (lambda cut: sum(log_p[piece] for piece in cut))
    return best(all_cuts(word, log_p), key=value, default=None)


def from_the_left(word, log_p, value, stuck=None):
    found = []
    while word:
        heads = [word[:i] for i in range(1, len(word) + 1) if word[:i] in log_p]
        if not heads:
            return stuck
        found.append(max(heads, key=value))
        word = word.removeprefix(found[-1])
    return found


def viterbi(word, log_p):
    best = {0: (0.0, [])}
    for i in range(1, len(word) + 1):
        cuts = [
            (best[j][0] + log_p[word[j:i]], [*best[j][1], word[j:i]])
            for j in range(i)
            if j in best and word[j:i] in log_p
        ]
        if cuts:
            best[i] = max(cuts)
    return best[len(word)][1] if len(word) in best else None


def empties(word, log_p):
    found = cut(word, log_p)
    log_p.clear()
    return found


CUTS = {
    "longest-first": [
        lambda w, p: from_the_left(w, p, len),
        lambda w, p: cut(w, p) if w != "aab" else from_the_left(w, p, len),
    ],
    "likeliest-first": [lambda w, p: from_the_left(w, p, p.get)],
    "fewest-pieces": [lambda w, p: cut(w, p, len, min)],
    "least-probable": [lambda w, p: cut(w, p, best=min)],
    "mean": [lambda w, p: cut(w, p, lambda c: sum(p[x] for x in c) / len(c))],
    "score-too": [lambda w, p: (sum(p[x] for x in cut(w, p)), cut(w, p))],
    "not-pieces": [lambda w, p: " ".join(cut(w, p))],
    "wrong-cut": [lambda w, p: [w, w]],
    "changes-inputs": [empties],
    "stops-where-nothing-fits": [lambda w, p: list(cut(w, p))],
    "cut-where-nothing-fits": [lambda w, p: cut(w, p) or []],
    "returns-nothing": [lambda w, p: None],
}


@pytest.mark.parametrize(
    ("name", "i"), [(name, i) for name in CUTS for i in range(len(CUTS[name]))]
)
def test_a_wrong_cut_is_named(name, i):
    result = check.best_cut(CUTS[name][i])
    assert not result
    assert result.diagnosis == name, result.message


def test_a_right_cut_is_accepted():
    assert check.best_cut(viterbi)
    assert check.best_cut(cut)
    assert check.best_cut(lambda w, p: tuple(found) if (found := cut(w, p)) else None)


def test_a_stub_of_the_cut_is_told_that_it_is_one():
    def stub(word, log_p):
        raise NotImplementedError

    assert check.best_cut(stub).diagnosis == "stub"
