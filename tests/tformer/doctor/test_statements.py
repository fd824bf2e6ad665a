"""What a finding says is so, and its advice is for the fault that is there."""

from __future__ import annotations

import pytest
import torch
from cases import admitted
from cases import examined as patient
from designs import made
from test_designs import batches_of, broken, examined
from torch import optim

from tformer import doctor

NETWORK = (
    "self.up, self.back = nn.Linear(o.width, 40), nn.Linear(40, o.width)",
    "self.up, self.back = nn.Conv1d(o.width, 40, 3), nn.Linear(40, o.width)",
)
PROMPT = ("tril(diagonal=old)", "tril(diagonal=old if kept is None else n + old)")
UP = "self.back(F.gelu(self.up(x)))"


def text_of(finding) -> str:
    return " ".join(str(finding).split())


@pytest.mark.parametrize("left", [1, 2])
def test_a_convolution_that_looks_ahead_is_told_from_a_mask(left):
    within = f"self.back(F.gelu(self.up(F.pad(x.mT, ({left}, {2 - left}))).mT))"
    report = examined(broken(*NETWORK, UP, within))
    assert report.codes == (() if left == 2 else ("future-leak",)), str(report)
    if left == 1:
        assert "diagonal" not in text_of(report)
        assert "outside the masked attention" in report.findings[0].look


def test_a_convolution_that_pads_both_ends_is_named():
    padded = NETWORK[1].replace("40, 3)", "40, 3, padding=1)")
    model = broken(NETWORK[0], padded, UP, "self.back(F.gelu(self.up(x.mT).mT))")
    [finding] = examined(model).findings
    assert "stack.layers.0.feed_forward.up" in finding.look
    assert "on the left alone" in finding.look


def test_an_output_projection_that_nobody_trains_is_named():
    loose = "self.loose = self.stack.words.weight.detach().clone()"
    model = broken(
        "self.o, self.stack = o, Stack(o)",
        f"self.o, self.stack = o, Stack(o)\n        {loose}",
        "self.head = nn.Linear(o.width, VOCAB, bias=False)",
        "self.head = nn.Identity()",
        "logits = self.head(x)",
        "logits = x @ self.loose.t()",
    )
    for tied in (True, None):
        report = examined(model, given={"tied": tied})
        assert report.codes == ("untied-tables",), str(report)
        assert "neither parameter nor buffer" in text_of(report)


def test_a_loop_takes_the_likeliest_word_however_large_logits_are():
    model, given = admitted("annotated")
    with torch.no_grad():
        model.generator.proj.weight.mul_(1e5)
    report = doctor.examine(model, **given)
    assert not any(code.startswith("decoding") for code in report.codes), str(report)


@pytest.mark.parametrize("has_stepped", [True, False])
def test_a_decay_made_trained_weights_small_and_the_start_made_new_ones_so(has_stepped):
    model = made()
    optimizer = optim.Adam(model.parameters(), lr=1e-3, weight_decay=0.1)
    if has_stepped:
        for each in model.parameters():
            each.grad = torch.ones_like(each)
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        for each in model.parameters():
            each.mul_(1e-5 if each.dim() > 1 else 1)
    report = examined(model, given={"optimizer": optimizer})
    assert "decay-in-gradient" in report.codes
    assert ("weights-too-small" in report.codes) != has_stepped, str(report)


def test_labels_that_were_taken_after_words_were_hidden_are_told_so():
    """Of the words that are chosen, as BERT's are, some are changed, or stay."""
    late = []
    for read, labels in batches_of(kind="guesses"):
        some = (labels >= 0) & (torch.arange(read.size(1)) % 4 == 0)
        read = read.masked_fill(some, 7)
        late.append((read, read.masked_fill(labels < 0, -100)))
    report = examined(kind="guesses", given={"batches": late})
    assert report.codes == ("labels-overwritten",), str(report)
    seen = [(labels.where(labels >= 0, read), labels)
            for read, labels in batches_of(kind="guesses")]  # fmt: skip
    report = examined(kind="guesses", given={"batches": seen})
    assert report.codes == ("labels-not-hidden",), str(report)


