"""Values that users give: checked where they enter, with uniform error messages.

Free of torch, so that the command line can check before it loads anything heavy.
"""

import math
import operator
import os
from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any

LARGEST = 2**63 - 1  # the largest integer that PyTorch can hold


def require(holds: bool, name: str, value: object, rule: str) -> None:
    """Raise a ValueError that names the value and the rule, unless it holds."""
    if not holds:
        raise ValueError(f"{name}={value!r} must be {rule}")


def integer(name: str, value: Any, *, least: int, otherwise: str = "") -> None:
    """Raise unless a setting is Python's int, which JSON can hold, and in range.

    Raises:
        TypeError: of another type.
        ValueError: below ``least``, or beyond 64 bits.
    """
    if type(value) is not int:
        raise TypeError(f"{name}={value!r} must be {otherwise}an int")
    require(value >= least, name, value, f"{otherwise}at least {least}")
    require(value <= LARGEST, name, value, f"{otherwise}less than 2**63")


def number(name: str, value: Any) -> float:
    """A setting, if it is Python's int or float, which JSON can hold.

    Raises:
        TypeError: of another type.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name}={value!r} must be a number")
    return value


def whole(
    name: str,
    value: Any,
    *,
    least: int | None = None,
    most: int | None = None,
    remedy: str = "",
) -> int:
    """A whole number as an int, whether Python's, NumPy's or a tensor's.

    Args:
        name: what the value is called in messages.
        value: anything with ``__index__``, bools aside.
        least: the smallest value allowed.
        most: the largest value allowed.
        remedy: what to do instead; ends the message.

    Raises:
        TypeError: not a number.
        ValueError: a number that is not whole, or out of range.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        error = ValueError if is_number else TypeError
        raise error(f"{name}={value!r} must be a whole number") from None
    _check_range(name, number, least, most, None, remedy)
    return number


def real(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    remedy: str = "",
) -> float:
    """A finite number as a float, whether Python's or NumPy's.

    Args:
        name: what the value is called in messages.
        value: any real number, bools aside.
        least: the smallest value allowed.
        most: the largest value allowed.
        above: a lower bound that is itself excluded.
        remedy: what to do instead; ends the message.

    Raises:
        TypeError: not a number.
        ValueError: NaN or infinity, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} must be a number")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name}={number} must be a finite number")
    _check_range(name, number, least, most, above, remedy)
    return number


def one_of(name: str, value: Any, known: Sequence[str]) -> str:
    """One of a few names.

    Raises:
        ValueError: any other; the message lists them.
    """
    if value not in known:
        *others, last = map(repr, known)
        raise ValueError(f"{name}={value!r} must be {', '.join(others)} or {last}")
    return value


def instance(name: str, value: Any, kind: type, remedy: str) -> None:
    """Raise a TypeError unless a value is of a kind.

    Args:
        name: what the value is called in the message.
        value: anything.
        kind: of which it must be.
        remedy: where such values come from.
    """
    if not isinstance(value, kind):
        raise TypeError(
            f"{name} must be a {kind.__name__}, {remedy}, got a {type(value).__name__}"
        )


def named_folder(folder: str | os.PathLike[str]) -> Path:
    """A folder that is named; an empty name would silently mean the current one.

    Raises:
        TypeError: not a path.
        ValueError: an empty string, or one that no file system takes.
    """
    if not isinstance(folder, str | os.PathLike):
        raise TypeError(f"folder={folder!r} must be the name of a folder")
    require(folder != "", "folder", folder, 'the name of a folder ("." is this one)')
    require("\0" not in os.fspath(folder), "folder", folder, "without a zero byte")
    return Path(folder)


def _check_range(
    name: str,
    number: float,
    least: float | None,
    most: float | None,
    above: float | None,
    remedy: str,
) -> None:
    rule = ""
    if least is not None and number < least:
        rule = f"at least {least}"
    if most is not None and number > most:
        rule = f"at most {most}"
    if above is not None and number <= above:
        rule = f"above {above}"
    if rule:
        ending = f": {remedy}" if remedy else ""
        raise ValueError(f"{name}={number} must be {rule}{ending}")
