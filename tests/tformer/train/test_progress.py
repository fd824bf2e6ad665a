"""Progress displays: one output, not too often, and nothing said that is not so."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from tformer import figures
from tformer.train import progress


def start(**changes):
    facts = {"kind": "start", "step": 0, "steps": 100, "minutes": None, "seconds": 0.0}
    facts |= {"folder": "runs/one", "device": "CPU", "precision": "fp32"}
    facts |= {"n_parameters": 1234567, "history": [], "curve": []}
    facts |= {"corpus": "words: train 9, valid 3, test 3 pairs", "is_synthetic": False}
    return facts | changes


def step(number, seconds=0.0, loss=5.0):
    event = {"kind": "step", "step": number, "seconds": seconds, "loss": loss}
    event |= {"learning_rate": number * 1e-5, "gradient_norm": 1.0}
    return event | {"tokens_per_second": 9000.0}


def evaluation(number, translation="Ein Hund.", seconds=0.0):
    sample = {"source": "A <dog>.", "reference": "Ein Hund."}
    event = {"kind": "evaluate", "step": number, "seconds": seconds}
    event |= {"train_loss": 5.0, "valid_loss": 4.5, "learning_rate": number * 1e-5}
    event |= {"samples": [{**sample, "translation": translation}]}
    return event | {"translator": object()}


def stop(number, reason="steps", seconds=0.0):
    return {"kind": "stop", "step": number, "reason": reason, "seconds": seconds}


@pytest.fixture
def notebook(monkeypatch):
    """IPython's display, recorded."""
    IPython = pytest.importorskip("IPython")
    shown = SimpleNamespace(first=[], updates=[])

    class Handle:
        def update(self, forms, raw):
            shown.updates.append(forms)

    def display(forms, *, raw, display_id):
        assert raw
        assert display_id
        shown.first.append(forms)
        return Handle()

    monkeypatch.setattr(IPython.display, "display", display)
    return shown


def run_through(display, n=100, **changes):
    display(start(**changes))
    for number in range(10, n + 1, 10):
        display(step(number, seconds=number / 10))
        if number % 50 == 0:
            display(evaluation(number, seconds=number / 10))
    display(stop(n, seconds=n / 10))
    display.close()


def test_a_run_has_one_output_with_a_picture_that_is_updated(notebook):
    run_through(progress.Plot(every=0.0))
    assert len(notebook.first) == 1
    assert 1 <= len(notebook.updates) <= 13
    html = notebook.updates[-1]["text/html"]
    assert 'role="img" aria-label="Training curves' in html
    assert "currentColor" in html and figures.INK not in html  # the page's colour
    assert "A &lt;dog&gt;." in html and "<dog>" not in html  # text is no markup


def test_it_is_drawn_no_oftener_than_asked(notebook):
    run_through(progress.Plot(every=3600.0), n=2000)
    assert len(notebook.first) + len(notebook.updates) <= 3  # start, first steps, stop


def test_the_last_state_stays_when_a_run_fails(notebook):
    display = progress.Plot(every=3600.0)
    display(start())
    display(step(10))
    display(step(20, loss=3.25))
    display.close()
    assert "step 20 of 100" in notebook.updates[-1]["text/plain"]
    assert "loss 3.25" in notebook.updates[-1]["text/html"]


def test_closing_before_anything_happened_shows_nothing(notebook):
    progress.Plot().close()
    assert not notebook.first


def test_generated_sentences_are_called_so(notebook):
    run_through(progress.Plot(every=0.0), is_synthetic=True, corpus="grammar: train 9")
    html = notebook.updates[-1]["text/html"]
    assert "no claim about German" in html
    assert "grammar (generated sentences)" in html  # the figure itself, too


def test_the_time_to_go_follows_the_pace_since_the_start():
    state = progress.Progress()
    state.note(start(step=40, steps=100, seconds=400.0))  # resumed; slower before
    state.note(step(60, seconds=420.0))
    assert state.seconds_left() == pytest.approx(40.0)


def test_the_earlier_of_two_ends_counts():
    state = progress.Progress()
    state.note(start(steps=100, minutes=1.0))
    state.note(step(10, seconds=30.0))
    assert state.seconds_left() == pytest.approx(30.0)


def test_a_resumed_run_shows_what_came_before():
    state = progress.Progress()
    state.note(start(step=20, curve=[step(10), step(20)], history=[evaluation(20)]))
    state.note(step(30))
    assert [each["step"] for each in state.curve] == [10, 20, 30]
    assert len(state.history) == 1


def test_many_looks_are_averaged_into_few_points():
    """But the rate of a point is that of its own step."""
    state = progress.Progress()
    state.note(start(steps=20_000))
    for number in range(10, 20_001, 10):
        state.note(step(number, loss=float(number)))
    losses, rates = (each.lines[0] for each in state.figure(most_points=300).axes[:2])
    assert len(losses.get_xdata()) <= 300
    assert losses.get_ydata().mean() == pytest.approx(10_005.0, rel=0.01)
    assert rates.get_ydata() == pytest.approx(rates.get_xdata() * 1e-5)


def test_no_model_is_kept_alive_by_the_history():
    state = progress.Progress()
    state.note(start())
    state.note(evaluation(50))
    assert "translator" not in state.history[0]


@pytest.mark.parametrize(
    ("seconds", "text"), [(41.2, "41 s"), (192, "3.2 min"), (7500, "2 h 05 min")]
)
def test_durations_read_well(seconds, text):
    assert progress.minutes(seconds) == text


def test_a_terminal_gets_one_line_per_evaluation(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "60")
    bar = progress.Bar()
    bar(start())
    bar(step(50))
    bar(evaluation(50, translation="lang\nund " * 200))
    bar.close()
    (line,) = (x for x in terminal.getvalue().split("\n") if "valid 4.500" in x)
    line = line.split("\r")[-1]
    assert len(line) <= 60
    assert line.endswith("…")


def test_auto_is_a_bar_and_in_a_notebook_a_plot(monkeypatch):
    assert isinstance(progress.display("auto"), progress.Bar)
    IPython = pytest.importorskip("IPython")
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    assert isinstance(progress.display("auto"), progress.Plot)
    shell.kernel = None  # ipython in a terminal
    assert isinstance(progress.display("auto"), progress.Bar)


def test_an_unknown_kind_is_refused_by_name():
    with pytest.raises(ValueError, match="'loud' is none of: auto"):
        progress.display("loud")
