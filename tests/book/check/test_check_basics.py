"""Every mistake that the graders of chapter 00 know is made here on purpose."""

import pytest
import torch

from tformer_book import check

# --------------------------------------------------------------------------- softmax


def right_softmax(scores):
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


def make(*, shift=None, power=torch.exp, divide=None, late=lambda s: s):
    """Softmax with one step exchanged."""
    shift = shift or (lambda s: s - s.amax(-1, keepdim=True))
    divide = divide or (lambda e: e / e.sum(-1, keepdim=True))
    return lambda scores: late(divide(power(shift(scores))))


def in_place(scores):
    scores -= scores.amax(-1, keepdim=True)
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


def half_shifted(scores):
    shifted = scores - scores.amax(-1, keepdim=True)
    return shifted.exp() / scores.exp().sum(-1, keepdim=True)


def not_implemented(*arguments):
    raise NotImplementedError


SOFTMAX = {
    "stub": [not_implemented],
    "returns-nothing": [lambda scores: None],
    "signature": [lambda: None],
    "stops-with-an-error": [lambda scores: scores.no_such_thing()],
    "not-a-tensor": [lambda scores: right_softmax(scores).tolist()],
    "shape": [lambda scores: right_softmax(scores).sum(-1)],
    "wrong-axis": [
        lambda s: s.softmax(0),
        lambda s: s.softmax(-2) if s.dim() > 1 else s.softmax(-1),
        make(divide=lambda e: e / e.sum(0, keepdim=True)),
        lambda s: s.softmax(1) if s.dim() > 1 else s.softmax(0),
    ],
    "everything-at-once": [make(shift=lambda s: s, divide=lambda e: e / e.sum())],
    "keepdim-forgotten": [
        make(divide=lambda e: e / e.sum(-1)),
        make(shift=lambda s: s, divide=lambda e: e / e.sum(dim=-1)),
    ],
    "no-exponential": [
        lambda scores: scores / scores.sum(-1, keepdim=True),
    ],
    "not-normalised": [
        lambda scores: scores.exp(),
        make(divide=lambda e: e),
        make(divide=lambda e: e / e.amax(-1, keepdim=True)),
    ],
    "shifted-in-one-place-only": [half_shifted],
    "logarithm": [make(late=torch.log)],
    "wrong-base": [make(power=lambda s: 2**s)],
    "sign": [make(power=lambda s: (-s).exp())],
    "sigmoid": [torch.sigmoid],
    "wrong-numbers": [make(power=lambda s: s.exp() + 1)],
    "overflow": [
        make(shift=lambda s: s),
        # fine above, 0 ÷ 0 below:
        make(shift=lambda s: s - s.amax(-1, keepdim=True).clamp(min=0)),
    ],
    "one-maximum-for-all": [make(shift=lambda s: s - s.max())],
    "minus-infinity": [
        make(shift=lambda s: s.nan_to_num(neginf=0) - s.amax(-1, keepdim=True))
    ],
    "changes-inputs": [in_place],
    "gradient-cut": [lambda scores: right_softmax(scores.detach())],
    "dtype": [lambda scores: right_softmax(scores.double())],
    "ready-made": [
        lambda scores: scores.softmax(-1),
        lambda scores: torch.softmax(scores, dim=-1),
        lambda scores: scores.log_softmax(-1).exp(),
    ],
    "not-a-function": [torch.ones(3)],
}

# -------------------------------------------------------------------- matrix product


def refuse(a, b):
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"{tuple(a.shape)} @ {tuple(b.shape)}")


def loops(
    a,
    b,
    *,
    left=lambda a, i, k: a[i, k],
    right=lambda b, k, j: b[k, j],
    skip=0,
    reset=True,
    add=True,
    check_shapes=True,
):
    """The product with one step exchanged."""
    if check_shapes:
        refuse(a, b)
    c = torch.zeros(a.shape[0], b.shape[1])
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0 if reset else total
            for k in range(a.shape[1] - skip):
                term = left(a, i, k) * right(b, k, j)
                total = total + term if add else term
            c[i, j] = total
    return c


def with_(**changes):
    return lambda a, b: loops(a, b, **changes)


def ready(function):
    def mine(a, b):
        refuse(a, b)
        return function(a, b)

    return mine


def scales_the_input(a, b):
    product = loops(a, b)
    a *= 2
    return product


PRODUCT = {
    "stub": [not_implemented],
    "returns-nothing": [lambda a, b: None],
    "signature": [lambda a: a],
    "stops-with-an-error": [lambda a, b: a.no_such_thing()],
    "not-a-tensor": [lambda a, b: loops(a, b).tolist()],
    "shape": [lambda a, b: loops(a, b)[:, 0]],
    "elementwise": [lambda a, b: a * b],
    "swapped": [ready(lambda a, b: b @ a)],
    "second-transposed": [
        with_(right=lambda b, k, j: b[j, k]),
        lambda a, b: a @ b.T,
    ],
    "first-transposed": [
        with_(left=lambda a, i, k: a[k, i]),
        with_(left=lambda a, i, k: a[k, i], right=lambda b, k, j: b[j, k]),
    ],
    "result-transposed": [lambda a, b: loops(a, b).T],
    "sums-before-multiplying": [lambda a, b: a.sum(1)[:, None] * b.sum(0)],
    "keeps-the-last-term": [with_(add=False)],
    "one-term-short": [
        with_(skip=1),
        with_(
            skip=1,
            left=lambda a, i, k: a[i, k + 1],
            right=lambda b, k, j: b[k + 1, j],
        ),
    ],
    "sum-not-reset": [with_(reset=False)],
    "mean": [lambda a, b: loops(a, b) / a.shape[1]],
    "wrong-numbers": [lambda a, b: loops(a, b) + 1],
    "impossible-product": [with_(check_shapes=False)],
    "unhelpful-error": [
        lambda a, b: (a[:, :, None] * b[None]).sum(1),
    ],
    "changes-inputs": [scales_the_input],
    "ready-made": [
        ready(lambda a, b: a @ b),
        ready(torch.mm),
        ready(lambda a, b: torch.einsum("ik,kj->ij", a, b)),
        ready(lambda a, b: torch.nn.functional.linear(a, b.T)),
    ],
    "not-a-function": [torch.ones(3, 3)],
}

