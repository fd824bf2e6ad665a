from collections import Counter

from answers import right, wrong


def grams(words, n):
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


@right
def plain(hypothesis, reference, n):
    ours, theirs = Counter(grams(hypothesis, n)), Counter(grams(reference, n))
    return sum((ours & theirs).values()), len(grams(hypothesis, n))


@right
def by_striking_out(hypothesis, reference, n):
    left, hits = grams(reference, n), 0
    for each in grams(hypothesis, n):
        if each in left:
            left.remove(each)
            hits += 1
    return hits, len(grams(hypothesis, n))


@wrong("not-clipped", "der der der")
def unclipped(hypothesis, reference, n):
    there = grams(reference, n)
    ours = grams(hypothesis, n)
    return sum(each in there for each in ours), len(ours)


@wrong("each-once")
def sets(hypothesis, reference, n):
    ours = grams(hypothesis, n)
    return len(set(ours) & set(grams(reference, n))), len(ours)


@wrong("each-once")
def sets_twice(hypothesis, reference, n):
    ours = set(grams(hypothesis, n))
    return len(ours & set(grams(reference, n))), len(ours)


@wrong("a-recall")
def recall(hypothesis, reference, n):
    return plain(hypothesis, reference, n)[0], len(grams(reference, n))


@wrong("total-of-words")
def of_words(hypothesis, reference, n):
    return plain(hypothesis, reference, n)[0], len(hypothesis)


@wrong("order-ignored")
def any_order(hypothesis, reference, n):
    ours, theirs = (
        Counter(tuple(sorted(each)) for each in grams(words, n))
        for words in (hypothesis, reference)
    )
    return sum((ours & theirs).values()), len(grams(hypothesis, n))


wrong("n-ignored")(lambda hypothesis, reference, n: plain(hypothesis, reference, 1))


@wrong("negative-total")
def negative(hypothesis, reference, n):
    return plain(hypothesis, reference, n)[0], len(hypothesis) - n + 1


@wrong("not-a-pair", "(matches, total)")
def a_ratio(hypothesis, reference, n):
    hits, total = plain(hypothesis, reference, n)
    return hits / max(total, 1)


wrong("wrong-counts")(lambda hypothesis, reference, n: (0, 0))
