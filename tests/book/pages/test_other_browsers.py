"""The whole site in Firefox and in WebKit: each page is opened once and tried there.

What goes wrong in a page is written down by a script of our own, before any other runs:
WebKit's driver tells nobody of its console.
"""

from __future__ import annotations

import base64
import contextlib
import http.server
import io
import os
import re
import threading

import other_browsers
import pytest
from pypdf import PdfReader

from tformer_book.press import browser as driver
from tformer_book.press.chapters import HTML, address

BROWSERS = ("firefox", "webkit")
SENTENCES = [
    "A dog runs.",
    "Two men are playing guitar on a stage.",
    "A little girl in a pink dress is going into a wooden cabin.",
    "The tired dog did not cross the street.",
    "A woman reads a book to her 3 children!",
    "An old man in a blue shirt is standing on a ladder cleaning a window.",
    "Is there a cat under the table?",
    "Tom doesn't like snow.",
    "The children, who were hungry, ate all of the bread.",
    "She said: “I have lost my key.”",
]
STEPS = 50
TYPED = 150  # letters: more than the addresses that WebKit takes in ten seconds

WATCH = """
window.__errors = [];
const note = (...said) => window.__errors.push(said.join(" "));
addEventListener("error", ({ message, target }) =>
  note("error:", message ?? `${target.src ?? target.href} was not loaded`), true);
addEventListener("unhandledrejection", ({ reason }) => note("not caught:", reason));
addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) =>
  note("policy:", effectiveDirective, blockedURI));
for (const kind of ["error", "warn"]) {
  const write = console[kind];
  console[kind] = (...said) => { note(`console.${kind}:`, ...said); write(...said); };
}
"""
POLICY = re.compile(rb'<meta http-equiv="Content-Security-Policy"[^>]*>')
# Every figure and chart comes into being as the reader comes to it, one by one: asked
# for all files of a page at once, this WebKit (its libsoup 3.2) forgets some of them.
DRAWN = """
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
async function until(condition, what) {
  for (const last = performance.now() + 110000; !condition(); await wait(20))
    if (performance.now() > last) throw new Error(`still not so: ${what}`);
}
for (const fold of document.querySelectorAll("details")) fold.open = true;
for (const box of document.querySelectorAll(".tf-plotly-box, .tf-widget")) {
  box.scrollIntoView({ behavior: "instant" });
  await until(() => box.dataset.ready, `drawn: ${box.closest("[id]")?.id}`);
}
"""
# Operate one control of every figure as a reader would; what answers changes something.
OPERATE = """
const KINDS = ["input[type=range]", "input[type=checkbox]", "input[type=radio]",
  "select", "button", "input[type=text]"];
function controlOf(figure) {
  for (const kind of KINDS)
    for (const each of figure.querySelectorAll(`${kind}[data-control]`))
      if (!each.disabled && !each.checked && each.getClientRects().length) return each;
}
function use(control) {
  if (control.type === "range") control.value =
    control.value === control.max ? control.min : control.max;
  else if (control.tagName === "SELECT") control.selectedIndex = control.length - 1;
  else return control.click();
  for (const kind of ["input", "change"])
    control.dispatchEvent(new Event(kind, { bubbles: true }));
}
const silent = [];
const figures = [...document.querySelectorAll(".tfk")];
for (const figure of figures) {
  if (figure.matches(".tfm-compact")) continue; // a map of links: nothing to operate
  figure.scrollIntoView({ behavior: "instant" });
  const control = controlOf(figure);
  let answered = false;
  const watch = new MutationObserver(() => { answered = true; });
  watch.observe(figure, { subtree: true, childList: true, characterData: true,
    attributes: true });
  if (control) use(control);
  for (let i = 0; i < 250 && !answered; i++) await wait(20);
  watch.disconnect();
  if (!answered) silent.push(`${figure.className} ${control?.dataset.control}`);
}
scrollTo({ top: document.body.scrollHeight, behavior: "instant" });
await wait(50);
return {
  figures: figures.length,
  silent,
  "too wide": Math.max(0, document.documentElement.scrollWidth - innerWidth),
  errors: window.__errors,
};
"""
TRANSLATE = """
const field = document.querySelector(".tfl [data-control=text]");
const found = [];
for (const text of given[0]) {
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  document.querySelector(".tfl [data-control=ask]").click();
  await wait(20);
  await until(() => !document.querySelector(".tfl .tfk-ask[data-busy]"), text);
  found.push(document.querySelector("[data-translation]").textContent.trim());
}
return found;
"""
# Raw losses, with all digits, of the modules that the playground trains with.
TRAIN = """
const { src } = document.querySelector("script[src$='/widgets.js']");
const { Run } = await import(new URL("training/run.js", src));
const run = new Run({ task: "reverse", seed: 3 });
return Array.from({ length: given[0] }, () => run.step()).map(
  ({ loss, gradientNorm }) => [loss, gradientNorm]);
"""
TYPE = """
const field = document.querySelector(given[0]);
let written = 0;
const write = history.replaceState;
history.replaceState = function (...rest) {
  written++;
  return write.apply(this, rest);
};
for (let i = 0; i < given[1]; i++) {
  field.value = field.type === "range" ? 1 + (i % 5) : `${field.value}a`;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}
await until(() => written, "an address");
await wait(400);
return { written, errors: window.__errors };
"""
# A model's file, twice, where the browser keeps nothing but what it asked for.
TWICE = """
Object.defineProperty(window, "caches", { value: undefined });
const { src } = document.querySelector("script[src$='/widgets.js']");
const { download } = await import(new URL("engine/download.js", src));
const file = new URL("../../model/tokenizer.model?v=test", src).href;
const sizes = [];
for (let i = 0; i < 2; i++) sizes.push((await download(file)).byteLength);
return sizes;
"""
SMUGGLE = """
document.body.append(
  Object.assign(document.createElement("script"), { textContent: "window.ran = 1" }));
await new Promise((done) => setTimeout(done, 100));
return [window.ran ?? 0, window.__errors];
"""


