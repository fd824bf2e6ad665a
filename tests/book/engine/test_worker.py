"""The engine in its worker, in Chromium, as a page of a static site uses it.

The page lies under a base path and forbids everything that it does not need.
"""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
import time

import pytest

from tformer_book.widgets._model import ENGINE, engine, released_model
from tformer_book.widgets._modules import LINK

TEXT = "The dog did not cross the street because it was tired."
POLICY = (
    "default-src 'none'; script-src 'self'{}; worker-src 'self'; connect-src 'self'; "
    "base-uri 'none'"
)
WASM = " 'wasm-unsafe-eval'"
PAGE = """<!doctype html><meta charset="utf-8"><title>Page</title>
<script type="module" src="page.js"></script>"""
# What a figure does: it imports client.js and names the files.
SCRIPT = """
import { connect } from "./engine/client.js";
import { link } from "./link.js";
Object.assign(window, { connect, link });
const files = {
  worker: "engine/worker.js", weights: "files/model.safetensors?v=1",
  tokenizer: "files/tokenizer.model?v=1",
};
window.open_ = (options = {}) => connect({ ...files, ...options });
"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder below /some/base/, counts requests, and is slow if asked."""

    asked: list[str]
    allowed = WASM

    def translate_path(self, path):
        return super().translate_path(path.removeprefix("/some/base"))

    def do_GET(self):
        self.asked.append(self.path)
        if "slow" in self.path:
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            for _ in range(200):
                try:
                    self.wfile.write(bytes(1000))
                except OSError:
                    return  # the page went away, as it should
                time.sleep(0.05)
            return
        super().do_GET()

    def end_headers(self):
        self.send_header("Content-Security-Policy", POLICY.format(self.allowed))
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def served(engine_folder):
    """A static site with the engine; its address and what was asked for."""
    folder = engine_folder / "site"
    (folder / "files").mkdir(parents=True)
    (folder / "page.html").write_text(PAGE)
    (folder / "page.js").write_text(SCRIPT)
    (folder / ENGINE).write_bytes(engine())
    shutil.copy(LINK, folder)
    shutil.copytree(engine_folder / "engine", folder / "engine")
    for name, content in released_model().files.items():
        (folder / "files" / name).write_bytes(content)
    asked: list[str] = []
    handler = type("Counting", (Handler,), {"asked": asked})
    handler = functools.partial(handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/some/base/", asked
        server.shutdown()


@pytest.fixture
def page(chromium, served):
    """A fresh visit: an empty cache, no request so far, no error allowed."""
    address, asked = served
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(240_000)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console",
        lambda said: errors.append(said.text) if said.type == "error" else None,
    )
    page.goto(f"{address}page.html")
    page.wait_for_function("() => window.open_")
    page.address, page.errors = address, errors
    asked.clear()
    yield page
    context.close()
    assert not errors