# -------------------------------------------------------------------------- gradient


def central(loss, p, *, h=1e-5, over=None, right=1, left=1):
    """The gradient with one step exchanged."""
    slopes = torch.zeros_like(p)
    for i in range(len(p)):
        step = torch.zeros_like(p)
        step[i] = h
        change = loss(p + right * step) - loss(p - left * step)
        slopes[i] = change / (2 * h if over is None else over(h))
    return slopes


def sized(**changes):
    return lambda loss, p: central(loss, p, **changes)


def all_at_once(loss, p, h=1e-5):
    slope = (loss(p + h) - loss(p - h)) / (2 * h)
    return slope * torch.ones_like(p)


def not_put_back(loss, p, h=1e-5):
    slopes, moved = torch.zeros_like(p), p.clone()
    for i in range(len(p)):
        moved[i] += h
        above = loss(moved)
        moved[i] -= 3 * h
        slopes[i] = (above - loss(moved)) / (2 * h)
    return slopes


def automatic(loss, p):
    leaf = p.clone().requires_grad_()
    return torch.autograd.grad(loss(leaf), leaf)[0]


def moves_the_input(loss, p):
    slopes = central(loss, p)
    p += 1
    return slopes


GRADIENT = {
    "stub": [not_implemented],
    "returns-nothing": [lambda loss, p: None],
    "signature": [lambda loss: loss],
    "stops-with-an-error": [
        lambda loss, p: p.no_such_thing(),
        lambda loss, p: loss(p[0] + 1e-5) - loss(p[0] - 1e-5),
    ],
    "not-a-tensor": [lambda loss, p: central(loss, p).tolist()],
    "shape": [lambda loss, p: central(loss, p).sum()],
    "loss-not-called": [lambda loss, p: 3 * p**2],
    "autograd": [automatic],
    "all-at-once": [
        all_at_once,
        lambda loss, p: (loss(p + 1e-5) - loss(p - 1e-5)) / 2e-5,
    ],
    "not-put-back": [not_put_back],
    "one-sided": [
        sized(left=0, over=lambda h: h),
        sized(right=0, over=lambda h: h),
    ],
    "sign": [sized(right=-1, left=-1)],
    "divided-by-h": [sized(over=lambda h: h)],
    "half": [sized(over=lambda h: 4 * h)],
    "not-divided": [sized(over=lambda h: 1)],
    "multiplied": [sized(over=lambda h: 1 / (2 * h))],
    "brackets": [sized(over=lambda h: 2 / h)],
    "step-too-large": [sized(h=0.1), sized(h=1.0)],
    "step-too-small": [sized(h=1e-13), sized(h=1e-25)],
    "wrong-numbers": [lambda loss, p: central(loss, p) + 1],
    "changes-inputs": [moves_the_input],
    "not-a-function": [torch.ones(3)],
}

# ------------------------------------------------------------------------- the tests

GRADERS = {
    "softmax": (check.softmax, SOFTMAX),
    "matrix_product": (check.matrix_product, PRODUCT),
    "gradient": (check.gradient, GRADIENT),
}
NAMED = [
    (part, name, i)
    for part, (_, mistakes) in GRADERS.items()
    for name, wrong in mistakes.items()
    for i in range(len(wrong))
]
RIGHT = [
    (check.softmax, right_softmax),
    (check.softmax, make(shift=lambda s: s - s.amax(-1, keepdim=True).detach())),
    (check.softmax, make(shift=lambda s: s - s.max(dim=-1, keepdim=True).values)),
    (check.matrix_product, loops),
    (
        check.matrix_product,
        ready(lambda a, b: (a[:, :, None] * b[None]).sum(1)),
    ),
    (
        check.matrix_product,
        ready(
            lambda a, b: torch.tensor(
                [
                    [sum(x * y for x, y in zip(r, c, strict=True)) for c in b.T]
                    for r in a
                ]
            )
        ),
    ),
    (check.gradient, central),
    (check.gradient, sized(h=1e-4)),
    (check.gradient, sized(h=1e-6)),
]


@pytest.mark.parametrize(("part", "name", "i"), NAMED)
def test_the_mistake_is_called_by_its_name(part, name, i, capsys):
    grader, mistakes = GRADERS[part]
    result = grader(mistakes[name][i])
    assert not result
    assert result.diagnosis == name, result.message
    assert result.message.split()[0] in capsys.readouterr().out


@pytest.mark.parametrize(("grader", "mine"), RIGHT)
def test_right_ways_are_accepted(grader, mine, capsys):
    result = grader(mine)
    assert result, result.message
    assert "✓" in capsys.readouterr().out


def test_the_wrong_entry_is_worked_out_for_the_reader(capsys):
    message = check.matrix_product(lambda a, b: loops(a, b) + 1).message
    entry, wanted = message.split(" = ")[0].split()[-1], message.split(" = ")[1]
    assert entry.endswith(")")
    assert wanted.split(".")[0].lstrip("-").isdigit()


def test_grading_leaves_the_random_state_alone(capsys):
    before = torch.get_rng_state()
    for grader, mine in RIGHT[::3]:
        grader(mine)
    assert torch.equal(before, torch.get_rng_state())
