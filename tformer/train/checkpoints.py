"""The folder of a run: who may write to it, and everything needed to resume.

A checkpoint holds the weights, Adam's averages, the states of the random number
generators and of the loss scaler, the run's progress and its *identity*: configuration,
recipe, tokenizer and data. Only a run of the same identity ever writes to a folder.

Chapter *Training*.
"""

import math
import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from tformer.common import together
from tformer.common.files import load_tensors, naming, save_tensors, sweep
from tformer.common.locks import close_and_remove, lock
from tformer.config import ModelConfig
from tformer.tokenization import Tokenizer
from tformer.train.devices import random_state, set_random_state
from tformer.train.events import Look, Record
from tformer.train.snapshots import NAME, REMEDY, Snapshots, difference, named
from tformer.translator.weights import load_parameters

MODEL_FILES = ("model.safetensors", "card.json", "history.json")  # of a finished run
OWN_NAMES = re.compile(  # all that a run writes: nothing else is ever removed
    rf"checkpoint\.safetensors|tokenizer\.model|{'|'.join(MODEL_FILES)}|{NAME}"
)
LOCK = ".tformer-run.lock"
MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # Adam's state of each weight


@dataclass
class State:
    """Where a run stands: all that a checkpoint holds besides tensors."""

    step: int = 0
    epoch: int = 0
    position: int = 0  # batches of this epoch already used
    seconds: float = 0.0
    best_loss: float | None = None
    evaluations_since_best: int = 0
    stopped: str = ""
    history: list[Record] = field(default_factory=list)
    curve: list[Look] = field(default_factory=list)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "State":
        """The state that a checkpoint recorded; nothing has stopped the run yet.

        Raises:
            TypeError: it is not a state.
        """
        state = cls(**{**values, "stopped": ""})
        counts = (state.step, state.epoch, state.position, state.evaluations_since_best)
        if any(type(each) is not int or each < 0 for each in counts):
            raise TypeError(f"it counts {counts}")
        if not 0 <= state.seconds < math.inf:
            raise TypeError(f"after {state.seconds} seconds")
        for rows in (state.history, state.curve):
            if not isinstance(rows, list) or any(type(row) is not dict for row in rows):
                raise TypeError("its history is not a list of records")
        if state.best_loss is not None and not math.isfinite(state.best_loss):
            state.best_loss = None  # as in older checkpoints
        return state


class Resumable(Protocol):
    """What a checkpoint saves: everything that changes during a run."""

    model: Any
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    device: torch.device
    state: State


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint as read from its file: named tensors, and facts about them."""

    file: Path
    tensors: dict[str, Tensor]
    facts: dict[str, Any]

    @property
    def identity(self) -> dict[str, Any]:
        """Configuration, recipe, tokenizer and data of the run."""
        return self.facts["identity"]

    @classmethod
    def read(cls, file: Path) -> "Checkpoint":
        """Read a file.

        Raises:
            ValueError: it is truncated, was changed, or is not a training checkpoint.
        """
        tensors, facts = load_tensors(file)
        if "identity" not in facts:
            raise ValueError(f"{file} is not a training checkpoint: {REMEDY}")
        checkpoint = cls(file, tensors, facts)
        identity = checkpoint.identity
        if not isinstance(identity, dict) or not all(
            isinstance(identity.get(part), dict) for part in ("config", "recipe")
        ):
            raise checkpoint.broken("does not say what run it belongs to")
        return checkpoint

    def broken(self, what: str) -> ValueError:
        """The error for a checkpoint that is incomplete."""
        return ValueError(f"{self.file} {what}, so no run can resume from it: {REMEDY}")

    def check_same_run(self, config: ModelConfig, identity: dict[str, Any]) -> None:
        """Refuse to resume with settings other than the run's own.

        Raises:
            ValueError: a setting differs; the message names it.
        """
        if different := difference(self.identity, config, identity):
            raise ValueError(
                f"{self.file.parent} holds a run with {different}: choose another "
                "folder, or resume it with the same settings"
            )

    def restore(self, run: Resumable) -> None:
        """Put a run back to where this checkpoint was saved.

        Raises:
            ValueError: something is missing or misshapen; the message names it.
        """
        parameters = dict(run.model.named_parameters())
        try:
            state = State.from_dict(self.facts["state"])
            scaler = dict(self.facts["scaler"])
            load_parameters(run.model, self._under("model."), origin=str(self.file))
            moments = self._moments(parameters, may_be_none=bool(scaler))
            dice = {"cpu": self.tensors["rng.cpu"], **self._under("rng.")}
            set_random_state(run.device, dice)
            if scaler and run.scaler.is_enabled():  # it may be from another device
                run.scaler.load_state_dict(scaler)
        except KeyError as error:
            raise self.broken(f"lacks {error.args[0]}") from error
        except (TypeError, AttributeError, RuntimeError) as error:
            raise self.broken(f"is incomplete ({error})") from error
        adam = run.optimizer.state_dict()
        adam["state"] = dict(enumerate(moments))
        run.optimizer.load_state_dict(adam)
        run.state = state

    def _under(self, prefix: str) -> dict[str, Tensor]:
        return {
            name.removeprefix(prefix): tensor
            for name, tensor in self.tensors.items()
            if name.startswith(prefix)
        }

    def _moments(
        self, parameters: dict[str, Tensor], *, may_be_none: bool
    ) -> list[dict[str, Tensor]]:
        """Adam's state of each weight, in order; none if it has not taken a step."""
        if may_be_none and not self._under("adam."):  # the scaler skipped every step
            return []
        moments = [
            {key: self.tensors[f"adam.{key}.{name}"] for key in MOMENTS}
            for name in parameters
        ]
        for (name, parameter), saved in zip(parameters.items(), moments, strict=True):
            for key, value in saved.items():
                if value.shape != (parameter.shape if key != "step" else ()):
                    raise TypeError(f"adam.{key}.{name} has shape {tuple(value.shape)}")
        return moments


