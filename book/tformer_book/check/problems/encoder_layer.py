"""The grader for `encoder_layer` of chapter *The encoder*, and known mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from tformer.attention import MultiHeadAttention
from tformer.feedforward import FeedForward
from tformer.norm import LayerNorm
from tformer_book.check import kit

HINTS = (
    "What does the norm of a post-norm layer read: what the sub-layer says, or the "
    "sum with the stream?",
    "Two sub-layers, the same pattern twice: the stream, plus what the sub-layer "
    "makes of it, and the norm around the sum. The second one reads what the first "
    "norm returned.",
    "x = norm_1(x + self_attention(x, mask=source_mask))",
)

Part = Callable[[Tensor], Tensor]


class _Attend:
    """Self-attention to hand to a reader: it tells what it was given wrongly."""

    def __init__(self, attention: MultiHeadAttention) -> None:
        self.attention = attention

    def __call__(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
    ) -> Tensor:
        for each in (key, value):
            if isinstance(each, Tensor) and each.dtype == torch.bool:
                raise kit.Mistake(
                    "mask-as-key",
                    "You pass the mask by position, so attention takes it for the "
                    "keys. Pass it by name: self_attention(x, mask=source_mask).",
                )
        output: Tensor = self.attention(query, key, value, mask=mask)
        return output


def _paper(x: Tensor, attend: Part, think: Part, one: Part, two: Part) -> Tensor:
    x = one(x + attend(x))
    return two(x + think(x))


def built(
    x: Tensor,
    source_mask: Tensor,
    self_attention: kit.Function,
    feed_forward: Part,
    norm_1: Part,
    norm_2: Part,
    *,
    mask: str = "given",
    order: Callable[[Tensor, Part, Part, Part, Part], Tensor] = _paper,
) -> Tensor:
    """The layer, with another mask or put together in another way."""
    sees = {"given": source_mask, "none": None, "flipped": ~source_mask}[mask]

    def attend(x: Tensor) -> Tensor:
        output: Tensor = self_attention(x, mask=sees)
        return output

    return order(x, attend, feed_forward, norm_1, norm_2)


SLIPS: kit.Table = {
    "mask-not-passed": (
        {"mask": "none"},
        "The mask is not used: padding is read like any word. "
        "self_attention(x, mask=source_mask).",
    ),
    "mask-flipped": (
        {"mask": "flipped"},
        "The mask is the wrong way round: True means may attend, for "
        "self_attention, too. Pass it as it is, without ~.",
    ),
    "no-residual": (
        {"order": lambda x, attend, think, one, two: two(think(one(attend(x))))},
        "Both residual connections are missing: each sub-layer replaces the stream "
        "instead of adding to it. norm(x + sublayer(x)).",
    ),
    "attention-residual-missing": (
        {
            "order": lambda x, attend, think, one, two: two(
                (h := one(attend(x))) + think(h)
            )
        },
        "The residual around attention is missing: norm_1(x + self_attention(…)).",
    ),
    "feed-forward-residual-missing": (
        {"order": lambda x, attend, think, one, two: two(think(one(x + attend(x))))},
        "The residual around the feed-forward network is missing: "
        "norm_2(x + feed_forward(x)).",
    ),
    "pre-norm": (
        {
            "order": lambda x, attend, think, one, two: (
                x + attend(one(x)) + think(two(x + attend(one(x))))
            )
        },
        "That is pre-norm: you normalise what each sub-layer reads. It is a good "
        "layer, and our released model's, but the paper normalises after the addition: "
        "norm(x + sublayer(x)).",
    ),
    "norm-on-the-news": (
        {
            "order": lambda x, attend, think, one, two: (
                (h := x + one(attend(x))) + two(think(h))
            )
        },
        "You normalise only what the sub-layer says, and add that to x. The norm goes "
        "round the sum: norm(x + sublayer(x)).",
    ),
    "norm-in-the-stream-first": (
        {
            "order": lambda x, attend, think, one, two: (
                (g := two((h := one(x)) + attend(h))) + think(g)
            )
        },
        "You normalise x and go on with that alone, in the stream, too. Then the sum "
        "at the end has no norm: norm(x + sublayer(x)).",
    ),
    "one-norm-for-both": (
        {
            "order": lambda x, attend, think, one, two: one(
                one(x + attend(x)) + think(one(x + attend(x)))
            )
        },
        "norm_1 is used twice. Each sub-layer has a norm with gain and bias of its "
        "own.",
    ),
    "one-norm-for-both:2": (
        {
            "order": lambda x, attend, think, one, two: two(
                (h := two(x + attend(x))) + think(h)
            )
        },
        "norm_2 is used twice. Each sub-layer has a norm with gain and bias of its "
        "own.",
    ),
    "norms-swapped": (
        {
            "order": lambda x, attend, think, one, two: one(
                (h := two(x + attend(x))) + think(h)
            )
        },
        "The two norms have changed places: norm_1 belongs to attention.",
    ),
    "first-norm-missing": (
        {
            "order": lambda x, attend, think, one, two: two(
                (h := x + attend(x)) + think(h)
            )
        },
        "There is no norm after attention.",
    ),
    "second-norm-missing": (
        {
            "order": lambda x, attend, think, one, two: (
                one(x + attend(x)) + think(one(x + attend(x)))
            )
        },
        "There is no norm after the feed-forward network.",
    ),
    "norms-missing": (
        {"order": lambda x, attend, think, one, two: (h := x + attend(x)) + think(h)},
        "Both norms are missing.",
    ),
    "in-parallel": (
        {
            "order": lambda x, attend, think, one, two: two(
                one(x + attend(x)) + think(x)
            )
        },
        "Your feed-forward network reads the x from before attention. It should read "
        "what attention has left in the stream.",
    ),
    "residual-from-the-start": (
        {
            "order": lambda x, attend, think, one, two: two(
                x + think(one(x + attend(x)))
            )
        },
        "Your second residual adds the x from the very beginning, so what attention "
        "has said gets lost. Add the stream as it is before the second sub-layer.",
    ),
    "feed-forward-first": (
        [
            {
                "order": lambda x, attend, think, one, two: two(
                    (h := one(x + think(x))) + attend(h)
                )
            },
            {
                "order": lambda x, attend, think, one, two: one(
                    (h := two(x + think(x))) + attend(h)
                )
            },
        ],
        "The order is the other way round: attention first, then the feed-forward "
        "network.",
    ),
    "relu-after": (
        {
            "order": lambda x, attend, think, one, two: two(
                one(x + attend(x)) + think(one(x + attend(x))).relu()
            )
        },
        "There is a ReLU after the feed-forward network. Its own ReLU is inside; what "
        "it adds to the stream must be free to be negative.",
    ),
    "multiplied": (
        [
            {
                "order": lambda x, attend, think, one, two: two(
                    (h := one(x * attend(x))) * think(h)
                )
            },
            {
                "order": lambda x, attend, think, one, two: two(
                    (h := one(x + attend(x))) * think(h)
                )
            },
        ],
        "You multiply the stream by what a sub-layer says. A residual connection "
        "adds: x + sublayer(x).",
    ),
    "subtracted": (
        {
            "order": lambda x, attend, think, one, two: two(
                (h := one(x - attend(x))) - think(h)
            )
        },
        "You subtract what a sub-layer says. A residual connection adds.",
    ),
    "halved": (
        {
            "order": lambda x, attend, think, one, two: two(
                ((h := one((x + attend(x)) / 2)) + think(h)) / 2
            )
        },
        "You average the stream and what a sub-layer says in the residual connection; "
        "they are added. (The norm hides the factor, but not beside its epsilon.)",
    ),
    "one-residual-for-both": (
        {"order": lambda x, attend, think, one, two: two(x + think(one(attend(x))))},
        "There is one residual connection around both sub-layers. Each has its own: "
        "x + self_attention(…), then norm, then x + feed_forward(x).",
    ),
    "feed-forward-missing": (
        {"order": lambda x, attend, think, one, two: one(x + attend(x))},
        "The feed-forward network is missing.",
    ),
    "attention-missing": (
        {"order": lambda x, attend, think, one, two: two(x + think(x))},
        "Attention is missing.",
    ),
}


def _case(seed: int = 0) -> kit.Case:
    """The parts of a post-norm encoder layer, with norms that differ."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        attention = MultiHeadAttention(8, 2).eval()
        think = FeedForward(8, 16).eval()
        norms = LayerNorm(8), LayerNorm(8)
        for norm in norms:
            nn.init.normal_(norm.gain, mean=1.0, std=0.5)
            nn.init.normal_(norm.bias)
        x = torch.randn(2, 5, 8)
    real = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=torch.bool)
    return kit.Case(
        {
            "x": x,
            "source_mask": real[:, None, None, :],
            "self_attention": _Attend(attention),
            "feed_forward": think,
            "norm_1": norms[0],
            "norm_2": norms[1],
        }
    )


