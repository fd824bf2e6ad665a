"""The grader for `sentence_bleu` of *Decoding and scoring*, and known slips."""

from tformer_book.check import kit
from tformer_book.check.problems._bleu import Words
from tformer_book.check.problems._bleu import bleu as built

HINTS = (
    "Four precisions are multiplied and the fourth root is taken. What does that "
    "become, if you add up logarithms?",
    "For n from 1 to 4 add `log(matches / total) / 4`; where nothing matches, count "
    "half a match, then a quarter. The brevity penalty is min(1, e^(1 − r/h)) with "
    "the two lengths.",
    "log_mean, half = 0.0, 1.0",
)

REFERENCE, *HYPOTHESES = (
    text.split()
    for text in (
        "der Hund schwimmt im See und die Kinder sehen zu",
        "der Hund schwimmt im See und Kinder sehen zu",  # shorter
        "der Hund der schwimmt und die Kinder die sehen ihn schwimmen",  # no 4-gram
        "ein Hund schwimmt im See und alle die Kinder die da sind sehen zu",  # longer
        "die Kinder der Hund Hund",  # no 3-gram, no 4-gram, shorter
    )
)

SLIPS: kit.Table = {
    "from-0-to-1": (
        lambda hypothesis, reference: built(hypothesis, reference) / 100,
        "Right, but from 0 to 1. sacreBLEU reports 0 to 100: multiply by 100.",
    ),
    "not-clipped": (
        {"clipped": False},
        "Your counts are not clipped: an n-gram counts at most as often as the "
        "reference has it.",
    ),
    "not-smoothed": (
        {"smooth": "none"},
        "Right where every length has a match. Where one has none, your score is 0; "
        "`exp` counts a half instead of the first 0, a quarter instead of the second.",
    ),
    "add-one": (
        {"smooth": "add-one"},
        "You add 1 to the counts of the longer n-grams. That is another smoothing "
        "(add-k). `exp` touches only counts of 0: a half for the first, a quarter for "
        "the second.",
    ),
    "fewer-lengths": (
        [{"longest": 3}, {"longest": 2}, {"longest": 1}],
        "You leave long n-grams out. BLEU takes the precisions of four lengths, from "
        "single words to runs of four, and the fourth root of their product.",
    ),
    "more-lengths": (
        {"longest": 5},
        "You count runs of five words, too. BLEU takes four lengths, 1 to 4.",
    ),
    "always-a-half": (
        {"smooth": "half"},
        "You count a half for every 0. `exp` halves anew: a half for the first 0, a "
        "quarter for the second.",
    ),
    "arithmetic-mean": (
        {"mean": "arithmetic"},
        "You take the mean of the four precisions. BLEU takes the geometric mean: the "
        "fourth root of their product, or exp of the mean of their logarithms.",
    ),
    "no-brevity-penalty": (
        {"brevity": "none"},
        "The brevity penalty is missing: exp(1 − r/h) where the hypothesis, h words, "
        "is shorter than the reference, r words.",
    ),
    "brevity-without-exp": (
        {"brevity": "ratio"},
        "You multiply by h/r where the hypothesis, h words, is shorter than the "
        "reference, r words. The brevity penalty is exp(1 − r/h).",
    ),
    "reward-for-length": (
        {"brevity": "both"},
        "Your brevity penalty also multiplies longer outputs, by more than 1. It is "
        "at most 1.",
    ),
    "lengths-swapped": (
        {"brevity": "swapped"},
        "Your penalty punishes long outputs. It is exp(1 − r/h), with the reference's "
        "length r above.",
    ),
}


def _unknown(found: float, wanted: float, hypothesis: Words, _: Words) -> kit.Mistake:
    return kit.Mistake(
        "wrong-score",
        f"For “{' '.join(hypothesis)}” against “{' '.join(REFERENCE)}” you say "
        f"{found:.2f}, sacreBLEU {wanted:.2f}. I don't know this mistake.",
    )


def _probe(mine: kit.Function) -> None:
    given = kit.cases("hypothesis reference", *((h, REFERENCE) for h in HYPOTHESES))
    kit.judge(mine, given, built, SLIPS, built, take=kit.as_number, otherwise=_unknown)


@kit.grader(_probe)
def sentence_bleu(mine: kit.Function) -> str:
    """Grade ``mine(hypothesis, reference)``, BLEU of one sentence.

    ``mine`` takes two lists of words, the hypothesis of at least four, and returns
    what sacreBLEU does (0 to 100, smoothing ``exp``, all four orders).
    """
    return (
        "Clipped counts, the geometric mean, a half for the first 0, and a penalty for "
        "brevity alone: sacreBLEU's number."
    )
