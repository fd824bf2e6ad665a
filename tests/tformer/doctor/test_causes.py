"""A fault is named itself, and nothing that follows from it stands beside it."""

from __future__ import annotations

import math
from types import SimpleNamespace

import designs
import pytest
import torch
from cases import admitted
from cases import examined as patient
from designs import PAD, made
from test_designs import broken, examined
from torch import nn

from tformer import doctor

# --- initialisation ------------------------------------------------------------------

INITIAL = {
    "uniform": (nn.init.uniform_, "weights-one-sided"),
    "small, and above 0": (lambda w: w.uniform_(0, 0.02), "weights-one-sided"),
    "a mean": (lambda w: w.normal_(0.5, 0.1), "weights-one-sided"),
    "ones": (nn.init.ones_, "weights-all-equal"),
    "a constant": (lambda w: nn.init.constant_(w, 0.02), "weights-all-equal"),
    "equal rows": (lambda w: w.copy_(w[:1].clone()), "weights-all-equal"),
    "equal columns": (lambda w: w.copy_(w[:, :1].clone()), "weights-all-equal"),
    "tiny": (lambda w: w.normal_(0, 1e-4), "weights-too-small"),
    "next to nothing": (lambda w: w.normal_(0, 1e-6), "weights-too-small"),
    "far too large": (lambda w: w.normal_(0, 3), "weights-too-large"),
}


def started(fill, **options):
    model = made(**options)
    with torch.no_grad():
        for each in model.parameters():
            if each.dim() > 1:
                fill(each)
    return model


@pytest.mark.parametrize("kind", ["writes", "translates"])
@pytest.mark.parametrize("name", INITIAL)
def test_a_bad_start_is_named_and_not_what_follows_from_it(name, kind):
    fill, code = INITIAL[name]
    options = {"kind": kind, "post": kind == "translates"}
    report = examined(started(fill, **options), **options)
    assert report.codes == (code,), str(report)
    assert "no-positions" not in report.to_confirm


@pytest.mark.parametrize(
    "fill",
    [
        nn.init.xavier_uniform_,
        nn.init.orthogonal_,
        nn.init.kaiming_normal_,
        lambda w: nn.init.normal_(w, std=0.02),
        lambda w: nn.init.trunc_normal_(w, std=0.02),
        lambda w: nn.init.uniform_(w, -0.1, 0.1),
        lambda w: nn.init.sparse_(w, 0.5, std=0.1),
    ],
)
def test_a_usual_start_is_sound(fill):
    assert (report := examined(started(fill))), str(report)


# --- norms ---------------------------------------------------------------------------


def mean_square(x):
    return x.pow(2).mean(-1, keepdim=True) + 1e-6


def mean(x):
    return x.mean(-1, keepdim=True)


NORMS = {
    "the square of the mean": (
        lambda x, gain: x * torch.rsqrt(mean(x).pow(2) + 1e-6) * gain,
        "norm-not-normalising",
    ),
    "the mean itself": (
        lambda x, gain: x / (mean(x) + 1e-6) * gain,
        "norm-not-normalising",
    ),
    "the mean added": (
        lambda x, gain: (x + mean(x)) / x.std(-1, keepdim=True) * gain,
        "norm-not-normalising",
    ),
    "nothing subtracted": (
        lambda x, gain: x / x.std(-1, keepdim=True) * gain,
        "norm-not-normalising",
    ),
    "nothing of the input": (
        lambda x, gain: torch.rsqrt(mean_square(x)) * gain,
        "norm-drops-input",
    ),
    "only the mean": (
        lambda x, gain: mean(x) * torch.rsqrt(mean_square(x)) * gain,
        "norm-drops-input",
    ),
}


@pytest.mark.parametrize("name", NORMS)
def test_a_norm_of_another_kind_is_named(name, monkeypatch):
    forward, code = NORMS[name]
    monkeypatch.setattr(designs.RMSNorm, "forward", lambda s, x: forward(x, s.gain))
    report = examined(norm="rms", positions="rotary")
    assert report.codes == (code,), str(report)


@pytest.mark.parametrize(
    "forward",
    [
        lambda x, gain: x / mean_square(x).sqrt() * gain,
        lambda x, gain: (x - mean(x)) / (x.std(-1, keepdim=True) + 1e-6) * gain,
        lambda x, gain: (
            (x - mean(x)) / (x.var(-1, keepdim=True) + 1e-5).sqrt() * gain + gain
        ),
        lambda x, gain: x * x.norm(dim=-1, keepdim=True).reciprocal() * 16**0.5 * gain,
    ],
)
def test_a_norm_by_hand_is_sound_whatever_its_gain(forward, monkeypatch):
    monkeypatch.setattr(designs.RMSNorm, "forward", lambda s, x: forward(x, s.gain))
    model = made(norm="rms")
    with torch.no_grad():
        for each in model.modules():
            if isinstance(each, designs.RMSNorm):
                each.gain.uniform_(0.3, 1.7)
    assert (report := examined(model)), str(report)


