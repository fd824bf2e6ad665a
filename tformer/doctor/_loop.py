"""The patient's decoding loop: run it, hear what the model says, make it say words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from tformer.doctor import _anatomy
from tformer.doctor._patient import AMPLIFIED, SEED, Patient, Skip, n_places
from tformer.doctor._watch import PRODUCTS, Op, Watch, in_parts, name_of_op, storage

STEPS = 600  # more than a loop should take for a few words
ROUNDS = 2  # of the four words; then the end
FAR = 1e4
APART = 1e-4  # standard deviations of the logits

Say = Callable[[int], tuple[int, int]]  # step -> word of the last row, of the others


class Stopped(Skip):
    """The loop ended with an error; the message is the error's first line."""


@dataclass
class Written:
    """What the loop did with one source.

    Attributes:
        row: ids as they came back.
        words: without the beginning, the prompt, the end and padding.
        scores: what the output projection said at each step, its last row.
        heard: all that was heard meanwhile.
    """

    row: list[int]
    words: list[int]
    scores: list[Tensor]
    heard: Listener


class Listener(TorchDispatchMode):
    """Notes what the output projection says, and may make it say something else.

    Attributes:
        read: for each step, the ids of each look-up before it: (table, ids).
        scores: the last row of each step's logits, as the model computed them.
        odd_axis: an axis, not the last, along which a softmax of logits ran; or None.
        in_training: whether the model was in training mode at a step.
    """

    def __init__(self, weight: int, model: nn.Module, say: Say | None) -> None:
        super().__init__()
        self.read: list[list[tuple[int, list[int]]]] = [[]]
        self.scores: list[Tensor] = []
        self.odd_axis: int | None = None
        self.in_training = False
        self._weight, self._model, self._say = weight, model, say
        self.check_time: Callable[[], None] = lambda: None

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        parts = in_parts(self, func, args, kwargs)
        if parts is not NotImplemented:
            return parts
        result = func(*args, **(kwargs or {}))
        name = name_of_op(func)
        given = {storage(each) for each in args if isinstance(each, Tensor)}
        if name in PRODUCTS and self._weight in given:
            self._hear(result)
        elif name == "embedding":
            self.read[-1].append((storage(args[0]), args[1].flatten().tolist()))
        elif (
            name in ("_softmax", "_log_softmax")
            and self.scores
            and args[0].size(-1) == len(self.scores[-1])
            and args[1] % args[0].dim() < args[0].dim() - 1
        ):
            self.odd_axis = args[1] % args[0].dim()
        return result

    def _hear(self, logits: Tensor) -> None:
        self.check_time()
        rows = logits.view(-1, logits.size(-1))
        self.scores.append(rows[-1].clone())
        self.read.append([])
        self.in_training |= any(each.training for each in self._model.modules())
        if self._say is not None:
            last, others = self._say(len(self.scores) - 1)
            size = 2 * float(rows.abs().nan_to_num(posinf=0.0).max())
            far = min(max(FAR, size), torch.finfo(rows.dtype).max)
            rows[:, others] = far
            rows[-1, others] = -far
            rows[-1, last] = far
        if len(self.scores) > STEPS:
            raise Skip(f"it was still writing after {STEPS} steps")


