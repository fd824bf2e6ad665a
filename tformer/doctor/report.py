"""What the doctor says: findings, what was not tried, and the report of both."""

from __future__ import annotations

import dataclasses
import html
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Finding", "NotTried", "Remark", "Report"]


# What leaves so little of a model that other findings follow from it.
INITIAL = (
    "weights-all-equal", "weights-one-sided", "weights-too-large", "weights-too-small",
    "norm-drops-input",
)  # fmt: skip


def listed(names: Iterable[str], most: int = 3) -> str:
    """Names for a sentence, each once, and how many more there are."""
    each = list(dict.fromkeys(names))
    more = [f"{len(each) - most} more"] if len(each) > most + 1 else []
    shown = each[: most if more else None] + more
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


@dataclass(frozen=True)
class Finding:
    """Something that a sound model would not do.

    Attributes:
        code: its short, stable name, such as ``"future-leak"``.
        title: what is wrong, in one sentence.
        tried: what the doctor did.
        seen: what came out, with numbers.
        means: why that matters.
        look: where in your code to look first.
        chapter: the title of the book's chapter that explains it; without it, the
            ``CHAPTER`` of the examination.
        because: codes of findings that would explain this one. If one of them is
            found, too, this one is listed as a consequence. If its own is among them,
            the first of that code explains the others.
        design: in which sound design this is right, and which argument says so; then
            the report has it as a remark.
    """

    code: str
    title: str
    tried: str
    seen: str
    means: str
    look: str
    chapter: str = ""
    because: tuple[str, ...] = ()
    design: str = ""

    def as_remark(self, examination: str) -> Remark:
        """The same as something to confirm."""
        return Remark(
            f"{self.title}. Tried: {self.tried} Seen: {self.seen} {self.design} "
            f"If that isn't meant: {self.look}",
            examination,
            self.code,
            self.because,
        )

    def rows(self) -> Iterator[tuple[str, str]]:
        """What a report shows below the title, each with its label."""
        yield "tried", self.tried
        yield "seen", self.seen
        yield "means", self.means
        yield "look at", self.look
        yield "read", f"the chapter {self.chapter}"

    def __str__(self) -> str:
        """The finding as a paragraph for a terminal, 80 columns wide."""
        block = [f"{self.code}: {self.title}"]
        for label, text in self.rows():
            filled = textwrap.wrap(text, 80 - 13)
            block += [f"   {label if not i else '':8}  {line}"
                      for i, line in enumerate(filled)]  # fmt: skip
        return "\n".join(line.rstrip() for line in block)


@dataclass(frozen=True)
class NotTried:
    """An examination that could not take place.

    Attributes:
        examination: its name.
        reason: what was missing, or what got in the way.
        argument: what was given for it and could not be used; empty if nothing was.
    """

    examination: str
    reason: str
    argument: str = ""

    def __str__(self) -> str:
        return f"{self.examination}: {self.reason}"


@dataclass(frozen=True)
class Remark:
    """Something worth knowing that a sound model may do as well.

    Attributes:
        examination: the name of the one that noticed it; empty until the report.
        text: what it is, and what to do about it.
        code: a finding's, if it would be one in another design; else empty.
        because: codes of findings that explain it; beside one of them it is left out.
    """

    text: str
    examination: str = ""
    code: str = ""
    because: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.code or self.examination}: {self.text}"


