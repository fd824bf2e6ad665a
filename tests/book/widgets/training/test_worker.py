"""Training in a worker, in Chromium, on a site's page and where no host has modules."""

from __future__ import annotations

import functools
import http.server
import threading

import pytest

from tformer_book.widgets._modules import FOLDER, linked

EXPERIMENTS = (
    "positions heads leak padding shift residual layers warmup rate scale smoothing "
    "lines"
)
HELP = """
// The events of a trainer until one of them is as wanted.
window.until = (trainer, wanted) => new Promise((resolve) => {
  const heard = [];
  const stop = trainer.on((event) => {
    heard.push(event);
    if (!wanted(event)) return;
    stop();
    resolve(heard);
  });
});
"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the figures' modules, each as often as it changes, and an empty page."""

    def do_GET(self):
        if not self.path.endswith("/page.html"):
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Page</title>")
        return None

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def address():
    handler = functools.partial(Handler, directory=FOLDER)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


@pytest.fixture
def page(chromium, address):
    page = chromium.new_page()
    page.set_default_timeout(240_000)
    page.goto(f"{address}/page.html")
    page.add_script_tag(content=HELP)
    yield page
    page.close()


def test_a_page_plays_pauses_steps_asks_and_begins_again(page):
    found = page.evaluate(
        """async () => {
          const { open } = await import("/training/client.js");
          const settings = { width: 16, dFf: 16, batch: 8, seed: 3 };
          const trainer = open(settings);
          const after = (kind) => until(trainer, (event) => event.kind === kind);
          const [started, first] = await after("evaluation");
          trainer.ask("abcd");
          const [asked] = await after("answer");
          const steps = async () => {
            trainer.play();
            const heard = await until(trainer, (each) => each.kind === "step" &&
              each.step >= 40);
            trainer.pause();
            await new Promise((done) => setTimeout(done, 300));
            return heard.filter(({ kind }) => kind === "step");
          };
          const told = await steps();
          let quiet = true;
          const stop = trainer.on(() => { quiet = false; });
          await new Promise((done) => setTimeout(done, 300));
          stop();
          trainer.restart(settings);
          const again = await after("evaluation");
          trainer.step();
          const [step, evaluated] = await after("evaluation");
          const retold = await steps();
          trainer.restart({ ...settings, heads: 3 });
          const [failed] = await after("failed");
          trainer.close();
          const losses = (events) => events.flatMap(({ losses }) => [...losses]);
          return { started, first, asked, quiet, told: losses(told), evaluated,
            again: again.at(-1).loss, one: losses([step]), retold: losses(retold),
            failed: failed.message, rates: told.map((each) => each.stepsPerSecond),
            head: [...asked.answer.maps[0].heads[0]] };
        }"""
    )
    assert found["started"]["kind"] == "started"
    assert found["started"]["settings"]["task"] == "reverse"
    assert found["started"]["vocabulary"][:4] == ["⟨pad⟩", "⟨bos⟩", "⟨eos⟩", "a"]
    assert found["first"]["step"] == 0
    assert found["again"] == found["first"]["loss"]
    assert found["asked"]["answer"]["expected"] == list("dcba")
    assert sum(found["head"][:5]) == pytest.approx(1)
    assert found["quiet"], "a paused trainer says nothing"
    assert found["evaluated"]["step"] == 1
    both = min(len(found["told"]), 1 + len(found["retold"]))
    assert found["told"][:both] == [*found["one"], *found["retold"]][:both]
    assert all(rate > 0 for rate in found["rates"])
    assert "cannot be shared by 3 heads" in found["failed"]


def test_a_course_is_evaluated_at_its_marks_and_ends_where_it_says(page):
    found = page.evaluate(
        """async () => {
          const { open } = await import("/training/client.js");
          const runs = [];
          for (let i = 0; i < 2; i++) {
            const trainer = open({ width: 16, dFf: 16, batch: 8, seed: 3 });
            await until(trainer, ({ kind }) => kind === "evaluation");
            trainer.play({ until: 10, every: 4 });
            const heard = await until(trainer, (each) => each.kind === "evaluation" &&
              each.step === 10);
            let more = 0;
            trainer.on(({ kind, step }) => { if (step > 10) more += 1; });
            await new Promise((done) => setTimeout(done, 300));
            trainer.close();
            const evaluated = heard.filter(({ kind }) => kind === "evaluation");
            runs.push({ more, evaluated: evaluated.map((e) => [e.step, e.loss]) });
          }
          return runs;
        }"""
    )
    assert [step for step, _ in found[0]["evaluated"]] == [4, 8, 10]
    assert found[0]["more"] == 0
    assert found[0] == found[1], "one seed, one curve"


def test_what_cannot_begin_leaves_nothing_that_plays_on(page):
    found = page.evaluate(
        """async () => {
          const { open } = await import("/training/client.js");
          const trainer = open({ width: 16, dFf: 16, batch: 8 });
          await until(trainer, ({ kind }) => kind === "evaluation");
          trainer.restart({ task: "lines", lines: "" });
          const failed = await until(trainer, ({ kind }) => kind === "failed");
          const heard = [];
          trainer.on((event) => heard.push(event.kind));
          trainer.play();
          await new Promise((done) => setTimeout(done, 300));
          trainer.close();
          return { heard, message: failed.at(-1).message };
        }"""
    )
    assert found["heard"] == []
    assert "there are none yet" in found["message"]


def test_two_train_at_once_where_no_host_has_the_modules(page):
    """As in a notebook: modules are blobs, and the worker begins with one of them."""
    found = page.evaluate(
        """async (modules) => {
          const { link } = await import("/kit/link.js");
          const { open } = await import(link(JSON.parse(modules)));
          const trainers = [1, 2].map((seed) => open({ task: "copy", seed }));
          const heard = await Promise.all(trainers.map((trainer) => {
            trainer.play();
            return until(trainer, ({ kind }) => kind === "step");
          }));
          for (const trainer of trainers) trainer.close();
          return heard.map((events) => events.at(-1).losses[0]);
        }""",
        linked(FOLDER / "training" / "client.js"),
    )
    assert all(loss > 1 for loss in found)
    assert found[0] != found[1]


@pytest.mark.slow
@pytest.mark.parametrize("key", EXPERIMENTS.split())
def test_an_experiment_comes_out_sound_and_broken(page, key):
    found = page.evaluate(
        """async (key) => {
          const { EXPERIMENTS } = await import("/training/experiments.js");
          const { Run } = await import("/training/run.js");
          const experiment = EXPERIMENTS.find((each) => each.key === key);
          const { sound, broken, steps, measure } = experiment;
          const measured = (settings) => {
            const run = new Run(settings);
            for (let i = 0; i < steps; i++) run.step();
            return run.evaluate()[measure];
          };
          return { ...experiment, n: EXPERIMENTS.length,
            sound: measured(sound), broken: measured(broken) };
        }""",
        key,
    )
    assert found["n"] == len(EXPERIMENTS.split())
    for name in ("sound", "broken"):
        least, most = found.get(f"{name}AtLeast"), found.get(f"{name}AtMost")
        assert (least is None) != (most is None)
        assert least is None or found[name] >= least, found
        assert most is None or found[name] <= most, found
