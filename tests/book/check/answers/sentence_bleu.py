import math
from collections import Counter

from sacrebleu.metrics import BLEU

from answers import right, wrong


def grams(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def counts(hypothesis, reference):
    for n in range(1, 5):
        ours = grams(hypothesis, n)
        yield sum((ours & grams(reference, n)).values()), sum(ours.values())


def smoothed(pairs):
    half = 1.0
    for hits, total in pairs:
        if hits == 0:
            half /= 2
        yield (hits or half) / total


def brevity(hypothesis, reference):
    return min(1.0, math.exp(1 - len(reference) / len(hypothesis)))


def geometric(shares):
    shares = list(shares)
    return math.prod(shares) ** (1 / len(shares))


@right
def plain(hypothesis, reference):
    shares = smoothed(counts(hypothesis, reference))
    return 100 * brevity(hypothesis, reference) * geometric(shares)


@right
def sacrebleus_own(hypothesis, reference):
    metric = BLEU(tokenize="none", force=True)
    return metric.corpus_score([" ".join(hypothesis)], [[" ".join(reference)]]).score


wrong("from-0-to-1", "multiply by 100")(lambda *given: plain(*given) / 100)


@wrong("not-clipped")
def unclipped(hypothesis, reference):
    pairs = []
    for n in range(1, 5):
        ours, there = grams(hypothesis, n), grams(reference, n)
        hits = sum(count for each, count in ours.items() if each in there)
        pairs.append((hits, sum(ours.values())))
    return 100 * brevity(hypothesis, reference) * geometric(smoothed(pairs))


@wrong("not-smoothed", "a half")
def unsmoothed(hypothesis, reference):
    shares = [hits / total for hits, total in counts(hypothesis, reference)]
    return 100 * brevity(hypothesis, reference) * geometric(shares)


@wrong("add-one")
def add_one(hypothesis, reference):
    first, *rest = counts(hypothesis, reference)
    shares = [first[0] / first[1], *((h + 1) / (t + 1) for h, t in rest)]
    return 100 * brevity(hypothesis, reference) * geometric(shares)


@wrong("arithmetic-mean", "geometric")
def arithmetic(hypothesis, reference):
    shares = smoothed(counts(hypothesis, reference))
    return 100 * brevity(hypothesis, reference) * sum(shares) / 4


wrong("no-brevity-penalty")(lambda *given: 100 * geometric(smoothed(counts(*given))))


@wrong("reward-for-length", "at most 1")
def rewards(hypothesis, reference):
    penalty = math.exp(1 - len(reference) / len(hypothesis))
    return 100 * penalty * geometric(smoothed(counts(hypothesis, reference)))


@wrong("lengths-swapped")
def swapped(hypothesis, reference):
    shares = smoothed(counts(hypothesis, reference))
    return 100 * brevity(reference, hypothesis) * geometric(shares)


@wrong("arithmetic-mean", "second slip")
def two_slips(hypothesis, reference):
    shares = smoothed(counts(hypothesis, reference))
    return 100 * sum(shares) / 4


@wrong("not-a-number")
def words(hypothesis, reference):
    return "39 BLEU"


wrong("wrong-score")(lambda hypothesis, reference: 39.1)
