"""Weight files: every number as it was saved, and damaged files refused by name."""

from __future__ import annotations

import base64
import json
import shutil

import pytest
import torch

from tformer.common.files import load_tensors, save_tensors
from tformer.pretrained import RELEASED
from tformer.tokenization import Tokenizer


def encoded(content):
    return base64.b64encode(content).decode()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_every_number_of_every_dtype_is_read(run, engine_folder, unpack, dtype):
    numbers = torch.arange(1 << 16, dtype=torch.int32)
    if dtype == torch.float32:
        every = (numbers * 65_521).view(torch.float32)  # a sample of all patterns
    else:
        every = numbers.to(torch.int16).view(dtype)
    every = every[every.isfinite()]
    tensors = {"b.weight": every, "a": torch.zeros(2, 0, 3, dtype=dtype)}
    about = {"config": {"d_model": 8}, "note": "ä “quoted” \\ 😀 \n"}
    save_tensors(engine_folder / "numbers.safetensors", tensors, about)
    read = run("readTensors", {"file": "numbers.safetensors"})
    torch.testing.assert_close(
        unpack(read["tensors"]["b.weight"]), every.float(), rtol=0, atol=0
    )
    assert read["tensors"]["a"]["shape"] == [2, 0, 3]
    assert read["metadata"] == about


def test_a_matrix_of_eight_bits_is_read_with_its_scales(run, engine_folder, unpack):
    numbers = torch.arange(-127, 128, dtype=torch.int8).view(5, 51)
    tensors = {"a": numbers, "a.scales": torch.rand(5), "b": torch.rand(3)}
    file = engine_folder / "eight.safetensors"
    save_tensors(file, tensors, {})
    read = run("readTensors", {"file": file.name})
    assert read["tensors"].keys() == {"a", "b"}
    assert read["scales"].keys() == {"a"}
    for name, found in (("a", read["tensors"]["a"]), ("a.scales", read["scales"]["a"])):
        mine = unpack(found, tensors[name].numpy().dtype)
        torch.testing.assert_close(mine, tensors[name], rtol=0, atol=0)


@pytest.mark.parametrize("scales", [None, torch.ones(4), torch.ones(5, 1)])
def test_eight_bits_without_fitting_scales_are_refused(run, engine_folder, scales):
    tensors = {"a": torch.ones(5, 3, dtype=torch.int8), "a.scales": scales}
    file = engine_folder / "eight.safetensors"
    save_tensors(file, {k: v for k, v in tensors.items() if v is not None}, {})
    (message,) = run("damagedWeights", {"cases": [encoded(file.read_bytes())]})
    assert "a is kept in eight bits, and a.scales is not one number" in message


@pytest.fixture
def whole(engine_folder, saved, make_model):
    """A small model's weight file, in bytes, and its parts."""
    content = (engine_folder / saved(make_model(), "whole")).read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    return content, json.loads(content[8:end]), content[end:]


def file_of(header, body):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def test_a_whole_file_is_taken(run, whole):
    content, header, body = whole
    cases = [encoded(content)]
    assert run("damagedWeights", {"cases": cases}) == [None]
    assert run("damagedWeights", {"cases": [encoded(file_of(header, body))]}) == [None]


def test_a_truncated_file_is_refused_wherever_it_ends(run, whole):
    content, _, _ = whole
    ends = [*range(0, 9), 100, len(content) // 2, len(content) - 4, len(content) - 1]
    said = run("damagedWeights", {"cases": [encoded(content[:end]) for end in ends]})
    for message in said:
        assert "truncated" in message
        assert "load it again" in message


def test_a_changed_file_is_refused(run, whole):
    content, header, body = whole
    name = "encoder.layers.0.feed_forward.expand.bias"
    other = {**header[name], "dtype": "F8_E4M3"}
    longer = {**header[name], "shape": [17]}
    misplaced = {**header[name], "data_offsets": [-64, 0]}
    flipped = bytearray(body)
    flipped[20] ^= 1
    config = json.loads(header["__metadata__"]["config"])
    renamed = {
        **header["__metadata__"],
        "config": json.dumps({**config, "norm": "pre"}),
    }
    bare = {key: value for key, value in header.items() if key != "__metadata__"}
    cases = {
        b"<!doctype html><title>404</title>" * 9: "truncated or not a safetensors file",
        file_of([], b""): "carry no checksum",
        (9).to_bytes(8, "little") + b"{not json" + body: "header is not JSON",
        file_of({**header, name: other}, body): f"{name} has dtype F8_E4M3",
        file_of({**header, name: longer}, body): f"{name} [17] should lie at",
        file_of({**header, name: misplaced}, body): f"{name} [16] should lie at",
        file_of({**header, name: {}}, body): f"{name} has dtype undefined",
        content + b"\0\0\0\0": "their header tells of",
        file_of(header, bytes(flipped)): "changed after they were written",
        file_of({**header, "__metadata__": renamed}, body): "changed after they were",
        file_of(bare, body): "carry no checksum",
    }
    said = run("damagedWeights", {"cases": [encoded(each) for each in cases]})
    for message, wanted in zip(said, cases.values(), strict=True):
        assert message is not None and wanted in message


def test_weights_that_do_not_fit_the_model_are_refused(
    run, engine_folder, saved, make_model
):
    file = engine_folder / saved(make_model(norm="pre"), "fitting")
    tensors, metadata = load_tensors(file)
    name = "decoder.final_norm.bias"

    def said_to(changed):
        save_tensors(file, changed, metadata)
        (message,) = run("damagedWeights", {"cases": [encoded(file.read_bytes())]})
        return message

    lacking = {key: each for key, each in tensors.items() if key != name}
    assert f"the weight {name} is missing" in said_to(lacking)
    more = {**tensors, "extra": torch.zeros(8)}
    assert "extra is an unknown weight" in said_to(more)
    wide = {**tensors, name: torch.zeros(9)}
    assert f"{name} has shape (9), the model needs (8)" in said_to(wide)
    for value in (float("nan"), float("inf"), float("-inf")):
        tensors[name][3] = value
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            rounded = {key: each.to(dtype) for key, each in tensors.items()}
            assert f"{name} holds NaN or infinity" in said_to(rounded)


def test_weights_and_tokenizer_of_two_runs_are_refused(run, engine_folder):
    shutil.copy(RELEASED / "model.safetensors", engine_folder / "pair.safetensors")
    Tokenizer.train(["some text to learn from"] * 9, 290).save(engine_folder / "pair")
    files = {"weights": "pair.safetensors", "tokenizer": "pair"}
    assert "not the tokenizer that the weights were trained with" in run(
        "wrongPair", {"files": files}
    )


def test_a_claim_of_a_huge_model_is_refused_before_one_is_built(
    run, engine_folder, saved, make_model
):
    file = engine_folder / saved(make_model(), "many")
    (engine_folder / "any").write_bytes(b"")
    tensors, metadata = load_tensors(file)
    few = f"layers, but the file holds only {len(tensors)} weights"
    for name, size, message in (
        ("n_encoder_layers", 100_000, few),
        ("n_decoder_layers", 100_000, few),
        ("max_len", 10**9, "does not fit in memory"),
    ):
        claim = metadata["config"] | {name: size}
        save_tensors(file, tensors, {"config": claim, "tokenizer": "none"})
        said = run("wrongPair", {"files": {"weights": file.name, "tokenizer": "any"}})
        assert message in said
