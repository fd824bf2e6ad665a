"""A model exported for the live lab is what the lab's engine reads."""

from __future__ import annotations

import torch

from tformer import interop, load_pretrained
from tformer.translator.weights import restored, stored_weights


def test_two_files_hold_the_model_in_a_quarter_of_the_bytes(translator_of, tmp_path):
    translator = translator_of(norm="pre", activation="swish", output_bias=True)
    files = interop.export(translator, "lab", tmp_path / "lab")
    assert files == ["model.safetensors", "tokenizer.model"]
    again = load_pretrained(tmp_path / "lab")
    assert again.tokenizer.fingerprint == translator.tokenizer.fingerprint
    theirs = dict(again.model.named_parameters())
    kept = restored(stored_weights(translator.model, torch.int8), origin="here")
    for name, weight in translator.model.named_parameters():
        assert torch.equal(theirs[name], kept[name].float())
        assert (theirs[name] - weight).abs().max() < 0.01 * weight.abs().max()
    translator.save(tmp_path / "whole")
    files = [tmp_path / name / "model.safetensors" for name in ("lab", "whole")]
    lab, whole = (file.stat().st_size for file in files)
    assert lab < 0.4 * whole  # a quarter, and the header of a small model
