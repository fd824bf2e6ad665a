"""Where a run computes: what is not there is said in one line."""

from __future__ import annotations

import contextlib
import types

import pytest
import torch
from small_runs import quick, quick_fit, small, stopped_run_ends_in_the_same_bits

from tformer import Transformer, TransformerConfig
from tformer.analysis import cost
from tformer.train import choose_device, device_name, devices, loop
from tformer.variants.recurrent import RecurrentConfig, RecurrentSeq2Seq

NO_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is there")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("abacus", "device='abacus' is not a device: try 'auto'"),
        ("", "device='' is not a device"),
        ("cuda:-1", "device='cuda:-1' is not a device"),
        ("cpu cuda", "is not a device"),
        (None, "device=None is not a device"),
        ("meta", "device='meta' is of a type that is not supported: give 'auto'"),
        ("xla", "device='xla' is of a type that is not supported"),
        ("hpu", "device='hpu' is of a type that is not supported"),
        pytest.param("cuda", "PyTorch sees no GPU: try 'auto'", marks=NO_GPU),
        pytest.param("cuda:3", "PyTorch sees no GPU: try 'auto'", marks=NO_GPU),
    ],
)
def test_a_device_that_cannot_be_trained_on_is_one_clear_error(name, message):
    with pytest.raises(ValueError, match=message) as caught:
        choose_device(name)
    assert "\n" not in str(caught.value)


def test_an_apple_gpu_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ValueError, match="'mps', but PyTorch sees no Apple GPU"):
        choose_device("mps")


def test_a_gpu_beyond_the_last_is_said(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ValueError, match=r"'cuda:2', but .* end with 'cuda:1'"):
        choose_device("cuda:2")


def test_auto_takes_what_is_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device("auto") == torch.device("cpu")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device("auto") == torch.device("mps")
    assert device_name(torch.device("mps")) == "mps"


# --- dice --------------------------------------------------------------------------


@pytest.fixture
def apple(monkeypatch):
    """An Apple GPU whose dice are a number."""
    gpu = types.SimpleNamespace(state=torch.tensor([7], dtype=torch.uint8))
    monkeypatch.setattr(torch.mps, "get_rng_state", lambda: gpu.state.clone())
    monkeypatch.setattr(
        torch.mps, "set_rng_state", lambda new: setattr(gpu, "state", new.clone())
    )
    return gpu


def test_on_an_apple_gpu_the_dice_are_saved_and_put_back(apple):
    device = torch.device("mps")
    saved = devices.random_state(device)
    assert saved.keys() == {"cpu", "mps"}
    drawn, apple.state = torch.rand(3), torch.tensor([8], dtype=torch.uint8)
    devices.set_random_state(device, saved)
    assert torch.equal(torch.rand(3), drawn)
    assert apple.state.item() == 7


def test_dice_of_another_kind_of_device_are_left_alone(apple):
    devices.set_random_state(torch.device("mps"), {"cpu": torch.get_rng_state()})
    assert apple.state.item() == 7
    states = devices.random_state(torch.device("mps"))
    apple.state = torch.tensor([8], dtype=torch.uint8)
    devices.set_random_state(torch.device("cpu"), states)
    assert apple.state.item() == 8


@pytest.mark.parametrize("fails", [False, True])
def test_the_callers_dice_are_afterwards_as_before_however_it_ends(fails, apple):
    before = torch.get_rng_state()
    with contextlib.suppress(KeyError), devices.own_dice(torch.device("mps")):
        torch.manual_seed(5)
        torch.rand(3)
        apple.state = torch.tensor([9], dtype=torch.uint8)
        if fails:
            raise KeyError("stop")
    assert torch.equal(torch.get_rng_state(), before)
    assert apple.state.item() == 7


# --- memory ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "model"),
    [
        (small(n_encoder_layers=3, n_decoder_layers=5), Transformer),
        (small(tie_embeddings=False, positions="learned"), Transformer),
        (RecurrentConfig(vocab_size=90, d_model=8, d_hidden=12), RecurrentSeq2Seq),
    ],
)
def test_what_a_model_takes_is_counted_without_making_it(config, model):
    made = model(config)
    weights = 16 * sum(each.numel() for each in made.parameters())
    constants = 4 * sum(each.numel() for each in made.buffers())
    assert cost.bytes_to_train(config) == weights + constants


