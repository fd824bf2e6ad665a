"""The model that is examined, as the examinations see it: ids in, logits out."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from tformer.doctor import _anatomy
from tformer.doctor._anatomy import Attention
from tformer.doctor._call import Call, n_places, said_by_config, unpacked
from tformer.doctor._keep import CannotExamine, as_found
from tformer.doctor._watch import Op, Watch

SEED = 1234
MOVED = 1e-4  # of the logits' spread: rounding stays far below, real effects above
AMPLIFIED = 30  # times what a last digit moves: more than rounding does
NO_ID = ...  # an id that was not given
USUAL = {"pad_id": 0, "bos_id": 1, "eos_id": 2}
LENGTHS = ((9, 7), (6, 5))  # of source and target probes; the second if those fail
FAR = 64  # words: further no probe goes


class Skip(Exception):
    """Raised by an examination that cannot take place; the message is the reason."""


class OutOfTime(Skip):
    """The budget is spent."""


@dataclass
class Patient:
    """The model with everything that is known about it; see `examine` for the rest.

    Attributes:
        pads: ids of padding of source and target.
        knows_pad: whether `pad_id` was given, or the model's configuration has it.
        knows: the names of the other ids of which that is so.
        is_known: whether it has a configuration of Hugging Face's kind.
        deadline: the computing time of the process at which the budget is spent.
        n_source, n_target: lengths of the probes.
        lengths_must_agree: whether the model runs only where both are equal.
        strangers: parameters that a pass used, and that the model doesn't know of.
        is_constant: whether the output was the same for two inputs.
        changes_ids: whether a pass changed the ids that it was given.
        stored: the types of those weights that have 16 bits, by their ids; they are
            looked at in 32.
        asleep: weights that were all zeros, until `wake`.
        returns_start: whether decode's rows begin with the sign that begins a target;
            None until it was tried.
    """

    model: nn.Module
    forward: Callable[..., Any] | None = None
    decoder_only: bool = False
    vocab_size: int | tuple[int, int] | None = None
    pad_id: Any = NO_ID
    bos_id: Any = NO_ID
    eos_id: Any = NO_ID
    ignore_index: int | None = None
    bidirectional: bool | None = None
    scale: float | None = None
    shared: bool | None = None
    loss: Callable[..., Any] | None = None
    batches: Sequence[tuple[Tensor, ...]] | None = None
    gradients: Callable[..., Any] | None = None
    decode: Callable[..., Any] | None = None
    optimizer: torch.optim.Optimizer | None = None
    schedule: Callable[[int], float] | None = None
    steps: int | None = None
    tied: bool | None = None
    tokenizer: Any = None
    pairs: Sequence[tuple[str, str]] | None = None
    test_pairs: Sequence[tuple[str, str]] | None = None
    test_batches: Iterable[Sequence[Tensor]] | None = None
    train_step: Callable[..., Any] | None = None
    all_batches: Iterable[Any] = ()
    deadline: float = float("inf")
    n_source: int = LENGTHS[0][0]
    n_target: int = LENGTHS[0][1]
    lengths_must_agree: bool = False
    strangers: dict[int, Tensor] = field(default_factory=dict)
    returns_start: bool | None = None
    is_constant: bool = False
    changes_ids: bool = False
    asleep: dict[str, Tensor] = field(default_factory=dict)
    stored: dict[int, torch.dtype] = field(default_factory=dict)
    _passes: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._settle_ids()
        self._call = Call(self.model, self.pads)
        if self.forward is None:
            self.decoder_only = self.decoder_only or self._call.decoder_only
        else:
            self.decoder_only = n_places(self.forward) == 2
        self._attributes = [(each, dict(vars(each))) for each in self.model.modules()]
        first = next(self.model.parameters(), None)
        self.device = torch.device("cpu") if first is None else first.device
        self.sizes = self._sizes()

    def _settle_ids(self) -> None:
        """Ids that were not given: the configuration's, the tables', or the usual."""
        said = said_by_config(self.model)
        self.is_known = bool(said)
        padding = {
            each.padding_idx
            for each in self.model.modules()
            if isinstance(each, nn.Embedding) and each.padding_idx is not None
        }
        self.knows_pad = self.pad_id is not NO_ID or "pad_id" in said
        self.knows = {n for n in USUAL if getattr(self, n) is not NO_ID or n in said}
        if len(padding) == 1 and not self.knows_pad:
            (found,) = padding
            if not _ends_rows(USUAL["pad_id"], self.batches) or _ends_rows(
                found, self.batches
            ):
                said["pad_id"], self.knows_pad = found, True
        for name, usual in USUAL.items():
            if getattr(self, name) is NO_ID:
                setattr(self, name, said.get(name, usual))
        if self.bidirectional is None:
            self.bidirectional = said.get("bidirectional")
        if self.scale is None:
            self.scale = said.get("scale")
        pad = self.pad_id
        self.pads = pad if isinstance(pad, tuple) else (pad, pad)
        self.pad_id = self.pads[1]

    # --- running the model ----------------------------------------------------------

    def run(self, source: Tensor | None, target: Tensor) -> Tensor:
        """Logits (B, T, V) with gradients, in whatever mode the model is.

        Raises:
            CannotExamine: what comes back is no tensor of that shape.
        """
        self.check_time()
        before, target = target, target.to(self.device, copy=True)
        source_before, source = source, _moved(source, self.device)
        source = None if self.decoder_only else source
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.forward is None:
                out = self._call(source, target)
            else:
                given = [target] if source is None else [source, target]
                out = self.forward(self.model, *given)
        for one, other in ((before, target), (source_before, source)):
            if one is not None and other is not None:
                self.changes_ids |= not torch.equal(one.to(self.device), other)
        return _logits(out, target)

    def check_time(self) -> None:
        """Raise `OutOfTime` once the budget is spent."""
        if time.process_time() > self.deadline:
            raise OutOfTime("there was no time left (seconds=…)")

    def logits(self, source: Tensor | None, target: Tensor) -> Tensor:
        """Logits (B, T, V) while evaluating, with the same chance each time."""
        self.model.eval()
        torch.manual_seed(SEED)
        with torch.no_grad():
            return self.run(source, target).detach().double().cpu()

    def watch(
        self, source: Tensor | None, target: Tensor
    ) -> tuple[list[Op], list[Attention]]:
        """The operations of one pass, and the attention in them."""
        key = (
            None if source is None else tuple(source.flatten().tolist()),
            tuple(target.flatten().tolist()),
        )
        if key not in self._passes:
            self.model.eval()
            torch.manual_seed(SEED)
            watch = Watch(self.model)
            with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), watch:
                self.run(source, target)
            self._passes[key] = watch.ops, _anatomy.attentions(watch.ops)
            self.strangers.update(watch.strangers)
        ops, found = self._passes[key]
        return ops, found

    def lookups(self, *sides: int) -> list[_anatomy.Lookup]:
        """Where the probe's words are looked up, of the source (0) and the target."""
        ops, _ = self.watch(self.source(), self.target())
        both = (self.source(), self.target())
        return [
            each
            for side in sides or (0, 1)
            if (ids := both[side]) is not None
            for each in _anatomy.lookups(ops, ids)
        ]

    def watch_training(self) -> list[Op]:
        """The operations of a pass in training mode, as dropout takes part in it."""
        watch = Watch(self.model)
        kept = as_found(self.model, weights=False)
        with kept, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
            self.model.train()
            torch.manual_seed(SEED)
            with watch:
                self.run(self.source(), self.target())
        return watch.ops

    # --- probes ---------------------------------------------------------------------

    def _sizes(self) -> tuple[int, int]:
        """Sizes of the two vocabularies, given or found out."""
        if isinstance(self.vocab_size, tuple):
            return self.vocab_size
        if self.vocab_size is not None:
            return self.vocab_size, self.vocab_size
        few = torch.tensor([[i for i in range(12) if i not in self.special][:5]])
        self.model.eval()
        try:
            with torch.no_grad():
                n = self.run(None if self.decoder_only else few, few).size(-1)
        except CannotExamine:
            raise
        except Exception as problem:
            raise CannotExamine(self._stopped(problem, 5, 5)) from problem
        tables = [
            each.num_embeddings
            for each in self.model.modules()
            if isinstance(each, nn.Embedding)
        ]
        source = n if not tables or n in tables[:1] else min(n, tables[0])
        return source, n

    @property
    def special(self) -> set[int]:
        """Ids that no probe uses as a word."""
        return {i for i in (*self.pads, self.bos_id, self.eos_id) if i is not None}

    @property
    def signs(self) -> set[int]:
        """Those of them that were given, and so are no words for sure."""
        given = {getattr(self, name) for name in self.knows - {"pad_id"}}
        return (given | set(self.pads if self.knows_pad else ())) - {None}

    @property
    def starts(self) -> set[int]:
        """Ids that begin what the decoder reads, in the batches if there are any."""
        if self.batches is not None and not self.decoder_only:
            return {int(i) for batch in self.batches for i in batch[-2][:, 0]}
        return set() if self.bos_id is None else {self.bos_id}

    def named(self, i: int) -> str:
        """An id, with the name under which it was given."""
        names = [n for n in ("pad_id", "bos_id", "eos_id") if getattr(self, n) == i]
        return f"{i} ({names[0]})" if names else str(i)

    def words(self, n: int, *, seed: int, side: int = 1, rows: int = 1) -> Tensor:
        """Random ids (rows, n) that are words; different ones, if there are enough."""
        real = self._words(side)
        if len(real) < 3:
            raise CannotExamine(
                f"the vocabulary has {self.sizes[side]} ids, too few to try anything: "
                "give vocab_size=…, or (source size, target size)"
            )
        generator = torch.Generator().manual_seed(seed)
        drawn: list[int] = []
        while len(drawn) < rows * n:
            order = torch.randperm(len(real), generator=generator)
            drawn += real[order[: rows * n]].tolist()
        return torch.tensor(drawn[: rows * n]).view(rows, n)

    def _words(self, side: int) -> Tensor:
        """Every id of a side that is a word."""
        real = torch.ones(self.sizes[side], dtype=torch.bool)
        real[[i for i in self.special if 0 <= i < len(real)]] = False
        return real.nonzero().flatten()

    def source(
        self, seed: int = 1, *, rows: int = 1, n: int | None = None
    ) -> Tensor | None:
        """A source (rows, S) without padding; None if the model has none."""
        if self.decoder_only:
            return None
        return self.words(n or self.n_source, seed=seed, side=0, rows=rows)

    def target(self, seed: int = 2, *, rows: int = 1, n: int | None = None) -> Tensor:
        """A target (rows, T) without padding, as the decoder reads it."""
        ids = self.words(n or self.n_target, seed=seed, rows=rows)
        if self.bos_id is not None:
            ids[:, 0] = self.bos_id
        return ids

    def other(self, ids: Tensor, place: int, *, side: int = 1) -> Tensor:
        """The ids with another word in one place of every row."""
        changed, real = ids.clone(), self._words(side)
        for row in changed:
            free = real[~torch.isin(real, row)]
            free = free if len(free) else real[real != row[place]]
            row[place] = free[(SEED + place) % len(free)]
        return changed

    def padded(self, ids: Tensor, n: int, *, side: int = 1) -> Tensor:
        """The ids with padding on the right, up to n columns.

        Raises:
            Skip: there is no padding.
        """
        pad = self.pads[side]
        if pad is None:
            raise Skip("there is no padding (pad_id=None)")
        filler = torch.full((len(ids), n - ids.size(1)), pad)
        return torch.cat([ids, filler], dim=1)

    # --- comparing ------------------------------------------------------------------

    @cached_property
    def plain(self) -> Tensor:
        """The logits of the first probe."""
        return self.logits(self.source(), self.target())

    @cached_property
    def tolerance(self) -> float:
        """How far logits may move by rounding alone."""
        finite = self.plain[torch.isfinite(self.plain)]
        scale = float(finite.std()) if finite.numel() > 1 else 1.0
        least = max(MOVED, 100 * self.epsilon, AMPLIFIED * self.noise)
        return max(min(least, 0.3) * scale, 1e-12)

    @cached_property
    def noise(self) -> float:
        """How far rounding moves the logits, in units of their spread.

        Each weight is moved by its last digit: sharp logits amplify that. It is 0 if
        the same pass gives something else each time, which is no rounding.
        """
        again = self.logits(self.source(), self.target())
        finite = torch.isfinite(self.plain) & (again == self.plain)
        if not bool(finite.any()):
            return 0.0
        generator = torch.Generator().manual_seed(SEED)
        with as_found(self.model), torch.no_grad():
            for each in self.model.parameters():
                if each.is_floating_point():
                    up = torch.rand(each.shape, generator=generator) < 0.5
                    by = torch.finfo(each.dtype).eps
                    each.mul_(torch.where(up, 1 + by, 1 - by).to(each))
            moved = (self.logits(self.source(), self.target()) - self.plain)[finite]
        return float(moved.abs().max() / self.plain[finite].std().clamp_min(1e-12))

    @cached_property
    def epsilon(self) -> float:
        """The rounding of the coarsest numbers that the model computes with."""
        with torch.no_grad():
            made = [self.run(self.source(), self.target())]
        kinds = {e.dtype for e in [*self.model.parameters(), *made]}
        return max(torch.finfo(e).eps for e in kinds if e.is_floating_point)

    def moved(self, one: Tensor, other: Tensor) -> Tensor:
        """By how much the logits of each position differ: (B, T)."""
        return (one - other).abs().amax(dim=-1)

    def has_numbers(self) -> None:
        """Skip unless the first probe gave finite logits everywhere."""
        if not torch.isfinite(self.plain).all():
            raise Skip("the logits are not finite: fix that first")

    def self_attention(self, side: int) -> list[Attention]:
        """The self-attention of the source's (0) or the target's side (1)."""
        _, found = self.watch(self.source(), self.target())
        n = self.n_target if side else self.n_source
        if self.lengths_must_agree:
            raise Skip("source and target must have one length: fix that first")
        return [each for each in found if each.shape == (n, n)]

    def cross_attention(self) -> list[Attention]:
        """The attention from the target to the source."""
        _, found = self.watch(self.source(), self.target())
        shape = (self.n_target, self.n_source)
        return [each for each in found if each.shape == shape]

    # --- what can go wrong ----------------------------------------------------------

    def admit(self) -> None:
        """Run the model once.

        Raises:
            CannotExamine: it stops, returns something other than logits, or wants the
                sequence first.
            ValueError: an id that was given is none of its own.
        """
        self._check_ids()
        try:
            self.plain  # noqa: B018
        except CannotExamine:
            raise
        except Exception as problem:
            self._refuse_sequence_first()
            if not self._runs_otherwise():
                self.n_source, self.n_target = LENGTHS[0]
                raise CannotExamine(
                    self._stopped(problem, self.n_source, self.n_target)
                ) from problem
            if self.lengths_must_agree:
                return
        self._refuse_sequence_first()

    def _check_ids(self) -> None:
        tables = [e.num_embeddings for e in self.model.modules()
                  if isinstance(e, nn.Embedding)]  # fmt: skip
        n = self.sizes[1]
        given = [(name, getattr(self, name), n) for name in ("bos_id", "eos_id")]
        given += [("pad_id", self.pads[1], n)]
        given += [("pad_id", self.pads[0], max(*self.sizes, *tables))]
        for name, i, size in given:
            if i is not None and not 0 <= i < size and name in self.knows:
                raise ValueError(
                    f"{name} is {i}, and the model has {size} ids, 0 to {size - 1}"
                )
            if i is not None and i >= size:
                raise CannotExamine(
                    f"the model returned {size} numbers for each position, so its last "
                    "axis isn't a vocabulary: return logits (B, T, V)"
                )

    def _refuse_sequence_first(self) -> None:
        """Raise if the model is sound with (length, batch), and not as it is called."""
        if self._rows_stand_alone(turned=False) or not self._rows_stand_alone(
            turned=True
        ):
            return
        ids, turned = "s, t", "s.t(), t.t()"
        if self.decoder_only:
            ids, turned = "ids", "ids.t()"
        call = f"m({turned})"
        if self.forward is not None:
            call = f"{name_of(self.forward, 'your_forward')}(m, {turned})"
        one = ids.partition(",")[0]
        loss = f"{name_of(self.loss, 'your_loss')}(logits.transpose(0, 1), labels.t())"
        loop = f"{name_of(self.decode, 'your_loop')}(m, {one}.t()).t()"
        raise CannotExamine(
            "your model seems to want (length, batch): called that way, each row of a "
            "batch is independent; called batch first, it isn't. Turn what goes in and "
            f"what comes out: forward=lambda m, {ids}: {call}.transpose(0, 1), "
            f"loss=lambda logits, labels: {loss}, decode=lambda m, {one}: {loop}"
        )

    def _rows_stand_alone(self, *, turned: bool) -> bool:
        """Whether a word moves the end of its own row of a batch, and no other row."""
        source, target = self.source(rows=2), self.target(rows=2)

        def logits(ids: Tensor) -> Tensor:
            self.model.eval()
            torch.manual_seed(SEED)
            with torch.no_grad():
                if not turned:
                    return self.run(source, ids).double()
                out = self.run(None if source is None else source.t(), ids.t())
                return out.transpose(0, 1).double()

        try:
            before = logits(target)
            least = MOVED * float(before.std())
            for row in (0, 1):
                changed = target.clone()
                changed[row] = self.other(target, 1)[row]
                moved = self.moved(before, logits(changed)) > least
                if moved[1 - row].any() or not moved[row, -1]:
                    return False
        except Exception:
            return False
        return True

    def _runs_otherwise(self) -> bool:
        """Whether shorter probes get through, or two of one length; sets them."""
        (_, one), (shorter_source, shorter) = LENGTHS
        tries = [(shorter_source, shorter)]
        if not self.decoder_only:
            tries += [(one, one), (shorter, shorter)]
        for self.n_source, self.n_target in tries:
            try:
                self.plain  # noqa: B018
            except Exception:
                continue
            self.lengths_must_agree = self.n_source == self.n_target
            return True
        return False

    @property
    def tokenizers(self) -> tuple[Any, Any]:
        """The source's and the target's, which may be the same one."""
        both = self.tokenizer
        return (both[0], both[1]) if isinstance(both, tuple | list) else (both, both)

    def wake(self) -> None:
        """Replace weights that are all zeros, so that what they hide can be seen.

        Outputs, gates and tables may start at zero: before training nothing depends on
        what they multiply. What is frozen stays zero.
        """
        if not self.lengths_must_agree:
            two = self.logits(self.source(91), self.target(92))
            moved = float(self.moved(self.plain, two).max())
            self.is_constant = moved <= 1e-6 * float(self.plain.abs().max())
        generator = torch.Generator().manual_seed(SEED)
        trains = any(each.requires_grad for each in self.model.parameters())
        for name, each in self.model.named_parameters():
            is_bias = each.dim() < 2 and name.endswith("bias")
            wakes = each.requires_grad or not trains
            if wakes and each.numel() and not is_bias and not bool(each.any()):
                self.asleep[name] = each
                size = each[0].numel() ** -0.5 if each.dim() > 1 else 0.1
                numbers = torch.randn(each.shape, generator=generator) * size
                with torch.no_grad():
                    each.copy_(numbers)
        if self.asleep:
            self.forget()

    def empty_caches(self) -> None:
        """Give modules the attributes with which they came."""
        for module, found in self._attributes:
            vars(module).clear()
            vars(module).update(found)

    def forget(self) -> None:
        """Forget every pass: the weights have changed."""
        self._passes.clear()
        for name in ("plain", "tolerance", "epsilon", "noise"):
            self.__dict__.pop(name, None)

    @cached_property
    def longest(self) -> int | None:
        """The longest target that the model takes; None if no probe is too long."""

        def runs(n: int) -> bool:
            try:
                self.logits(self.source(), self.target(n=n))
            except Skip:
                raise
            except Exception:
                return False
            return True

        if runs(FAR):
            return None
        low, high = self.n_target, FAR
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if runs(middle) else (low, middle)
        return low

    def _stopped(self, problem: Exception, n_source: int, n_target: int) -> str:
        reason = (str(problem).strip().splitlines() or ["no message"])[0].rstrip(".")
        given = f"target ids (1, {n_target})"
        if not self.decoder_only:
            given = f"source ids (1, {n_source}) and {given}"
        return (
            f"{type(self.model).__name__} stopped with {type(problem).__name__} on "
            f"{given}: {reason}. Ids are given batch first; if your model wants "
            "anything else (masks, lengths, the sequence first, other ids), adapt it: "
            f"doctor.examine(model, forward={self._example()})"
        )

    def _example(self) -> str:
        if self.decoder_only:
            return "lambda model, ids: …"
        return "lambda model, source, target: …"


