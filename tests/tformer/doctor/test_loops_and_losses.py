"""What a loop does with its prompt, its source and its cache, and what a loss is."""

from __future__ import annotations

import pytest
import torch
from cases import examined as patient
from test_designs import examined
from torch.nn import functional as F

from tformer.doctor.report import Report

JOINED = "torch.cat([kept[0], k], dim=2), torch.cat([kept[1], v], dim=2)"
LOOP = "kept = [[] for _ in model.blocks]\n    latest, ids = prompt, prompt"
LOOPS = {  # changes of the cached model, and the code
    "new keys and values are put first": (
        (JOINED, "torch.cat([k, kept[0]], dim=2), torch.cat([v, kept[1]], dim=2)"),
        ("q, k = turned(q, old), turned(k, old)", "slopes = torch.arange(old + n) / 4"),
        ("/ math.sqrt(self.size)", "/ math.sqrt(self.size) + slopes"),
        "decoding-cache-order",
    ),
    "a cache that is kept for the next call": (
        ("def write(model, prompt, n=7):", "def write(model, prompt, n=7, old={}):"),
        (LOOP, LOOP.replace("prompt, prompt", "prompt[:, -1:], prompt").replace(
            "kept =", "fresh ="
        ) + "\n    shape = tuple(prompt.shape)\n    if shape not in old:\n"
            "        old[shape], latest = fresh, prompt\n    kept = old[shape]"),
        "decoding-cache-not-reset",
    ),
    "a prompt without its start": (
        (LOOP, LOOP.replace("prompt, prompt", "prompt[:, 1:], prompt")),
        "decoding-cuts-prompt",
    ),
    "the last word of a prompt alone": (
        (LOOP, LOOP.replace("prompt, prompt", "prompt[:, -1:], prompt")),
        "decoding-cuts-prompt",
    ),
    "the latest three words alone": (
        ("latest = model(latest, kept)", "latest = model(ids[:, -3:])"),
        "decoding-forgets-past",
    ),
    "the latest word alone": (
        ("latest = model(latest, kept)", "latest = model(ids[:, -1:])"),
        "decoding-forgets-past",
    ),
    "a cache that stays as it was": (
        ("kept[:] = [k, v]", "kept[:] = kept or [k, v]"), "decoding-forgets-past",
    ),
    "sound": (("n=7", "n=9"), ""),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_what_a_loop_with_a_cache_does_wrong_is_named(name):
    *changes, code = LOOPS[name]
    report: Report = patient("cached", *changes)
    assert report.codes == ((code,) if code else ()), str(report)


@pytest.mark.parametrize(
    ("read", "codes"),
    [
        ("source[:, :-1]", ("decoding-reads-source-otherwise",)),
        ("source[:, 1:]", ("decoding-reads-source-otherwise",)),
        ("source", ()),
    ],
)
def test_a_loop_that_reads_a_part_of_the_source_is_named(read, codes):
    step = "run(model, source, target)[:, -1]"
    report = patient("torch_wrapper", (step, step.replace("source", read)))
    assert report.codes == codes, str(report)


def by_batch(logits, labels):
    return F.nll_loss(logits.log_softmax(0).flatten(0, 1), labels.flatten())


def squared(logits, labels):
    real = labels >= 0
    right = F.one_hot(labels[real], logits.size(-1)).float()
    return F.mse_loss(logits.softmax(-1)[real], right)


def unlikely(logits, labels):
    real = labels >= 0
    chosen = logits.softmax(-1)[real].gather(-1, labels[real][:, None])
    return (1 - chosen).mean()


def twice(logits, labels):
    flat = logits.softmax(-1).flatten(0, 1)
    return F.cross_entropy(flat, labels.flatten(), ignore_index=-100)


@pytest.mark.parametrize(
    ("loss", "code"),
    [
        (by_batch, "loss-wrong-axis"),
        (squared, "loss-is-bounded"),
        (unlikely, "loss-is-bounded"),
        (twice, "double-softmax"),
    ],
)
def test_a_loss_is_told_from_others_that_are_as_odd(loss, code):
    report = examined(given={"loss": loss})
    assert report.codes == (code,), str(report)


def test_smoothing_that_is_usual_is_sound():
    def smoothed(logits, labels):
        flat = logits.flatten(0, 1)
        return F.cross_entropy(
            flat, labels.flatten(), ignore_index=-100, label_smoothing=0.1
        )

    assert examined(given={"loss": smoothed}), torch.__version__
