"""The weights that a run keeps of its last evaluations, and their average.

Each file says what run it belongs to and after which step it was written, so that the
weights of another run or step are never averaged in, whatever a file is called.

Chapter *Training*.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from torch import Tensor

from tformer.common.files import load_tensors, read_header, save_tensors
from tformer.common.recipe import Recipe
from tformer.config import ModelConfig
from tformer.train.events import Record

NAME = r"snapshot-(?:[0-9]{8}|[1-9][0-9]{8,})\.safetensors"
REMEDY = "copy the run's folder again, or start over (restart=True, or --restart)"
UNSIGNED = "does not say what run it is from"
OTHERS = {  # than this run's: of which checksums are kept
    "tokenizer": "another tokenizer",
    "sha256": "other training pairs",
    "start": "the weights of another model at its start",
}
AS_CLOSE = 1e-4  # of a validation loss, computed again on another machine


@dataclass(frozen=True)
class Snapshots:
    """The snapshots of one run in a folder.

    Attributes:
        folder: where they are.
        config: the run's model.
        identity: configuration, recipe, tokenizer and data of the run.
    """

    folder: Path
    config: ModelConfig
    identity: dict[str, Any]

    def save(self, step: int, weights: dict[str, Tensor]) -> None:
        """Write a snapshot of this run."""
        facts = {"identity": self.identity, "step": step}
        save_tensors(self._file(step), weights, facts)

    def delete_old(self, step: int) -> None:
        """Delete the run's own snapshots that no longer count at this step."""
        counting = self.counting(step)
        for file in named(self.folder, NAME):
            if file not in counting and not self._stranger(file):
                file.unlink()

    def counting(self, step: int) -> dict[Path, int]:
        """The last snapshots up to a step, oldest first, and the steps they are of.

        A stop between two evaluations counts only as long as it is the end: a resumed
        run averages what it would have averaged without the stop.
        """
        every = self.identity["recipe"]["eval_every"]
        n_regular = self.identity["recipe"]["average_last"] - (step % every != 0)
        first = max(step // every - n_regular, 0)
        steps = [every * number for number in range(first + 1, step // every + 1)]
        if step % every:
            steps.append(step)
        return {self._file(each): each for each in steps}

    def to_average(self, step: int) -> list[Path]:
        """The files to average at a step, oldest first.

        Raises:
            ValueError: one is missing, damaged, or of another run or step; the message
                names it.
        """
        counting = self.counting(step)
        for file, own in counting.items():
            if not file.is_file():
                raise ValueError(
                    f"{file} is missing, and this run averages its weights: {REMEDY}"
                )
            if why := self._stranger(file):
                raise ValueError(f"{file} {why}: {REMEDY}")
            if (found := read_header(file)[1].get("step")) != own:
                raise ValueError(
                    f"{file} holds the weights of step {found}, not {own}: {REMEDY}"
                )
        return list(counting)

    def check_no_strangers(self, *, may_be_unsigned: bool) -> None:
        """Refuse a folder with the snapshots of another run: some would be replaced.

        Args:
            may_be_unsigned: whether some may say nothing about their run.

        Raises:
            ValueError: there is one, or one that is damaged; the message names it.
        """
        for file in named(self.folder, NAME):
            if (why := self._stranger(file)) and not (
                may_be_unsigned and why == UNSIGNED
            ):
                raise ValueError(
                    f"{file} {why}: choose another folder, or replace what is there "
                    "with restart=True (--restart)"
                )

    def sign(
        self,
        step: int,
        history: list[Record],
        loss_of: Callable[[dict[str, Tensor]], float],
        *,
        writes: bool,
    ) -> bool:
        """Write into older snapshots what they did not say: their run and their step.

        Those that count must have the validation loss that was recorded at their step.

        Args:
            step: where the run is.
            history: its evaluations.
            loss_of: the validation loss of some weights.
            writes: whether this process is the one that writes.

        Returns:
            Whether there were any.

        Raises:
            ValueError: one has another loss; the message names it.
        """
        recorded = {record["step"]: record["valid_loss"] for record in history}
        older = {
            file: own
            for file, own in self.counting(step).items()
            if file.is_file() and "identity" not in read_header(file)[1]
        }
        for file, own in older.items():
            weights, _ = load_tensors(file)
            loss, wanted = loss_of(weights), recorded.get(own, math.nan)
            if not math.isclose(loss, wanted, rel_tol=AS_CLOSE):
                raise ValueError(
                    f"{file} {UNSIGNED}, and its validation loss is "
                    f"{loss:.4f}, where this run had {wanted:.4f}: {REMEDY}"
                )
        for file, own in older.items() if writes else ():
            self.save(own, load_tensors(file)[0])
        return bool(older)

    def _file(self, step: int) -> Path:
        return self.folder / f"snapshot-{step:08d}.safetensors"

    def _stranger(self, file: Path) -> str:
        """Why a file is none of this run's; empty if it is one."""
        facts = read_header(file)[1]
        if "identity" not in facts:
            return UNSIGNED
        different = difference(facts["identity"], self.config, self.identity)
        return f"is from a run with {different}" if different else ""


def named(folder: Path, names: str | re.Pattern[str]) -> list[Path]:
    """The files in a folder that have exactly one of the names."""
    there = sorted(folder.iterdir())
    return [file for file in there if re.fullmatch(names, file.name) and file.is_file()]


def difference(
    saved: dict[str, Any], config: ModelConfig, identity: dict[str, Any]
) -> str:
    """The first setting in which a saved run differs from this one; empty if none does.

    Args:
        saved: the identity of the saved run; settings that did not exist yet when it
            was saved have their defaults.
        config: this run's model.
        identity: this run's identity.
    """
    saved = dict(saved)
    for part, owner in (("config", type(config)), ("recipe", Recipe)):
        if not isinstance(saved.get(part), dict):
            return f"no {part}, this one has one"
        younger = {each.name: each.default for each in fields(owner)}
        saved[part] = younger | saved[part]
    return _first_difference(saved, identity)


def _first_difference(theirs: dict[str, Any], ours: dict[str, Any]) -> str:
    for part, mine in ours.items():
        other = theirs.get(part)
        if isinstance(mine, dict) and isinstance(other, dict):
            if found := _first_difference(other, mine):
                return found
        elif other != (list(mine) if isinstance(mine, tuple) else mine):
            return _told(part, other, mine)
    return ""


def _told(part: str, theirs: Any, ours: Any) -> str:
    """A difference in words; checksums would tell a reader nothing."""
    is_told = [not re.fullmatch("[0-9a-f]{64}", str(each)) for each in (theirs, ours)]
    if all(is_told):
        return f"{part}={theirs!r}, this one has {ours!r}"
    if part != "start":
        return OTHERS.get(part, f"another {part}")
    if any(is_told):
        begins = ("random weights", "those of another model")
        theirs, ours = begins if is_told[0] else begins[::-1]
        return f"{theirs} at its start, this one has {ours}"
    return OTHERS[part]


def average(snapshots: Sequence[str | Path]) -> dict[str, Tensor]:
    """The mean of several snapshots' weights, name by name.

    Args:
        snapshots: files written by `fit`, at least one.

    Raises:
        ValueError: no file, or files of different runs or with different weights.

    Source: section 6.1.
    """
    if not snapshots:
        raise ValueError("there is no snapshot to average")
    files = [*map(Path, snapshots)]
    total: dict[str, Tensor] = {}
    run = read_header(files[0])[1].get("identity")
    for snapshot in files:
        weights, facts = load_tensors(snapshot)
        if facts.get("identity") != run:
            raise ValueError(f"{snapshot} and {files[0]} are of different runs")
        if total and weights.keys() != total.keys():
            raise ValueError(f"{snapshot} and {files[0]} hold different weights")
        for name, weight in weights.items():
            total[name] = total.get(name, 0) + weight.double() / len(files)
    return {name: weight.float() for name, weight in total.items()}
