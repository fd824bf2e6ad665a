"""What came back from a reader's function, as the kind of thing that was wanted."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from tformer_book.check.kit.grading import Mistake


def as_tensor(returned: object, wanted: str = "one tensor") -> Tensor:
    """Return what the reader's function returned, if it is a tensor.

    Args:
        returned: anything.
        wanted: what it should be, for the message.

    Raises:
        Mistake: it is something else.
    """
    if isinstance(returned, Tensor):  # a kind of one's own may answer as it likes
        return returned.as_subclass(Tensor)
    if isinstance(returned, np.ndarray | np.generic):
        raise Mistake(
            "not-a-tensor",
            f"Your function returns a NumPy {type(returned).__name__}; I need "
            f"{wanted}. Stay in torch throughout: NumPy keeps no record for the "
            "gradient, so nothing could be learned through it.",
        )
    if isinstance(returned, tuple | list) and all(
        isinstance(each, Tensor) for each in returned
    ):
        raise Mistake(
            "returns-several",
            f"Your function returns a {type(returned).__name__} of {len(returned)} "
            f"tensors; I need {wanted}.",
        )
    raise Mistake(
        "not-a-tensor",
        f"Your function returns a {type(returned).__name__}; I need {wanted}.",
    )


def as_number(returned: object, what: str = "one number") -> float:
    """Return what the reader's function returned as a number, whatever kind it has.

    Args:
        returned: anything; tensors and NumPy arrays of one number and NumPy's own
            scalars are fine.
        what: what it should be, for the message.

    Raises:
        Mistake: it is something else.
    """
    returned = _item(returned, what)
    if isinstance(returned, bool) or not isinstance(returned, int | float):
        raise Mistake(
            "not-a-number",
            f"Your function returns a {type(returned).__name__}; I need {what}.",
        )
    return float(returned)


def as_whole(returned: object, what: str = "a whole number") -> int:
    """Return what the reader's function returned as an int, whatever kind it has.

    Args:
        returned: anything; tensors and NumPy arrays of one number, NumPy's own
            scalars and floats without a fraction are fine.
        what: what it should be, for the message.

    Raises:
        Mistake: it is something else.
    """
    returned = _item(returned, what)
    if isinstance(returned, float) and returned.is_integer():
        returned = int(returned)
    if isinstance(returned, bool) or not isinstance(returned, int):
        raise Mistake(
            "not-a-whole-number",
            f"Your function returns {returned!r}, a {type(returned).__name__}; I need "
            f"{what}. Use // where you divide, or round().",
        )
    return returned


def _item(returned: object, what: str) -> object:
    """The one number of a tensor or an array; anything else as it is."""
    if not isinstance(returned, Tensor | np.ndarray | np.generic):
        return returned
    if returned.reshape(-1).shape[0] != 1:
        raise Mistake(
            "not-one-number",
            f"Your function returns numbers of shape {tuple(returned.shape)}; I need "
            f"{what}.",
        )
    found: object = returned.item()
    return found