@contextlib.contextmanager
def seeded(seed: int = SEED) -> Iterator[None]:
    """Chance that is the same each time; `as_found` puts the reader's back."""
    torch.manual_seed(seed)
    yield


def first_batches(
    batches: Iterable[Any], patient: Patient, n: int = 3
) -> tuple[list[tuple[Tensor, ...]], Iterable[Any]]:
    """The first few batches, each checked, and those with all that follow.

    Raises:
        CannotExamine: an entry is no tuple of id tensors, there is none, or they have
            the length first.
    """
    taken: list[tuple[Tensor, ...]] = []
    wanted = 2 if patient.decoder_only else 3
    names = "(ids, labels)" if patient.decoder_only else "(source, target, labels)"
    coming = iter(batches)
    for batch in itertools.islice(coming, n):
        entries = tuple(batch) if isinstance(batch, tuple | list) else ()
        if len(entries) != wanted or not all(
            isinstance(e, Tensor) and e.dim() == 2 and not e.is_floating_point()
            for e in entries
        ):
            raise CannotExamine(
                f"batches must give {names}, each a tensor of ids, batch first; one "
                f"gave {_shapes(batch)}"
            )
        if entries[-1].shape != entries[-2].shape:
            raise CannotExamine(
                "what the decoder reads and the labels must have one shape: a batch "
                f"gave {_shapes(batch)}"
            )
        taken.append(entries)
    if not taken:
        raise CannotExamine("batches gave nothing: pass a list, or a fresh loader")
    if _is_length_first(taken, patient):
        letters = ", ".join("sty" if wanted == 3 else "ty")
        turned = ", ".join(f"{each}.t()" for each in letters.split(", "))
        raise CannotExamine(
            "batches must have the batch first, and yours have the length first: the "
            "next word stands below each word, and not to its right. Give "
            f"batches=[({turned}) for {letters} in batches]"
        )
    if any(len(each) != len(entries[-1]) for entries in taken for each in entries):
        raise CannotExamine(
            "source and target must have one number of rows (batch first): a batch "
            f"gave {_shapes(next(e for e in taken if len(e[0]) != len(e[-1])))}"
        )
    return taken, itertools.chain(taken, coming)


