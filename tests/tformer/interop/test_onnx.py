"""What onnxruntime makes of an exported model, beside what it says here."""

from __future__ import annotations

import re
import textwrap

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from tformer import decode, interop
from tformer.interop import onnx as writer

CONFIGS = {
    "post": {"norm": "post"},
    "pre": {"norm": "pre", "activation": "gelu"},
    "learned": {"norm": "post", "positions": "learned", "activation": "swish"},
    "tables": {"norm": "pre", "tie_embeddings": False, "output_bias": True},
}


def documented(folder) -> dict:
    """The names of the program in the module's docstring, once it has run."""
    program = re.search(r"    import json.*?\n\n(?=\S)", writer.__doc__, re.S)[0]
    names = {"folder": str(folder)}
    exec(textwrap.dedent(program), names)
    return names


@pytest.mark.parametrize("fields", CONFIGS.values(), ids=CONFIGS)
def test_step_by_step_it_gives_ours(fields, translator_of, random_batch, tmp_path):
    translator = translator_of(**fields)
    interop.export(translator, "onnx", tmp_path / "onnx")
    encoder, step = (
        onnxruntime.InferenceSession(tmp_path / "onnx" / f"{name}.onnx")
        for name in ("encoder", "step")
    )
    for name in ("encoder", "step"):
        onnx.checker.check_model(tmp_path / "onnx" / f"{name}.onnx", full_check=True)
    config = translator.model.config
    source_ids, target_ids = random_batch(config)
    target_ids = target_ids.clamp(min=1)  # what follows a row's end is only ignored
    with torch.inference_mode():
        ours = translator.model(source_ids, target_ids).numpy()
    given = {"source_ids": source_ids.numpy()}
    names = [each.name for each in encoder.get_outputs()]
    memory = dict(zip(names, encoder.run(None, given), strict=True))
    shape = (len(source_ids), config.n_heads, 0, config.d_model // config.n_heads)
    names = [each.name for each in step.get_inputs() if each.name.startswith("past")]
    past = dict.fromkeys(names, np.zeros(shape, np.float32))
    for t in range(target_ids.size(1)):
        ids = target_ids[:, t : t + 1].numpy()
        logits, *grown = step.run(None, {"ids": ids, **given, **memory, **past})
        past = dict(zip(past, grown, strict=True))
        np.testing.assert_allclose(logits, ours[:, t], rtol=0, atol=1e-4)


def test_the_documented_loop_translates_as_we_do(released, sentences, tmp_path):
    interop.export(released, "onnx", tmp_path / "onnx")
    program = documented(tmp_path / "onnx")
    for texts in (sentences[:1], sentences):  # any batch, any length
        theirs = program["greedy"](texts)
        source_ids = released._pad([released.encode(each) for each in texts])
        ours = decode.greedy(released.model, source_ids)
        same = sum(a == b for a, b in zip(theirs, ours, strict=True))
        assert same >= len(texts) - (len(texts) > 1)  # one near tie may flip elsewhere
