"""The training loop: batch, loss, gradient, step; and now and then an evaluation.

Nothing else is in here. `tformer.train.fitting` decides what is trained and where, and
saves the result.

Source: Vaswani et al. 2017, section 5. Chapter *Training*.
"""

from __future__ import annotations

import math
import random
import time
from array import array
from collections.abc import Callable, Iterator
from itertools import chain, count
from typing import Any

import torch
from torch import Tensor, nn

from tformer.common.recipe import Recipe
from tformer.config import TransformerConfig
from tformer.data import Batch, Batches, Corpus, PieceSampler, batches, encode_pairs
from tformer.fast.training import faster_products
from tformer.fast.transfer import fetched
from tformer.loss import projected_cross_entropy
from tformer.schedule import inverse_square_root, straight_line
from tformer.tokenization import Tokenizer
from tformer.train.checkpoints import State
from tformer.train.devices import (
    AUTOCAST,
    check_batch_room,
    choose_precision,
    steady_attention,
)
from tformer.train.events import Evaluation, Event, Look, Record, Sample, Stop
from tformer.train.r_drop import divergence
from tformer.train.ranks import Ranks
from tformer.translator import Translator
from tformer.translator.weights import build
from tformer.variants.recurrent import RecurrentConfig

LOG_EVERY = 10  # steps between readings of the loss: reading it makes a GPU wait
N_SAMPLES = 3
REASONS = ("", "requested", "patience", "steps", "minutes")  # for stopping


