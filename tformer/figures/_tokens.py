"""The book's colours, read from ``tokens.css``, where each is defined once.

A page resolves them itself, by day and by night. What has no page to ask (matplotlib,
Plotly, a PNG) takes `DAY`, or what lies between day and night and shows on both.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FILE = Path(__file__).with_name("tokens.css")
_COLOUR = re.compile(r"--tf-([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")
# Oklab, in which equal steps look equal (Björn Ottosson, 2020); CSS mixes in it, too.
_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def by_day(text: str) -> str:
    """A style sheet for paper or for programs that know no variables: by day, in full.

    Args:
        text: takes its colours from ``var(--tf-…)``.
    """
    return re.sub(r"var\(--tf-([\w-]+)\)", lambda found: day(found[1]), text)


@cache
def _pairs() -> dict[str, tuple[str, str]]:
    found = _COLOUR.findall(tokens())
    return {name: (day, night) for name, day, night in found}


def tokens() -> str:
    """The style sheet itself: every page has it, and a figure brings it elsewhere."""
    return FILE.read_text(encoding="utf-8")


def day(name: str) -> str:
    """A colour on white paper.

    Args:
        name: such as "query", for ``--tf-query``.
    """
    return _pairs()[name][0]


def between(name: str) -> str:
    """Half-way between a colour by day and by night: it shows on white and on black."""
    return mixed(*_pairs()[name], 0.5)


def mixed(one: str, other: str, share: float) -> str:
    """What ``color-mix(in oklab, other share, one)`` is in CSS, as a hex value."""
    lab = (1 - share) * _lab(one) + share * _lab(other)
    linear = np.linalg.solve(_TO_CONES, np.linalg.solve(_TO_LAB, lab) ** 3).clip(0, 1)
    curve = np.where(
        linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055
    )
    return "#" + bytes(round(255 * x) for x in curve).hex()


def _lab(colour: str) -> NDArray[np.float64]:
    curve = np.array([*bytes.fromhex(colour[1:])]) / 255
    linear = np.where(curve <= 0.04045, curve / 12.92, ((curve + 0.055) / 1.055) ** 2.4)
    return np.asarray(_TO_LAB @ np.cbrt(_TO_CONES @ linear))
