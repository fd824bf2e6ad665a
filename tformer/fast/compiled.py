"""Which models are decoded by their flat form, and when that form is made anew.

A form is made at a model's first translation and kept with what it was made from. Each
search compares that with the model as it is now: the classes and settings of its parts;
for each weight which tensor it is, where it lies, and its version, a number that
PyTorch raises when a tensor changes in place; and, since fused optimizers raise none, a
sample of its numbers. Unnoticed is only a change of a few numbers through ``.data`` or
NumPy: make it under ``torch.no_grad()``. Chapter *Decoding and scoring*.
"""

from functools import cache
from operator import is_
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn.modules import module as watched

from tformer.fast import products
from tformer.fast.flat import FlatTransformer, Unfit

STRIDE = 127  # of a large matrix every 127th number is compared, some of each row
SMALL = 4096  # … and of what is smaller all


class _Kept:
    """The forms of a model, by their precision, and what they were made from."""

    def __init__(self, seen: list[Any], marks: list[int]) -> None:
        self.seen, self.marks = seen, marks
        self.forms: dict[str, FlatTransformer | str] = {}  # or why there is none
        # As long as these live, no other weight can lie where one of them lies.
        self.some = [
            each.detach().view(-1)[:: 1 if each.numel() <= SMALL else STRIDE]
            for each in seen
            if isinstance(each, Tensor)
        ]
        self.sample = torch.cat(self.some)

    def is_of(self, seen: list[Any], marks: list[int]) -> bool:
        same = marks == self.marks and all(map(is_, seen, self.seen))
        return same and torch.equal(torch.cat(self.some), self.sample)


_KEPT: WeakKeyDictionary[nn.Module, _Kept] = WeakKeyDictionary()


def flat_form(model: Any, precision: str) -> FlatTransformer | None:
    """A model's flat form; None if it is to be decoded as it is.

    Args:
        model: any that can be decoded.
        precision: "float32", or "int8" (`products.eight_bit`).

    Raises:
        ValueError: "int8", and the model has no such form; the message says why.
    """
    try:
        return _form(model, precision)
    except Unfit as why:
        if precision == "float32":
            return None
        raise ValueError(
            f"precision={precision!r} is not possible here: {why}. Leave it out to "
            "decode in the model's own precision"
        ) from None


def _form(model: Any, precision: str) -> FlatTransformer:
    _check_nobody_watches()
    seen, marks = _look(model)
    kept = _KEPT.get(model)
    if kept is None or not kept.is_of(seen, marks):
        _check_tensors(seen)
        kept = _KEPT[model] = _Kept(seen, marks)
    if precision not in kept.forms:
        try:
            kept.forms[precision] = FlatTransformer(model, _prepare(precision))
        except Unfit as why:
            kept.forms[precision] = str(why)
    form = kept.forms[precision]
    if isinstance(form, str):
        raise Unfit(form)
    return form


def _prepare(precision: str) -> products.Prepare:
    if precision == "float32":
        usual = products.works(products.packed)
        return products.packed if usual else products.plain
    if not products.works(products.eight_bit):
        raise Unfit("this build of PyTorch has no products of eight-bit numbers")
    return products.eight_bit


def _check_nobody_watches() -> None:
    """Raise if somebody wants to see each operation, or to change how it is done."""
    if torch.is_grad_enabled():
        raise Unfit("gradients are wanted")
    if torch.is_autocast_enabled("cpu"):
        raise Unfit("autocast chooses the precision")
    modes = torch._C._len_torch_dispatch_stack() + torch._C._len_torch_function_stack()
    if modes or torch.jit.is_tracing() or torch.compiler.is_compiling():
        raise Unfit("each operation is being traced")
    if watched._global_forward_hooks or watched._global_forward_pre_hooks:
        raise Unfit("a hook watches all modules")


def parts_of(model: nn.Module) -> list[nn.Module]:
    """As `model.modules()`, three times as fast; a part with two names comes twice."""
    found = [model]
    for each in found:  # which grows meanwhile
        found += [part for part in each._modules.values() if part is not None]
    return found


def _look(model: Any) -> tuple[list[Any], list[int]]:
    """What a flat form is made from: the things themselves, and the weights' marks."""
    seen: list[Any] = []
    marks: list[int] = []
    if not isinstance(model, nn.Module):
        raise Unfit("the model is no module of PyTorch")
    for module in parts_of(model):
        kind: Any = type(module)
        own = module.__dict__
        if module.training:
            raise Unfit("the model is in training mode")
        if own.get("_forward_hooks") or own.get("_forward_pre_hooks"):
            raise Unfit(f"a hook watches its {kind.__name__}")
        if not _methods(kind).isdisjoint(own):
            raise Unfit(f"a method of its {kind.__name__} was replaced, or compiled")
        seen.append(kind)
        seen += [each for name, each in own.items() if name[0] != "_"]
        for tensors in (module._parameters, module._buffers):
            for tensor in tensors.values():
                if tensor is not None:
                    if tensor.is_inference():
                        raise Unfit("nothing counts the changes of its weights")
                    seen.append(tensor)
                    marks += tensor._version, tensor.data_ptr()
    return seen, marks


def _check_tensors(seen: list[Any]) -> None:
    """Raise unless all tensors are usual ones, float32, and on a CPU."""
    for each in seen:
        if not isinstance(each, Tensor):
            continue
        if each.dtype != torch.float32 or each.device.type != "cpu":
            raise Unfit("its weights are not float32 on a CPU")
        if type(each) not in (Tensor, nn.Parameter) or not each.is_contiguous():
            raise Unfit("its weights are tensors of another kind")


@cache
def _methods(kind: Any) -> frozenset[str]:
    """Names that a module of this class finds in the class, unless it has its own."""
    return frozenset(dir(kind)) - {"__dict__", "__doc__"}
