"""The one comparison of the graders: what a difference between two tensors is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch
from torch import Tensor

from tformer_book.check.kit.grading import Mistake
from tformer_book.check.kit.known import Known, Slip, recognise
from tformer_book.check.kit.matching import CLOSE, matches


def compare(
    found: Tensor,
    wanted: Tensor,
    known: Known = (),
    *,
    said: str,
    hint: str = "",
    tolerance: float = CLOSE,
) -> None:
    """Compare a tensor with what it should be, and name the difference.

    Args:
        found: what the reader's function returned.
        wanted: what it should have returned.
        known: the problem's known mistakes on this case.
        said: the case, as the reader is told: ``"for x (2, 3, 4)"``.
        hint: where to look if nobody knows this mistake.
        tolerance: relative and absolute.

    Raises:
        Mistake: they differ.
    """
    if matches(found, wanted, tolerance):
        return
    recognise(found, known, tolerance)
    said = said[:1].upper() + said[1:]
    _shapes(found, wanted, said, tolerance)
    cut_off = not found.is_floating_point() and wanted.is_floating_point()
    if cut_off and any(
        matches(found.to(wanted.dtype), whole)
        for whole in (wanted.trunc(), wanted.round())
    ):
        raise Mistake(
            "whole-numbers",
            f"{said} your result has dtype {found.dtype}, and everything after the "
            "point is cut off. Make it float before you calculate.",
        )
    found = found.detach().to(wanted.dtype)
    if not found.isfinite().all() and wanted.isfinite().all():
        what = "nan (not a number)" if found.isnan().any() else "infinity"
        raise Mistake(
            "not-finite",
            f"{said} there is {what} in your result. The usual causes are 0 ÷ 0, "
            "∞ − ∞, 0 × ∞ and the logarithm of 0.",
        )
    recognise(found, _relations(wanted.detach(), said), tolerance)
    raise Mistake(
        "wrong-numbers", _first_difference(found, wanted, said, tolerance, hint)
    )


def _shapes(found: Tensor, wanted: Tensor, said: str, tolerance: float) -> None:
    if found.shape == wanted.shape:
        return
    mine, want = tuple(found.shape), tuple(wanted.shape)
    has = f"{said} your result has shape {mine}; it must be {want}."
    if sorted(mine) == sorted(want):
        for order in itertools.permutations(range(wanted.dim())):
            if matches(found, wanted.permute(order), tolerance):
                raise Mistake(
                    "axes-swapped",
                    f"{has} The numbers are right, but axes have changed places.",
                )
    if found.numel() == wanted.numel() and matches(
        found.reshape(want), wanted, tolerance
    ):
        if len(mine) < len(want) and 1 in want:
            raise Mistake(
                "axis-lost",
                f"{has} An axis of size 1 has been lost. Do you squeeze()? Without "
                "a number it removes every axis of size 1, the batch's and the "
                "sentence's, too: name the axis that you mean, squeeze(-1).",
            )
        raise Mistake(
            "axes", f"{has} The numbers are right; the axes are not those wanted."
        )
    for axis in range(wanted.dim()):
        for keep in (False, True):
            for what, reduced in (
                ("sum", wanted.sum(axis, keepdim=keep)),
                ("mean", wanted.double().mean(axis, keepdim=keep)),
            ):
                if matches(found, reduced, tolerance):
                    raise Mistake(
                        f"{what}-over-an-axis",
                        f"{has} You have taken the {what} along axis {axis}; leave it.",
                    )
    raise Mistake("shape", has)


def _relations(wanted: Tensor, said: str) -> Iterator[Slip]:
    """Ways in which a whole result may be off that say something in any problem."""
    for axis in range(wanted.dim()):
        size = wanted.size(axis)
        if size > 1:
            yield Slip(
                "reversed",
                f"{said} your numbers are right but in reverse order along axis "
                f"{axis}.",
                wanted.flip(axis),
            )
        for step in {1, -1} if size > 2 else set():
            when = "later" if step > 0 else "earlier"
            yield Slip(
                "shifted",
                f"{said} your numbers are right but {when} by one along axis {axis}: "
                "does a count begin at 1, not at 0?",
                wanted.roll(step, axis),
            )
    for first, second in itertools.combinations(range(wanted.dim()), 2):
        if wanted.size(first) == wanted.size(second):
            yield Slip(
                "axes-swapped",
                f"{said} your numbers are right, but axes {first} and {second} have "
                "changed places.",
                wanted.transpose(first, second),
            )
    yield Slip("sign", f"{said} all signs are the wrong way round.", -wanted)
    if wanted.is_floating_point():
        yield Slip(
            "exponential",
            f"{said} yours is e to the power of the result.",
            wanted.exp(),
        )
        if (wanted > 0).all():
            yield Slip(
                "logarithm", f"{said} yours is the logarithm of it.", wanted.log()
            )
            yield Slip("root", f"{said} yours is the root of it.", wanted.sqrt())
        yield Slip("square", f"{said} yours is the square of it.", wanted.square())
        if wanted.dim():
            yield Slip(
                "softmax", f"{said} yours has been through softmax.", wanted.softmax(-1)
            )


def _first_difference(
    found: Tensor, wanted: Tensor, said: str, tolerance: float, hint: str
) -> str:
    """Say what kind of difference it is if that can be seen, and show one entry."""
    off = ~torch.isclose(found, wanted, rtol=tolerance, atol=tolerance)
    place = off.nonzero()[0].tolist()
    entry = f"the entry {place}" if place else "the number"
    show = (
        f"{entry} should be {wanted[tuple(place)].item():.4g} and is "
        f"{found[tuple(place)].item():.4g}"
    )
    kind = _constant(found, wanted, tolerance) or _partly(off)
    return f"{said} {kind or 'the shape is right, the numbers are not'}: {show}. {hint}"


def _constant(found: Tensor, wanted: Tensor, tolerance: float) -> str:
    solid = wanted.abs() > 1e-3
    if wanted.numel() > 2 and solid.any():
        factor = (found[solid] / wanted[solid]).double()
        if matches(found, (wanted * factor[0]).to(wanted.dtype), tolerance * 10):
            return (
                f"every number of yours is {factor[0].item():.4g} times what it must be"
            )
        shift = (found - wanted).flatten()[0]
        if matches(found, wanted + shift, tolerance * 10):
            return f"every number of yours is off by the same {shift.item():.4g}"
    return ""


def _partly(off: Tensor) -> str:
    """Which rows or examples are right, if they are neither all nor none."""
    for axis in range(off.dim()):
        bad = off.transpose(0, axis).flatten(1).any(-1) if off.dim() > 1 else off
        if 0 < int(bad.sum()) < bad.numel():
            right = (~bad).nonzero().flatten().tolist()
            return f"along axis {axis} only {right} (counting from 0) came out right"
    return ""
