"""Text that a terminal shows: nothing in it may steer the terminal."""

import re
import unicodedata

UNSEEN = ("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp")  # categories that show no sign
# Control characters but the tab, line separators, a byte-order mark in the text, and
# marks that turn the direction of what follows: no sentence needs any of them.
STRAY = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ufeff\u202a-\u202e\u2066-\u2069]"
)


def visible(text: str) -> str:
    r"""The text with every character that is not seen escaped, as in ``\x1b``.

    Tabs and line ends stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        repr(each)[1:-1]
        if each not in "\t\n" and unicodedata.category(each) in UNSEEN
        else each
        for each in text
    )


def stray(text: str) -> str:
    """What is wrong with the first stray character, and what to do; empty if none is.

    A line's end is no part of the text.
    """
    found = STRAY.search(text)
    if not found:
        return ""
    what, remedy = "a control character", "remove it"
    if found[0] in "\r\u2028\u2029\x0b\x0c\x85":
        what, remedy = "an end of a line or page", "put a space in its place"
    elif found[0] == "\ufeff":
        what = "a byte-order mark in the middle"
    elif found[0] > "\x9f":
        what = "a mark that turns the direction of the text"
    elif found[0] > "\x7f":
        what, remedy = "a sign of a wrong encoding", "convert the file to UTF-8 again"
    return f"U+{ord(found[0]):04X}, {what}: {remedy}"