def test_a_page_translates_in_its_worker(page, served, page_translator):
    _, asked = served
    found = page.evaluate(
        """async (text) => {
          const engine = open_();
          await new Promise((done) => setTimeout(done, 300));
          const before = performance.getEntriesByType("resource").length;
          const progress = [], steps = [];
          const { text: german, hypotheses } = await engine.translate(text, {
            onProgress: (each) => progress.push(each),
            onStep: (each) => steps.push(each),
          });
          const greedy = await engine.translate(text, { search: "greedy" });
          const scored = await engine.score(text, german);
          const maps = await engine.attention(text, german);
          const gains = [0, 1, 2, 3, 4, 5].flatMap((head) => [0, 1, 2].map((layer) => {
            return { site: "cross", layer, head, gain: 0 };
          }));
          const deaf = await engine.translate(text, { gains });
          const after = await engine.translate(text);
          return {
            before, german, progress, nSteps: steps.length, greedy: greedy.text,
            best: hypotheses[0].logProbability, scored: scored.logProbability,
            shape: maps.cross.shape, sum: maps.cross.data.slice(0, maps.cross.shape[3])
              .reduce((a, b) => a + b), deaf: deaf.text, after: after.text,
            pieces: await engine.pieces(text), about: await engine.load(),
          };
        }""",
        TEXT,
    )
    translator = page_translator
    assert not [name for name in asked[:1] if "files" in name], "nothing before asked"
    assert found["german"] == found["after"] == translator.translate(TEXT)
    assert found["greedy"] == translator.translate(TEXT, beam_size=1)
    assert found["deaf"] != found["german"]
    assert found["nSteps"] >= 8
    assert found["best"] == pytest.approx(found["scored"], abs=1e-4)
    assert found["shape"][:2] == [
        translator.model.config.n_decoder_layers,
        translator.model.config.n_heads,
    ]
    assert found["sum"] == pytest.approx(1, abs=1e-5)
    assert found["pieces"] == translator.tokenizer.pieces(TEXT)
    assert found["about"]["kernel"] == "WebAssembly"
    assert found["about"]["nParameters"] == translator.model.n_parameters()
    size = len(released_model().files["model.safetensors"])
    loaded = [each["loaded"] for each in found["progress"]]
    assert loaded == sorted(loaded)
    assert found["progress"][-1] == {"loaded": size, "total": size}
    weights = [path for path in asked if "model.safetensors" in path]
    assert weights == ["/some/base/files/model.safetensors?v=1"]


def test_where_webassembly_is_forbidden_the_twin_translates_alike(
    page, served, page_translator, monkeypatch
):
    monkeypatch.setattr(Handler, "allowed", "")
    kernel, german = page.evaluate(
        """async (text) => {
          const engine = open_();
          const { kernel } = await engine.load();
          return [kernel, (await engine.translate(text)).text];
        }""",
        TEXT,
    )
    assert kernel == "JavaScript"
    assert german == page_translator.translate(TEXT)


def test_nothing_is_fetched_before_a_reader_asks(page, served):
    page.evaluate("() => { open_(); open_({ shared: 'x' }); }")
    page.wait_for_timeout(300)
    assert served[1] == []


def test_figures_of_a_page_share_one_engine(page, served):
    same = page.evaluate(
        """async () => {
          const [a, b] = [open_({ shared: "released" }), open_({ shared: "released" })];
          const both = await Promise.all([a.pieces("A dog."), b.pieces("A cat.")]);
          return [a === b, both[0] !== both[1]];
        }"""
    )
    assert same == [True, True]
    assert len([path for path in served[1] if "model.safetensors" in path]) == 1


def test_the_next_page_finds_the_weights_kept_and_a_new_version_replaces_them(
    page, served
):
    ask = "async (options) => (await open_(options).pieces('A dog.')).length"
    kept = """async () => (await (await caches.open("tformer")).keys())
      .map(({ url }) => url.split("/").at(-1)).sort()"""
    page.evaluate(ask, {})
    page.reload()
    page.wait_for_function("() => window.open_")
    served[1].clear()
    page.evaluate(ask, {})
    assert not [path for path in served[1] if "files/" in path]
    page.evaluate(ask, {"weights": "files/model.safetensors?v=2"})
    assert page.evaluate(kept) == ["model.safetensors?v=2", "tokenizer.model?v=1"]
    # Without a version nothing is kept: the server may change it.
    page.evaluate(ask, {"weights": "files/model.safetensors"})
    assert len(page.evaluate(kept)) == 2


def test_bytes_can_be_handed_over_where_there_is_no_server(page, page_translator):
    """As in a notebook, where the kernel sends them."""
    found = page.evaluate(
        """async (text) => {
          const bytes = async (name) => (await fetch(name)).arrayBuffer();
          const engine = open_({
            worker: new Worker("engine/worker.js", { type: "module" }),
            weights: () => bytes("files/model.safetensors"),
            tokenizer: await bytes("files/tokenizer.model"),
          });
          return (await engine.translate(text)).text;
        }""",
        TEXT,
    )
    assert found == page_translator.translate(TEXT)


