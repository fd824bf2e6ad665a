"""A run from beginning to end: check, resume, train, average, save.

Whatever can be rejected is rejected before a file is touched, and what another run left
in the folder stays until this one has a checkpoint to put in its place.

Source: Vaswani et al. 2017, sections 5 and 6.1. Chapter *Training*.
"""

import contextlib
import dataclasses
import math
import operator
import platform
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tformer.common.files import checksum, write_json
from tformer.common.recipe import Recipe
from tformer.common.values import instance, number
from tformer.config import ModelConfig, TransformerConfig
from tformer.data import Corpus
from tformer.tokenization import Tokenizer
from tformer.train.checkpoints import Checkpoint, RunFolder
from tformer.train.devices import check_room, device_name, memory_told, own_dice
from tformer.train.events import Event, Listener, Look, Record
from tformer.train.loop import Loop
from tformer.train.progress import display
from tformer.train.ranks import Ranks, joined
from tformer.train.snapshots import Snapshots, average
from tformer.translator import Translator
from tformer.translator.weights import load_parameters
from tformer.variants.recurrent import RecurrentConfig

Config = TransformerConfig | RecurrentConfig
ORIGIN = ("start", "start_attribution", "start_licence")  # of the weights


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
        folder: where it is all kept; `tformer.load_pretrained` reads it.
    """

    translator: Translator
    history: list[Record]
    curve: list[Look]
    report: dict[str, Any]
    folder: Path


def fit(
    config: Config,
    corpus: Corpus,
    *,
    steps: int | None = None,
    minutes: float | None = None,
    device: str = "auto",
    folder: str | Path | None = None,
    restart: bool = False,
    recipe: Recipe | None = None,
    tokenizer: Tokenizer | None = None,
    start: Translator | None = None,
    samples: list[tuple[str, str]] | None = None,
    progress: str = "auto",
    on_event: Listener | None = None,
) -> Run:
    """Train a model on a corpus.

    Learns the tokenizer on ``corpus.train``, then minimises the smoothed cross-entropy
    with Adam, warm-up and inverse-square-root decay. If ``folder`` holds a run that was
    interrupted, training resumes from its checkpoint and ends with the same numbers as
    if it had never stopped (on the same kind of device). A finished run is returned as
    it is, after its listeners have been sent its last evaluation again.

    Under torchrun, several processes share each step: it is the step that one process
    would have taken alone (up to rounding, and dropout), so a run may resume with a
    different number of them. All need the folder; the first one writes it.

    Args:
        config: what to train: a Transformer, or the recurrent baseline.
        corpus: from `tformer.data.load`.
        steps: stop after this many steps. Reproducible.
        minutes: stop after this many minutes. Give steps, minutes or both, or neither
            if the recipe has a last_step.
        device: "cpu", "cuda", "cuda:1", "mps", or "auto": a GPU if there is one, and
            one for each process.
        folder: where to keep the run; a new one under ``runs/`` if omitted.
        restart: start over, whatever run the folder holds. That run is replaced only
            when the first checkpoint of this one is written.
        recipe: how to train; the defaults of `Recipe` if omitted.
        tokenizer: use this one, of config.vocab_size pieces, instead of learning one.
        start: begin with this model's weights and tokenizer (fine-tuning). Its
            configuration must be ``config``, dropout aside. Not needed to resume a
            run, which knows where it began.
        samples: pairs whose sources are translated at each evaluation; the first
            three validation pairs that fit the model if omitted.
        progress: "auto" (a bar in a terminal, a live plot in a notebook), "bar",
            "plot" or "none".
        on_event: called with a dictionary at the start, every few steps, at each
            evaluation and at the end (`tformer.train.events`); if it returns True, the
            run stops after the current step, with a checkpoint.

    Returns:
        The run; its translator has the average of the last snapshots' weights.

    Raises:
        TypeError: steps is not a whole number, minutes not a number, or something else
            not of its type.
        ValueError: no budget, or steps beyond the recipe's last_step; an empty corpus;
            a tokenizer of a different size; a start with a different configuration; a
            model or a batch that cannot fit; no such device; a folder that holds a run
            with other settings, a damaged run, or a model without its checkpoint.
        FloatingPointError: the loss or a gradient is not finite; the last checkpoint
            is kept.
        MemoryError: out of memory; the message says what to lower.
        BlockingIOError: another run is writing to the folder.
        ConnectionError: another process of this run is missing.
        OSError: the folder cannot be written.
    """
    recipe = Recipe() if recipe is None else recipe
    instance("recipe", recipe, Recipe, "as from tformer.train")
    instance("corpus", corpus, Corpus, "as from tformer.data.load")
    if tokenizer is not None:
        instance("tokenizer", tokenizer, Tokenizer, "as from Tokenizer.train")
    steps, minutes = _checked_budget(steps, minutes, recipe.last_step)
    if not corpus.train or not corpus.valid:
        raise ValueError(
            f"corpus {corpus.name!r} has {len(corpus.train)} training and "
            f"{len(corpus.valid)} validation pairs: training needs both"
        )
    if folder == "":
        raise ValueError("folder='' is not a name: give the run's folder one")
    if start is not None:
        _check_start(start, config, tokenizer)
        tokenizer = start.tokenizer
    drawing = display(progress)
    with contextlib.ExitStack() as stack:
        ranks = stack.enter_context(joined(device))
        check_room(config, ranks.device)
        listeners: list[Listener] = [] if on_event is None else [on_event]
        if ranks.is_first:
            listeners.insert(0, drawing)
        if folder is None:
            folder = ranks.of_first(lambda: _new_folder(corpus.name).encode()).decode()
        place = RunFolder(folder)
        if ranks.is_first:
            stack.enter_context(place.locked())
        stack.enter_context(own_dice(ranks.device))
        stack.enter_context(memory_told(config, recipe.max_tokens))
        checkpoint = None if restart else place.read_checkpoint()
        tokenizer = tokenizer or place.tokenizer_of(checkpoint)
        tokenizer = tokenizer or _learn_pieces(corpus, config, recipe, ranks)
        identity = _identity(config, recipe, tokenizer, corpus)
        identity |= _origin(start, checkpoint)
        snapshots = Snapshots(place.path, config, identity)
        if checkpoint is not None:
            checkpoint.check_same_run(config, identity)
        if not restart:
            place.check_tokenizer(tokenizer)
            snapshots.check_no_strangers(may_be_unsigned=checkpoint is not None)
        torch.manual_seed(recipe.seed)
        loop = Loop(config, corpus, recipe, tokenizer, ranks, samples)
        if checkpoint is not None:
            _resume(loop, checkpoint, snapshots)
        elif start is not None:
            load_parameters(loop.model, _weights_of(start), origin="the start")
        for listener in listeners:
            if close := getattr(listener, "close", None):
                stack.callback(close)

        def tell(event: Event) -> bool:
            answers = [listener(event) for listener in listeners]
            return any(answer is True for answer in answers)

        tell(_beginning(loop, place, steps, minutes))
        keep = _keeper(loop, place, snapshots, is_ours=not restart)
        loop.run(steps, minutes, tell, keep)
        return _finish(loop, place, snapshots)


def _identity(
    config: Config, recipe: Recipe, tokenizer: Tokenizer, corpus: Corpus
) -> dict[str, Any]:
    """What a run that is resumed must have in common with its beginning."""
    if tokenizer.vocab_size != config.vocab_size:
        raise ValueError(
            f"the tokenizer has {tokenizer.vocab_size} pieces, the configuration "
            f"vocab_size={config.vocab_size}: make them equal"
        )
    return {
        "config": config.to_dict(),
        "recipe": dataclasses.asdict(recipe),
        "tokenizer": tokenizer.fingerprint,
        "corpus": corpus.name,
        "checksums": corpus.checksums,
        "trained_on": corpus.trained_on(),
    }


def _resume(loop: Loop, checkpoint: Checkpoint, snapshots: Snapshots) -> None:
    """Put a run back to where it was, and find out now whether it can end as it would.

    Raises:
        ValueError: the checkpoint is incomplete; or a snapshot is missing, or of
            another run or step.
    """

    def loss_of(weights: dict[str, Tensor]) -> float:
        load_parameters(loop.model, weights, origin="an older snapshot")
        return loop.validation_loss()

    checkpoint.restore(loop)
    step, history = loop.state.step, loop.state.history
    is_first = loop.ranks.is_first
    if snapshots.sign(step, history, loss_of, writes=is_first):
        checkpoint.restore(loop)
    loop.ranks.wait()
    snapshots.to_average(step)


def _beginning(
    loop: Loop, place: RunFolder, steps: int | None, minutes: float | None
) -> Event:
    """What listeners hear first."""
    return {
        "kind": "start",
        "step": loop.state.step,
        "steps": steps,
        "minutes": minutes,
        "seconds": loop.state.seconds,
        "folder": place.path,
        "device": _hardware(loop.ranks),
        "precision": loop.precision,
        "n_parameters": loop.model.n_parameters(),
        "corpus": str(loop.corpus),
        "is_synthetic": loop.corpus.is_synthetic,
        "history": loop.state.history,
        "curve": loop.state.curve,
    }


def _keeper(
    loop: Loop,
    place: RunFolder,
    snapshots: Snapshots,
    *,
    is_ours: bool,
) -> Callable[[], None]:
    """What writes checkpoints; the first clears a folder that is not yet this run's."""

    def keep() -> None:
        nonlocal is_ours
        if not loop.ranks.is_first:
            return
        if not is_ours:
            place.clear()
            is_ours = True
        place.save(loop, snapshots, loop.tokenizer)

    return keep