def _judge(mine: kit.Function, case: kit.Case) -> None:
    found = case.ask(mine)
    with torch.no_grad():
        kit.compare(
            found,
            case.of(built),
            kit.slips(SLIPS, case.of, built, with_nan=True),
            said=f"for x {case.shape('x')}",
            hint="Write the two lines of the paper: x = norm(x + sublayer(x)), twice.",
        )


def _probe_layer(mine: kit.Function) -> None:
    _judge(mine, _case())


def _probe_layer_again(mine: kit.Function) -> None:
    case = _case(seed=1)
    x, mask = case["x"][:1, :3].clone(), case["source_mask"][:1, ..., :3]
    case = kit.Case({**case.inputs, "x": x, "source_mask": mask})
    _judge(mine, case)
    case.learn(mine, built, "x")


@kit.grader(_probe_layer, _probe_layer_again)
def encoder_layer(mine: kit.Function) -> str:
    """Grade a reader's encoder layer, post-norm as in the paper, without dropout.

    ``mine`` is a function ``mine(x, source_mask, self_attention, feed_forward, norm_1,
    norm_2)`` with x (B, S, D), a bool mask, and four parts to call: ``self_attention(x,
    mask=source_mask)``, the others on one tensor. It returns (B, S, D).
    """
    return (
        "Attention with the mask, then the feed-forward network; each beside the "
        "stream, each with its own norm round the sum, as in the paper."
    )
