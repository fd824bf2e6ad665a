"""Training: from sentence pairs to a translator, in one readable loop.

Every run is a folder. It holds the tokenizer, a checkpoint from which a killed run goes
on to the same numbers, snapshots of the weights to average, the history, and, at the
end, the trained model.

Source: Vaswani et al. 2017, section 5. Chapter 12.
"""

import contextlib
import dataclasses
import math
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tformer.config import TransformerConfig
from tformer.data import Batch, Corpus, batches, encode_pairs
from tformer.files import load_tensors, save_tensors, write_json
from tformer.loss import cross_entropy
from tformer.pretrained import Translator, build, load_parameters
from tformer.progress import display
from tformer.recipe import Recipe
from tformer.recurrent import RecurrentConfig
from tformer.schedule import inverse_square_root
from tformer.tokenization import Tokenizer

LOG_EVERY = 10  # steps between looks at the loss: a look makes a GPU wait
AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}
Listener = Callable[[dict[str, Any]], bool | None]


@dataclass(frozen=True)
class Run:
    """A finished (or stopped) training run.

    Attributes:
        translator: the trained model, ready to translate, on the device it was
            trained on.
        history: one record per evaluation: step, epoch, train_loss, valid_loss,
            learning_rate, gradient_norm, tokens_per_second, seconds, samples.
        curve: one record every few steps: step, loss, learning_rate, gradient_norm.
        report: what was run: corpus and checksums, configuration, recipe, device,
            versions, steps, seconds, why it stopped, final validation loss.
        folder: where all of it lies; `tformer.load_pretrained` reads it.
    """

    translator: Translator
    history: list[dict[str, Any]]
    curve: list[dict[str, Any]]
    report: dict[str, Any]
    folder: Path


def fit(
    config: TransformerConfig | RecurrentConfig,
    corpus: Corpus,
    *,
    steps: int | None = None,
    minutes: float | None = None,
    device: str = "auto",
    folder: str | Path | None = None,
    recipe: Recipe | None = None,
    tokenizer: Tokenizer | None = None,
    samples: list[tuple[str, str]] | None = None,
    progress: str = "auto",
    on_event: Listener | None = None,
) -> Run:
    """Train a model on a corpus.

    Learns the tokenizer on ``corpus.train``, then minimises the smoothed cross-entropy
    with Adam, warm-up and inverse-square-root decay. If ``folder`` holds a run that was
    cut off, training goes on from its checkpoint, and ends with the same numbers as if
    it had never stopped (on one kind of device).

    Args:
        config: what to train: a Transformer, or the recurrent baseline.
        corpus: from `tformer.data.load`.
        steps: stop after so many steps. Repeats exactly.
        minutes: stop after so many minutes. For people; give steps, minutes or both.
        device: "cpu", "cuda", "cuda:1", "mps", or "auto": a GPU where there is one.
        folder: where the run lives; a new one under ``runs/`` if left out.
        recipe: how to train; the defaults of `Recipe` if left out.
        tokenizer: use this one, of config.vocab_size pieces, instead of learning one.
        samples: pairs whose sources are translated at each evaluation; the first
            three validation pairs if left out.
        progress: "auto" (a bar in a terminal, a live plot in a notebook), "bar",
            "plot" or "none".
        on_event: called with a dictionary at the start, every few steps, at each
            evaluation and at the stop; returning True stops the run after the step at
            hand, with its checkpoint.

    Returns:
        The run; its translator holds the average of the last snapshots.

    Raises:
        ValueError: neither steps nor minutes; an empty corpus; a tokenizer of another
            size; a folder with a run of other settings.
        FloatingPointError: the loss or a gradient is not finite; the last checkpoint
            is kept.
        OSError: the folder cannot be written.
    """
    if steps is None and minutes is None:
        raise ValueError("give steps=…, minutes=…, or both: training needs an end")
    if steps is not None and steps < 1:
        raise ValueError(f"steps={steps} must be at least 1")
    if minutes is not None and not minutes > 0:
        raise ValueError(f"minutes={minutes} must be positive")
    if not corpus.train or not corpus.valid:
        raise ValueError(
            f"corpus {corpus.name!r} has {len(corpus.train)} training and "
            f"{len(corpus.valid)} validation pairs: training needs both"
        )
    recipe = recipe or Recipe()
    chosen = choose_device(device)
    folder = Path(folder) if folder is not None else _new_folder(corpus.name)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _get_tokenizer(folder, tokenizer, config, corpus, recipe)
    rng_devices = [chosen] if chosen.type == "cuda" else []
    with torch.random.fork_rng(devices=rng_devices):  # leave the caller's dice alone
        torch.manual_seed(recipe.seed)
        trainer = _Trainer(config, corpus, recipe, tokenizer, chosen, folder)
        trainer.samples = corpus.valid[:3] if samples is None else samples
        trainer.resume_if_possible()
        listeners = [display(progress)]
        if on_event is not None:
            listeners.append(on_event)
        with contextlib.ExitStack() as stack:
            for listener in listeners:
                close = getattr(listener, "close", None)
                if close is not None:
                    stack.callback(close)
            trainer.run(steps, minutes, listeners)
        return trainer.finish()


