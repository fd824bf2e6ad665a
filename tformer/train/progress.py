"""Progress of a training run: a bar in a terminal, a live plot in a notebook.

A display is a listener: it is called with the run's events and draws them. Its
``close`` is called however the run ends.

Chapter *Training*.
"""

import shutil
import sys
import time
from collections.abc import Callable
from html import escape
from importlib.util import find_spec
from typing import Any, cast

from tformer.common.text import visible
from tformer.train.events import Event, Look, Record, Start

KINDS = ("auto", "bar", "plot", "none")
REASONS = {
    "steps": "all steps are done",
    "minutes": "the time is up",
    "requested": "stopped on request; the checkpoint is kept",
    "patience": "the validation loss no longer falls",
}


class Silent:
    """Draws nothing."""

    def __call__(self, event: Event) -> None:
        """Take in an event."""

    def close(self) -> None:
        """Do nothing: there is nothing to clean up."""


class Bar:
    """A tqdm bar on standard error, with a line and a sample at each evaluation."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __call__(self, event: Event) -> None:
        """Move the bar, or write a line above it."""
        from tqdm import tqdm

        if event["kind"] == "start":
            tqdm.write(
                visible(
                    f"{event['corpus']}\n{event['n_parameters']:,} parameters, "
                    f"{event['device']}, {event['precision']} -> {event['folder']}"
                ),
                file=sys.stderr,
            )
            self._bar = tqdm(
                total=event["steps"],
                initial=event["step"],
                unit="step",
                dynamic_ncols=True,
                mininterval=0.1 if sys.stderr.isatty() else 10.0,  # rarely, in a log
            )
        elif event["kind"] == "step":
            self._bar.update(event["step"] - self._bar.n)
            self._bar.set_postfix_str(
                f"loss {event['loss']:.3f}, {event['tokens_per_second']:,.0f} tokens/s",
                refresh=False,
            )
        elif event["kind"] == "evaluate":
            sample = event["samples"][0] if event["samples"] else None
            shown = f" | {sample['translation']}" if sample else ""
            line = (
                f"step {event['step']:>6}  train {event['train_loss']:.3f}  "
                f"valid {event['valid_loss']:.3f}{shown}"
            )
            tqdm.write(one_line(visible(line), _columns()), file=sys.stderr)

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.close()


class Progress:
    """What a run has reported so far: the part of a display that does not draw.

    Attributes:
        curve: the step events, including those before the run was resumed.
        history: the evaluations, likewise.
        reason: why it stopped; empty while it runs.
    """

    def __init__(self) -> None:
        self._start: Start | None = None
        self.curve: list[Look] = []
        self.history: list[Record] = []
        self.seconds = 0.0
        self.speed: float | None = None  # tokens a second, since we listen
        self.reason = ""

    def note(self, event: Event) -> None:
        """Take in one event."""
        if event["kind"] == "start":
            self._start, self.reason = event, ""
            self.curve, self.history = list(event["curve"]), list(event["history"])
        elif event["kind"] == "step":
            self.curve.append(event)
            self.speed = event["tokens_per_second"]
        elif event["kind"] == "evaluate":
            earlier = [each for each in self.history if each["step"] < event["step"]]
            facts = {k: v for k, v in event.items() if k in Record.__annotations__}
            self.history = [*earlier, cast("Record", facts)]
        else:
            self.reason = event["reason"]
        self.seconds = event["seconds"]

    @property
    def has_started(self) -> bool:
        """Whether a run has reported anything."""
        return self._start is not None

    @property
    def facts(self) -> Start:
        """The event that started the run.

        Raises:
            RuntimeError: no run has started.
        """
        if self._start is None:
            raise RuntimeError("no run has started")
        return self._start

    @property
    def step(self) -> int:
        """The last step that was reported."""
        if self.curve:
            return self.curve[-1]["step"]
        return self.facts["step"] if self.has_started else 0

    def seconds_left(self) -> float | None:
        """How much longer it will take at this pace; None if that is unknown."""
        facts, ends = self.facts, []
        if facts["minutes"] is not None:
            ends.append(facts["minutes"] * 60 - self.seconds)
        done, spent = self.step - facts["step"], self.seconds - facts["seconds"]
        if facts["steps"] is not None and done > 0:
            ends.append((facts["steps"] - self.step) * spent / done)
        return max(0.0, min(ends)) if ends else None

    def line(self) -> str:
        """The state of the run, in one line."""
        total = self.facts["steps"]
        parts = [f"step {self.step:,}" + (f" of {total:,}" if total else "")]
        left = self.seconds_left()
        if self.reason:
            reason = REASONS.get(self.reason, self.reason)
            parts.append(f"{minutes(self.seconds)}: {reason}")
        elif left is not None and self.seconds > 0:
            parts.append(f"{minutes(self.seconds)}, about {minutes(left)} to go")
        if self.curve:
            last = self.curve[-1]
            parts.append(f"loss {last['loss']:.2f}")
            parts.append(f"learning rate {last['learning_rate']:.2g}")
            if self.speed is not None:
                parts.append(f"{self.speed:,.0f} tokens/s")
        return " · ".join(parts)

    def heading(self) -> str:
        """What is trained on what, and whether the sentences are generated."""
        facts = self.facts
        corpus = str(facts["corpus"]).split(":", 1)[0]
        if facts["is_synthetic"]:
            corpus += " (generated sentences: no claim about German)"
        return (
            f"{corpus} · {facts['n_parameters']:,} parameters · {facts['device']} · "
            f"{facts['precision']}"
        )

    def figure(self, most_points: int = 300) -> Any:
        """The curves so far, from `tformer.figures.training_curves`."""
        from tformer import figures

        size = -(-len(self.curve) // most_points) or 1  # readings per point
        groups = [self.curve[i : i + size] for i in range(0, len(self.curve), size)]
        title = str(self.facts["corpus"]).split(":", 1)[0]
        if self.facts["is_synthetic"]:
            title += " (generated sentences)"
        return figures.training_curves(
            [group[-1]["step"] for group in groups],
            [sum(each["loss"] for each in group) / len(group) for group in groups],
            [group[-1]["learning_rate"] for group in groups],
            valid_steps=[each["step"] for each in self.history],
            valid_losses=[each["valid_loss"] for each in self.history],
            valid_rates=[each["learning_rate"] for each in self.history],
            last_step=self.facts["steps"],
            title=title,
        )

    def html(self) -> str:
        """All of it for a notebook or a page: lines, curves, latest translations."""
        from tformer.figures import page

        parts = [
            '<div class="tf-training">',
            f'<p style="margin:0.3em 0">{escape(self.heading())}<br>'
            f"<strong>{escape(self.line())}</strong></p>",
        ]
        if self.curve:
            parts.append(page.figure_html(self.figure()))
        if self.history:
            parts.append(samples_html(self.history[-1]))
        return "".join([*parts, "</div>"])


class Plot:
    """Curves, speed, time to go and translations, in one output that is redrawn.

    Args:
        every: seconds between drawings, at least; longer if drawing is slow, so that it
            never takes more than a fortieth of the time.
        show: called with HTML and plain text; the notebook's own display if omitted.
    """

    def __init__(
        self, every: float = 2.0, show: Callable[[str, str], None] | None = None
    ) -> None:
        self.progress = Progress()
        self._every, self._next, self._fresh = every, 0.0, True
        self._show = show or self._show_in_notebook
        self._handle: Any = None

    def __call__(self, event: Event) -> None:
        """Take in the event; draw if it is time to."""
        self.progress.note(event)
        self._fresh = False
        if event["kind"] in ("start", "stop") or time.monotonic() >= self._next:
            self._draw()

    def close(self) -> None:
        """Show the last state, even of a run that failed."""
        if not self._fresh and self.progress.has_started:
            self._draw()

    def _show_in_notebook(self, html: str, plain: str) -> None:
        from IPython.display import display

        forms = {"text/html": html, "text/plain": plain}
        if self._handle is None:
            self._handle = display(forms, raw=True, display_id=True)
        else:
            self._handle.update(forms, raw=True)

    def _draw(self) -> None:
        started = time.monotonic()
        progress = self.progress
        self._show(progress.html(), f"{progress.heading()}\n{progress.line()}")
        now = time.monotonic()
        self._next = now + max(self._every, 40 * (now - started))
        self._fresh = True


def samples_html(record: Record, most: int = 3) -> str:
    """The translations of one evaluation, next to their references.

    Args:
        record: an evaluation.
        most: how many sentences at most.
    """
    from tformer.figures import page

    samples = record["samples"][:most]
    if not samples:
        return ""
    rows = [
        [each["source"], each["reference"], each["translation"] or "(nothing)"]
        for each in samples
    ]
    return page.text_table(
        [[one_line(text, 160) for text in row] for row in rows],
        ["English", "reference", f"the model at step {record['step']:,}"],
        ["en", "de", "de"],
    )


def one_line(text: str, width: int) -> str:
    """The text without line breaks, cut with … to at most this many characters."""
    text = " ".join(text.split("\n"))
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def minutes(seconds: float) -> str:
    """A duration for people: "40 s", "3.2 min", "2 h 05 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.1f} min"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:02.0f} min"


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this code, so that it can show a picture."""
    ipython = sys.modules.get("IPython")  # in a notebook it has been imported
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def display(kind: str) -> Any:
    """The display of the given kind.

    Args:
        kind: "auto" (a plot in a notebook, else a bar), "bar", "plot" or "none".

    Raises:
        ValueError: none of these.
    """
    if kind not in KINDS:
        raise ValueError(f"progress={kind!r} is none of: {', '.join(KINDS)}")
    if kind == "none":
        return Silent()
    can_plot = in_notebook() and find_spec("matplotlib") is not None
    if kind == "plot" or (kind == "auto" and can_plot):
        return Plot()
    return Bar()


def _columns() -> int:
    if not sys.stderr.isatty():
        return 1000  # a file has no width
    return shutil.get_terminal_size().columns - 1
