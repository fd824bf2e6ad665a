"""What a trained model does: whether it reads, copies, repeats, or is told the answer.

The models here are trained already: each is a rule, given as logits.
"""

import pytest
import torch
from cases import admitted
from torch import nn
from torch.nn import functional as F

from tformer import doctor

PAD, BOS, EOS, VOCAB, N = 0, 1, 2, 20, 6


class Sure(nn.Module):
    """Gives the word of its rule a logit of 9, the others 0."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(VOCAB, VOCAB, bias=False)
        self.out.weight = nn.Parameter(9 * torch.eye(VOCAB))

    def forward(self, source, target):
        return self.out(F.one_hot(self.rule(source, target), VOCAB).float())


class Backwards(Sure):
    """Writes the source backwards."""

    def rule(self, source, target):
        words = answers(source)
        more = max(0, target.size(1) - words.size(1))
        return F.pad(words, (0, more), value=EOS)[:, : target.size(1)]


class Onwards(Sure):
    """Goes on from the target's last word, whatever the source says."""

    def rule(self, source, target):
        return (target - 2) % (VOCAB - 3) + 3


def answers(source):
    n = (source > EOS).sum(dim=1, keepdim=True)
    at = (n - 1 - torch.arange(source.size(1) + 1)).clamp(min=-1)
    return torch.where(at < 0, EOS, source.gather(1, at.clamp(min=0)))


def batches(labels_of):
    source = torch.randint(3, VOCAB, (12, N), generator=torch.manual_seed(1))
    source = F.pad(source, (0, 1), value=EOS)
    labels = labels_of(source)
    begin = torch.full((len(source), 1), BOS)
    return [(source, torch.cat([begin, labels[:, :-1]], dim=1), labels)]


def backwards(source):
    return answers(source)[:, : N + 1]


def onwards(source):
    """Each label follows from the one before, and nothing from the source."""
    return (torch.arange(N + 1) - 1) % (VOCAB - 3) + 3 + 0 * source


def greedy(model, source):
    target = torch.full((len(source), 1), BOS)
    for _ in range(source.size(1) + 1):
        target = torch.cat([target, model(source, target)[:, -1:].argmax(-1)], dim=1)
        if (target == EOS).any(dim=1).all():
            break
    return target


def copying(model, source):
    return source


def looping(model, source):
    return greedy(model, source)[:, :3].repeat_interleave(4, dim=1)


def found(model, labels_of, decode=greedy):
    report = doctor.examine(model, batches=batches(labels_of), decode=decode)
    told = (*report.findings, *report.consequences)
    return {f.code for f in told} | {*report.to_confirm}


BEHAVIOUR = {"source-unused", "copies-source", "repeats-itself"}


def test_a_model_that_reads_its_source_shows_none_of_them():
    assert not found(Backwards(), backwards) & BEHAVIOUR


def test_a_low_loss_without_the_source_is_found():
    assert found(Onwards(), onwards) & BEHAVIOUR == {"source-unused"}


@pytest.mark.parametrize(
    ("decode", "code"), [(copying, "copies-source"), (looping, "repeats-itself")]
)
def test_outputs_that_are_copies_or_loops_are_found(decode, code):
    assert found(Backwards(), backwards, decode) & BEHAVIOUR == {code}


def test_a_loop_that_appends_the_reference_is_found():
    model, given = admitted("annotated")

    def fed(model, source, labels):
        return torch.cat([torch.full((len(source), 1), BOS), labels], dim=1)

    def not_fed(model, source, labels):
        return given["decode"](model, source)

    for decode, is_fed in [(fed, True), (not_fed, False)]:
        report = doctor.examine(model, **{**given, "decode": decode})
        assert ("decoding-feeds-labels" in report.codes) == is_fed


def test_tables_that_are_meant_to_be_apart_must_be():
    model, given = admitted("gpt")
    assert doctor.examine(model, **{**given, "tied": False}).codes == ("tables-tied",)
    assert doctor.examine(model, **given)


def test_positions_from_the_end_explain_why_padding_counts():
    model, given = admitted("annotated")
    place = type(model.src_embed[1])

    class FromTheEnd(place):
        def forward(self, x):
            return self.dropout(x + self.pe[:, : x.size(1)].flip(1))

    for each in (model.src_embed[1], model.tgt_embed[1]):
        each.__class__ = FromTheEnd
    report = doctor.examine(model, **given)
    assert report.codes == ("length-leak",)
    assert "padding-counts-in-target" in {f.code for f in report.consequences}
