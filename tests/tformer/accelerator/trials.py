"""What must run on any accelerator, tried on the pretend one.

A process can have one such device, and must make it before it differentiates, so
pytest does not collect this file: `test_accelerator.py` runs it in its own process.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import chapters
import counts
import pretend
import pytest
import torch
from small_runs import (
    assert_same_weights,
    quick_fit,
    small,
    stopped_run_ends_in_the_same_bits,
    weights_of,
)
from torch import nn
from torch.testing import assert_close

from tformer import Transformer, data, decode, doctor, evaluate, load_pretrained, masks
from tformer.analysis import trace
from tformer.train import devices, ranks

DEVICE = pretend.install()
ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = "A man is riding a horse."


@pytest.fixture(scope="session")
def tokenizer():
    return counts.learned_pieces()


@pytest.fixture(autouse=True)
def auto_is_the_device(monkeypatch):
    """Programs that take what is there take the pretend device."""
    plain = devices.choose_device

    def choose(name):
        return DEVICE if name in ("auto", pretend.NAME) else plain(name)

    for module in (ranks, devices):
        monkeypatch.setattr(module, "choose_device", choose)
    monkeypatch.setattr("tformer.train.choose_device", choose)


@pytest.fixture
def inputs(random_ids):
    """A model on the CPU, the same on the device, and ids for each."""
    torch.manual_seed(1)
    here = Transformer(small()).eval()
    there = Transformer(small()).eval().to(DEVICE)
    there.load_state_dict(here.state_dict())
    ids = random_ids([5, 7, 3], vocab_size=310)
    return here, there, ids, ids.to(DEVICE)


# --- the device itself ---------------------------------------------------------------


def test_tensors_of_two_devices_do_not_mix():
    there = torch.ones(2, 3, device=DEVICE)
    assert there.device == DEVICE and (there * torch.tensor(2.0)).tolist()[0] == [2] * 3
    for mix in (torch.add, torch.mul, lambda a, b: torch.cat([a, b])):
        with pytest.raises(RuntimeError, match=r"to be on pretend:0.*\(2, 3\).* cpu"):
            mix(there, torch.ones(2, 3))


def test_whatever_reads_a_value_is_a_wait():
    x = torch.arange(3.0, device=DEVICE)
    reads = {
        "item": x.sum().item,
        "tolist": x.tolist,
        "bool": lambda: bool(x.any()),
        "cpu": x.cpu,
        "a mask": lambda: x[x > 1],
        "write by a mask": lambda: x.__setitem__(x > 1, 0.0),
        "nonzero": x.nonzero,
        "copied into": lambda: torch.ones(3).copy_(x),
        "copied from": lambda: torch.tensor([1, 2], device=DEVICE),
    }
    for name, read in reads.items():
        with pretend.waits() as waits:
            read()
        assert waits.total() == 1, (name, waits)
    with pretend.waits() as waits:
        ((x + 1) @ x).exp() + x[torch.ones(3).to(DEVICE, non_blocking=True).long()]
    assert not waits


def test_a_mask_left_on_the_cpu_is_caught(monkeypatch, inputs):
    _, model, _, ids = inputs
    model(ids, ids)
    plain = masks.causal_mask
    monkeypatch.setattr(masks, "causal_mask", lambda length, device: plain(length))
    with pytest.raises(RuntimeError, match="expected all tensors to be on pretend:0"):
        model(ids, ids)


def test_a_table_that_is_no_buffer_is_caught(inputs):
    model = Transformer(small())
    table = model.positions.table
    del model.positions.table
    model.positions.table = table  # .to() does not know of it
    ids = inputs[3]
    with pytest.raises(RuntimeError, match="expected all tensors to be on pretend:0"):
        model.to(DEVICE)(ids, ids)


# --- training ------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16"])
def test_a_stopped_run_ends_in_the_same_bits(precision, tokenizer, tmp_path):
    stopped_run_ends_in_the_same_bits(precision, tokenizer, tmp_path, pretend.NAME, 10)


def test_training_learns_what_it_learns_on_the_cpu(tokenizer, tmp_path):
    runs = [
        quick_fit(
            tokenizer, tmp_path / device, device=device, config=small(dropout=0.0)
        )
        for device in ("cpu", pretend.NAME)
    ]
    assert runs[1].translator.device == DEVICE
    assert runs[1].report["device"] == pretend.NAME
    curves = [[look["loss"] for look in run.curve] for run in runs]
    assert_close(*map(torch.tensor, curves), rtol=1e-4, atol=0)
    losses = [run.report["valid_loss"] for run in runs]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


def test_a_run_goes_on_on_another_device(tokenizer, tmp_path):
    quick_fit(tokenizer, tmp_path, device=pretend.NAME, steps=10)
    run = quick_fit(tokenizer, tmp_path, device="cpu", steps=20)
    assert run.report["steps"] == 20 and run.translator.device.type == "cpu"
    load_pretrained(tmp_path, device=DEVICE).save(tmp_path / "again")
    assert_same_weights(weights_of(run), weights_of(tmp_path / "again"))


def test_autocast_chooses_the_precision_of_each_operation():
    layer = nn.Linear(4, 4, device=DEVICE)
    x = torch.randn(2, 4).to(DEVICE)
    for dtype in (torch.float16, torch.bfloat16):
        with torch.autocast(pretend.NAME, dtype=dtype):
            y = layer(x)
            assert y.dtype == (x @ layer.weight.T).dtype == dtype
            for wide in (y.softmax(-1), nn.functional.layer_norm(y, (4,)), y.sum()):
                assert wide.dtype == torch.float32
        y.float().sum().backward()
        assert layer.weight.grad.dtype == torch.float32


def test_the_scaler_skips_a_step_whose_gradient_overflows():
    weight = nn.Parameter(torch.ones(2, device=DEVICE))
    adam = torch.optim.Adam([weight], lr=0.1, fused=True)
    scaler = torch.amp.GradScaler(pretend.NAME)
    before = scaler.get_scale()
    for factor, moves in ((float("inf"), False), (1.0, True)):
        with pretend.waits() as waits:
            scaler.scale((factor * weight).sum()).backward()
            scaler.unscale_(adam)
            scaler.step(adam)
            scaler.update()
        adam.zero_grad()
        assert not waits
        assert (weight.tolist() != [1, 1]) == moves
        assert scaler.get_scale() == before / 2


# --- waits ---------------------------------------------------------------------------


@pytest.mark.parametrize("precision", counts.PRECISIONS)
def test_nothing_is_read_between_two_readings_of_the_loss(precision, tokenizer):
    assert counts.in_training(precision, tokenizer) == (0, 1)
    assert counts.in_training(precision, tokenizer, r_drop=5.0) == (0, 1)


@pytest.mark.parametrize("name", counts.SEARCHES)
def test_a_step_of_decoding_waits_once(name):
    assert counts.in_decoding(counts.SEARCHES[name]) == 1


def test_the_counts_are_those_of_the_readme():
    assert counts.table() in (ROOT / "benchmarks/README.md").read_text()


# --- what is done with a model -------------------------------------------------------


@pytest.mark.parametrize("name", counts.SEARCHES)
def test_searches_find_what_they_find_on_the_cpu(name, inputs):
    here, there, ids, ids_there = inputs
    search = counts.SEARCHES[name]
    assert search(there, ids_there, max_len=6) == search(here, ids, max_len=6)


def test_candidates_and_scores_are_those_of_the_cpu(inputs):
    here, there, ids, ids_there = inputs
    [wanted, found] = [
        decode.n_best(model, x, n=2, beam_size=3, max_len=5)
        for model, x in ((here, ids), (there, ids_there))
    ]
    pieces = [[each.ids for each in row] for row in wanted]
    assert [[each.ids for each in row] for row in found] == pieces
    best = [row[0] for row in pieces]
    scores = [
        decode.score(model, x, best) for model, x in ((here, ids), (there, ids_there))
    ]
    for a, b in zip(*scores, strict=True):
        assert b.log_probability == pytest.approx(a.log_probability, abs=1e-4)


def test_a_broken_model_is_told_in_every_search(inputs):
    _, model, _, ids = inputs
    with torch.no_grad():
        model.output_embedding.weight.fill_(float("nan"))
    for search in counts.SEARCHES.values():
        with pytest.raises(ValueError, match="probabilities are NaN"):
            search(model, ids)


def test_the_released_model_translates_and_is_scored_there():
    here, there = load_pretrained(), load_pretrained(device=DEVICE)
    assert there.device == DEVICE
    assert there.translate(EXAMPLE) == here.translate(EXAMPLE)
    pairs = [(EXAMPLE, "Ein Mann reitet auf einem Pferd.")]
    assert evaluate.score(there, pairs).bleu == evaluate.score(here, pairs).bleu
    maps = [each.attention(*pairs[0]).cross for each in (here, there)]
    assert_close(maps[1].cpu(), maps[0], rtol=1e-3, atol=1e-4)


def test_a_forward_pass_is_traced_there(inputs):
    here, there, ids, ids_there = inputs
    wanted = trace.attention_weights(here, ids, ids)
    found = trace.attention_weights(there, ids_there, ids_there)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.device == DEVICE
        assert_close(ours.cpu(), theirs, rtol=1e-4, atol=1e-5)
    with trace.head_gains(there, {("cross", 0, 1): 0.0}):
        there(ids_there, ids_there)
    with trace.kept_for_backward(there) as kept:
        there(ids_there, ids_there)
    assert kept
    assert trace.residual_stream(there, ids_there, ids_there)


def test_the_doctor_examines_a_model_there(inputs):
    here, there, _, _ = inputs
    report = doctor.examine(there)
    assert report, str(report)
    assert len(report.sound) == len(doctor.examine(here).sound)


def test_the_gpu_report_runs_there(tmp_path):
    from benchmarks import gpu_report

    out = tmp_path / "gpu.json"
    arguments = ["--tiny", "--no-compile", "--device", pretend.NAME, "--out", str(out)]
    assert gpu_report.main(arguments) == 0
    assert f'"device": "{pretend.NAME}"' in out.read_text()


# --- the chapters that train ---------------------------------------------------------


def test_the_training_chapter_runs_there(tmp_path, monkeypatch):
    """From the imports to the scores of the model that the reader has trained."""
    monkeypatch.chdir(tmp_path)
    grammar = data.load("grammar")
    few = replace(
        grammar,
        train=grammar.train[:600],
        valid=grammar.valid[:8],
        test={name: pairs[:3] for name, pairs in grammar.test.items()},
        is_synthetic=True,
    )
    monkeypatch.setattr(data, "load", lambda name, fallback: few)
    names = "imports data tokenizer batch before watch live live-alike after "
    names += "forming-figure score time averaging norms"
    found = chapters.run_cells(
        "training",
        names.split(),
        {
            "SHORT, FULL = 1600, 4000": "SHORT, FULL = 4, 4",
            "else 250,": "else 2,",  # eval_every
            "\nassert scored[1].bleu > ": "\n# so few steps teach nothing: ",
        },
    )
    run = found["run"]
    assert run.translator.device == DEVICE and run.report["steps"] == 4
    assert len(found["quality"]) == len(found["forming"]) == 2


def test_the_chapter_about_the_readers_own_sentences_trains_there(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    names = "imports gpu file load vocabulary config train resume score tune use"
    found = chapters.run_cells(
        "your-data",
        names.split(),
        {
            ".train[:2000]": ".train[:300]",
            "(400, 600, 1000)": "(400,)",
            "else 40,": "else 2,",  # eval_every
            "else 120,": "else 4,",  # steps
            'corpus.test["test"])': 'corpus.test["test"][:5])',
            "else 60, ": "else 2, ",
        },
    )
    assert found["run"].translator.device == found["tuned"].translator.device == DEVICE