class Loop:
    """The loop, with what is found out about it.

    Args:
        patient: whose loop it is.
        decode: to be called in place of the patient's own.

    Attributes:
        source: the source (or prompt) that it is tried with.
        four: words that the last row can be made to say in turn.
        fifth: another one, for the rows beside it.
        apart: by how much logits must differ, in standard deviations, for that to be
            more than rounding.
    """

    def __init__(
        self, patient: Patient, decode: Callable[..., Any] | None = None
    ) -> None:
        self.patient = patient
        assert patient.decode is not None
        self._decode = decode or patient.decode
        self.apart = max(APART, AMPLIFIED * patient.noise)
        source = patient.source()
        self.source = patient.words(5, seed=81) if source is None else source
        *self.four, self.fifth = patient.words(5, seed=83)[0].tolist()
        ops, _ = patient.watch(patient.source(), patient.target())
        last = _anatomy.unembedding(ops, patient.plain.size(-1))
        weights = [] if last is None else [e for e in last.inputs if e.is_parameter]
        weights = [e for e in weights if e.tensor.dim() > 1]
        if not weights:
            raise Skip("no output projection was seen")
        self._weight = storage(weights[-1].tensor)
        self._tables = {
            storage(each.op.inputs[0].tensor)
            for each in _anatomy.lookups(ops, patient.target())
        }

    # --- running it -------------------------------------------------------------------

    @cached_property
    def wants_reference(self) -> bool:
        """Whether it takes a third argument."""
        return n_places(self._decode, unknown=2) >= 3

    def listen(
        self, source: Tensor, *, say: Say | None = None, **how: Any
    ) -> tuple[list[list[int]], Listener]:
        """The rows that come back, one for each source, and what was heard."""
        listener = Listener(self._weight, self.patient.model, say)
        listener.check_time = self.patient.check_time
        return _rows(self._run(source, listener, **how), len(source)), listener

    def watch(self, source: Tensor) -> list[Op]:
        """Every operation while it writes what `in_turn` says."""
        watch = Watch(self.patient.model)
        with Listener(self._weight, self.patient.model, self.in_turn):
            self._run(source, watch)
        return watch.ops

    def _run(
        self,
        source: Tensor,
        mode: TorchDispatchMode,
        *,
        reference: Tensor | None = None,
        training: bool = False,
    ) -> Any:
        patient = self.patient
        patient.model.train(training)
        torch.manual_seed(SEED)
        given = [source.clone().to(patient.device)]
        if self.wants_reference:
            given.append(patient.target(84) if reference is None else reference)
        try:
            with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), mode:
                return self._decode(patient.model, *given)
        except (Skip, TypeError):  # a TypeError: it may be called in another way
            raise
        except Exception as problem:
            reason = f"{type(problem).__name__}: {problem}".splitlines()[0]
            raise Stopped(reason) from None

    def write(self, source: Tensor, **how: Any) -> Written:
        """What it writes for one source; `how` is that of `listen`."""
        [row], heard = self.listen(source, **how)
        return Written(row, self.words(row, source), heard.scores, heard)

    def in_turn(self, step: int) -> tuple[int, int]:
        """Makes the last row say the four words in turn, and the others the fifth."""
        end = self.patient.eos_id
        if step >= 4 * ROUNDS and end is not None:
            return end, end
        return self.four[step % 4], self.fifth

    @cached_property
    def _told(self) -> tuple[list[int], Listener]:
        """What comes back for `source` when the model says the four words in turn."""
        [row], heard = self.listen(self.source, say=self.in_turn)
        return self._after(row, self.source), heard

    # --- what is known about it -------------------------------------------------------

    @cached_property
    def begin(self) -> int | None:
        """The id that it gives the decoder first; None if no look-up showed it."""
        if self.patient.decoder_only:
            return None
        try:
            _, heard = self._told
        except Skip:
            return None
        ids = self.given(heard, 0)
        return ids[0] if ids else None

    def given(
        self, heard: Listener, step: int, source: Tensor | None = None
    ) -> list[int]:
        """The ids that the decoder got at a step; empty if no look-up showed them."""
        theirs = set((self.source if source is None else source).flatten().tolist())
        found = [ids for table, ids in heard.read[step] if table in self._tables]
        if not self.patient.decoder_only:
            found = [ids for ids in found if not theirs <= set(ids)]
        return found[-1] if found else []

    def forced(self, written: Written) -> list[int]:
        """The words that `in_turn` made the model say, without the end."""
        said = [self.in_turn(i)[0] for i in range(len(written.scores))]
        return self._ended(said)

    @cached_property
    def start(self) -> int | None:
        """What its rows begin with: what it was seen to read, or what training has."""
        if self.begin is not None:
            return self.begin
        patient = self.patient
        if len(patient.starts) == 1:
            return min(patient.starts)
        return patient.pad_id if patient.bos_id is None else patient.bos_id

    @cached_property
    def returns_start(self) -> bool:
        """Whether rows come back with the id that began them."""
        try:
            row, _ = self._told
        except Skip:  # it never stops
            return True
        return row[:1] == [self.start] and row[1:2] != [self.four[1]]

    @cached_property
    def obeys(self) -> bool:
        """Whether it writes what the last row says.

        Raises:
            Skip: it never stops, or returns no rows of ids.
        """
        try:
            row, _ = self._told
        except Stopped:
            return False
        words = self._ended(row[1:] if row[:1] != self.four[:1] else row)
        return len(words) > 1 and not self.misheard(words)

    def misheard(self, words: list[int]) -> list[int]:
        """Steps at which it wrote another word than the last row was made to say."""
        return [i for i, word in enumerate(words) if word != self.four[i % 4]]

    # --- what it returned -------------------------------------------------------------

    def words(self, row: list[int], source: Tensor) -> list[int]:
        """A row without the prompt, the start, and the end with what follows."""
        return self._ended(self.said(row, source))

    def said(self, row: list[int], source: Tensor) -> list[int]:
        """A row without the prompt and the start."""
        row = self._after(row, source)
        return row[1:] if self.returns_start and row[:1] == [self.start] else row

    def _ended(self, row: list[int]) -> list[int]:
        """A row up to its end sign."""
        end = self.patient.eos_id
        return row if end is None or end not in row else row[: row.index(end)]

    def _after(self, row: list[int], source: Tensor) -> list[int]:
        """A row without the prompt, which may have come back with it."""
        prompt = source[0].tolist() if self.patient.decoder_only else []
        return row[len(prompt) :] if prompt and row[: len(prompt)] == prompt else row


def _rows(out: Any, n: int) -> list[list[int]]:
    """What a loop returned, as n rows of ids; frames around them are taken away."""
    if isinstance(out, Tensor):
        out = out.tolist()
    while n > 1 and isinstance(out, tuple | list) and len(out) != n and _nested(out):
        out = out[0].tolist() if isinstance(out[0], Tensor) else out[0]
    rows = [out] if n == 1 else out
    if not isinstance(rows, tuple | list) or len(rows) != n:
        raise Skip(f"it doesn't return a row for each of {n} sources")
    return [_ids(row) for row in rows]


def _nested(out: Any) -> bool:
    return bool(out) and isinstance(out[0], tuple | list | Tensor)


def _ids(row: Any) -> list[int]:
    if isinstance(row, Tensor):
        row = row.tolist()
    while isinstance(row, tuple | list) and row and isinstance(row[0], tuple | list):
        row = row[0]
    if isinstance(row, tuple | list) and row and isinstance(row[0], Tensor):
        row = row[0].flatten().tolist() if row[0].dim() else [int(e) for e in row]
    if not isinstance(row, tuple | list) or not all(isinstance(e, int) for e in row):
        raise Skip(f"it returned {_kind(row)}, not rows of ids")
    return list(row)


def _kind(out: Any) -> str:
    """What something is, in words: its type, and that of its first entry."""
    inner = (
        f" of {type(out[0]).__name__}" if isinstance(out, list | tuple) and out else ""
    )
    return f"a {type(out).__name__}{inner}"