@dataclass(frozen=True)
class Report:
    """What `examine` found; true only if that is nothing.

    An argument that was given and could not be used is told below the first line.

    Attributes:
        model: the class of the model.
        findings: what to fix, in the order in which to fix it.
        consequences: findings that those in ``findings`` explain: fix those first,
            then examine again.
        sound: names of the examinations that found nothing.
        not_tried: those that did not take place, and why.
        seconds: how long it took.
        remarks: what is worth knowing, though nothing need be wrong.
        accepted: codes of findings that `accept` said are meant.
        saw_attention: whether any attention was recognised in the model.
    """

    model: str
    findings: tuple[Finding, ...]
    consequences: tuple[Finding, ...]
    sound: tuple[str, ...]
    not_tried: tuple[NotTried, ...]
    seconds: float
    remarks: tuple[Remark, ...] = ()
    accepted: tuple[str, ...] = ()
    saw_attention: bool = True

    def __bool__(self) -> bool:
        return not self.findings

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the findings, in order; the consequences are not among them."""
        return tuple(finding.code for finding in self.findings)

    @property
    def to_confirm(self) -> tuple[str, ...]:
        """The codes of the remarks that would be findings in another design."""
        return tuple(each.code for each in self.remarks if each.code)

    def as_dict(self) -> dict[str, Any]:
        """The whole report in lists, dictionaries, texts and numbers, as for JSON."""
        return {**dataclasses.asdict(self), "sound_model": bool(self)}

    def _headline(self) -> str:
        n, m = len(self.findings), len(self.to_confirm)
        found = f"{n} finding{'s' if n != 1 else ''}" if n else "nothing found"
        found += f", {m} to confirm" if m else ""
        if not self.saw_attention:
            found += ", but no attention was seen either"
        return f"{self.model}: {found}"

    def _unused(self) -> list[str]:
        """What could not be used, one line for each reason."""
        reasons: dict[str, list[str]] = {}
        for each in self.not_tried:
            if each.argument:
                reasons.setdefault(each.reason, []).append(each.argument)
        return [
            f"Could not use {', '.join(arguments)}: {reason}"
            for reason, arguments in reasons.items()
        ]

    def _ends(self) -> Iterator[tuple[str, Sequence[str]]]:
        """The lists at the end of a report that are not empty, with their headings."""
        ends = {
            "Probably consequences of the above": [
                f"{each.code}: {each.title}" for each in self.consequences
            ],
            "To confirm": [str(each) for each in self.remarks if each.code],
            "Worth knowing": [str(each) for each in self.remarks if not each.code],
            "Accepted": [", ".join(self.accepted)] if self.accepted else [],
            "Looked at, and sound": [", ".join(self.sound)] if self.sound else [],
            "Not tried": [str(e) for e in self.not_tried if not e.argument],
        }
        for heading, lines in ends.items():
            if lines:
                yield heading, lines

    def __str__(self) -> str:
        """The whole report for a terminal."""
        blocks = [f"{self._headline()} ({self.seconds:.1f} s)"]
        blocks += [textwrap.fill(line, 80) for line in self._unused()]
        blocks += [f"{i}. {each}" for i, each in enumerate(self.findings, start=1)]
        for heading, lines in self._ends():
            wrapped = [
                textwrap.fill(line, 80, initial_indent="   ", subsequent_indent="     ")
                for line in lines
            ]
            blocks.append("\n".join([f"{heading}:", *wrapped]))
        return "\n\n".join(blocks)

    def _repr_html_(self) -> str:
        """The whole report for a notebook; what is not urgent is folded."""
        say = html.escape
        parts = [
            f"<p><strong>{say(self._headline())}</strong> ({self.seconds:.1f} s)</p>"
        ]
        parts += [f"<p><strong>{say(line)}</strong></p>" for line in self._unused()]
        for i, finding in enumerate(self.findings, start=1):
            rows = "".join(
                f"<dt><em>{say(label)}</em></dt><dd>{say(text)}</dd>"
                for label, text in finding.rows()
            )
            parts.append(
                f"<p><strong>{i}. {say(finding.title)}</strong> "
                f"(<code>{say(finding.code)}</code>)</p><dl>{rows}</dl>"
            )
        for heading, lines in self._ends():
            items = "".join(f"<li>{say(line)}</li>" for line in lines)
            parts.append(
                f"<details><summary>{say(heading)}</summary><ul>{items}</ul></details>"
            )
        return f'<div class="tf-doctor">{"".join(parts)}</div>'