def _ends_rows(i: int, batches: Any) -> bool:
    """Whether rows of a list of batches end in this id, more than once."""
    if not isinstance(batches, list):  # a loader is not read twice
        return False
    rows = [
        row
        for batch in batches
        if isinstance(batch, tuple | list) and isinstance(batch[-2], Tensor)
        for row in batch[-2]
        if row.dim()
    ]
    return any(len(row) > 1 and bool((row[-2:] == i).all()) for row in rows)


def _is_length_first(batches: list[tuple[Tensor, ...]], patient: Patient) -> bool:
    """Whether the decoder's input begins, or goes on to the labels, along axis 0."""

    def same(axis: int, by: int = 1) -> float:
        """The share of the labels that equal the input so many places further on."""
        found = n = 0
        for *_, read, labels in batches:
            length = labels.size(axis) - by
            here, there = labels.narrow(axis, 0, length), read.narrow(axis, by, length)
            real = here >= 0
            if patient.pad_id is not None:
                real &= (here != patient.pad_id) & (there != patient.pad_id)
            found += int((here == there)[real].sum())
            n += int(real.sum())
        return found / max(n, 1)

    bos = patient.bos_id
    if bos is not None and bos != patient.pad_id:
        rows, columns = ({int(i) for each in batches for i in each[-2].select(axis, 0)}
                         for axis in (0, 1))  # fmt: skip
        if rows == {bos} != columns:
            return True
    return same(0) > 0.9 and same(1) < 0.5 and same(1, by=0) < 0.5


