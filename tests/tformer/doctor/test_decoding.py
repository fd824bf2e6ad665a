"""What the doctor says about a decoding loop, and what it must not say."""

from __future__ import annotations

import pytest
import torch
from cases import admitted, broken, examined

from tformer import doctor

BEGINS_WITH_END = (
    "torch.full((src.size(0), 1), BOS)",
    "torch.full((src.size(0), 1), EOS)",
)


def said_at_once(model, logit):
    """The model says the end sign at once, as an untrained one may that copies."""
    with torch.no_grad():
        model.generator.proj.bias[2] += logit
    return model


@pytest.mark.parametrize("logit", [0.0, 9.0])
@pytest.mark.parametrize("batches", [True, False])
def test_a_loop_that_begins_otherwise_than_training_is_told_just_that(logit, batches):
    model, given = admitted("annotated", broken("annotated", *BEGINS_WITH_END))
    if not batches:
        given.pop("batches")
    report = doctor.examine(said_at_once(model, logit), **given)
    assert report.codes == ("decoding-wrong-start",), str(report)
    assert not report.consequences
    [finding] = report.findings
    assert "it is 2 (eos_id)" in finding.seen and "1" in finding.seen
    assert ("give bos_id=2" in finding.look) != batches


def test_a_loop_may_begin_with_the_end_sign_if_training_does():
    trained = ("data[:, 0] = BOS", "data[:, 0] = EOS")
    report = examined("annotated", BEGINS_WITH_END, trained)
    assert report, str(report)


def test_a_loop_is_right_to_read_padding_that_the_model_reads():
    """The loop has the mask; the forward pass leaves it out."""
    change = (
        "return self.decode(memory, src_mask, tgt, tgt_mask)",
        "return self.decode(memory, torch.ones_like(src_mask), tgt, tgt_mask)",
    )
    report = examined("annotated", change)
    assert report.codes == ("padding-counts-in-cross-attention",)
    assert not report.consequences


def length_first(decode, *, turn_source=True, turn_out=True):
    """The same loop as its author writes it who has the length first."""

    def turned(model, source):
        out = decode(model, source.t() if turn_source else source)
        return out.t() if turn_out else out

    return turned


@pytest.mark.parametrize("name", ["torch_wrapper", "gpt", "marian"])
@pytest.mark.parametrize(
    ("reads", "returns", "advice"),
    [
        (True, True, "turned(m, s.t()).t()"),
        (False, True, "turned(m, s).t()"),
        (True, False, "turned(m, s.t())"),
    ],
)
def test_a_loop_with_the_length_first_is_told_so(name, reads, returns, advice):
    model, given = admitted(name)
    decode = length_first(given["decode"], turn_source=reads, turn_out=returns)
    report = doctor.examine(model, **{**given, "decode": decode})
    assert report, str(report)
    [unused] = [each for each in report.not_tried if each.argument]
    assert unused.argument == "decode" and unused.reason.endswith(advice)
    assert "decoding" not in report.sound


def test_in_a_batch_rows_that_are_written_on_after_their_end_are_remarked():
    report = examined("annotated")
    assert "goes on writing in rows that have ended" in str(report.remarks)
    frozen = (
        "word = model.generator(out[:, -1]).argmax(dim=-1)",
        "word = model.generator(out[:, -1]).argmax(dim=-1).masked_fill(done, PAD)",
    )
    assert "have ended" not in str(examined("annotated", frozen).remarks)


def test_a_loop_in_inference_mode_is_looked_into():
    text = broken("cached", "turned(k, old)", "turned(k, 0)")
    model, given = admitted("cached", text)
    given["decode"] = torch.inference_mode()(given["decode"])
    assert doctor.examine(model, **given).codes == ("decoding-cache-positions",)


def test_a_cache_that_stays_from_call_to_call_is_named():
    """Its size is that of the first batch."""
    model, given = admitted("cached")
    write = given["decode"]

    def kept(model, prompt):
        model.room = getattr(model, "room", prompt)
        if len(model.room) < len(prompt):
            raise RuntimeError("too many rows")
        return write(model, prompt)

    report = doctor.examine(model, **{**given, "decode": kept})
    assert report.codes == ("decoding-cache-not-reset",), str(report)


class Words:
    """Ids as text, up to the end sign or not."""

    def __init__(self, end):
        self.end = end

    def encode(self, text):
        return [int(each) for each in text.split() if each.isdigit()]

    def decode(self, ids):
        ids = [*map(int, ids)]
        return " ".join(
            map(str, ids[: ids.index(self.end)] if self.end in ids else ids)
        )


@pytest.mark.parametrize("end", [2, -1])
def test_what_a_tokenizer_leaves_out_after_the_end_is_not_said_to_be_kept(end):
    never = ("if bool(done.all())", "if False")
    report = examined("annotated", never, tokenizer=Words(end))
    codes = report.to_confirm if end == 2 else report.codes
    assert "decoding-ignores-eos" in codes, str(report)
    assert ("decoding-ignores-eos" in report.codes) == ("it is kept" in str(report))
