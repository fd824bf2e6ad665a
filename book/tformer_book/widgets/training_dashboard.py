"""A dashboard for training in a notebook: settings, live curves, a Stop button.

Made of plain ipywidgets (7.7.1 or 8), so it needs a kernel. Chapter *Training*.
"""

import hashlib
import json
import threading
from dataclasses import asdict, replace
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets

from tformer import train
from tformer.config import TransformerConfig
from tformer.data import Corpus
from tformer.train import progress


class TrainingDashboard(ipywidgets.VBox):
    """Train in the background, watch, stop, resume, and translate your own sentence.

    *Start* trains in a thread, so that other cells can run in the meantime. *Stop* ends
    the run after the current steps and keeps its checkpoint; *Start* with the same
    settings resumes from there, even after a lost session, with the same numbers as if
    it had never stopped (unless another cell used torch's random numbers meanwhile).
    Every combination of settings has its own folder.

    Args:
        config: what to train; the dashboard's dropout replaces the one in it.
        corpus: from `tformer.data.load`.
        recipe: initial values of the sliders, and everything without a slider.
        steps: initial number of steps.
        folder: where the runs' folders go.
        device: as in `tformer.train.fit`.

    Attributes:
        run: the last `tformer.train.Run`, stopped or finished; None before.
        error: what made the last run fail, or None.
    """

    def __init__(
        self,
        config: TransformerConfig,
        corpus: Corpus,
        *,
        recipe: train.Recipe | None = None,
        steps: int = 2000,
        folder: str | Path = "runs",
        device: str = "auto",
    ) -> None:
        recipe = recipe or train.Recipe()
        self.run: train.Run | None = None
        self.error: Exception | None = None
        self._config, self._corpus, self._recipe = config, corpus, recipe
        self._folder, self._device = Path(folder), device
        self._thread: threading.Thread | None = None
        self._asked_to_stop = threading.Event()

        self._make_settings(config, recipe, steps)
        self.start_button = ipywidgets.Button(
            description="Start", button_style="primary", tooltip="Train, or resume"
        )
        self.stop_button = ipywidgets.Button(
            description="Stop", disabled=True, tooltip="Stop; the checkpoint is kept"
        )
        self.bar = ipywidgets.IntProgress(max=steps, layout={"width": "95%"})
        self.message = ipywidgets.HTML()
        self.translation = ipywidgets.HTML()
        self.picture = ipywidgets.HTML()
        self.start_button.on_click(lambda _: self.start())
        self.stop_button.on_click(lambda _: self.stop())
        self.sentence.observe(lambda _: self._translate_if_idle(), "value")
        super().__init__(
            [
                *self._settings,
                ipywidgets.HBox([self.start_button, self.stop_button]),
                self.bar,
                self.message,
                self.sentence,
                self.translation,
                self.picture,
            ]
        )

    def _make_settings(
        self, config: TransformerConfig, recipe: train.Recipe, steps: int
    ) -> None:
        """The sliders, and the sentence to translate meanwhile."""
        wide = {"style": {"description_width": "9em"}}
        self.steps = ipywidgets.BoundedIntText(
            value=steps, min=1, max=1_000_000, description="steps", **wide
        )
        self.warmup_steps = ipywidgets.BoundedIntText(
            value=recipe.warmup_steps,
            min=1,
            max=100_000,
            description="warm-up steps",
            **wide,
        )
        self.lr_scale = ipywidgets.FloatLogSlider(
            value=recipe.lr_scale,
            min=-2,
            max=1,
            step=0.1,
            description="× learning rate",
            **wide,
        )
        self.dropout = ipywidgets.FloatSlider(
            value=config.dropout, max=0.5, step=0.05, description="dropout", **wide
        )
        self.label_smoothing = ipywidgets.FloatSlider(
            value=recipe.label_smoothing,
            max=0.5,
            step=0.05,
            description="label smoothing",
            **wide,
        )
        self.sentence = ipywidgets.Text(
            value="A dog runs on the beach.",
            description="your sentence",
            continuous_update=False,
            layout={"width": "95%"},
            **wide,
        )
        self._settings = [
            self.steps,
            self.warmup_steps,
            self.lr_scale,
            self.dropout,
            self.label_smoothing,
        ]

    @property
    def is_running(self) -> bool:
        """Whether a run is in progress."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Train with the settings shown; resume such a run if it was stopped."""
        if self.is_running:
            return
        config = replace(self._config, dropout=round(self.dropout.value, 4))
        recipe = replace(
            self._recipe,
            warmup_steps=self.warmup_steps.value,
            lr_scale=round(self.lr_scale.value, 4),
            label_smoothing=round(self.label_smoothing.value, 4),
        )
        self._asked_to_stop.clear()
        self._show_running(True)
        self.bar.max = self.steps.value
        self._thread = threading.Thread(
            target=self._train, args=(config, recipe, self.steps.value), daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Ask the run to stop; it does so within a few steps."""
        self._asked_to_stop.set()
        self.stop_button.disabled = True
        self.message.value = "Stopping …"

    def wait(self, seconds: float | None = None) -> None:
        """Block until the run has ended, for code that needs its result."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _train(
        self, config: TransformerConfig, recipe: train.Recipe, steps: int
    ) -> None:
        plot = progress.Plot(show=self._show)
        folder = self._folder / self._name(config, recipe)

        def hear(event: train.Event) -> bool:
            plot(event)
            self.bar.value = event.get("step", self.bar.value)
            if event["kind"] == "evaluate":
                self._translate(event["translator"])
            return self._asked_to_stop.is_set()

        self.error = None
        self.message.value = "Preparing: tokenizer and data …"
        try:
            self.run = train.fit(
                config,
                self._corpus,
                steps=steps,
                recipe=recipe,
                folder=folder,
                device=self._device,
                progress="none",
                on_event=hear,
            )
        except Exception as error:  # nobody would see a thread's error
            self.error = error
            self.message.value = (
                f"<strong>{type(error).__name__}:</strong> {escape(str(error))}"
            )
        else:
            plot.close()
            where = escape(str(self.run.folder))
            self.message.value = (
                f"The run and its checkpoint are in <code>{where}</code>. "
                "Start resumes from there; <code>load_pretrained</code> loads it."
            )
            self._translate(self.run.translator)
        finally:
            self._show_running(False)

    def _name(self, config: TransformerConfig, recipe: train.Recipe) -> str:
        """A folder's name that changes with every setting but the number of steps."""
        facts = [config.to_dict(), asdict(recipe), self._corpus.checksums]
        text = json.dumps(facts, sort_keys=True)
        return f"dashboard-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def _show(self, html: str, plain: str) -> None:
        self.message.value = ""
        self.picture.value = html

    def _show_running(self, running: bool) -> None:
        for control in (*self._settings, self.start_button):
            control.disabled = running
        self.stop_button.disabled = not running

    def _translate_if_idle(self) -> None:
        """During a run, its next evaluation translates the sentence."""
        if not self.is_running and self.run is not None:
            self._translate(self.run.translator)

    def _translate(self, translator: Any) -> None:
        text = self.sentence.value
        try:
            result = translator.translate(text) or "(nothing yet)"
        except ValueError as problem:  # empty, or too long
            result = str(problem)
        self.translation.value = f'<p lang="de">{escape(result)}</p>'


__all__ = ["TrainingDashboard"]