class Handler(driver.Handler):
    """Serves the site with `WATCH` in front of every page; counts what is asked for."""

    def do_GET(self):
        self.asked.append(self.path)
        path = self.path.split("?")[0].removeprefix(driver.BASE)
        if path.endswith("/kernel/binary.js") and self.broken_kernel:
            return self.answer(b'export const BINARY = "";', "text/javascript")
        if path == "watch.js":
            return self.answer(WATCH.encode(), "text/javascript")
        if path.endswith(".html") and (HTML / path).is_file():
            html = (HTML / path).read_bytes()
            script = b'<script src="%swatch.js"></script>' % driver.BASE.encode()
            assert POLICY.search(html), path
            page = POLICY.sub(lambda found: found[0] + script, html)
            return self.answer(page, "text/html")
        return super().do_GET()

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def end_headers(self):
        self.send_header("Last-Modified", "Mon, 02 Nov 2026 10:00:00 GMT")
        super().end_headers()


@pytest.fixture(scope="module")
def asked():
    """The paths that were asked for, in their order."""
    return []


@contextlib.contextmanager
def served(asked, *, broken_kernel=False):
    """Serve the site; its address. No browser takes a broken kernel's WebAssembly."""
    if not (HTML / "index.html").exists():
        pytest.fail("the site is not built: run make book first")
    changes = {"asked": asked, "broken_kernel": broken_kernel}
    handler = type("Handler", (Handler,), changes)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{driver.BASE}"
        server.shutdown()


@pytest.fixture(scope="module")
def site(asked):
    """The address at which the browsers of this module find the site."""
    with served(asked) as address:
        yield address


@pytest.fixture(scope="module")
def window(request, tmp_path_factory):
    """Start one browser for all its tests. Without it: a loud skip, in CI a failure."""
    name = request.param
    if lacking := other_browsers.missing(name):
        stop = pytest.fail if os.environ.get("CI") else pytest.skip
        stop(f"{name.upper()} TESTS NOT RUN: {lacking}")
    with other_browsers.started(name, tmp_path_factory.mktemp(name)) as window:
        yield window


def each_browser(names=BROWSERS):
    """Run a test in each of these; all tests of one run in one worker."""
    found = [
        pytest.param(name, marks=pytest.mark.xdist_group(name), id=name)
        for name in names
    ]
    return pytest.mark.parametrize("window", found, indirect=True)


