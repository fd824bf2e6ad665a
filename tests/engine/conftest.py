"""Run the browser engine: in Node where there is one, else in headless Chromium."""

from __future__ import annotations

import base64
import functools
import http.server
import json
import mimetypes
import os
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from tformer import widgets
from tformer.files import save_tensors

ENGINE = Path(widgets.__file__).parent / "engine"
mimetypes.add_type("text/javascript", ".js")  # what a browser demands of a module
CHECKS = Path(__file__).with_name("checks.js")

RUN_IN_NODE = """
import { readFileSync } from "node:fs";
import * as checks from "./checks.js";
const { name, given } = JSON.parse(readFileSync(0));
const read = (file) => new Uint8Array(readFileSync(file)).buffer;
process.stdout.write(JSON.stringify(await checks[name](given, read)));
"""

RUN_IN_PAGE = """async ([name, given]) => {
  const checks = await import("./checks.js");
  const read = async (file) => (await fetch(file)).arrayBuffer();
  return JSON.stringify(await checks[name](given, read));
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder and does not talk about it."""

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="session")
def engine_folder(tmp_path_factory):
    """The engine's modules and `checks.js` in a folder, where tests put their files."""
    folder = tmp_path_factory.mktemp("engine")
    shutil.copytree(ENGINE, folder / "engine")
    shutil.copy(CHECKS, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "run.js").write_text(RUN_IN_NODE)
    (folder / "index.html").write_text("<!doctype html><title>Engine</title>")
    return folder


@pytest.fixture(scope="session")
def run(request, engine_folder):
    """``run("forward", given)``: what that function of `checks.js` returns.

    TFORMER_ENGINE_IN=chromium takes the browser though there is a Node.
    """
    node = shutil.which("node")
    if node and os.environ.get("TFORMER_ENGINE_IN") != "chromium":
        yield functools.partial(_run_in_node, node, engine_folder)
        return
    chromium = request.getfixturevalue("chromium")  # fails in CI where there is none
    handler = functools.partial(Quiet, directory=engine_folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = chromium.new_page()
        page.set_default_timeout(300_000)
        page.goto(f"http://localhost:{server.server_port}/index.html")
        yield lambda name, given=None: json.loads(
            page.evaluate(RUN_IN_PAGE, [name, given])
        )
        page.close()
        server.shutdown()


def _run_in_node(node, folder, name, given=None):
    done = subprocess.run(
        [node, "run.js"],
        cwd=folder,
        input=json.dumps({"name": name, "given": given}),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="session")
def unpack():
    """``unpack({"shape": …, "data": base64})``: the tensor that the engine sent."""

    def unpack(sent):
        numbers = np.frombuffer(base64.b64decode(sent["data"]), np.float32)
        return torch.tensor(numbers).view(sent["shape"])

    return unpack


@pytest.fixture
def saved(engine_folder):
    """``saved(model, "name")``: its weights as a file that the engine reads."""

    def saved(model, name, dtype=torch.float32):
        weights = {key: each.to(dtype) for key, each in model.named_parameters()}
        metadata = {"config": model.config.to_dict(), "tokenizer": ""}
        save_tensors(engine_folder / f"{name}.safetensors", weights, metadata)
        return f"{name}.safetensors"

    return saved
