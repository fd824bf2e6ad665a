"""Run the browser engine in Node."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from javascript import NODE

from tformer.common.files import save_tensors
from tformer_book import widgets

ENGINE = Path(widgets.__file__).parent / "engine"
CHECKS = Path(__file__).with_name("checks.js")

RUN_IN_NODE = """
import { readFileSync } from "node:fs";
import * as checks from "./checks.js";
const { name, given } = JSON.parse(readFileSync(0));
const read = (file) => new Uint8Array(readFileSync(file)).buffer;
process.stdout.write(JSON.stringify(await checks[name](given, read)));
"""


@pytest.fixture(scope="session")
def engine_folder(tmp_path_factory):
    """The engine's modules and `checks.js` in a folder, where tests put their files."""
    folder = tmp_path_factory.mktemp("engine")
    shutil.copytree(ENGINE, folder / "engine")
    shutil.copy(CHECKS, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "run.js").write_text(RUN_IN_NODE)
    return folder


@pytest.fixture(scope="session")
def run(engine_folder):
    """``run("forward", given)``: what that function of `checks.js` returns.

    ``options`` are Node's own.
    """

    def run(name, given=None, options=()):
        done = subprocess.run(
            [NODE, *options, "run.js"],
            cwd=engine_folder,
            input=json.dumps({"name": name, "given": given}),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def unpack():
    """``unpack({"shape": …, "data": base64})``: the tensor that the engine sent."""

    def unpack(sent, dtype=np.float32):
        numbers = np.frombuffer(base64.b64decode(sent["data"]), dtype)
        return torch.tensor(numbers).view(sent["shape"])

    return unpack


@pytest.fixture(scope="session")
def pack():
    """``pack(tensor)``: the way back, for `unpack` in `checks.js`."""

    def pack(tensor):
        data = base64.b64encode(tensor.contiguous().numpy().tobytes()).decode()
        return {"shape": list(tensor.shape), "data": data}

    return pack


@pytest.fixture(scope="session")
def page_files(page_folder):
    """The released model's files as a page gets them."""
    files = {"weights": "model.safetensors", "tokenizer": "tokenizer.model"}
    return {kind: str(page_folder / name) for kind, name in files.items()}


@pytest.fixture
def saved(engine_folder):
    """``saved(model, "name")``: its weights as a file that the engine reads."""

    def saved(model, name, dtype=torch.float32):
        weights = {key: each.to(dtype) for key, each in model.named_parameters()}
        metadata = {"config": model.config.to_dict(), "tokenizer": ""}
        save_tensors(engine_folder / f"{name}.safetensors", weights, metadata)
        return f"{name}.safetensors"

    return saved