def check_loss(loss: Callable[..., Any] | None) -> None:
    """Refuse a loss that runs the model itself.

    Raises:
        CannotExamine: it asks for the model, or for more than two arguments.
    """
    if loss is None:
        return
    try:
        wanted = list(inspect.signature(loss).parameters.values())
    except (TypeError, ValueError):
        return
    if n_places(loss) > 2 or (wanted and wanted[0].name in ("model", "net")):
        names = ", ".join(each.name for each in wanted)
        raise CannotExamine(
            f"loss takes ({names}), but the doctor calls it with (logits, labels), so "
            "that it can try logits of its own: give the part that comes after the "
            "model. It then can't see what comes before, such as the shift of the "
            "labels, so give batches=… as well, as your model reads them"
        )


def name_of(function: Callable[..., Any] | None, otherwise: str) -> str:
    """What a function is called, for an example of how to call it."""
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else otherwise


def _shapes(batch: Any) -> str:
    if isinstance(batch, tuple | list):
        return f"({', '.join(_shapes(each) for each in batch)})"
    return (
        str(tuple(batch.shape)) if isinstance(batch, Tensor) else type(batch).__name__
    )


def _moved(ids: Tensor | None, device: torch.device) -> Tensor | None:
    return None if ids is None else ids.to(device, copy=True)


def _logits(out: Any, target: Tensor) -> Tensor:
    try:
        out = unpacked(out)
    except TypeError as problem:
        raise CannotExamine(str(problem)) from None
    b, t = target.shape
    if out.dim() == 3 and out.shape[:2] == (b, t) and out.is_floating_point():
        return out
    hint = "return the logits of every position, before any softmax"
    if out.dim() == 3 and out.shape[:2] == (t, b):
        hint = "the sequence is first here: end the adapter with .transpose(0, 1)"
    elif out.dim() == 2 and out.size(0) == b * t:
        hint = "the positions are flattened: end the adapter with .view(B, T, -1)"
    raise CannotExamine(
        f"the model returned {tuple(out.shape)} for a target of {(b, t)}, but logits "
        f"are (B, T, V): {hint}"
    )
