"""The graders for chapter 09: inputs and labels, the decoder's layer, greedy search."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tformer import masks
from tformer.check._grade import (
    Function,
    Mistake,
    Result,
    Stopped,
    as_tensor,
    call,
    grade,
    matches,
    recognise,
)
from tformer.decoder import DecoderLayer
from tformer.residual import Residual

Row = list[int]
Pair = tuple[Tensor, Tensor]

# --- inputs and labels --------------------------------------------------------------


@dataclass(frozen=True)
class Lists:
    """Translations as lists of pieces, and the ids of pad, bos and eos."""

    targets: tuple[tuple[int, ...], ...]
    pad: int = 0
    bos: int = 1
    eos: int = 2

    @property
    def width(self) -> int:
        """Columns of both tensors: the longest translation, and bos or eos."""
        return 1 + max(map(len, self.targets))

    def padded(
        self, first: Row, last: Row, *, width: int = 0, left: bool = False
    ) -> Tensor:
        """Each translation between `first` and `last`, padded and cut to a width."""
        width = width or self.width
        rows = []
        for target in self.targets:
            row = [*first, *target, *last][:width]
            gap = [self.pad] * (width - len(row))
            rows.append(gap + row if left else row + gap)
        return torch.tensor(rows)

    def right(self) -> Pair:
        """What the decoder reads, and what it must say."""
        return self.padded([self.bos], []), self.padded([], [self.eos])

    def whole(self, last: Row) -> Tensor:
        """Bos, pieces and `last` in one rectangle, for slicing."""
        return self.padded([self.bos], last, width=self.width + len(last))


def _wrong_lists(case: Lists) -> Iterator[tuple[str, str, Pair]]:
    """Known mistakes: short name, what to say, inputs and labels that they give."""
    bos, eos = [case.bos], [case.eos]
    inputs, labels = case.right()
    pieces = case.padded([], [])
    whole = case.whole(eos)
    exchanged = (
        "Inputs and labels have changed places (or you return labels first). The input "
        "begins with bos, the label ends with eos: each place reads what was, and must "
        "say what comes."
    )
    yield "wrong-way-round", exchanged, (labels, inputs)
    yield "wrong-way-round", exchanged, (whole[:, 1:], whole[:, :-1])
    same = (
        "Inputs and labels are the same row: at each place the model is asked for the "
        "piece that it has just read. The loss falls to nearly 0, and the model cannot "
        "write a word. The input is bos + pieces, the label pieces + eos."
    )
    for row in (inputs, labels, whole, whole[:, :-1], pieces):
        yield "not-shifted", same, (row, row)
    no_end = (
        "No eos among the labels: the model never learns to stop, and its translations "
        "run on to the limit. A label is pieces + eos."
    )
    yield "labels-without-eos", no_end, (inputs, pieces)
    yield "labels-without-eos", no_end, (inputs[:, :-1], inputs[:, 1:])
    late = torch.full((len(labels), 1), case.eos)
    yield (
        "eos-after-the-padding",
        "In short rows eos stands behind the padding: you pad first and append eos as "
        "a column. The model then learns that padding follows the last piece. First "
        "append eos to each list, then pad.",
        (inputs, torch.cat([pieces[:, :-1], late], dim=1)),
    )
    no_begin = (
        "The input has no bos. It begins with the first piece, so that piece is never "
        "asked for, and in use nobody can begin. The input is bos + pieces."
    )
    yield "input-without-bos", no_begin, (pieces, labels)
    yield "input-without-bos", no_begin, (pieces[:, :-1], labels[:, :-1])
    with_bos = (
        "Your labels begin with bos and are one column too wide. Nobody asks for bos: "
        "a label is pieces + eos."
    )
    yield "labels-with-bos", with_bos, (inputs, whole)
    yield "labels-with-bos", with_bos, (whole[:, :-1], whole)
    yield (
        "input-with-the-last-column",
        "Your input is one column too wide: it holds eos of the longest row, and there "
        "is nothing left to say after it. The input is bos + pieces; of the whole "
        "rectangle, [:, :-1].",
        (whole, labels),
    )
    yield (
        "labels-minus-100",
        "Your labels have −100 where padding is. That is what "
        "torch.nn.functional.cross_entropy ignores unless told otherwise; the loss of "
        "this book takes pad_id. Pad with pad_id.",
        (inputs, labels.masked_fill(labels == case.pad, -100)),
    )
    twice = (
        "Shifted twice: labels run two places ahead. To begin the input with bos is "
        "the shift already; do not cut a column off as well. Either build bos + pieces "
        "and pieces + eos, or build bos + pieces + eos once and slice [:, :-1] and "
        "[:, 1:]; not both."
    )
    yield "shifted-twice", twice, (inputs[:, :-1], labels[:, 1:])
    yield "shifted-twice", twice, (whole[:, :-2], whole[:, 2:])
    yield (
        "padded-on-the-left",
        "You pad on the left. Then the first rows of causal attention see nothing but "
        "padding, and positions no longer count from bos. Pad on the right.",
        (case.padded(bos, [], left=True), case.padded([], eos, left=True)),
    )
    for ids in (Lists(case.targets), dataclasses.replace(case, pad=0)):
        if ids != case:
            yield (
                "ids-ignored",
                "Right for the usual ids, pad 0, bos 1, eos 2; but you write them as "
                "numbers. Take pad_id, bos_id and eos_id as they are given: other "
                "tokenizers have others.",
                ids.right(),
            )


def _as_pair(returned: object) -> Pair:
    if isinstance(returned, tuple | list) and len(returned) == 2:
        inputs, labels = returned
        if isinstance(inputs, Tensor) and isinstance(labels, Tensor):
            if inputs.dtype != torch.int64 or labels.dtype != torch.int64:
                raise Mistake(
                    "not-int64",
                    f"Your tensors hold {inputs.dtype} and {labels.dtype}. They are "
                    "ids, indices into tables: int64, as torch.tensor makes of whole "
                    "numbers.",
                )
            return inputs, labels
    raise Mistake(
        "not-two-tensors",
        "Return two tensors, inputs and labels, in this order; your function returns "
        f"{type(returned).__name__}.",
    )


def _same(found: Pair, wanted: Pair) -> bool:
    return all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


def _judge_lists(case: Lists, found: Pair) -> None:
    inputs, labels = case.right()
    tolerated = case.whole([case.eos])[:, :-1], labels  # eos stays in short inputs
    if _same(found, (inputs, labels)) or _same(found, tolerated):
        return
    recognise(found, _wrong_lists(case), _same)
    if found[0].shape != found[1].shape:
        raise Mistake(
            "widths-differ",
            f"Your inputs are {tuple(found[0].shape)} and your labels "
            f"{tuple(found[1].shape)}. Every place of the input has one label, so both "
            f"are {tuple(inputs.shape)} here: bos + pieces, and pieces + eos.",
        )
    if found[0].shape != inputs.shape:
        raise Mistake(
            "shape",
            f"From {len(case.targets)} translations, the longest of {case.width - 1} "
            f"pieces, come tensors of shape {tuple(found[0].shape)}; they must be "
            f"{tuple(inputs.shape)}.",
        )
    read = any(torch.equal(found[0], given) for given in (inputs, tolerated[0]))
    name = "labels" if read else "inputs"
    mine, right = (found[1], labels) if read else (found[0], inputs)
    row = int((mine != right).any(1).nonzero()[0])
    raise Mistake(
        "wrong-number",
        f"For the pieces {list(case.targets[row])} your {name} are "
        f"{mine[row].tolist()}; they should be {right[row].tolist()} (pad {case.pad}, "
        f"bos {case.bos}, eos {case.eos}).",
    )


def _probe_lists(mine: Function) -> None:
    several = ((7, 8, 9, 6), (9, 7), (8,))
    for case in (
        Lists(several),
        Lists(several[:1]),
        Lists(several, pad=3, bos=5, eos=4),
    ):
        given = [list(target) for target in case.targets]
        ids = {"pad_id": case.pad, "bos_id": case.bos, "eos_id": case.eos}
        try:
            returned = call(mine, {"targets": given}, ids)
        except Stopped as stopped:
            if "length" in str(stopped.problem) or "size" in str(stopped.problem):
                raise Mistake(
                    "not-padded",
                    "Your function stops where rows differ in length: a tensor is a "
                    "rectangle. Fill short rows up with pad_id, after eos.",
                ) from None
            raise
        if given != [list(target) for target in case.targets]:
            raise Mistake(
                "changes-inputs",
                "Your function changes the lists that it was given: append and insert "
                "work in place, so in the next epoch each has two bos or two eos. Make "
                "new lists: [bos_id, *target].",
            )
        _judge_lists(case, _as_pair(returned))


def inputs_and_labels(mine: Function) -> Result:
    """Grade how a reader makes decoder inputs and labels out of lists of pieces.

    Args:
        mine: a function ``mine(targets, *, pad_id, bos_id, eos_id)`` that gets lists of
            ids without special ones, and returns inputs (bos + pieces) and labels
            (pieces + eos), both (B, T) int64, padded on the right. Eos may stay in the
            input of short rows, as slicing leaves it.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "The input begins with bos, the label ends with eos, each before the padding; "
        "every place meets the piece that follows, for one row and for many, whatever "
        "the ids."
    )
    return grade("inputs_and_labels", mine, [_probe_lists], praise)


