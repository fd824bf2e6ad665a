"""The claims that explanations make, each with its verdict; the checks are a chapter.

``claims.toml`` declares every claim once: its words, its verdict, and a change that
makes its check fail. `table` lists them, `verdict` shows what one check found.

Chapter *Claims, tested*.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Self

from tformer import figures
from tformer_book.show import Shown

__all__ = ["TOPICS", "VERDICTS", "Claim", "Unproven", "Verdict", "all_claims"]
__all__ += ["table", "verdict"]

VERDICTS = ("right", "wrong", "imprecise")
TOPICS = (
    "Position",
    "Attention, heads, masks",
    "Block, data, training, decoding",
)
_HERE = Path(__file__).parent
_COLOURS = {
    "right": figures.themed(figures.SERIES[1]),
    "wrong": figures.themed(figures.PALETTE["loss"]),
    "imprecise": figures.themed(figures.SERIES[3]),
}


class Unproven(AssertionError):
    """A check that did not find what its claim's verdict rests on."""


@dataclass(frozen=True)
class Claim:
    """One claim, as explanations put it.

    Attributes:
        number: from 1, in the order of the chapter.
        title: the claim in a sentence.
        verdict: "right", "wrong" or "imprecise".
        topic: one of `TOPICS`.
        fails_if: a change to what is tested that makes the check fail.
    """

    number: int
    title: str
    verdict: str
    topic: str
    fails_if: str

    @property
    def heading(self) -> str:
        """The heading of its section in the chapter, without marks."""
        return f"{self.number}. “{self.title}”"

    @property
    def anchor(self) -> str:
        """The id that the site gives to this section."""
        plain = unicodedata.normalize("NFKD", self.heading.lower())
        words = re.findall(r"[a-z0-9]+", plain.encode("ascii", "ignore").decode())
        return re.sub(r"^[-0-9]+", "", "-".join(words))


@cache
def all_claims() -> tuple[Claim, ...]:
    """All claims, in the order of their numbers."""
    entries = tomllib.loads((_HERE / "claims.toml").read_text("utf-8"))
    return tuple(Claim(**entry) for entry in entries["claim"])


class Verdict:
    """What a check found, collected line by line.

    Call it with what must hold and with the words for it; the last call shows all.

    Args:
        claim: the claim that is decided.
    """

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.found: list[str] = []

    def __call__(self, holds: Any, text: str) -> Self:
        """Add a finding.

        Args:
            holds: whether the verdict's evidence is there: a bool, or a tensor of one.
            text: what came out, with its numbers.

        Raises:
            Unproven: it is not there.
        """
        if not bool(holds):
            raise Unproven(
                f"claim {self.claim.number}: the evidence for {self.claim.verdict!r} "
                f"is missing; what came out: {text}"
            )
        self.found.append(text)
        return self

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        claim = self.claim
        lines = "".join(f"<li>{escape(text)}</li>" for text in self.found)
        colour = _COLOURS[claim.verdict]
        html = (
            f'<div class="tf-verdict" style="border-left:.35rem solid {colour};'
            f'padding:.1rem 0 .1rem 1rem"><p style="margin:0"><strong>Claim '
            f"{claim.number}: {claim.verdict}.</strong></p>"
            f'<ul style="margin:.25rem 0">{lines}</ul><p style="margin:0;'
            f'font-size:.9em">The check fails if {escape(claim.fails_if)}.</p></div>'
        )
        return {"text/html": html, "text/plain": repr(self)}

    def __repr__(self) -> str:
        head = f"Claim {self.claim.number}: {self.claim.verdict}."
        return "\n".join([head, *(f"- {text}" for text in self.found)])


def verdict(number: int, word: str) -> Verdict:
    """Begin to decide a claim.

    Args:
        number: the claim's.
        word: the verdict: "right", "wrong" or "imprecise".

    Returns:
        What takes the findings, one call each.

    Raises:
        ValueError: there is no such claim, or it is declared with another verdict.
    """
    found = [claim for claim in all_claims() if claim.number == number]
    if not found:
        raise ValueError(f"there is no claim {number}: 1 to {len(all_claims())}")
    if found[0].verdict != word:
        raise ValueError(
            f"claim {number} is declared {found[0].verdict!r}, not {word!r}"
        )
    return Verdict(found[0])


def table(text: str = "", *, verdict: str = "", topic: str = "") -> Shown:
    """A list of the claims that can be filtered, each a link to its section.

    Verdict and topic are chosen with buttons that need no script; on the site, a field
    for text appears as well.

    Args:
        text: only claims with this in their words.
        verdict: only those with this verdict.
        topic: only those of this topic.
    """
    chosen = [
        claim
        for claim in all_claims()
        if text.lower() in claim.title.lower()
        and verdict in ("", claim.verdict)
        and topic in ("", claim.topic)
    ]
    rows = "".join(
        f'<tr data-verdict="{claim.verdict}" data-topic="{TOPICS.index(claim.topic)}">'
        f"<td>{claim.number}</td>"
        f'<th scope="row"><a href="#{claim.anchor}">{_typeset(claim.title)}</a></th>'
        f'<td class="tf-claims-topic">{escape(claim.topic)}</td>'
        f'<td class="tf-claims-verdict"><span>{claim.verdict}</span></td></tr>'
        for claim in chosen
    )
    verdicts = {name: sum(c.verdict == name for c in chosen) for name in VERDICTS}
    topics = {name: sum(c.topic == name for c in chosen) for name in TOPICS}
    style = (_HERE / "claims.css").read_text("utf-8")
    html = (
        f'<div class="tf-claims"><style>{style}</style>'
        + _choices("verdict", "Verdict", list(VERDICTS), list(verdicts.values()))
        + _choices("topic", "Topic", list(TOPICS), list(topics.values()))
        + '<p class="tf-claims-text"><label>Words in the claim '
        '<input type="search" autocomplete="off"></label> '
        '<span role="status"></span></p>'
        '<table class="tf-claims-table"><thead><tr><th scope="col">No.</th>'
        '<th scope="col">Explanations say</th>'
        '<th scope="col" class="tf-claims-topic">Topic</th>'
        f'<th scope="col">Verdict</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )
    lines = [f"{claim.heading} {claim.verdict}" for claim in chosen]
    return Shown(text_html=html, text_plain="\n".join(lines))


def _typeset(text: str) -> str:
    """Text as HTML, with the apostrophe that the site sets in its headings."""
    return escape(text.replace("'", "’"))


def _choices(name: str, legend: str, values: list[str], counts: list[int]) -> str:
    """A group of radio buttons: all, or one of the values."""
    options = [("all", "", sum(counts))]
    options += [
        (value, str(i) if name == "topic" else value, count)
        for i, (value, count) in enumerate(zip(values, counts, strict=True))
    ]
    buttons = "".join(
        f'<label><input type="radio" name="tf-claims-{name}" value="{value}"'
        f"{' checked' if not value else ''}><span>{escape(label)} ({count})</span>"
        "</label>"
        for label, value, count in options
    )
    return f"<fieldset><legend>{legend}</legend>{buttons}</fieldset>"