def _checked_budget(
    steps: int | None, minutes: float | None, last_step: int | None
) -> tuple[int | None, float | None]:
    """The budget, or an error that says what is wrong with it."""
    if steps is None:
        steps = last_step
    if steps is None and minutes is None:
        raise ValueError("give steps=…, minutes=…, or both: training needs an end")
    if steps is not None:
        try:
            steps = operator.index(steps)
        except TypeError:
            raise TypeError(f"steps={steps!r} must be an int") from None
        if steps < 1:
            raise ValueError(f"steps={steps} must be at least 1")
        if last_step is not None and steps > last_step:
            raise ValueError(
                f"steps={steps} must not go beyond the recipe's last_step={last_step}, "
                "after which the learning rate is zero"
            )
    if minutes is not None and not 0 < number("minutes", minutes) < math.inf:
        raise ValueError(f"minutes={minutes} must be positive and finite")
    return steps, minutes


def _check_start(
    start: Translator, config: ModelConfig, tokenizer: Tokenizer | None
) -> None:
    """Reject a model whose weights this run cannot start from."""
    instance("start", start, Translator, "as from load_pretrained")
    theirs = start.model.config
    if type(theirs) is not type(config):
        raise ValueError(
            f"start has a {type(theirs).__name__}, this run a {type(config).__name__}: "
            "they are different kinds of model"
        )
    for name, value in theirs.to_dict().items():
        ours = config.to_dict()[name]
        if ours != value and name != "dropout":
            raise ValueError(
                f"start has {name}={value!r}, this run {name}={ours!r}: give this run "
                "the configuration of the model that it starts from"
            )
    if tokenizer is not None and tokenizer.fingerprint != start.tokenizer.fingerprint:
        raise ValueError("start has a tokenizer of its own: leave out tokenizer=…")