def test_a_prompt_that_is_read_without_the_causal_mask_is_told_so():
    report = patient("cached", PROMPT)
    [finding] = [e for e in report.findings if e.code == "decoding-disagrees"]
    assert finding.title == "the prompt is read without the causal mask"


SILU = "F.silu(self.gate(x)) * self.up(x)"


@pytest.mark.parametrize(
    ("bend", "is_sound"),
    [
        ("self.gate(x) + self.up(x)", False),
        ("F.silu(self.gate(x) + self.up(x))", True),
        ("self.gate(x) + F.silu(self.up(x))", True),
        ("self.gate(x) * self.up(x)", True),
    ],
)
def test_two_projections_that_are_added_up_are_linear(bend, is_sound):
    report = examined(broken(SILU, bend, more="gated"), more="gated")
    assert report.codes == (() if is_sound else ("linear-feed-forward",)), str(report)


@pytest.mark.parametrize(
    ("schedule", "codes"),
    [
        (lambda s: max(0.02, (900 - s) // 840) if s > 59 else s / 60, True),
        (lambda s: max(0.02, (900 - s) / 840) if s > 59 else s / 60, False),
        (lambda s: 1e-3 * 0.1 ** (s // 150), False),
        (lambda s: 1e-3 * 0.02 ** (s // 600), False),
        (lambda s: min(s / 60, 1) * 0.99**s, False),
        (lambda s: min(s % 300 / 60, 1) * (1 - s % 300 / 300), False),
    ],
)
def test_a_rate_that_falls_to_its_floor_in_one_step_is_named(schedule, codes):
    report = patient("gpt", schedule=schedule, steps=900)
    assert ("rate-falls-at-once" in report.codes) == codes, str(report)


@pytest.mark.parametrize(
    ("dtype", "rate", "is_found", "confirms"),
    [
        (torch.bfloat16, 1e-5, True, False),
        (torch.bfloat16, 1e-2, False, True),
        (torch.float16, 1e-7, True, False),
        (torch.float32, 1e-5, False, False),
    ],
)
def test_steps_that_weights_of_16_bits_lose_are_named(dtype, rate, is_found, confirms):
    model = made(dtype=dtype)
    for make in (optim.AdamW, optim.SGD):
        given = {"optimizer": make(model.parameters(), lr=rate)}
        report = examined(model, given=given)
        is_adam = make is optim.AdamW
        code = "weights-too-coarse"
        assert (code in report.codes) == (is_found and is_adam), str(report)
        assert (code in report.to_confirm) == (confirms and is_adam)


def test_what_a_few_batches_share_with_the_test_is_said_to_be_a_part():
    report = examined(given={"test_batches": batches_of()})
    assert "train-test-overlap" in report.codes
    assert "there may be more" in text_of(report)


class Closed:
    """An alphabet of a few words; others have the id 7."""

    def encode(self, text):
        return [int(e) if e.isdigit() else 7 for e in text.split()]

    def decode(self, ids):
        return " ".join(map(str, ids))


@pytest.mark.parametrize("often", [True, False])
def test_unknown_words_that_training_reads_often_are_no_matter_of_the_alphabet(often):
    def without(ids):
        chosen = (ids > 2) & (torch.rand(ids.shape) < 0.3)
        return ids.masked_fill(chosen, 7) if often else ids

    torch.manual_seed(0)
    batches = [tuple(map(without, each)) for each in batches_of()]
    report = examined(given={"batches": batches, "tokenizer": Closed()})
    said = report.codes if often else report.to_confirm
    assert "tokenizer-loses-text" in said, str(report)


@pytest.mark.parametrize("at", [range(2, 9, 2), range(2, 6), range(2, 4), []])
def test_a_word_that_has_the_id_of_padding_is_named(at):
    read = torch.arange(3, 27).view(1, 24).expand(8, 24)[:, :11].clone()
    read[:, [*at]] = 0
    report = examined(given={"batches": [(read[:, :-1], read[:, 1:])], "pad_id": 0})
    labels = read[:, 1:].masked_fill(read[:, 1:] == 0, 9)
    dropped = examined(given={"batches": [(read[:, :-1], labels)], "pad_id": 0})
    assert "id of padding" not in str(dropped)  # words are dropped from the input
    is_found = any("id of padding" in each.title for each in report.findings)
    assert is_found == (at == range(2, 9, 2)), str(report)