def test_the_engine_is_linked_where_there_is_no_server(
    chromium, served, page_translator
):
    address, _ = served
    context = chromium.new_context(bypass_csp=True)
    page = context.new_page()
    page.goto(f"{address}page.html")
    page.wait_for_function("() => window.open_")
    kernel, n_pieces = page.evaluate(
        """async () => {
          const worker = link(await (await fetch("engine.json")).json());
          const engine = open_({ worker });
          const { kernel } = await engine.load();
          return [kernel, (await engine.pieces("A dog.")).length];
        }"""
    )
    context.close()
    assert kernel == "WebAssembly"
    assert n_pieces == len(page_translator.tokenizer.pieces("A dog."))


def test_a_download_and_a_search_can_be_stopped_and_begun_again(page, page_translator):
    found = page.evaluate(
        """async ([text, long]) => {
          const name = async (promise) => promise.then(() => "done", (e) => e.name);
          const stopper = new AbortController();
          const slow = open_({ weights: "files/slow" });
          const stopped = name(slow.load({
            onProgress: () => stopper.abort(), signal: stopper.signal,
          }));
          const engine = open_();
          const second = new AbortController();
          let steps = 0, whole = 0;
          const search = name(engine.translate(long, {
            onStep: () => { if (++steps === 2) second.abort(); }, signal: second.signal,
          }));
          const results = [await stopped, await search, steps];
          await engine.translate(long, { onStep: () => { whole++; } });
          results.push(whole);
          const third = name(engine.translate(text, { signal: second.signal }));
          results.push(await third, (await engine.translate(text)).text);
          const closing = name(engine.translate(text));
          engine.close();
          results.push(await closing, (await engine.translate(text)).text);
          // Of two who wait for the download, one stops: the other gets it.
          const shared = open_();
          const fourth = new AbortController();
          const leaves = name(shared.pieces(text, {
            onProgress: () => fourth.abort(), signal: fourth.signal,
          }));
          results.push(await name(shared.pieces(text)), await leaves);
          // Who asks right after the only one stopped does not get their stopped load.
          const alone = open_();
          const fifth = new AbortController();
          const gone = name(alone.pieces(text, { signal: fifth.signal }));
          fifth.abort();
          results.push(await name(alone.pieces(text)), await gone);
          return results;
        }""",
        [TEXT, " ".join([TEXT] * 8)],
    )
    german = page_translator.translate(TEXT)
    stopped, search, steps, whole, third, again, closed, anew, *rest = found
    stays, leaves, asks_anew, gone = rest
    assert (stopped, search, third, closed, leaves, gone) == ("AbortError",) * 6
    assert stays == asks_anew == "done"
    assert 2 <= steps < whole
    assert again == anew == german


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"weights": "files/away"}, "the server says 404"),
        ({"tokenizer": "files/model.safetensors"}, "not the tokenizer"),
        ({"weights": "files/tokenizer.model"}, "not a safetensors file"),
        ({"worker": "engine/away.js"}, "the engine cannot run here"),
    ],
)
def test_what_goes_wrong_is_said_and_can_be_tried_again(page, options, said):
    ask = """async (options) => {
      const engine = open_(options);
      const name = async (promise) => promise.then(() => "done", (e) => e.message);
      return [await name(engine.load()), await name(engine.pieces("A dog."))];
    }"""
    for message in page.evaluate(ask, options):
        assert said in message
    # The browser itself reports a file that is not there.
    page.errors[:] = [error for error in page.errors if "404" not in error]


def test_bad_input_is_said_without_harm(page):
    said = page.evaluate(
        """async () => {
          const engine = open_();
          const message = (promise) => promise.then(() => "done", (e) => e.message);
          const gains = [{ site: "cross", layer: 9, head: 0, gain: 0 }];
          return [
            await message(engine.translate("   ")),
            await message(engine.translate("x" + String.fromCharCode(0xd800))),
            await message(engine.translate("A dog.", { beamSize: 0 })),
            await message(engine.translate("A dog.", { gains })),
            await message(engine.translate("A dog.")),
          ];
        }"""
    )
    wanted = ["nothing to translate", "lone surrogate", "beamSize=0", "no gain", "done"]
    for message, each in zip(said, wanted, strict=True):
        assert each in message