@pytest.mark.parametrize(
    "sizes",
    [
        *({"d_model": 2**40}, {"d_ff": 10**12}, {"n_encoder_layers": 10**9}),
        *({"n_decoder_layers": 10**15}, {"max_len": 10**13}, {"vocab_size": 10**15}),
        *({"vocab_size": 10**18, "d_model": 10**10}, {"d_model": 10**30}),
    ],
)
def test_a_model_that_no_memory_holds_is_refused_at_once_with_its_sizes(sizes):
    [(name, value), *_] = sizes.items()
    with pytest.raises(ValueError, match=f"{name}={value}") as caught:
        devices.check_room(small(**sizes), torch.device("cpu"))
    assert "\n" not in str(caught.value)


def test_what_is_no_configuration_is_refused():
    with pytest.raises(TypeError, match="config='small' must be the configuration"):
        devices.check_room("small", torch.device("cpu"))


def test_the_limit_of_a_container_counts(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(devices, "CGROUP_LIMIT", limit)
    config = TransformerConfig()  # 4.3 million weights: 65 MiB with Adam's averages
    for text in (None, "max", str(2**40)):
        if text is not None:
            limit.write_text(f"{text}\n")
        devices.check_room(config, torch.device("cpu"))
    limit.write_text(f"{50 * 2**20}\n")
    with pytest.raises(ValueError, match=r"takes 0.1 GiB to train, and cpu has 0.0"):
        devices.check_room(config, torch.device("cpu"))


def test_batches_that_no_memory_holds_are_refused(tokenizer, tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    limit.write_text(f"{400 * 2**10}\n")
    monkeypatch.setattr(devices, "CGROUP_LIMIT", limit)
    quick_fit(tokenizer, tmp_path / "small", steps=1)
    message = r"a batch of [\d,]+ tokens takes .* or more.*lower max_tokens"
    with pytest.raises(ValueError, match=message):
        quick_fit(tokenizer, tmp_path / "large", recipe=quick(max_tokens=999_999))
    assert not (tmp_path / "large").exists()


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.\nGPU"),
        RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 9 bytes"),
        RuntimeError("[enforce fail] not enough memory: you tried to allocate 9"),
    ],
)
def test_running_out_of_memory_says_what_to_lower(error, tokenizer, tmp_path):
    def run_out(event):
        if event["kind"] == "step":
            raise error

    message = "raise accumulate, or lower max_tokens=128 or .*d_model=16.*n_encoder_lay"
    with pytest.raises(MemoryError, match=message) as caught:
        quick_fit(tokenizer, tmp_path, on_event=run_out)
    assert "\n" not in str(caught.value)


def test_a_real_allocation_that_fails_is_told_as_such_and_no_other_error():
    told = devices.memory_told
    with pytest.raises(MemoryError, match="lower max_tokens=9"), told(small(), 9):
        torch.empty(2**60, dtype=torch.uint8)
    message = "shapes cannot be multiplied"
    with pytest.raises(RuntimeError, match=message), told(small(), 9):
        torch.ones(2, 3) @ torch.ones(2, 3)


@pytest.mark.gpu
@pytest.mark.skipif(
    not torch.cuda.is_available(),
    reason="no GPU: tried on the pretend device, in test_accelerator.py",
)
@pytest.mark.parametrize("precision", ["fp32", "fp16", "auto"])
def test_on_a_gpu_a_stopped_run_ends_in_the_same_bits(precision, tokenizer, tmp_path):
    stopped_run_ends_in_the_same_bits(precision, tokenizer, tmp_path, "cuda")


def test_on_a_gpu_attention_never_plans_anew_for_a_shape():
    """It needs no GPU to see which kernels PyTorch may choose from."""
    before = torch.backends.cuda.cudnn_sdp_enabled()
    with devices.steady_attention(torch.device("cuda")):
        assert not torch.backends.cuda.cudnn_sdp_enabled()
        assert torch.backends.cuda.flash_sdp_enabled()
        assert torch.backends.cuda.mem_efficient_sdp_enabled()
        assert torch.backends.cuda.math_sdp_enabled()
    assert torch.backends.cuda.cudnn_sdp_enabled() == before


def test_every_loss_of_a_run_is_computed_with_steady_attention(
    tokenizer, tmp_path, monkeypatch
):
    entered = []

    def steady(device):
        entered.append(device)
        return contextlib.nullcontext()

    monkeypatch.setattr(loop, "steady_attention", steady)
    quick_fit(tokenizer, tmp_path, steps=10)
    assert len(entered) >= 10 and set(entered) == {torch.device("cpu")}