class RunFolder:
    """The folder of one run, and the files in it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.checkpoint_file = self.path / "checkpoint.safetensors"
        self.tokenizer_file = self.path / "tokenizer.model"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out; a folder that was created in vain is removed again.

        The operating system holds the lock, and releases it however we end.

        Raises:
            BlockingIOError: another run is using the folder; the message says which.
            OSError: the folder cannot be written.
        """
        is_new = not self.path.exists()
        self.path.mkdir(parents=True, exist_ok=True)
        file = self.path / LOCK
        handle = _lock(file)
        try:
            sweep(self.path, OWN_NAMES)
            yield
        finally:
            close_and_remove(handle, file)
            if is_new:
                with suppress(OSError):  # it is not empty: good
                    self.path.rmdir()

    def read_checkpoint(self) -> Checkpoint | None:
        """The checkpoint to resume from; None in a folder that holds no run.

        Raises:
            ValueError: the checkpoint is damaged, or there is a model without one.
        """
        if self.checkpoint_file.is_file():
            return Checkpoint.read(self.checkpoint_file)
        for name in MODEL_FILES:
            if (self.path / name).exists():
                raise ValueError(
                    f"{self.path} holds {name}, but no checkpoint to resume from: "
                    "choose another folder, or replace what is there with "
                    "restart=True (--restart)"
                )
        return None

    def check_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Refuse to replace a tokenizer that is not this run's.

        Raises:
            ValueError: the folder's tokenizer is a different one.
        """
        there = self.tokenizer_file
        if there.is_file() and there.read_bytes() != tokenizer.model_bytes:
            raise ValueError(
                f"{there} is not this run's tokenizer: choose another folder, or "
                "replace what is there with restart=True (--restart)"
            )

    def tokenizer_of(self, checkpoint: Checkpoint | None) -> Tokenizer | None:
        """The tokenizer of the checkpoint's run; None if it has to be learned.

        Raises:
            ValueError: it is not there and cannot be learned again, or another one is.
        """
        file = self.tokenizer_file
        if checkpoint is None:
            return None
        if not file.is_file():
            if checkpoint.identity.get("start") is None:
                return None
            raise ValueError(
                f"{file} is missing, and it came from the model that this run started "
                f"from, so it cannot be learned again: copy it from there, or {REMEDY}"
            )
        tokenizer = Tokenizer.load(file)
        if tokenizer.fingerprint != checkpoint.identity.get("tokenizer"):
            raise ValueError(
                f"{file} is not the tokenizer that this run was trained with: {REMEDY}"
            )
        return tokenizer

    def save(self, run: Resumable, snapshots: Snapshots, tokenizer: Tokenizer) -> None:
        """Write all that a resumed run needs; delete snapshots that are too old."""
        weights = dict(run.model.named_parameters())
        tensors: dict[str, Tensor] = {f"model.{k}": v for k, v in weights.items()}
        names = list(weights)
        for index, moments in run.optimizer.state_dict()["state"].items():
            for key, value in moments.items():
                tensors[f"adam.{key}.{names[index]}"] = value
        for kind, dice in random_state(run.device).items():
            tensors[f"rng.{kind}"] = dice
        facts = {
            "identity": snapshots.identity,
            "state": asdict(run.state),
            "scaler": run.scaler.state_dict(),
        }
        if not self.tokenizer_file.is_file():
            tokenizer.save(self.tokenizer_file)
        snapshots.save(run.state.step, dict(weights))
        save_tensors(self.checkpoint_file, tensors, facts)
        snapshots.delete_old(run.state.step)

    def clear(self) -> None:
        """Remove a run's own files, and nothing else from its folder.

        The checkpoint goes first, so that a crash leaves nothing to resume from.
        """
        self.checkpoint_file.unlink(missing_ok=True)
        together.discard(self.path)
        for file in named(self.path, OWN_NAMES):
            file.unlink()


def saved_settings(folder: str | Path) -> dict[str, Any]:
    """Corpus, configuration and recipe of the run in a folder; empty if there is none.

    Raises:
        ValueError: the checkpoint is damaged.
    """
    file = RunFolder(folder).checkpoint_file
    return Checkpoint.read(file).identity if file.is_file() else {}


def _lock(file: Path) -> int:
    """Open and lock a file, in which its holder identifies itself."""
    while True:
        with naming(file.parent, file):
            handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            lock(handle, wait=False)
        except BlockingIOError:
            holder = os.read(handle, 1000).decode(errors="replace")
            os.close(handle)
            raise BlockingIOError(
                f"{file.parent} is in use by {holder or 'another run'}: wait until "
                "it ends, or choose another folder"
            ) from None
        except OSError:  # a network drive without locks: the folder is unguarded
            break
        try:
            if os.path.samestat(os.fstat(handle), os.stat(file)):
                break
        except FileNotFoundError:
            pass
        os.close(handle)  # its last holder has just removed it: try the new one
    try:
        _sign(handle)
    except BaseException:  # a signal
        close_and_remove(handle, file)
        raise
    return handle


def _sign(handle: int) -> None:
    """Write into a lock whose it is."""
    who = f"process {os.getpid()} on {platform.node()}, since {datetime.now(UTC):%F %R}"
    with suppress(OSError):  # a full disk: whoever waits learns only that it is in use
        os.ftruncate(handle, 0)
        os.write(handle, f"{who} UTC".encode())