# --- cross-attention ----------------------------------------------------------------


@dataclass(frozen=True)
class Across:
    """A stream, a memory, three matrices and a mask on the memory."""

    x: Tensor
    memory: Tensor
    w_query: Tensor
    w_key: Tensor
    w_value: Tensor
    mask: Tensor | None

    @classmethod
    def random(
        cls, t: int, s: int, d: int, width: int, out: int, *, masked: bool = True
    ) -> Across:
        """Draw a case of two sentences; the first one's source is padded."""
        generator = torch.Generator().manual_seed(100 * t + s)

        def draw(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        mask = torch.ones(2, 1, s, dtype=torch.bool)
        mask[0, 0, s - 2 :] = False
        return cls(
            *(draw(2, t, d), draw(2, s, d)),
            *(draw(d, width), draw(d, width), draw(d, out)),
            mask if masked else None,
        )

    def mixed(
        self,
        *,
        query: str = "x",
        key: str = "memory",
        value: str = "memory",
        to_query: str = "w_query",
        to_key: str = "w_key",
        to_value: str = "w_value",
        mask: str = "given",
        scaled: bool = True,
        axis: int = -1,
    ) -> Tensor:
        """What comes out; other words than the default ones make a known mistake."""

        def projected(what: str, by: str) -> Tensor:
            source: Tensor = getattr(self, what)
            return source @ getattr(self, by) if by else source

        asks = projected(query, to_query)
        scores = asks @ projected(key, to_key).mT
        if scaled:
            scores = scores / math.sqrt(asks.size(-1))
        may = torch.ones_like(scores, dtype=torch.bool)
        if self.mask is not None and mask != "none":
            given = {"flipped": ~self.mask, "queries": self.mask.mT}
            may = may & given.get(mask, self.mask)
        if mask == "causal":
            may = may.tril()
        weights = scores.masked_fill(~may, -math.inf).softmax(axis)
        return weights @ projected(value, to_value)

    def run(self, mine: Function) -> Tensor:
        """The reader's output, a tensor."""
        inputs = {
            name: getattr(self, name)
            for name in ("x", "memory", "w_query", "w_key", "w_value")
        }
        found = call(mine, inputs, {"mask": self.mask} if self.mask is not None else {})
        if isinstance(found, tuple | list) and len(found) == 2:
            raise Mistake(
                "returns-weights-too",
                "You return two things. attention() gives output and weights; return "
                "the output alone.",
            )
        return as_tensor(found, "the output, with a row for each target position")


CROSSINGS: dict[str, tuple[list[dict[str, object]], str]] = {
    "queries-from-the-memory": (
        [
            {"query": "memory", "key": "x", "value": "x", "mask": mask}
            for mask in ("none", "given", "queries")
        ],
        "The roles are exchanged: your queries come from the memory, your keys and "
        "values from the decoder. So the English asks the German. The decoder asks: "
        "x @ w_query. The memory answers: memory @ w_key, memory @ w_value.",
    ),
    "memory-not-used": (
        [
            {"key": "x", "value": "x", "mask": mask}
            for mask in ("none", "given", "causal")
        ],
        "Queries, keys and values all come from the decoder: this is self-attention, "
        "and the source never gets in. Every sentence would have the same translation. "
        "Keys and values come from the memory.",
    ),
    "keys-from-the-decoder": (
        [{"key": "x", "mask": mask} for mask in ("given", "none")],
        "Your keys come from the decoder, your values from the memory. Key and value "
        "of one position belong together: both from the memory.",
    ),
    "values-from-the-decoder": (
        [{"value": "x", "mask": mask} for mask in ("given", "none")],
        "Your keys come from the memory, your values from the decoder: it looks at the "
        "English and takes German home. Both come from the memory.",
    ),
    "all-from-the-memory": (
        [{"query": "memory", "mask": mask} for mask in ("given", "none")],
        "Your queries come from the memory, too: this is the encoder's self-attention "
        "once more, and the decoder has no say. Queries: x @ w_query.",
    ),
    "causal": (
        [{"mask": "causal"}],
        "You apply a causal mask as well. Cross-attention needs none: the source is "
        "there in full, so the first German piece may look at the last English one.",
    ),
    "mask-ignored": (
        [{"mask": "none"}],
        "Your function takes a mask and does not use it, so the decoder reads the "
        "padding of the source, and a translation depends on its neighbours in the "
        "batch. Hand it to attention(…, mask=mask).",
    ),
    "mask-flipped": (
        [{"mask": "flipped"}],
        "The mask is the wrong way round: here True means may attend. attention() "
        "takes it as it is, without ~.",
    ),
    "mask-on-queries": (
        [{"mask": "queries"}],
        "You turned the mask: it now hides target positions (rows). It says which "
        "SOURCE positions are real, and those are the keys, the columns. It "
        "broadcasts over the queries as it is: (B, 1, S).",
    ),
    "not-scaled": (
        [{"scaled": False}],
        "The scores are not divided by the root of the width of a query. attention() "
        "does it for you.",
    ),
    "softmax-over-queries": (
        [{"axis": -2}],
        "Softmax runs over the queries: each English piece shares itself out among the "
        "German ones. Each query has one budget: dim=-1.",
    ),
    "keys-not-projected": (
        [{"to_key": ""}],
        "Your keys are the memory itself. Each layer makes its own keys of it: "
        "memory @ w_key.",
    ),
    "values-not-projected": (
        [{"to_value": ""}],
        "You mix the memory itself. Each layer makes its own values of it: memory @ "
        "w_value.",
    ),
    "keys-and-values-not-projected": (
        [{"to_key": "", "to_value": ""}],
        "Keys and values are the memory itself. The encoder hands over one thing, and "
        "each layer makes its own keys and values of it: memory @ w_key, memory @ "
        "w_value.",
    ),
    "one-matrix-for-keys-and-values": (
        [{"to_value": "w_key"}, {"to_key": "w_value"}],
        "Keys and values are made by the same matrix. There is one for each: w_key "
        "says what a piece can be found by, w_value what it hands over.",
    ),
    "matrices-swapped": (
        [{"to_key": "w_value", "to_value": "w_key"}],
        "w_key and w_value have changed places.",
    ),
}


def _probe_cross(mine: Function) -> None:
    """Where all sizes agree, every mix-up gives numbers, and numbers tell."""
    case = Across.random(4, 4, 4, 4, 4)
    found = case.run(mine)
    if matches(found, case.mixed()):
        return
    for name, (variants, message) in CROSSINGS.items():
        for words in variants:
            if matches(found, case.mixed(**words)):  # type: ignore[arg-type]
                raise Mistake(name, message)
    if found.isnan().any():
        raise Mistake(
            "nan",
            "There is nan in your output: some query sees nothing. Is the mask the "
            "wrong way round, or on the wrong axis? It hides keys, never queries.",
        )
    wanted = case.mixed()
    if found.shape != wanted.shape:
        raise Mistake(
            "shape",
            f"For x {tuple(case.x.shape)} and memory {tuple(case.memory.shape)} your "
            f"output is {tuple(found.shape)}; it must be {tuple(wanted.shape)}.",
        )
    raise Mistake(
        "wrong-numbers",
        "The shape is right but the numbers are not, and I do not know this mistake. "
        "Three products, then attention(query, key, value, mask=mask): which of the "
        "three is made of x?",
    )


def _probe_uneven(mine: Function) -> None:
    """Three target positions, five source positions, all widths different."""
    for masked in (True, False):
        case = Across.random(3, 5, 6, 4, 2, masked=masked)
        try:
            found = case.run(mine)
        except Stopped as stopped:
            if masked:
                raise Mistake(
                    "only-equal-lengths",
                    "Right where source and target are equally long, but for 3 target "
                    f"and 5 source positions: {stopped.message} Nothing may depend on "
                    "T = S: output rows follow the queries.",
                ) from None
            raise Mistake(
                "mask-not-optional",
                "Your function works with a mask and stops without one. Hand it on as "
                "it is; attention() takes mask=None.",
            ) from None
        if not matches(found, case.mixed()):
            raise Mistake(
                "only-equal-lengths",
                "Right where all sizes agree, but not for 3 target and 5 source "
                f"positions: your output is {tuple(found.shape)} and should be "
                f"{tuple(case.mixed().shape)}, a row for each query.",
            )


def cross_attention(mine: Function) -> Result:
    """Grade ``mine(x, memory, w_query, w_key, w_value, *, mask=None)``, with one head.

    Args:
        mine: gets the decoder's stream x (B, T, D), the memory (B, S, D), matrices
            (D, Dh), (D, Dh), (D, Dv) and a bool mask (B, 1, S), True = may attend;
            returns (B, T, Dv).

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "The decoder asks, the memory answers; padding of the source is hidden, and "
        "there are as many rows as queries, whatever the length of the source."
    )
    return grade("cross_attention", mine, [_probe_cross, _probe_uneven], praise)


# --- the decoder layer --------------------------------------------------------------


@dataclass(frozen=True)
class LayerPass:
    """A decoder layer put together from its parts; other fields make it wrong."""

    order: tuple[str, ...] = ("self", "cross", "ffn")
    target_mask: str = "target"
    source_mask: str = "source"
    answers_back: str = "stream"  # who answers self-attention
    answers_across: str = "memory"
    asks_across: str = "stream"
    across_by: str = "cross"  # whose matrices
    starts_over: str = ""  # the sub-layer that begins with the layer's input again
    residuals: str = "own"
    around: tuple[str, ...] = ("right", "right", "right")  # of self, cross, ffn

    def run(
        self,
        layer: DecoderLayer,
        x: Tensor,
        memory: Tensor,
        target_mask: Tensor,
        source_mask: Tensor,
    ) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        given = x
        known = {"target": target_mask, "source": source_mask, "none": None}
        if self.source_mask == "causal":
            known["causal"] = source_mask & masks.causal_mask(x.size(1))
        attentions = {"self": layer.self_attention, "cross": layer.cross_attention}

        def look_back(h: Tensor) -> Tensor:
            answers = memory if self.answers_back == "memory" else h
            return layer.self_attention(h, answers, mask=known[self.target_mask])

        def look_across(h: Tensor) -> Tensor:
            answers = h if self.answers_across == "stream" else memory
            asks = memory if self.asks_across == "memory" else h
            part = attentions[self.across_by]
            return part(asks, answers, mask=known[self.source_mask])

        residuals = {
            "self": layer.self_attention_residual,
            "cross": layer.cross_attention_residual,
            "ffn": layer.feed_forward_residual,
        }
        sublayers: dict[str, Callable[[Tensor], Tensor]]
        sublayers = {"self": look_back, "cross": look_across, "ffn": layer.feed_forward}
        ways = dict(zip(("self", "cross", "ffn"), self.around, strict=True))
        for name in self.order:
            residual = residuals["self" if self.residuals == "first" else name]
            stream = given if name == self.starts_over else x
            x = _beside(residual, stream, sublayers[name], ways[name])
        return x


def _beside(
    residual: Residual, x: Tensor, sublayer: Callable[[Tensor], Tensor], how: str
) -> Tensor:
    """One sub-layer beside the stream, or wrongly so."""
    if how == "right":
        return residual(x, sublayer)
    if how == "bare":
        return sublayer(x)
    if how == "no-norm":
        return x + sublayer(x)
    if residual.is_pre:  # "no-shortcut"
        return sublayer(residual.norm(x))
    return residual.norm(sublayer(x))


def _only(place: int, how: str) -> tuple[str, ...]:
    return tuple(how if i == place else "right" for i in range(3))


LAYERS: dict[str, tuple[list[dict[str, object]], str]] = {
    "target-mask-forgotten": (
        [{"target_mask": "none"}],
        "The target mask is not used: each position sees the pieces that it must "
        "predict. Training would look wonderful and the translations be rubbish. "
        "Self-attention takes mask=target_mask.",
    ),
    "source-mask-forgotten": (
        [{"source_mask": "none"}],
        "The source mask is not used: cross-attention reads padding, and a translation "
        "depends on its neighbours in the batch. It takes mask=source_mask.",
    ),
    "no-masks": (
        [{"target_mask": "none", "source_mask": "none"}],
        "No mask is used: self-attention sees the future, cross-attention the padding.",
    ),
    "masks-swapped": (
        [{"target_mask": "source", "source_mask": "target"}],
        "The masks are swapped: target_mask belongs to self-attention, source_mask to "
        "cross-attention.",
    ),
    "source-mask-everywhere": (
        [{"target_mask": "source"}],
        "Self-attention gets the source's mask. It hides the wrong pieces and opens "
        "the future; the shapes fit only where both sides are padded to one length. "
        "Give it target_mask.",
    ),
    "target-mask-everywhere": (
        [{"source_mask": "target"}, {"source_mask": "causal"}],
        "Cross-attention gets a causal mask. The source may be read in full: give it "
        "source_mask alone.",
    ),
    "memory-not-used": (
        [
            {"answers_across": "stream", "source_mask": mask}
            for mask in ("source", "target", "none")
        ],
        "The memory is not used: your cross-attention asks the decoder's own stream. "
        "Every source would get the same translation. Call layer.cross_attention(h, "
        "memory, mask=source_mask).",
    ),
    "queries-from-the-memory": (
        [
            {"asks_across": "memory", "answers_across": "stream", "source_mask": mask}
            for mask in ("source", "target", "none")
        ],
        "In cross-attention the roles are exchanged: the first argument asks, the "
        "second answers. The decoder's stream asks: layer.cross_attention(h, memory).",
    ),
    "self-attention-asks-the-memory": (
        [
            {"answers_back": "memory", "target_mask": mask}
            for mask in ("target", "source")
        ],
        "Self-attention gets the memory for keys and values. Queries, keys and values "
        "all come from the target there: layer.self_attention(h, mask=target_mask).",
    ),
    "cross-attention-first": (
        [{"order": ("cross", "self", "ffn")}],
        "Cross-attention comes before self-attention. The paper's order is: look back "
        "at the target, look across to the source, then the feed-forward network.",
    ),
    "feed-forward-too-early": (
        [{"order": ("self", "ffn", "cross")}, {"order": ("ffn", "self", "cross")}],
        "The feed-forward network must come last: first gather (back, then across), "
        "then think about what was gathered.",
    ),
    "self-attention-lost": (
        [{"order": ("cross", "ffn")}],
        "Self-attention is missing, or what it found is lost because cross-attention "
        "starts from the layer's input x again. Hand on what the first residual "
        "returned.",
    ),
    "both-attentions-lost": (
        [{"starts_over": "ffn"}],
        "The feed-forward network starts from the layer's input x again, so what both "
        "attentions found is lost. Hand on what the second residual returned.",
    ),
    "feed-forward-forgotten": (
        [{"order": ("self", "cross")}],
        "The feed-forward network is missing: layer.feed_forward_residual(x, "
        "layer.feed_forward).",
    ),
    "cross-attention-forgotten": (
        [{"order": ("self", "ffn")}],
        "Cross-attention is missing: this is an encoder's layer with another mask, and "
        "the source never gets in.",
    ),
    "residuals-forgotten": (
        [{"around": ("bare",) * 3}, {"around": ("no-shortcut",) * 3}],
        "The residual connections are missing: each sub-layer replaces the stream "
        "instead of adding to it, and what was there is gone. Call them through "
        "layer.self_attention_residual(x, sublayer) and its sisters.",
    ),
    "norms-forgotten": (
        [{"around": ("no-norm",) * 3}],
        "You add, but nothing is normalised. layer.self_attention_residual(x, "
        "sublayer) does both, before or after, as the layer was made.",
    ),
    "one-residual-for-all": (
        [{"residuals": "first"}],
        "You use self_attention_residual for all three. Each sub-layer has its own, "
        "with a norm of its own: cross_attention_residual, feed_forward_residual.",
    ),
    "one-attention-for-both": (
        [{"across_by": "self"}],
        "You use layer.self_attention twice. Cross-attention has matrices of its own: "
        "layer.cross_attention.",
    ),
}
for _place, (_name, _part) in enumerate(
    (
        ("self-attention", "self_attention_residual"),
        ("cross-attention", "cross_attention_residual"),
        ("feed-forward", "feed_forward_residual"),
    )
):
    LAYERS[f"residual-of-{_name}-forgotten"] = (
        [{"around": _only(_place, how)} for how in ("bare", "no-shortcut", "no-norm")],
        "Two sub-layers run beside the stream, and one does not: the addition or the "
        f"norm around it is missing. Call it through layer.{_part}(x, sublayer).",
    )


@dataclass(frozen=True)
class LayerCase:
    """A decoder layer with random numbers everywhere, and something to run it on."""

    layer: DecoderLayer
    x: Tensor
    memory: Tensor
    target_mask: Tensor
    source_mask: Tensor

    @classmethod
    def random(cls, norm: str, t: int, s: int) -> LayerCase:
        """Draw a case; no gain is 1, no bias 0; row 1 is padded on both sides."""
        generator = torch.Generator().manual_seed(10 * t + s)
        layer = DecoderLayer(8, 2, 12, norm=norm).double().eval()
        with torch.no_grad():
            for parameter in layer.parameters():
                noise = torch.randn(parameter.shape, generator=generator).double()
                size = 0.4 if parameter.dim() == 1 else parameter.size(-1) ** -0.5
                parameter.copy_(size * noise + (parameter == 1))

        def ids(length: int, real: int) -> Tensor:
            drawn = torch.ones(2, length, dtype=torch.int64)
            drawn[1, real:] = 0
            return drawn

        def draw(length: int) -> Tensor:
            return torch.randn(2, length, 8, generator=generator, dtype=torch.float64)

        return cls(
            *(layer, draw(t), draw(s)),
            *(masks.target_mask(ids(t, t - 1), 0), masks.source_mask(ids(s, s - 2), 0)),
        )

    @property
    def parts(self) -> tuple[DecoderLayer, Tensor, Tensor, Tensor, Tensor]:
        """In the order in which a layer's function takes them."""
        return self.layer, self.x, self.memory, self.target_mask, self.source_mask

    def right(self) -> Tensor:
        """What the layer gives."""
        return self.known({})

    def known(self, changes: dict[str, object]) -> Tensor:
        """What a known mistake gives."""
        wrong = dataclasses.replace(LayerPass(), **changes)  # type: ignore[arg-type]
        with torch.no_grad():
            return wrong.run(*self.parts)

    def run(self, mine: Function) -> Tensor:
        """The reader's output, a tensor of the right shape."""
        names = ("layer", "x", "memory", "target_mask", "source_mask")

        def stop(*_: object, **__: object) -> None:
            raise Mistake(
                "calls-the-layer",
                "You call layer(…), which is the answer. Put it together from "
                "layer.self_attention, .cross_attention and .feed_forward, each inside "
                "its residual.",
            )

        self.layer.forward = stop  # type: ignore[method-assign, assignment]
        try:
            found = call(mine, dict(zip(names, self.parts, strict=True)), {})
        except Stopped as stopped:
            if isinstance(stopped.problem, Mistake):
                raise stopped.problem from None
            raise
        finally:
            del self.layer.forward
        found = as_tensor(found, "one tensor, the stream")
        if found.shape != self.x.shape:
            raise Mistake(
                "shape",
                f"For x {tuple(self.x.shape)} and memory {tuple(self.memory.shape)} "
                f"you return {tuple(found.shape)}. A layer returns the stream in the "
                "shape in which it came: a row for each target position.",
            )
        return found


def _agree(found: Sequence[Tensor], wanted: Sequence[Tensor]) -> bool:
    return all(matches(mine, want) for mine, want in zip(found, wanted, strict=True))


def _probe_layer(mine: Function) -> None:
    """Source and target equally long: there every mix-up runs, and numbers tell."""
    cases = [LayerCase.random(norm, 4, 4) for norm in ("pre", "post")]
    found = [case.run(mine) for case in cases]
    if _agree(found, [case.right() for case in cases]):
        return
    for name, (variants, message) in LAYERS.items():
        for changes in variants:
            if _agree(found, [case.known(changes) for case in cases]):
                raise Mistake(name, message)
    for case, mine_, kind in zip(cases, found, ("pre", "post"), strict=True):
        if matches(mine_, case.right()):
            other = {"pre": "the paper's post-norm", "post": "pre-norm"}[kind]
            raise Mistake(
                f"{kind}-norm-only",
                f"Right for {kind}-norm, wrong for {other}. Let the residual decide "
                "where the norm goes: layer.self_attention_residual(x, sublayer).",
            )
    raise Mistake(
        "wrong-numbers",
        "The shape is right but the numbers are not, and I do not know this mistake. "
        "Go through the three sub-layers: who asks, who answers, which mask, and is "
        "each inside its residual?",
    )


def _probe_lengths(mine: Function) -> None:
    case = LayerCase.random("pre", 3, 5)
    try:
        found = case.run(mine)
    except Stopped as stopped:
        raise Mistake(
            "only-equal-lengths",
            "Right where source and target are equally long, but for 3 target and 5 "
            f"source positions: {stopped.message}",
        ) from None
    if not matches(found, case.right()):
        raise Mistake(
            "only-equal-lengths",
            "Right where source and target are equally long, wrong for 3 target and 5 "
            "source positions.",
        )


def decoder_layer(mine: Function) -> Result:
    """Grade ``mine(layer, x, memory, target_mask, source_mask)``, one decoder layer.

    Args:
        mine: puts a `DecoderLayer` together from its parts and returns the stream.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Look back, look across, think; each beside the stream, with its own mask; "
        "pre- and post-norm, for sources longer and shorter than the target."
    )
    return grade("decoder_layer", mine, [_probe_layer, _probe_lengths], praise)


# --- greedy search ------------------------------------------------------------------

BOS, EOS, SIZE = 1, 2, 12
PATH = (7, 5, 7, 9, 4)  # what the hidden model says; 7 comes twice


class Endless(Exception):
    """The reader's loop goes on and on."""


class Speaker:
    """A stand-in for a model: it knows one sentence, and babbles beside it."""

    def __init__(self, path: Sequence[int] = PATH) -> None:
        self.path = [BOS, *path, EOS]
        self.calls: list[tuple[int, ...]] = []

    def scores(self, prefix: Sequence[int]) -> Tensor:
        """(V,) scores of the piece that follows a prefix."""
        seed = sum((i + 3) * 1009 ** (i % 4) * int(x) for i, x in enumerate(prefix))
        generator = torch.Generator().manual_seed(seed % 2**31)
        scores = torch.randn(SIZE, generator=generator, dtype=torch.float64)
        scores[[0, BOS, EOS, 3]] -= 5  # off the path nothing ends
        n = len(prefix)
        if list(prefix) == self.path[:n] and n < len(self.path):
            scores[self.path[n]] = 6.0 + n
        return scores

    def __call__(self, target_ids: Tensor) -> Tensor:
        """(1, t) ids -> (1, t, V) logits, as a decoder with a causal mask."""
        if not isinstance(target_ids, Tensor) or target_ids.dim() != 2:
            shape = tuple(target_ids.shape) if isinstance(target_ids, Tensor) else ""
            raise Mistake(
                "not-a-batch",
                "next_logits takes a tensor (1, t), a batch of one row; you give it a "
                f"{type(target_ids).__name__} {shape}: torch.tensor([ids]).",
            )
        row = [int(x) for x in target_ids[0]]
        if any(not 0 <= x < SIZE for x in row):
            raise Mistake(
                "not-an-id",
                f"You go on with {max(row)}, which is "
                f"no piece: there are {SIZE}. Does your argmax run over all positions "
                "at once? Take the last row first: logits[0, -1].argmax().",
            )
        self.calls.append(tuple(row))
        if len(self.calls) > 60:
            raise Endless
        return torch.stack([self.scores(row[: i + 1]) for i in range(len(row))])[None]


def _loop(
    speaker: Speaker,
    max_len: int,
    *,
    row: str = "last",
    context: str = "all",
    keep_eos: bool = False,
    keep_bos: bool = False,
    stops: bool = True,
    lowest: bool = False,
    start: int = BOS,
    extra: int = 0,
) -> list[int]:
    """Greedy search, or a known mistake."""
    ids, found = [start], []
    for _ in range(max_len + extra):
        given = {"all": ids, "last": ids[-1:], "bos": ids[:1]}[context]
        logits = speaker(torch.tensor([given]))[0]
        place = {"last": -1, "first": 0, "before": -2, "axis": -1}[row] % len(logits)
        best = int(logits[place].argmin() if lowest else logits[place].argmax())
        if row == "axis":
            best = int(logits.argmax(0)[-1])
        if best == EOS and stops:
            if keep_eos:
                found.append(best)
            break
        ids.append(best)
        found.append(best)
    return [BOS, *found] if keep_bos else found


GREEDY: dict[str, tuple[dict[str, object], str]] = {
    "never-stops": (
        {"stops": False},
        "Your loop does not stop at eos: it goes on to max_len, and what follows eos "
        "is nonsense. When the best piece is eos, the translation is finished.",
    ),
    "emits-eos": (
        {"keep_eos": True},
        "Your list ends in eos. It is the sign to stop, not a piece of the "
        "translation: leave the loop before you append it.",
    ),
    "emits-bos": (
        {"keep_bos": True},
        "Your list begins with bos. The decoder reads it; it is no piece of the "
        "translation.",
    ),
    "emits-bos-and-eos": (
        {"keep_bos": True, "keep_eos": True},
        "Your list still has bos and eos in it. One was there to begin, the other to "
        "stop; neither is a piece of the translation.",
    ),
    "first-position": (
        {"row": "first"},
        "You read the scores at the first position, so you get the same piece again "
        "and again. Row t scores what follows position t: take the last row, "
        "logits[0, -1].",
    ),
    "position-before-the-last": (
        {"row": "before"},
        "You read the scores one position too early: that row says what follows the "
        "piece BEFORE the newest one, which you have already. Take the last row, "
        "logits[0, -1].",
    ),
    "argmax-over-positions": (
        {"row": "axis"},
        "Your argmax runs over positions, so what comes out is the number of a place "
        "and not of a piece. Take the last row, then the best of its V scores: "
        "logits[0, -1].argmax().",
    ),
    "only-the-last-piece": (
        {"context": "last"},
        "You give the model its newest piece alone, so it forgets what it has said. "
        "(With a key/value cache one gives just that; next_logits has none.) Give it "
        "bos and all pieces so far.",
    ),
    "nothing-is-appended": (
        {"context": "bos"},
        "The model reads bos alone, at every step: what it says is never given back to "
        "it. Its output is its next input: append the piece.",
    ),
    "starts-with-eos": (
        {"start": EOS},
        "You begin with eos. Training began every input with bos, so must you.",
    ),
    "lowest": (
        {"lowest": True},
        "You take the piece with the lowest score: argmax, not argmin.",
    ),
    "one-too-many": (
        {"extra": 1},
        "One piece more than max_len. That many pieces at most, eos not counted.",
    ),
    "one-too-few": (
        {"extra": -1},
        "Your loop ends one piece early: max_len pieces are allowed.",
    ),
}


def _said(mine: Function, speaker: Speaker, max_len: int) -> list[int]:
    ids = {"bos_id": BOS, "eos_id": EOS, "max_len": max_len}
    try:
        found = call(mine, {"next_logits": speaker}, ids)
    except Stopped as stopped:
        if isinstance(stopped.problem, Mistake):
            raise stopped.problem from None
        if isinstance(stopped.problem, Endless):
            raise Mistake(
                "endless",
                "Your loop does not come to an end: sixty calls for a sentence of five "
                f"pieces, with max_len={max_len}. Stop at eos, and at max_len in any "
                "case.",
            ) from None
        raise
    if isinstance(found, Tensor):
        found = found.flatten().tolist()
    if not isinstance(found, list | tuple):
        raise Mistake(
            "not-a-list",
            f"Your function returns a {type(found).__name__}; I need the pieces as a "
            "list.",
        )
    try:
        return [int(x) for x in found]
    except (TypeError, ValueError):
        raise Mistake(
            "not-a-list", f"Your list should hold ids; it holds {found[0]!r}."
        ) from None


def _probe_greedy(mine: Function) -> None:
    settings = [(PATH, 20), (PATH, 3), ((), 20)]
    speakers = [Speaker(path) for path, _ in settings]
    found = [
        _said(mine, speaker, limit)
        for speaker, (_, limit) in zip(speakers, settings, strict=True)
    ]
    if found == [list(path[:limit]) for path, limit in settings]:
        return
    calls = [speaker.calls for speaker in speakers]
    same = []  # known mistakes that say the same; better one that asked the same, too
    for name, (changes, message) in GREEDY.items():
        others = [Speaker(path) for path, _ in settings]
        wrong = [
            _loop(other, limit, **changes)  # type: ignore[arg-type]
            for other, (_, limit) in zip(others, settings, strict=True)
        ]
        if found == wrong:
            asked = [other.calls for other in others]
            same.append((asked != calls, Mistake(name, message)))
    if same:
        raise min(same, key=lambda each: each[0])[1]
    if found[0] == list(PATH) and len(found[1]) > 3:
        raise Mistake(
            "max-len-ignored",
            f"With max_len=3 you return {len(found[1])} pieces. A model that never "
            "says eos would keep your loop for ever.",
        )
    i = next(i for i, (path, n) in enumerate(settings) if found[i] != list(path[:n]))
    path, limit = settings[i]
    raise Mistake(
        "wrong-pieces",
        f"I do not know this mistake. My model says {list(path)} and then eos; with "
        f"max_len={limit} you return {found[i]} and should return "
        f"{list(path[:limit])}.",
    )


def _probe_repeats(mine: Function) -> None:
    speaker = Speaker()
    _said(mine, speaker, 20)
    if len(speaker.calls) > len(PATH) + 1:
        raise Mistake(
            "too-many-calls",
            f"Right, but you run the model {len(speaker.calls)} times for {len(PATH)} "
            f"pieces and eos; {len(PATH) + 1} are enough. Keep its scores in a "
            "variable.",
        )


def greedy(mine: Function) -> Result:
    """Grade ``mine(next_logits, *, bos_id, eos_id, max_len)``, greedy search.

    Args:
        mine: ``next_logits`` takes (1, t) ids, bos + pieces so far, and returns logits
            (1, t, V); `mine` returns the list of pieces, without bos and eos, at most
            ``max_len``.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "It begins with bos, reads the last row, gives each piece back to the model, "
        "and stops at eos or at max_len, without either in its list."
    )
    return grade("greedy", mine, [_probe_greedy, _probe_repeats], praise)
