"""Print for each chapter what it asks of its reader before the problems.

Usage: ``python -m tformer_book.press.chapter_table [CHAPTER.ipynb ...]``

Words are those of the text that lies open, without folds, code and formulas; within a
sentence, code or a formula counts as a word. Lines are those of cells that stand open
in *Read*. Time is 200 words and 15 lines a minute, and three minutes for each
interactive figure (the small map of the model is a sign, not a figure). The first
figure's place is told in words read before it. A chapter that is too long, or states
less time than it takes, is named, and then the exit status is 1.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tformer_book.press.chapters import ROOT, chapters, read, source, tags
from tformer_book.press.labels import ASIDE, LESSON

MOST_WORDS = 3000
MOST_LINES = 80
WORDS_A_MINUTE = 200
LINES_A_MINUTE = 15
MINUTES_A_FIGURE = 3

PROBLEMS = re.compile(r"^## Problems$", re.M)
UNREAD = re.compile(  # a fold, a comment, code, a formula, a tag, a link's address
    r"<details\b.*?</details>|<!--.*?-->|^```.*?^```|\$\$.*?\$\$|<[^>]+>|"
    r"(?<=\])\([^)\s]*\)",
    re.S | re.M,
)
INLINE = re.compile(r"`[^`\n]+`|(?<!\\)\$[^$\n]+\$")
WORD = re.compile(r"\S*[^\W_]\S*")
SECTION = re.compile(r"^## (.*)$", re.M)
STANDING = {  # sections that chapters have in common
    "Break it",
    "What explanations get wrong",
    "Paper against code",
    "What to remember",
}
PREDICTION = re.compile(r"^> \*\*Predict, then run\.\*\*.*(?:\n>.*)*", re.M)
CHOICE = re.compile(r"^> *[-*] ", re.M)
TIME = re.compile(r"^\*\*Time:\*\* ([^.;]*)", re.M)
NUMBERS = {"ten": 10, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "an": 60}
UNSEEN = {ASIDE, "remove-cell", "run-it"}  # a cell whose figure no page shows
FIGURES = "|".join(
    "".join(part.capitalize() for part in each.name.split("_"))
    for each in (ROOT / "book/tformer_book/widgets").glob("[a-z]*")
    if each.is_dir() and (each / "__init__.py").is_file()
)
FIGURE = re.compile(rf"\b(?:{FIGURES})(?:\.\w+)?\((?!.*\bcompact=True)")


@dataclass(frozen=True)
class Row:
    """What one chapter asks of its reader before the problems.

    Attributes:
        chapter: the file's name.
        words: of open text.
        lines: of open code that are not blank.
        sections: of its own, without those that all chapters have.
        stated: the minutes to read and play that it states, None without a statement.
        computed: the minutes that words, lines and figures come to.
        predictions: how many there are.
        choices: how many of them offer answers to choose from.
        figures: how many can be played with.
        first_figure: the words before the first of them, None without one.
    """

    chapter: str
    words: int
    lines: int
    sections: int
    stated: int | None
    computed: int
    predictions: int
    choices: int
    figures: int
    first_figure: int | None

    def faults(self) -> list[str]:
        """Return what is wrong with the chapter's length, one sentence for each."""
        found = []
        for count, most, what in (
            (self.words, MOST_WORDS, "words"),
            (self.lines, MOST_LINES, "open lines of code"),
        ):
            if count > most:
                found.append(
                    f"{count:,} {what} before the problems, {count - most:,} too many"
                )
        if self.stated is None:
            found.append("states no time (**Time:** 45 minutes …)")
        elif self.stated < self.computed:
            found.append(f"states {self.stated} minutes, but takes {self.computed}")
        return [f"{self.chapter}: {fault}" for fault in found]


def words_in(text: str) -> int:
    """Return how many words of Markdown a reader sees."""
    return len(WORD.findall(INLINE.sub("x", UNREAD.sub(" ", text))))


def stated_minutes(text: str) -> int | None:
    """Return the minutes to read and play that a chapter states: a newcomer's."""
    found = TIME.search(text)
    if not found:
        return None
    told = found[1].split(", as long again")[0]
    minutes = [
        int(word) if word.isdigit() else NUMBERS[word]
        for word in re.findall(r"\w+", told)
        if word.isdigit() or word in NUMBERS
    ]
    return max(minutes, default=None)


def measured(name: str, cells: list[dict[str, Any]]) -> Row:
    """Return a chapter's row."""
    words = lines = figures = 0
    first_figure = None
    prose: list[str] = []
    for cell in cells:
        text = source(cell)
        if cell["cell_type"] == "markdown":
            ends = PROBLEMS.search(text)
            prose.append(text[: ends.start()] if ends else text)
            words += words_in(prose[-1])
            if ends:
                break
            continue
        if LESSON in tags(cell):
            lines += sum(bool(line.strip()) for line in text.splitlines())
        drawn = len(FIGURE.findall(text)) if not tags(cell) & UNSEEN else 0
        if drawn and not figures:
            first_figure = words
        figures += drawn
    whole = "\n\n".join(prose)
    predictions = [found[0] for found in PREDICTION.finditer(whole)]
    minutes = words / WORDS_A_MINUTE + lines / LINES_A_MINUTE
    return Row(
        name,
        words,
        lines,
        sum(title not in STANDING for title in SECTION.findall(whole)),
        stated_minutes(whole),
        math.ceil(minutes + MINUTES_A_FIGURE * figures),
        len(predictions),
        sum(bool(CHOICE.search(each)) for each in predictions),
        figures,
        first_figure,
    )


def numbered() -> list[Path]:
    """Return the chapters 00, 01, 02 …: the limits hold for these."""
    return [path for path in chapters() if re.match(r"\d\d-", path.name)]


def table(rows: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    heads = [each.name.replace("_", " ") for each in fields(Row)]
    body = [
        [
            "–" if (value := getattr(row, each.name)) is None else str(value)
            for each in fields(Row)
        ]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(heads, *body, strict=True)]
    written = [heads, ["-" * width for width in widths], *body]
    return "\n".join(
        "| "
        + " | ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        + " |"
        for line in written
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    files = parser.parse_args().files or numbered()
    rows = [measured(path.stem, read(path)["cells"]) for path in files]
    print(table(rows))
    faults = [fault for row in rows for fault in row.faults()]
    for fault in faults:
        print(f"chapter_table: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
