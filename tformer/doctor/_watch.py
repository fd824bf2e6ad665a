"""Watch every operation of a forward pass, however the model is written.

A Transformer in any style comes down to the same few operations of PyTorch: matrix
products, softmax, look-ups, sums. `Watch` notes them as they happen, with what went in
and which earlier operation that came from. `tformer.doctor._anatomy` then finds the
attention in them, the residual stream, the embeddings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as hooks
from torch.utils._python_dispatch import TorchDispatchMode

Key = tuple[Any, ...]

# The same numbers in another shape, order, place or precision.
VIEWS = frozenset([
    "view", "_unsafe_view", "reshape", "expand", "transpose", "permute", "t",
    "unsqueeze", "squeeze", "select", "slice", "split", "split_with_sizes", "chunk",
    "unbind", "clone", "contiguous", "_to_copy", "alias", "detach", "unflatten",
    "flatten", "as_strided", "narrow", "lift_fresh", "copy_", "cat", "stack", "movedim",
    "_reshape_alias", "numpy_T", "mT", "adjoint", "unfold", "view_as_complex",
    "view_as_real",
])  # fmt: skip
PRODUCTS = frozenset({"mm", "bmm", "addmm", "baddbmm", "linear"})
SOFTMAXES = frozenset({"_softmax", "_safe_softmax"})
SUMS = frozenset({"add", "add_", "sub", "sub_"})
FACTORS = frozenset({"mul", "mul_", "div", "div_"})
FILLS = frozenset([
    "masked_fill", "masked_fill_", "where", "nan_to_num", "clamp", "clamp_min",
    "maximum", "index_put", "index_put_", "fill_",
])  # fmt: skip
DROPS = frozenset({"native_dropout", "bernoulli_", "dropout"})
NORMS = frozenset({"native_layer_norm", "_fused_rms_norm", "rms_norm"})
MOMENTS = frozenset({"mean", "var", "std", "var_mean", "std_mean"})
KEPT = PRODUCTS | SOFTMAXES | {"embedding"}  # their numbers are copied


@dataclass(frozen=True)
class Input:
    """A tensor that went into an operation.

    Attributes:
        tensor: the tensor itself; later operations may have changed it in place.
        made_by: the operation that made it, or None if it came from outside.
        is_parameter: whether it is, or shows, a parameter of the model.
        value: a copy of its numbers, for the operations in `KEPT`.
    """

    tensor: Tensor
    made_by: Op | None
    is_parameter: bool
    value: Tensor | None = None

    @property
    def numbers(self) -> Tensor:
        """Its numbers at the time, as far as they were kept."""
        return self.tensor if self.value is None else self.value


@dataclass(eq=False)
class Op:
    """One operation: its name, what went in, what came out.

    Attributes:
        name: PyTorch's, without overload, such as ``"bmm"``.
        index: its place in the pass.
        inputs: the tensors among its arguments, in order.
        arguments, keywords: all arguments, tensors included.
        output: its first result.
        value: a copy of that, for the operations in `KEPT`.
        place: the name of the innermost module that was running, or "".
        used_by: the operations that took one of its results.
        of_weights: whether it made a weight out of weights alone, by masking, scaling
            or joining them.
    """

    name: str
    index: int
    inputs: list[Input]
    arguments: tuple[Any, ...]
    output: Tensor
    value: Tensor | None = None
    place: str = ""
    used_by: list[Op] = field(default_factory=list)
    of_weights: bool = False
    keywords: dict[str, Any] = field(default_factory=dict)

    @property
    def result(self) -> Tensor:
        """What came out, as it was then."""
        return self.output if self.value is None else self.value


class Watch(TorchDispatchMode):
    """Notes every operation while it is active.

    Attributes:
        ops: the operations, in order.
        strangers: parameters that were used, and that the model doesn't know of.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.ops: list[Op] = []
        self.strangers: dict[int, Tensor] = {}
        self._parameters = {storage(each) for each in model.parameters()}
        self._constants = {storage(each) for each in model.buffers()}
        self._makers: dict[Key, Op] = {}
        self._names = {id(each): name for name, each in model.named_modules()}
        self._places = [""]
        self._hooks: list[Any] = []

    def __enter__(self) -> Watch:
        self._hooks = [
            hooks.register_module_forward_pre_hook(self._enters),
            hooks.register_module_forward_hook(self._leaves, always_call=True),
        ]
        super().__enter__()
        return self

    def __exit__(self, *problem: Any) -> None:
        for each in self._hooks:
            each.remove()
        super().__exit__(*problem)

    def _enters(self, module: nn.Module, _: Any) -> None:
        self._places.append(self._names.get(id(module), self._places[-1]))

    def _leaves(self, *_: Any) -> None:
        self._places.pop()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        parts = in_parts(self, func, args, kwargs)
        if parts is not NotImplemented:
            return parts
        name = name_of_op(func)
        given = list(_tensors((args, kwargs or {})))
        for tensor in given:
            if isinstance(tensor, nn.Parameter) and (
                storage(tensor) not in self._parameters
            ):
                self.strangers[storage(tensor)] = tensor
                self._parameters.add(storage(tensor))
        taken = [
            Input(
                tensor.detach(),  # a view of weights that a step of training may move
                self._makers.get(_key(tensor)),
                storage(tensor) in self._parameters,
                tensor.detach().clone()
                if name in KEPT and storage(tensor) not in self._parameters
                else None,
            )
            for tensor in given
        ]
        result = func(*args, **(kwargs or {}))
        made = list(_tensors(result))
        if made:
            op = Op(name, len(self.ops), taken, tuple(args), made[0])
            op.place, op.keywords = self._places[-1], dict(kwargs or {})
            op.of_weights = name != "embedding" and self._makes_weight(taken)
            if name in KEPT:
                op.value = made[0].detach().clone()
            self.ops.append(op)
            for each in taken:
                if each.made_by is not None:
                    each.made_by.used_by.append(op)
            for tensor in made:
                self._makers[_key(tensor)] = op
        return result

    def _makes_weight(self, taken: list[Input]) -> bool:
        """Whether all of this is weights, or masks and numbers of the model's own."""
        weights = [
            each.is_parameter or (each.made_by is not None and each.made_by.of_weights)
            for each in taken
        ]
        return any(weights) and all(
            is_weight or storage(each.tensor) in self._constants
            for is_weight, each in zip(weights, taken, strict=True)
        )


def in_parts(mode: TorchDispatchMode, func: Any, args: Any, kwargs: Any) -> Any:
    """The result of an operation that is made of others, each seen by the mode.

    In inference mode PyTorch shows such a whole, elsewhere its parts. For any other
    operation the result is ``NotImplemented``.
    """
    if not (torch.is_inference_mode_enabled() and func._can_decompose()):
        return NotImplemented
    TorchDispatchMode.__enter__(mode)
    try:
        return func.decompose(*args, **(kwargs or {}))
    finally:
        TorchDispatchMode.__exit__(mode, None, None, None)


def name_of_op(func: Any) -> str:
    """PyTorch's name of an operation, without its overload."""
    return str(func.name()).removeprefix("aten::").partition(".")[0]


def storage(tensor: Tensor) -> int:
    """What two tensors have in common that show the same memory."""
    return tensor.untyped_storage().data_ptr()


def _key(tensor: Tensor) -> Key:
    """What identifies a tensor as long as it is alive: its memory, seen how."""
    return (
        storage(tensor),
        tensor.storage_offset(),
        tuple(tensor.shape),
        tensor.stride(),
    )


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        if value.layout is torch.strided and not value.is_nested:
            yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