# --- masks ---------------------------------------------------------------------------


class Masked(designs.Model):
    """A language model with a mask of its own."""

    joined = None

    def forward(self, ids):
        causal = torch.ones(ids.size(1), ids.size(1), dtype=torch.bool).tril()
        return self.head(self.stack(ids, self.joined(causal, (ids != PAD)[:, None])))


@pytest.mark.parametrize("fill", [math.inf, 1e9])
@pytest.mark.parametrize(
    ("joined", "codes"),
    [
        (lambda causal, words: causal & ~words, ("mask-inverted",)),
        (lambda causal, words: ~causal & words, ("mask-inverted",)),
        (lambda causal, words: causal & words, ()),
    ],
)
def test_a_mask_that_is_turned_round_is_named(joined, codes, fill, monkeypatch):
    monkeypatch.setattr(designs, "math", SimpleNamespace(inf=fill))
    monkeypatch.setattr(
        Masked, "joined", staticmethod(lambda c, w: joined(c, w)[:, None])
    )
    monkeypatch.setattr(designs, "Model", Masked)
    report = examined(made())
    assert report.codes == codes, str(report)


def test_the_padding_mask_of_a_target_that_is_turned_round_is_named():
    right, wrong = "source == PAD, target == PAD", "source == PAD, target != PAD"
    report = patient("torch_wrapper", (right, wrong))
    assert report.codes == ("mask-inverted",), str(report)


# --- rotary positions ----------------------------------------------------------------


def by_rates(rates):
    def turned(x):
        half = x.size(-1) // 2
        angles = torch.arange(x.size(-2))[:, None] * rates(torch.arange(half), half)
        cos, sin = angles.cos().to(x), angles.sin().to(x)
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    return turned


@pytest.mark.parametrize(
    ("rates", "code"),
    [
        (lambda i, half: 1e4 ** (i / half), "positions-too-fast"),
        (lambda i, half: 1e4 ** (-i.float() * half), "positions-too-slow"),
        (lambda i, half: 1.0 ** (-i / half), "positions-repeat"),
        (lambda i, half: 1e4 ** (-i / half), ""),
        (lambda i, half: 5e5 ** (-i / half), ""),
        (lambda i, half: 1e4 ** (-i / half) / 4, ""),
        (lambda i, half: 1e4 ** (-i / half) * (i < half / 2), ""),
    ],
)
@pytest.mark.parametrize("trained", [0, 20])
def test_rotary_rates_are_read_from_a_model_as_it_was_made(
    rates, code, trained, monkeypatch
):
    monkeypatch.setattr(designs, "turned", by_rates(rates))
    options = {"positions": "rotary", "width": 32, "trained": trained}
    report = examined(**options)
    assert report.codes == ((code,) if code else ()), str(report)


# --- what is said --------------------------------------------------------------------


def said(report):
    return " ".join(str(report).split())


def test_what_is_used_in_place_of_an_unused_part_is_named():
    change = ("self.split(self.to_value(read))", "self.split(self.to_key(read))")
    report = examined(broken(*change))
    assert report.codes == ("unused-parameters",), str(report)
    assert "Used more than once: stack.layers.0.attention.to_key.weight" in said(report)


def test_a_sum_that_is_missing_before_a_norm_is_not_one_with_something_else():
    change = ("x + gate * self.drop(sublayer(x))", "self.drop(sublayer(x))")
    report = examined(broken(*change, post=True), post=True)
    assert "no-residual" in report.codes and "made afterwards" not in said(report)


def test_both_sides_are_named_where_both_have_small_words():
    report = patient("annotated", ("lut(x) * math.sqrt(", "lut(x) / math.sqrt("))
    assert "the source's and the target's words are small" in said(report)


@pytest.mark.parametrize(("n", "confirms"), [(1, True), (8, False)])
def test_windows_of_a_text_that_repeats_itself_are_to_be_confirmed(n, confirms):
    model, given = admitted("gpt")
    text = given["batches"][0][0].flatten()
    rows = torch.randint(0, 37, (8, 16), generator=torch.Generator().manual_seed(1))
    rows[:n] = text[3:19]
    report = doctor.examine(model, **given, test_batches=[(rows, rows)])
    told = report.to_confirm if confirms else report.codes
    assert told == ("train-test-overlap",) and bool(report) is confirms, str(report)
    assert "sentence" not in said(report) and "among 12 rows" in said(report)
