"""A step in several parts, with a scaler, and what it reads."""

from __future__ import annotations

import pytest
import torch
from designs import PAD
from test_designs import PAIR, batches_of, broken, examined, loss, made
from torch import nn, optim


def stepped(order, *, make=optim.AdamW, scaled=False, model=None, read=None, **options):
    """What is said of a step that does these things, with its batch in two parts."""
    model = made(**options) if model is None else model
    optimizer = make(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", enabled=scaled)
    calls = 0

    def backward(batch, share):
        out = model(*(batch[:-1] if read is None else read(*batch[:-1])))
        scaler.scale(loss(out, batch[-1]) * share).backward()

    def clip(most=0.1):
        nn.utils.clip_grad_norm_(model.parameters(), most)

    def step(model, batch):
        nonlocal calls
        calls += 1
        n = [int((each >= 0).sum()) for each in batch[-1].chunk(2)]
        for word in order.split():
            if word in ("first", "second"):
                i = ["first", "second"].index(word)
                backward([each.chunk(2)[i] for each in batch], n[i] / sum(n))
            elif word == "whole":
                backward(batch, 1)
            elif word in ("third", "hundredth"):
                backward(batch, 1 / 3 if word == "third" else 0.01)
            else:
                {
                    "zero": optimizer.zero_grad, "empty": model.zero_grad,
                    "clip": clip, "nothing": lambda: clip(0.0),
                    "unscale": lambda: scaler.unscale_(optimizer),
                    "step": lambda: scaler.step(optimizer), "update": scaler.update,
                    "last": lambda: calls % 3 or optimizer.step(),
                }[word]()  # fmt: skip

    given = {"optimizer": optimizer, "train_step": step}
    return examined(model, given=given, **options)


@pytest.mark.parametrize(
    ("order", "options", "codes"),
    [
        ("zero first second clip step", {}, ()),
        ("zero first zero second clip step", {}, ("accumulation-forgets",)),
        ("zero first empty second step", {}, ("accumulation-forgets",)),
        ("zero first zero first second step", {}, ()),
        ("third last", {}, ()),
        ("zero third last", {}, ("accumulation-forgets",)),
        ("zero whole unscale clip step update", {"scaled": True}, ()),
        ("zero whole step update", {"scaled": True}, ()),
        (
            "zero whole clip unscale step update",
            {"scaled": True},
            ("clipped-before-unscaling",),
        ),
        (
            "zero whole clip step update",
            {"scaled": True},
            ("clipped-before-unscaling",),
        ),
        ("zero whole clip unscale step update", {}, ()),
        ("zero whole step zero clip", {}, ("clipped-after-step",)),
    ],
)
def test_when_gradients_are_emptied_and_clipped_is_told(order, options, codes):
    report = stepped(order, **options)
    assert report.codes == codes and not report.to_confirm, str(report)


def test_a_step_that_climbs_before_it_falls_is_sound():
    """Sharpness-aware: the first gradient moves the weights, the second is used."""
    model = made()

    class Aware(optim.SGD):
        def zero_grad(self, set_to_none=True):
            with torch.no_grad():
                for each in model.parameters():
                    if each.grad is not None:
                        each.add_(each.grad, alpha=1e-3)
            super().zero_grad(set_to_none)

    report = stepped("zero whole zero whole step", make=Aware, model=model)
    assert report, str(report)


@pytest.mark.parametrize(("n", "confirms"), [(4, True), (9, False)])
def test_a_step_that_reads_a_part_of_the_source_is_to_be_confirmed(n, confirms):
    def read(source, target):
        return source[:, :n], target

    report = stepped("zero whole step", read=read, **PAIR)
    assert report and report.to_confirm == ("step-cuts-source",) * confirms, str(report)


# --- places and padding in front ------------------------------------------------------

AT = "torch.arange(ids.size(1)))"
PLACES = {
    "learned": ((AT, f"{AT[:-1]} % 12)"), {}, True),
    "learned, of two sides": ((AT, f"{AT[:-1]} % 12)"), PAIR, True),
    "rotary": (("torch.arange(n)[:, None]", "(torch.arange(n) % 16)[:, None]"),
               {"positions": "rotary"}, True),
    "clamped": ((AT, f"{AT[:-1]}.clamp(max=20))"), {}, False),
    "shorter than that": ((AT, f"{AT[:-1]} % 48)"), {}, False),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_places_that_come_again_are_named(name):
    change, options, is_found = PLACES[name]
    report = examined(broken(*change, **options), **options)
    assert report.codes == (("places-repeat",) if is_found else ()), str(report)


def to_the_left(ids, pad):
    """Rows with their padding in front."""
    ids = [row[row != pad] for row in ids]
    n = max(map(len, ids))
    rows = [torch.cat([torch.full((n - len(row),), pad), row]) for row in ids]
    return torch.stack(rows)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("positions", ["learned", "alibi"])
def test_padding_in_front_is_told_where_it_shifts_the_words(positions, left):
    options = {**PAIR, "positions": positions}
    batches = [
        (to_the_left(source, PAD) if left else source, *rest)
        for source, *rest in batches_of(**options)
    ]
    report = examined(given={"batches": batches}, **options)
    told = left and positions == "learned"
    assert report and report.to_confirm == ("padding-before-words",) * told, str(report)


def test_a_step_that_reads_the_words_it_has_to_guess_is_named():
    def step(fill):
        def train_step(model, batch):
            ids, labels = batch
            optimizer.zero_grad()
            loss(model(fill(ids, labels)), labels).backward()
            optimizer.step()

        return train_step

    model = made(kind="guesses")
    optimizer = optim.AdamW(model.parameters())
    for fill, codes in (
        (lambda ids, labels: torch.where(labels < 0, ids, labels), True),
        (lambda ids, labels: ids, False),
        (lambda ids, labels: ids.masked_fill(labels >= 0, 3), False),
    ):
        given = {"optimizer": optimizer, "train_step": step(fill)}
        report = examined(model, given=given, kind="guesses")
        assert report.codes == ("step-reads-labels",) * codes, str(report)


def test_scores_that_a_mask_multiplies_are_told_from_missing_positions():
    change = (
        "scores.masked_fill(~mask, -math.inf)",
        "scores * torch.zeros(mask.shape).masked_fill(~mask, -1e4)",
    )
    report = examined(broken(*change, kind="guesses"), kind="guesses")
    assert report.codes == ("scores-all-equal",), str(report)


def test_a_loop_that_writes_for_one_source_at_a_time_is_remarked():
    def decode(model, source):
        ids = torch.ones(1, 1, dtype=torch.long)
        for _ in range(8):
            new = model(source, ids)[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, new], dim=1)
            if int(new[-1]) == 2:
                break
        return ids

    report = examined(given={"decode": decode}, **PAIR)
    assert report and "with three at once it stops" in " ".join(str(report).split())


CAPPED = "            scores = 5 * torch.tanh(scores / 5)\n"


@pytest.mark.parametrize("added", [True, False])
def test_a_soft_cap_after_the_mask_fills_it_weakly(added):
    mask = "scores = scores.masked_fill(~mask, -math.inf)\n"
    add = "scores = scores + torch.zeros(mask.shape).masked_fill(~mask, -1e9)\n"
    change = (mask, (add if added else mask) + CAPPED)
    report = examined(broken(*change))
    assert report.codes == ("mask-fills-weakly",), str(report)
    assert "scores become -5" in " ".join(str(report).split())
    assert not {e.code for e in report.consequences} & {"no-positions"}


@pytest.mark.parametrize(
    ("order", "options", "codes", "confirm"),
    [
        ("zero whole nothing step", {}, ("clipped-to-nothing",), ()),
        ("zero whole third step", {}, (), ()),
        ("zero hundredth step", {}, (), ("step-scales-gradient",)),
        ("zero first first step", {}, (), ("step-differs-from-loss",)),
    ],
)
def test_the_gradient_of_a_step_is_compared_with_that_of_the_loss(
    order, options, codes, confirm
):
    report = stepped(order, **options)
    assert report.codes == codes and report.to_confirm == confirm, str(report)
