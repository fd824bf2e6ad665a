"""Look for what a corpus score hides: loops, empty and runaway translations.

A model can score well and still fail in ways that a reader sees at once. These checks
are plain rules, stated with the code, so that a count means the same in every report.
For generated data, where only one German is right, there is exact match by phenomenon.
Chapter *Decoding and scoring*.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tformer.data.alignment import AlignedPair
from tformer.evaluate.scores import Report
from tformer.tokenization import Tokenizer

LONGEST_LOOP = 8  # words in the longest loop that `loop` finds
TOO_LONG, TOO_SHORT = 2.0, 0.5  # times the reference's length in words
_NAMES = ("empty", "looping", "too_long", "too_short", "copied")
FEW_WORDS = 3  # lengths that differ by fewer words are never odd


@dataclass(frozen=True)
class Checks:
    """Which translations of a report look broken, by number in the test set.

    Attributes:
        n_sentences: how many were checked.
        empty: nothing but whitespace.
        looping: words repeat immediately (`loop`), though the source's do not.
        too_long: at least `FEW_WORDS` words longer than the reference, and at least
            twice as long.
        too_short: the same, half as long.
        copied: equal to the source, though the reference is not.
        at_limit: as long as the search allows, so perhaps cut off; None if no tokenizer
            was given to count pieces.
        length_ratio: words in all translations over words in all references.
    """

    n_sentences: int
    empty: tuple[int, ...]
    looping: tuple[int, ...]
    too_long: tuple[int, ...]
    too_short: tuple[int, ...]
    copied: tuple[int, ...]
    length_ratio: float
    at_limit: tuple[int, ...] | None = None

    def __str__(self) -> str:
        """The counts in one line."""
        counts = [f"{len(getattr(self, x))} {x.replace('_', ' ')}" for x in _NAMES]
        if self.at_limit is not None:
            counts.append(f"{len(self.at_limit)} at the limit")
        return f"{', '.join(counts)}; length ratio {self.length_ratio:.3f}"


def check(
    report: Report, *, tokenizer: Tokenizer | None = None, max_len: int = 128
) -> Checks:
    """Find the translations that are empty, loop, or have an odd length.

    Args:
        report: what `tformer.evaluate.score` returned.
        tokenizer: the translator's, to see which translations reached the limit.
        max_len: that limit, in pieces, as in `Translator.translate`.
    """
    found: dict[str, list[int]] = {name: [] for name in _NAMES}
    n_words = n_reference_words = 0
    for number, each in enumerate(report.sentences):
        words, reference = len(each.translation.split()), len(each.reference.split())
        n_words, n_reference_words = n_words + words, n_reference_words + reference
        is_odd = abs(words - reference) >= FEW_WORDS
        findings = {
            "empty": words == 0,
            "looping": bool(loop(each.translation)) and not loop(each.source),
            "too_long": is_odd and words >= TOO_LONG * reference,
            "too_short": is_odd and words <= TOO_SHORT * reference,
            "copied": each.translation == each.source != each.reference,
        }
        for name, holds in findings.items():
            if holds:
                found[name].append(number)
    at_limit = None
    if tokenizer is not None:
        texts = [each.translation for each in report.sentences]
        sizes = [len(ids) for ids in tokenizer.encode_all(texts)]
        at_limit = tuple(i for i, size in enumerate(sizes) if size >= max_len)
    return Checks(
        n_sentences=len(report.sentences),
        at_limit=at_limit,
        length_ratio=n_words / max(n_reference_words, 1),
        **{name: tuple(numbers) for name, numbers in found.items()},
    )


def loop(text: str) -> str:
    """The words that a text repeats immediately, or "" if it does not.

    One word counts from three times in a row ("die die die"; German may say "die die"),
    a group of two to eight words from twice in a row. Case and punctuation are ignored.

    Returns:
        The words of the first loop, once; the shortest group if several begin there.

    Raises:
        TypeError: not a string.
    """
    if not isinstance(text, str):
        raise TypeError(f"expected a sentence, got {text!r}")
    words = re.findall(r"\w+", text.casefold())
    for start in range(len(words)):
        for size in range(1, LONGEST_LOOP + 1):
            times = 3 if size == 1 else 2
            group = words[start : start + size]
            if words[start : start + times * size] == group * times:
                return " ".join(group)
    return ""


@dataclass(frozen=True)
class Share:
    """How many of the sentences that share a phenomenon came out right.

    Attributes:
        n: sentences.
        n_right: those whose translation equals its reference.
    """

    n: int
    n_right: int

    @property
    def share(self) -> float:
        """n_right / n."""
        return self.n_right / self.n


def exact_by_phenomenon(
    report: Report, alignments: Sequence[AlignedPair]
) -> dict[str, Share]:
    """Exact match on the sentences that show each phenomenon, most common first.

    A sentence counts for every phenomenon that it shows, so a low share names a
    suspect, not the culprit.

    Args:
        report: of a test set of ``grammar``.
        alignments: of the same sentences, such as ``corpus.alignments["random"]``.

    Raises:
        ValueError: they are not of the same sentences.
    """
    if len(alignments) != len(report.sentences):
        raise ValueError(
            f"{len(report.sentences)} sentences but {len(alignments)} alignments: give "
            "those of the test set that was scored"
        )
    counts: dict[str, list[bool]] = {}
    for each, aligned in zip(report.sentences, alignments, strict=True):
        if "".join(aligned.german) != each.reference.replace(" ", ""):
            raise ValueError(
                f"the alignment of {' '.join(aligned.german)!r} is paired with the "
                f"reference {each.reference!r}: give them in the same order"
            )
        for name in aligned.phenomena:
            counts.setdefault(name, []).append(each.translation == each.reference)
    ranked = sorted(counts.items(), key=lambda item: (-len(item[1]), item[0]))
    return {name: Share(len(right), sum(right)) for name, right in ranked}