class Lesson(nn.Module):
    """A model whose output is its loss: the form that several processes can share."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model: Any = model

    def forward(self, batch: Batch, smoothing: float, r_drop: float = 0.0) -> Tensor:
        """Teacher forcing: the decoder reads bos + pieces, predicts pieces + eos."""
        if r_drop:
            batch = batch.twice()
        output = self.model.output_embedding
        hidden = self.model.hidden(batch.source_ids, batch.target_ids)
        predicted = (hidden, output.weight, batch.labels)
        known: dict[str, Any] = {
            "pad_id": self.model.config.pad_id,
            "bias": output.output_bias,
            "n_labels": batch.n_labels,
        }
        loss = projected_cross_entropy(*predicted, smoothing=smoothing, **known)
        if r_drop:
            loss = loss + r_drop * divergence(*predicted, **known)
        return loss


class Loop:
    """A model, its optimizer and its data, and what happens to them step by step.

    Args:
        config: what to train.
        corpus: the pairs to train on, and the validation pairs.
        recipe: how to train.
        tokenizer: for both languages.
        ranks: the processes that share each step, and their device.
        samples: pairs whose sources are translated at each evaluation; the first
            three validation pairs that fit the model if None.

    Raises:
        ValueError: nothing in the corpus fits the model or a batch, or a sample
            does not fit.
    """

    def __init__(
        self,
        config: TransformerConfig | RecurrentConfig,
        corpus: Corpus,
        recipe: Recipe,
        tokenizer: Tokenizer,
        ranks: Ranks,
        samples: list[tuple[str, str]] | None = None,
    ) -> None:
        self.config, self.corpus, self.recipe = config, corpus, recipe
        self.tokenizer, self.ranks = tokenizer, ranks
        self.device = device = ranks.device
        self.precision = choose_precision(recipe.precision, device)
        if recipe.r_drop and not config.dropout:
            raise ValueError(
                f"r_drop={recipe.r_drop} needs dropout above 0: without it both passes "
                "over a batch are the same"
            )
        self.model = build(config).to(device)
        self.lesson = Lesson(self.model)
        self.shared_lesson = ranks.wrapped(self.lesson)
        self.products = faster_products(self.model, recipe.max_tokens // 2)
        self.optimizer: torch.optim.Optimizer = torch.optim.Adam(
            self.model.parameters(),
            betas=recipe.adam_betas,
            eps=recipe.adam_epsilon,
            fused=device.type != "mps",
        )
        self.scaler = torch.amp.GradScaler(
            device.type, enabled=self.precision == "fp16"
        )
        self.state = State()
        self.encoded: dict[str, array[int]] = {}  # sentence -> ids, filled as they come
        self.sampler = (
            None
            if recipe.sample_pieces is None
            else PieceSampler(tokenizer, recipe.sample_pieces)
        )
        self.valid = self._batches(corpus.valid, self.encoded)
        self._check_batches()
        self.samples = self._fitting_samples() if samples is None else samples
        for english, _ in self.samples:
            self.translator().encode(english)  # too long, for instance: say so now

    def run(
        self,
        steps: int | None,
        minutes: float | None,
        tell: Callable[[Event], bool],
        keep: Callable[[], None],
    ) -> None:
        """Step until the budget, a listener or the validation loss ends the run.

        Args:
            steps: the budget, counted from the very start of the run.
            minutes: likewise.
            tell: called with each event; returning True requests a stop.
            keep: called after each evaluation, to write a checkpoint.

        Raises:
            FloatingPointError: the loss or a gradient is not finite.
        """
        state = self.state
        earlier, started = state.seconds, time.monotonic()
        recent: list[tuple[Tensor, Tensor, int]] = []  # loss, norm, tokens: on device
        since_evaluation: list[float] = []
        n_tokens, mark = 0, started
        state.stopped = self._reason_to_stop(steps, minutes)
        if state.stopped and state.history:  # it had finished already: show its end
            tell(self._evaluation(state.history[-1]))
        feed = self._feed()
        while not state.stopped:
            self.model.train()
            recent.append(self.step(next(feed)))
            is_evaluation = state.step % self.recipe.eval_every == 0
            if state.step % LOG_EVERY and not is_evaluation and state.step != steps:
                continue
            look, losses = self._look(recent)
            state.curve.append(look)
            since_evaluation += losses
            n_tokens += sum(tokens for _, _, tokens in recent)
            recent = []
            now = time.monotonic()
            state.seconds = earlier + now - started
            speed = n_tokens / max(now - mark, 1e-9)
            is_unwanted = tell(
                {
                    "kind": "step",
                    **look,
                    "tokens_per_second": speed,
                    "seconds": state.seconds,
                }
            )
            state.stopped = self._reason_to_stop(steps, minutes)
            self._agree_to_stop(is_unwanted)
            if is_evaluation or state.stopped:
                train_loss = sum(since_evaluation) / len(since_evaluation)
                record = self.evaluate(look, train_loss, speed)
                state.history.append(record)
                if is_evaluation:
                    self._note_best(record["valid_loss"])
                    state.stopped = state.stopped or self._reason_to_stop(None, None)
                self._agree_to_stop(tell(self._evaluation(record)))
                state.seconds = earlier + time.monotonic() - started
                keep()
                since_evaluation, n_tokens, mark = [], 0, time.monotonic()
        stop: Stop = {
            "kind": "stop",
            "step": state.step,
            "reason": state.stopped,
            "seconds": state.seconds,
        }
        tell(stop)

    def step(self, parts: Batches) -> tuple[Tensor, Tensor, int]:
        """Forward, backward, one step of Adam; returns loss, gradient norm, tokens.

        Args:
            parts: the step's batch, whole or dealt out (`tformer.data.Batches.parts`).
        """
        state, recipe = self.state, self.recipe
        if not self.ranks.is_first:  # a random state of its own, kept in no checkpoint
            place = f"{recipe.seed}/{state.step}/{self.ranks.rank}"
            torch.manual_seed(random.Random(place).getrandbits(63))
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(recipe, state.step + 1, self.config.d_model)
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.add_gradients(parts)
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), recipe.clip_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        state.step += 1
        return loss, norm.detach(), parts.n_tokens

    def add_gradients(self, parts: Batches) -> Tensor:
        """The gradients of a batch, part by part; returns what we add to its loss.

        Each part is weighted by its share of the labels, so the parts' means add up to
        the mean over all labels, and the gradients are those of the undivided batch.
        Several processes take turns at the parts. One that is left without a part
        recomputes the first, to no effect: all must meet where gradients are averaged.
        """
        n, n_labels = self.ranks.n, parts.n_labels
        ours = range(self.ranks.rank, len(parts), n) or range(1)
        is_idle = self.ranks.rank >= len(parts)
        loss = torch.zeros((), device=self.device)
        for index in ours:
            part = parts[index]
            share = 0.0 if is_idle else part.n_labels / n_labels
            with self.ranks.syncing(self.shared_lesson, index == ours[-1]):
                own = share * self.loss(part, is_training=True)
                self.scaler.scale(n * own).backward()  # n: their mean is to be a sum
            loss += own.detach()
        return loss

    def loss(self, batch: Batch, *, is_training: bool) -> Tensor:
        """The mean loss of a batch's labels, in the run's precision.

        In training it is the one that the recipe wants, else plain cross-entropy.
        """
        recipe = self.recipe
        lesson = self.shared_lesson if is_training else self.lesson
        terms = (recipe.label_smoothing, recipe.r_drop) if is_training else (0.0, 0.0)
        dtype = AUTOCAST.get(self.precision)
        precision = torch.autocast(
            self.device.type, dtype=dtype, enabled=dtype is not None
        )
        with precision, self.products(), steady_attention(self.device):
            return lesson(batch.to(self.device), *terms)

    def evaluate(self, look: Look, train_loss: float, speed: float) -> Record:
        """Evaluate the current model on the validation pairs and the samples."""
        valid_loss = self.validation_loss()
        if not math.isfinite(valid_loss):
            raise _not_finite(self.state.step, valid_loss, look["gradient_norm"])
        return {
            "step": self.state.step,
            "epoch": self.state.epoch,
            "train_loss": train_loss,
            "valid_loss": valid_loss,
            "learning_rate": look["learning_rate"],
            "gradient_norm": look["gradient_norm"],
            "tokens_per_second": speed,
            "seconds": self.state.seconds,
            "samples": self._translate_samples(),
        }

    def validation_loss(self) -> float:
        """Mean cross-entropy of the validation labels in nats, without smoothing."""
        self.model.eval()
        total = n_labels = 0.0
        with torch.no_grad():
            for index in range(self.ranks.rank, len(self.valid), self.ranks.n):
                batch = self.valid[index]
                total += self.loss(batch, is_training=False).item() * batch.n_labels
                n_labels += batch.n_labels
        if self.ranks.n > 1:  # each has evaluated its share of the batches
            sums = torch.tensor([total, n_labels], dtype=torch.float64)
            total, n_labels = self.ranks.total(sums.to(self.device)).tolist()
        return total / n_labels

    def translator(self) -> Translator:
        """The model as it is now."""
        return Translator(self.model.eval(), self.tokenizer)

    # Reports ------------------------------------------------------------------------

    def _look(self, recent: list[tuple[Tensor, Tensor, int]]) -> tuple[Look, list]:
        """The mean of the last few steps, and the loss of each; all of them finite."""
        on_device = self.ranks.total(torch.stack([loss for loss, _, _ in recent]))
        read = fetched(on_device, torch.stack([norm for _, norm, _ in recent]))
        losses, norms = (each.tolist() for each in read)
        for step, loss, norm in zip(
            count(self.state.step - len(losses) + 1), losses, norms, strict=False
        ):
            # With fp16, an overflowing gradient only makes the scaler skip a step.
            has_step = math.isfinite(norm) or self.scaler.is_enabled()
            if not (math.isfinite(loss) and has_step):
                raise _not_finite(step, loss, norm)
        taken = [norm for norm in norms if math.isfinite(norm)]
        look: Look = {
            "step": self.state.step,
            "loss": sum(losses) / len(losses),
            "learning_rate": self.optimizer.param_groups[0]["lr"],
            "gradient_norm": sum(taken) / len(taken) if taken else None,
        }
        return look, losses

    def _evaluation(self, record: Record) -> Evaluation:
        return {"kind": "evaluate", "translator": self.translator(), **record}

    def _translate_samples(self) -> list[Sample]:
        sources = [english for english, _ in self.samples]
        translations = self.translator().translate(sources, beam_size=1)
        return [
            {"source": english, "reference": german, "translation": translation}
            for (english, german), translation in zip(
                self.samples, translations, strict=True
            )
        ]

    def _note_best(self, loss: float) -> None:
        state = self.state
        if state.best_loss is None or loss < state.best_loss:
            state.best_loss, state.evaluations_since_best = loss, 0
        else:
            state.evaluations_since_best += 1

    def _reason_to_stop(self, steps: int | None, minutes: float | None) -> str:
        state, patience = self.state, self.recipe.patience
        if minutes is not None and state.seconds >= minutes * 60:
            return "minutes"
        if steps is not None and state.step >= steps:
            return "steps"
        if patience is not None and state.evaluations_since_best >= patience:
            return "patience"
        return ""

    def _agree_to_stop(self, is_unwanted: bool) -> None:
        """Stop if a listener requests it, or another process has a reason to."""
        state = self.state
        if is_unwanted and not state.stopped:
            state.stopped = "requested"
        state.stopped = REASONS[self.ranks.largest(REASONS.index(state.stopped))]

    # The data -----------------------------------------------------------------------

    def _batches(
        self, pairs: list[tuple[str, str]], encoded: dict[str, array[int]]
    ) -> Batches:
        config = self.config
        return batches(
            encode_pairs(pairs, self.tokenizer, config.max_len, cache=encoded),
            max_tokens=self.recipe.max_tokens,
            pad_id=config.pad_id,
            bos_id=config.bos_id,
            eos_id=config.eos_id,
            seed=self.recipe.seed,
            epoch=self.state.epoch,
        )

    def _feed(self) -> Iterator[Batches]:
        """Batches in their parts, endlessly, from where the run is."""
        state = self.state
        while True:
            pairs = self.corpus.epoch_pairs(state.epoch, self.recipe.seed)
            epoch = self._batches(pairs, self._encoded_for(pairs))
            while state.position < len(epoch):
                parts = epoch.parts(
                    state.position, self.recipe.accumulate * self.ranks.n
                )
                state.position += 1
                yield parts
            state.epoch, state.position = state.epoch + 1, 0

    def _encoded_for(self, pairs: list[tuple[str, str]]) -> dict[str, array[int]]:
        """The sentences of an epoch in the pieces in which it shows them."""
        if self.sampler is None:
            return self.encoded
        # However the two sides of a pair are drawn, it must fit the model and a batch.
        most, usual = self.recipe.max_tokens - 2, max(map(len, self.encoded.values()))
        return self.sampler.encode_all(
            chain.from_iterable(pairs),
            self.encoded,
            longest=min(self.config.max_len - 1, most // 2, most - usual),
            seed=f"pieces/{self.recipe.seed}/{self.state.epoch}",
        )

    def _check_batches(self) -> None:
        """Find out now, not in a later epoch, what fits no batch or no memory."""
        encoded = encode_pairs(
            self.corpus.train, self.tokenizer, self.config.max_len, cache=self.encoded
        )
        source, target = max(encoded, key=lambda pair: len(pair[0]) + len(pair[1]))
        n_tokens, most = len(source) + len(target) + 1, self.recipe.max_tokens
        if n_tokens > most:
            raise ValueError(
                f"the longest pair has {n_tokens} tokens on both sides together, more "
                f"than max_tokens={most}: raise max_tokens, or lower max_len"
            )
        in_all = sum(len(source) + len(target) + 1 for source, target in encoded)
        n_parts = self.recipe.accumulate * self.ranks.n
        at_once = max(n_tokens, min(most, in_all) // n_parts)
        if self.recipe.r_drop:
            at_once *= 2
        check_batch_room(self.config, at_once, self.device)

    def _fitting_samples(self) -> list[tuple[str, str]]:
        most = self.config.max_len
        fitting = (
            (english, german)
            for english, german in self.corpus.valid
            if 0 < len(self.encoded[english]) < most
        )
        return [pair for pair, _ in zip(fitting, range(N_SAMPLES), strict=False)]


def _not_finite(step: int, loss: float, norm: float | None) -> FloatingPointError:
    return FloatingPointError(
        f"loss {loss} and gradient norm {norm} at step {step}: the run must end. "
        "Lower lr_scale or raise warmup_steps; the last checkpoint, if one was "
        "written, is kept"
    )


def learning_rate(recipe: Recipe, step: int, d_model: int) -> float:
    """The learning rate of a step, counted from 1, as the recipe wants it."""
    curve = {"d_model": d_model, "warmup_steps": recipe.warmup_steps}
    if recipe.last_step is None:
        return inverse_square_root(step, **curve, scale=recipe.lr_scale)
    return straight_line(
        step, **curve, last_step=recipe.last_step, scale=recipe.lr_scale
    )
