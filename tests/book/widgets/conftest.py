"""Run the figures' own modules in Node."""

import json
import subprocess
from pathlib import Path

import pytest
from javascript import NODE

from tformer_book import widgets

FOLDER = Path(widgets.__file__).parent


@pytest.fixture(scope="session")
def node(tmp_path_factory):
    """``node("import { h } from './kit/kit.js'; …", given)``: what the script prints.

    It prints JSON, runs beside the widgets' modules, and finds `given` in a variable.
    """
    folder = tmp_path_factory.mktemp("widgets")
    (folder / "package.json").write_text('{"type": "module"}')
    for module in FOLDER.rglob("*.js"):
        copy = folder / module.relative_to(FOLDER)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(module.read_bytes())

    def run(script, given=None):
        head = "import { readFileSync } from 'node:fs';\n"
        head += "const given = JSON.parse(readFileSync(0));\n"
        (folder / "run.js").write_text(head + script, encoding="utf-8")
        done = subprocess.run(
            [NODE, folder / "run.js"],
            input=json.dumps(given),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def js(node):
    """``js("heads/maths.js", "falls(given)", given)``: an expression's value.

    It may use what the module exports, and `given`.
    """
    script = """
    const { default: figure, ...exported } = module;
    const value = new Function("given", ...Object.keys(exported), given.returned);
    console.log(JSON.stringify(value(given.given, ...Object.values(exported))));
    """

    def js(module, expression, given=None):
        head = f"import * as module from './{module}';"
        return node(head + script, {"returned": f"return {expression}", "given": given})

    return js