def _origin(start: Translator | None, checkpoint: Checkpoint | None) -> dict[str, Any]:
    """Whose weights a run starts from, and on what terms: part of its identity."""
    if start is None and checkpoint is not None:
        return {name: checkpoint.identity.get(name) for name in ORIGIN}
    if start is None:
        return dict.fromkeys(ORIGIN)
    terms = (start.card.get("attribution"), start.card.get("licence"))
    return dict(zip(ORIGIN, (checksum(_weights_of(start)), *terms), strict=True))


def _weights_of(translator: Translator) -> dict[str, Tensor]:
    """As training keeps them: float32, on the CPU."""
    named = translator.model.named_parameters()
    return {name: weight.detach().cpu().float() for name, weight in named}


def _new_folder(corpus_name: str) -> str:
    name = Path(corpus_name).stem.replace("+", "-").replace("*", "x")
    return f"runs/{name}-{datetime.now():%Y%m%d-%H%M%S-%f}"


def _hardware(ranks: Ranks) -> str:
    name = device_name(ranks.device)
    return name if ranks.n == 1 else f"{ranks.n} × {name}"


def _learn_pieces(
    corpus: Corpus, config: Config, recipe: Recipe, ranks: Ranks
) -> Tokenizer:
    """A tokenizer from the training sentences: the first process's, for all."""

    def learned() -> bytes:
        sentences = (sentence for pair in corpus.train for sentence in pair)
        pieces = Tokenizer.train(
            sentences, config.vocab_size, algorithm=recipe.tokenizer
        )
        return pieces.model_bytes

    return Tokenizer(ranks.of_first(learned))


def _finish(loop: Loop, place: RunFolder, snapshots: Snapshots) -> Run:
    """Average the last snapshots, save the model, report how it was trained."""
    state, corpus = loop.state, loop.corpus
    loop.ranks.wait()  # the first one has written the last snapshot
    files = snapshots.to_average(state.step)
    load_parameters(loop.model, average(files), origin=f"the average in {place.path}")
    report = {
        **snapshots.identity,
        "attribution": corpus.attribution,
        "licence": corpus.licence,
        "is_synthetic": corpus.is_synthetic,
        "n_parameters": loop.model.n_parameters(),
        "device": _hardware(loop.ranks),
        "ranks": loop.ranks.n,
        "precision": loop.precision,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "steps": state.step,
        "epochs": state.epoch,
        "seconds": round(state.seconds, 1),
        "stopped": state.stopped,
        "averaged_snapshots": len(files),
        "valid_loss": loop.validation_loss(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    translator = Translator(loop.model.eval(), loop.tokenizer, report)
    if loop.ranks.is_first:
        translator.save(place.path)
        write_json(
            place.path / "history.json",
            {"evaluations": state.history, "curve": state.curve},
        )
    loop.ranks.wait()
    return Run(translator, state.history, state.curve, report, place.path)