@each_browser()
@pytest.mark.parametrize("name", driver.site_pages())
def test_a_page_works_and_so_does_each_of_its_figures(window, site, name):
    window.open(site + name)
    found = window.run(DRAWN + OPERATE)
    expected = len(re.findall('class="tf-widget"', (HTML / name).read_text("utf-8")))
    assert found == {
        "figures": expected,
        "silent": [],
        "too wide": 0,
        "errors": [],
    }


@each_browser()
def test_a_violated_policy_counts_as_an_error(window, site):
    window.open(site + address("notation"))
    ran, [error] = window.run(SMUGGLE)
    assert ran == 0
    assert error.startswith("policy: script-src")


def translated(window, site):
    """What the lab writes for each of the sentences."""
    window.open(site + address("lab"))
    found = window.run(DRAWN + TRANSLATE, SENTENCES)
    assert window.run("return window.__errors") == []
    return found


@each_browser()
def test_the_lab_writes_the_german_that_pytorch_writes(window, site, page_translator):
    expected = [page_translator.translate(each) for each in SENTENCES]
    assert translated(window, site) == expected


@each_browser()
def test_it_writes_the_same_without_web_assembly(window, asked, page_translator):
    expected = [page_translator.translate(each) for each in SENTENCES]
    with served(asked, broken_kernel=True) as site:
        assert translated(window, site) == expected
    assert any(path.endswith("/kernel/binary.js") for path in asked)


@each_browser()
def test_the_model_is_fetched_once_for_all_visits(window, site, asked):
    def visit():
        asked.clear()
        window.open(site + address("lab"))
        window.run(DRAWN + TRANSLATE, SENTENCES[:1])
        return [path for path in asked if "model.safetensors" in path]

    visit()
    assert visit() == []


# WebKit's driver starts sessions that keep nothing outside of Cache Storage.
@each_browser(["firefox"])
def test_without_cache_storage_the_model_comes_from_the_usual_cache(
    window, site, asked
):
    window.open(site + address("lab"))
    asked.clear()
    first, second = window.run(DRAWN + TWICE)
    assert first == second > 0
    assert len([path for path in asked if "v=test" in path]) == 1


@each_browser()
def test_the_playground_trains_with_the_numbers_of_chromium(window, site, chromium):
    page = chromium.new_page()
    page.goto(site + address("playground"))
    wanted = page.evaluate(f"async (given) => {{ {TRAIN} }}", [STEPS])
    page.close()
    window.open(site + address("playground"))
    assert window.run(TRAIN, STEPS) == wanted


@each_browser()
@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("book/lab.html", ".tfl [data-control=beam_size]"),
        ("book/journey.html#stop=11", ".tfj [data-control=step]"),
        ("search.html", ".bd-search-container input"),
    ],
)
def test_an_address_is_written_once_the_reader_rests(window, site, name, field):
    window.open(site + name)
    assert window.run(DRAWN + TYPE, field, TYPED) == {"written": 1, "errors": []}


@each_browser()
def test_the_search_finds_what_is_asked_for(window, site):
    window.open(site + "search.html?q=label+smoothing")
    first = window.run(
        DRAWN
        + "const first = () => document.querySelector('#tf-search-page a');"
        + "await until(first, 'found'); return first().textContent;"
    )
    assert "Label smoothing" in first
    assert window.run("return window.__errors") == []


@each_browser()
def test_a_solved_problem_is_counted_as_progress(window, site):
    window.open(site + address("scale"))
    window.run("document.querySelector('input[data-problem]').click()")
    window.open(site + "book/progress.html")
    table = "document.getElementById('tf-chapters').textContent"
    window.run(DRAWN + f"await until(() => {table}.includes('1 of 10'), 'counted');")


@each_browser(["firefox"])  # WebKit's driver cannot print
def test_a_chapter_is_printed(window, site):
    window.open(site + address("attention"))
    window.run(DRAWN)
    paper = base64.b64decode(window.printed())
    assert len(PdfReader(io.BytesIO(paper)).pages) > 10