@dataclass
class _State:
    """Where a run stands: all that a checkpoint must know besides tensors."""

    step: int = 0
    epoch: int = 0
    position: int = 0  # batches of this epoch already taken
    seconds: float = 0.0
    best_loss: float = math.inf
    evaluations_since_best: int = 0
    stopped: str = ""
    history: list[dict[str, Any]] = field(default_factory=list)
    curve: list[dict[str, Any]] = field(default_factory=list)


class _Trainer:
    """One run: model, optimiser, data, and how to save and restore them."""

    samples: list[tuple[str, str]]

    def __init__(
        self,
        config: TransformerConfig | RecurrentConfig,
        corpus: Corpus,
        recipe: Recipe,
        tokenizer: Tokenizer,
        device: torch.device,
        folder: Path,
    ) -> None:
        self.config, self.corpus, self.recipe = config, corpus, recipe
        self.tokenizer, self.device, self.folder = tokenizer, device, folder
        self.precision = _choose_precision(recipe.precision, device)
        self.model = build(config).to(device)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(),
            betas=recipe.adam_betas,
            eps=recipe.adam_epsilon,
            fused=device.type == "cuda",
        )
        self.scaler = torch.amp.GradScaler(
            device.type, enabled=self.precision == "fp16"
        )
        self.state = _State()
        self.encoded: dict[str, list[int]] = {}  # sentence -> ids, filled as they come
        self.valid = list(
            self._batches(encode_pairs(corpus.valid, tokenizer, config.max_len))
        )
        self.identity = {
            "config": config.to_dict(),
            "recipe": dataclasses.asdict(recipe),
            "tokenizer": tokenizer.fingerprint,
            "corpus": corpus.name,
            "checksums": corpus.checksums,
        }

    # The loop -----------------------------------------------------------------------

    def run(
        self, steps: int | None, minutes: float | None, listeners: list[Listener]
    ) -> None:
        """Step until the budget, the listeners or the validation loss say stop."""
        state, recipe = self.state, self.recipe
        earlier, started = state.seconds, time.monotonic()

        def tell(kind: str, **facts: Any) -> bool:
            answers = [listener({"kind": kind, **facts}) for listener in listeners]
            return any(answer is True for answer in answers)

        tell(
            "start",
            step=state.step,
            steps=steps,
            minutes=minutes,
            seconds=state.seconds,
            folder=self.folder,
            device=device_name(self.device),
            precision=self.precision,
            n_parameters=self.model.n_parameters(),
            corpus=str(self.corpus),
            is_synthetic=self.corpus.is_synthetic,
            history=state.history,
            curve=state.curve,
        )
        recent: list[tuple[Tensor, Tensor, int]] = []  # loss, norm, tokens: on device
        since_evaluation: list[float] = []
        n_tokens, mark = 0, started
        state.stopped = "steps" if steps is not None and state.step >= steps else ""
        feed = self._feed()
        while not state.stopped:
            self.model.train()
            recent.append(self._step(next(feed)))
            at_evaluation = state.step % recipe.eval_every == 0
            is_last = state.step == steps
            if state.step % LOG_EVERY and not at_evaluation and not is_last:
                continue
            losses = torch.stack([loss for loss, _, _ in recent]).tolist()
            norms = torch.stack([norm for _, norm, _ in recent]).tolist()
            self._check_finite(losses, norms)
            since_evaluation += losses
            n_tokens += sum(tokens for _, _, tokens in recent)
            recent = []
            now = time.monotonic()
            state.seconds = earlier + now - started
            log = {
                "step": state.step,
                "loss": sum(losses) / len(losses),
                "learning_rate": self.optimizer.param_groups[0]["lr"],
                "gradient_norm": sum(norms) / len(norms),
            }
            state.curve.append(log)
            speed = n_tokens / max(now - mark, 1e-9)
            if tell("step", tokens_per_second=speed, seconds=state.seconds, **log):
                state.stopped = "asked to"
            if is_last:
                state.stopped = "steps"
            if minutes is not None and state.seconds >= minutes * 60:
                state.stopped = "minutes"
            if at_evaluation or state.stopped:
                valid_loss = self.validation_loss()
                self._check_finite([valid_loss], [log["gradient_norm"]])
                record = {
                    "step": state.step,
                    "epoch": state.epoch,
                    "train_loss": sum(since_evaluation) / len(since_evaluation),
                    "valid_loss": valid_loss,
                    "learning_rate": log["learning_rate"],
                    "gradient_norm": log["gradient_norm"],
                    "tokens_per_second": speed,
                    "seconds": state.seconds,
                    "samples": self._translate_samples(),
                }
                state.history.append(record)
                if at_evaluation:
                    self._note_best(record["valid_loss"])
                if tell("evaluate", translator=self.translator(), **record):
                    state.stopped = "asked to"
                state.seconds = earlier + time.monotonic() - started
                self.save_checkpoint()
                since_evaluation, n_tokens, mark = [], 0, time.monotonic()
        tell("stop", step=state.step, reason=state.stopped, seconds=state.seconds)

    def _step(self, batch: Batch) -> tuple[Tensor, Tensor, int]:
        """Forward, backward, one step of Adam; returns loss, gradient norm, tokens."""
        state, recipe, config = self.state, self.recipe, self.config
        rate = inverse_square_root(
            state.step + 1,
            d_model=config.d_model,
            warmup_steps=recipe.warmup_steps,
            scale=recipe.lr_scale,
        )
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss = self._loss(batch, smoothing=recipe.label_smoothing)
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), recipe.clip_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        state.step += 1
        return loss.detach(), norm.detach(), batch.n_tokens

    def _loss(self, batch: Batch, *, smoothing: float) -> Tensor:
        """Teacher forcing: the decoder reads bos + pieces, must say pieces + eos."""
        batch = batch.to(self.device)
        dtype = AUTOCAST.get(self.precision)
        with torch.autocast(self.device.type, dtype=dtype, enabled=dtype is not None):
            logits = self.model(batch.source_ids, batch.target_ids)
        return cross_entropy(
            logits, batch.labels, pad_id=self.config.pad_id, smoothing=smoothing
        )

    def validation_loss(self) -> float:
        """Mean cross-entropy of the validation labels in nats, without smoothing."""
        self.model.eval()
        total = n_labels = 0.0
        with torch.no_grad():
            for batch in self.valid:
                count = int((batch.labels != self.config.pad_id).sum())
                total += self._loss(batch, smoothing=0.0).item() * count
                n_labels += count
        return total / n_labels

    def translator(self) -> Translator:
        """The model as it stands."""
        return Translator(self.model.eval(), self.tokenizer)

    def _translate_samples(self) -> list[dict[str, str]]:
        sources = [english for english, _ in self.samples]
        translations = self.translator().translate(sources, beam_size=1)
        return [
            {"source": english, "reference": german, "translation": translation}
            for (english, german), translation in zip(
                self.samples, translations, strict=True
            )
        ]

    def _note_best(self, loss: float) -> None:
        state, patience = self.state, self.recipe.patience
        if loss < state.best_loss:
            state.best_loss, state.evaluations_since_best = loss, 0
            return
        state.evaluations_since_best += 1
        if patience is not None and state.evaluations_since_best >= patience:
            state.stopped = "patience"

    def _check_finite(self, losses: list[float], norms: list[float]) -> None:
        first = self.state.step - len(losses) + 1
        for step, loss, norm in zip(count(first), losses, norms, strict=False):
            # With fp16, an overflowing gradient only makes the scaler skip a step.
            if math.isfinite(loss) and (
                math.isfinite(norm) or self.scaler.is_enabled()
            ):
                continue
            raise FloatingPointError(
                f"loss {loss} and gradient norm {norm} at step {step}: the run cannot "
                "go on. Lower lr_scale or raise warmup_steps; the last checkpoint is "
                f"kept in {self.folder}"
            )

    # The data -----------------------------------------------------------------------

    def _batches(self, encoded: list) -> Any:
        config = self.config
        return batches(
            encoded,
            max_tokens=self.recipe.max_tokens,
            pad_id=config.pad_id,
            bos_id=config.bos_id,
            eos_id=config.eos_id,
            seed=self.recipe.seed,
            epoch=self.state.epoch,
        )

    def _feed(self) -> Iterator[Batch]:
        """Batches for ever, from where the run stands."""
        state = self.state
        while True:
            pairs = self.corpus.epoch_pairs(state.epoch, self.recipe.seed)
            epoch = self._batches(
                encode_pairs(
                    pairs, self.tokenizer, self.config.max_len, cache=self.encoded
                )
            )
            while state.position < len(epoch):
                batch = epoch[state.position]
                state.position += 1
                yield batch
            state.epoch, state.position = state.epoch + 1, 0

    # Checkpoints --------------------------------------------------------------------

    @property
    def checkpoint_file(self) -> Path:
        return self.folder / "checkpoint.safetensors"

    def snapshot_file(self, step: int) -> Path:
        return self.folder / f"snapshot-{step:08d}.safetensors"

    def save_checkpoint(self) -> None:
        """Write everything a resumed run needs; drop snapshots that are too old."""
        weights = dict(self.model.named_parameters())
        tensors: dict[str, Tensor] = {f"model.{k}": v for k, v in weights.items()}
        names = list(weights)
        for index, moments in self.optimizer.state_dict()["state"].items():
            for key, value in moments.items():
                tensors[f"adam.{key}.{names[index]}"] = value
        tensors["rng.cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["rng.cuda"] = torch.cuda.get_rng_state(self.device)
        facts = {
            "identity": self.identity,
            "state": dataclasses.asdict(self.state),
            "scaler": self.scaler.state_dict(),
        }
        save_tensors(self.snapshot_file(self.state.step), dict(weights), {})
        save_tensors(self.checkpoint_file, tensors, facts)
        kept = self._snapshots()
        for file in self.folder.glob("snapshot-*.safetensors"):
            if file not in kept:
                file.unlink()

    def _snapshots(self) -> list[Path]:
        """The snapshots to average: the last ones up to the checkpoint, oldest first.

        Where a run was stopped between two evaluations counts only while it is the
        end: a run that goes on averages what it would have averaged without the stop.
        """
        last, every = self.state.step, self.recipe.eval_every
        n_regular = self.recipe.average_last - (last % every != 0)
        first = max(last // every - n_regular, 0)
        steps = [every * number for number in range(first + 1, last // every + 1)]
        if last % every:
            steps.append(last)
        files = [self.snapshot_file(step) for step in steps]
        return [file for file in files if file.is_file()]

    def resume_if_possible(self) -> None:
        """Go on from the folder's checkpoint, if there is one.

        Raises:
            ValueError: it belongs to a run of other settings, or is damaged.
        """
        if not self.checkpoint_file.is_file():
            return
        tensors, facts = load_tensors(self.checkpoint_file)
        if "identity" not in facts:
            raise ValueError(f"{self.checkpoint_file} is not a training checkpoint")
        saved = facts["identity"]
        defaults = {
            field.name: field.default for field in dataclasses.fields(self.config)
        }  # of fields that are younger than the checkpoint
        saved["config"] = defaults | saved["config"]
        _check_same_run(saved, self.identity, self.folder)
        weights = {
            name.removeprefix("model."): tensor
            for name, tensor in tensors.items()
            if name.startswith("model.")
        }
        load_parameters(self.model, weights, origin=str(self.checkpoint_file))
        adam = self.optimizer.state_dict()
        for index, name in enumerate(dict(self.model.named_parameters())):
            adam["state"][index] = {
                key: tensors[f"adam.{key}.{name}"]
                for key in ("step", "exp_avg", "exp_avg_sq")
            }
        self.optimizer.load_state_dict(adam)
        self.scaler.load_state_dict(facts["scaler"])
        self.state = _State(**{**facts["state"], "stopped": ""})
        torch.set_rng_state(tensors["rng.cpu"])
        if self.device.type == "cuda" and "rng.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["rng.cuda"], self.device)

    # The end ------------------------------------------------------------------------

    def finish(self) -> Run:
        """Average the last snapshots, save the model, tell how it came about."""
        snapshots = self._snapshots()
        load_parameters(
            self.model, average(snapshots), origin=f"the average in {self.folder}"
        )
        state = self.state
        report = {
            **self.identity,
            "attribution": self.corpus.attribution,
            "licence": self.corpus.licence,
            "is_synthetic": self.corpus.is_synthetic,
            "n_parameters": self.model.n_parameters(),
            "device": device_name(self.device),
            "precision": self.precision,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "steps": state.step,
            "epochs": state.epoch,
            "seconds": round(state.seconds, 1),
            "stopped": state.stopped,
            "averaged_snapshots": len(snapshots),
            "valid_loss": self.validation_loss(),
            "date": datetime.now(UTC).date().isoformat(),
        }
        translator = Translator(self.model.eval(), self.tokenizer, report)
        translator.save(self.folder)
        write_json(
            self.folder / "history.json",
            {"evaluations": state.history, "curve": state.curve},
        )
        return Run(translator, state.history, state.curve, report, self.folder)


def average(snapshots: list[Path]) -> dict[str, Tensor]:
    """The mean of several snapshots' weights, name by name.

    Args:
        snapshots: files written by `fit`, at least one.

    Raises:
        ValueError: no file, or files with different weights.

    Source: section 6.1.
    """
    if not snapshots:
        raise ValueError("there is no snapshot to average")
    total: dict[str, Tensor] = {}
    for snapshot in snapshots:
        weights, _ = load_tensors(snapshot)
        if total and weights.keys() != total.keys():
            raise ValueError(f"{snapshot} holds other weights than {snapshots[0]}")
        for name, weight in weights.items():
            total[name] = total.get(name, 0) + weight.double() / len(snapshots)
    return {name: weight.float() for name, weight in total.items()}


def device_name(device: torch.device) -> str:
    """What the hardware calls itself: for reports and captions."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device.type == "cpu":
        n_threads = torch.get_num_threads()
        threads = "1 thread" if n_threads == 1 else f"{n_threads} threads"
        return f"CPU ({platform.machine()}, {threads})"
    return device.type


def choose_device(name: str) -> torch.device:
    """The device of a name such as "cuda:1"; for "auto" a GPU where there is one.

    Raises:
        ValueError: no device is called so, or PyTorch does not see it.
    """
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda", torch.cuda.current_device())
        has_mps = torch.backends.mps.is_available()
        return torch.device("mps" if has_mps else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"device={name!r} is not a device: try 'auto'") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device={name!r}, but PyTorch sees no GPU: try 'auto'")
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    return device


def _choose_precision(wanted: str, device: torch.device) -> str:
    if wanted != "auto":
        return wanted
    if device.type != "cuda":
        return "fp32"
    has_bf16 = torch.cuda.get_device_capability(device) >= (8, 0)
    return "bf16" if has_bf16 else "fp16"


def _new_folder(corpus_name: str) -> Path:
    name = Path(corpus_name).stem.replace("+", "-").replace("*", "x")
    return Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S-%f}"


def _get_tokenizer(
    folder: Path,
    given: Tokenizer | None,
    config: TransformerConfig | RecurrentConfig,
    corpus: Corpus,
    recipe: Recipe,
) -> Tokenizer:
    """The given one, else the folder's, else one learned on the training split."""
    file = folder / "tokenizer.model"
    tokenizer = given
    if tokenizer is None and file.is_file():
        tokenizer = Tokenizer.load(file)
    if tokenizer is None:
        sentences = (sentence for pair in corpus.train for sentence in pair)
        tokenizer = Tokenizer.train(
            sentences, config.vocab_size, algorithm=recipe.tokenizer
        )
    if tokenizer.vocab_size != config.vocab_size:
        raise ValueError(
            f"the tokenizer has {tokenizer.vocab_size} pieces, the configuration "
            f"vocab_size={config.vocab_size}: make them equal"
        )
    tokenizer.save(file)
    return tokenizer


def _check_same_run(theirs: dict, ours: dict, folder: Path) -> None:
    for part, mine in ours.items():
        other = theirs.get(part)
        if isinstance(mine, dict) and isinstance(other, dict):
            _check_same_run(other, mine, folder)
        elif other != (list(mine) if isinstance(mine, tuple) else mine):
            raise ValueError(
                f"{folder} holds a run with {part}={other!r}, this one has {mine!r}: "
                "choose another folder, or the same settings to go on"
            )


__all__ = ["Recipe", "Run", "average", "fit"]
