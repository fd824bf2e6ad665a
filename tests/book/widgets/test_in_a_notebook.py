"""A figure in a notebook: all that it needs comes with its state or from its kernel."""

import base64

import pytest

from tformer import load_pretrained
from tformer_book import widgets
from tformer_book.press import browser as driver
from tformer_book.widgets._figure import PageFigure
from tformer_book.widgets._model import ModelFigure

FIGURES = [
    each
    for each in (getattr(widgets, name) for name in widgets.__all__)
    if issubclass(each, PageFigure)
]
TYPED = "A young girl is reading a book in the park."
# What anywidget does with a figure's state, on a page that has nothing else.
SHOW = """async (state) => {
  const style = document.createElement("style");
  style.textContent = state._css;
  document.head.append(style);
  const source = new Blob([state._esm], { type: "text/javascript" });
  const { default: figure } = await import(URL.createObjectURL(source));
  const listeners = {};
  const model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; },
    save_changes() {},
    on: (name, each) => { (listeners[name] ??= []).push(each); },
    off: (name, each) => {
      listeners[name] = (listeners[name] ?? []).filter((other) => other !== each);
    },
    async send(content) {
      const [about, part] = await askKernel(content);
      const bytes = await (await fetch(`data:;base64,${part}`)).arrayBuffer();
      const buffers = [new DataView(bytes)];
      for (const each of listeners["msg:custom"] ?? []) each(about, buffers);
    },
  };
  window.stop = await figure.render({ model, el: document.body });
}"""


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """The address of an empty page (a page without one may start no worker)."""
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "index.html").write_text('<link rel="icon" href="data:,">')
    with driver.served(folder) as address:
        yield address


@pytest.fixture
def shown(chromium, empty, monkeypatch):
    """``shown(figure)``: an empty page with the figure; this process is its kernel."""
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(driver.PATIENCE)
    page.goto(empty)
    errors, asked = [], []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))

    def show(figure):
        def answer(content):
            sent = []
            take = lambda about, buffers: sent.extend([about, buffers])  # noqa: E731
            monkeypatch.setattr(figure, "send", take)
            data = {"method": "custom", "content": content}
            figure._handle_msg({"content": {"data": data}, "buffers": []})
            about, [part] = sent
            return about, base64.b64encode(part).decode()

        page.expose_function("askKernel", answer)
        page.evaluate(SHOW, figure.get_state())
        return page

    yield show
    context.close()
    assert errors == []
    assert not [url for url in asked if not url.startswith(("blob:", "data:"))]


@pytest.mark.parametrize("kind", FIGURES, ids=lambda each: each.__name__)
def test_a_figure_is_drawn_from_its_state_alone(shown, kind):
    page = shown(kind())
    assert page.locator(".tfk").bounding_box()["height"] > 100
    assert page.evaluate("typeof stop") == "function"


@pytest.mark.parametrize(
    "kind",
    [each for each in FIGURES if issubclass(each, ModelFigure)],
    ids=lambda each: each.__name__,
)
def test_a_figure_gets_the_engine_and_its_model_from_the_kernel(shown, kind):
    page = shown(kind())
    line = page.locator('[data-control="text"]').first
    line.fill(TYPED)
    line.press("Enter")
    page.get_by_text("Computed on your machine.").first.wait_for()
    german = load_pretrained().attention(TYPED).translation
    assert german.split()[0] in page.locator(".tfk").first.inner_text()
