"""What all tests share: one thread, fixed seeds, small models."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: xdist uses the cores

import contextlib
import functools
import random
import signal
from collections.abc import Callable, Generator
from typing import Any
from unittest import mock

import hypothesis
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tformer import data
from tformer.data import Corpus
from tformer.decode import stepping

torch.set_num_threads(1)

# What was started in the background (``make test &``) inherits that Ctrl-C is ignored,
# and passes it on; the commands that are interrupted here should hear it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Every run tries the same examples, so a failure in CI is a failure at home.
# HYPOTHESIS_PROFILE=explore goes looking for new ones.
hypothesis.settings.register_profile(
    "repeatable", derandomize=True, database=None, deadline=None, max_examples=25
)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=300)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None]:
    """Have xdist share out the tests as they are meant to be, or refuse to begin.

    What a module's tests share is made once: they run in one worker.
    """
    for item in items:
        made = item._fixtureinfo.name2fixturedefs.values()
        shared = any(each[-1].scope == "module" for each in made)
        if shared and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    yield
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"a test is named after an address: {item.nodeid}")
        if getattr(config.option, "loadgroup", False):  # xdist writes groups into names
            group = item.get_closest_marker("xdist_group")
            if group and not item.nodeid.endswith(f"@{group.args[0]}"):
                raise pytest.UsageError(
                    f"{item.nodeid}: this pytest-xdist does not keep the tests of a "
                    f"group together under pytest {pytest.__version__}; take the "
                    "versions of requirements.txt"
                )


@pytest.fixture
def corpus_of() -> Callable[[str], Corpus]:
    """``corpus_of("multi30k")``, or a skip that says what is missing."""

    def corpus_of(name: str) -> Corpus:
        folder = os.environ.get("TFORMER_DATA")
        if not folder:
            reason = f"{name} is needed: set TFORMER_DATA to the folder that holds it"
            if os.environ.get("TFORMER_REQUIRE_DATA", "") not in ("", "0"):
                pytest.fail(f"{reason} (TFORMER_REQUIRE_DATA=1 allows no skipping)")
            pytest.skip(reason)
        return _loaded(name)

    return corpus_of


@functools.cache
def _loaded(name: str) -> Corpus:
    return data.load(name)


@pytest.fixture(autouse=True)
def seed() -> None:
    """Every test starts from the same random state."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 (libraries that still use the global state)
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def chromium():
    """Start one headless Chromium. Without one: a loud skip, in CI a failure."""
    from tformer_book.press import browser as driver

    try:
        with driver.chromium() as browser:
            yield browser
    except driver.NoBrowserError as problem:
        if os.environ.get("CI"):
            pytest.fail(f"BROWSER TESTS NOT RUN: {problem}")
        pytest.skip(f"BROWSER TESTS NOT RUN: {problem}")


@pytest.fixture(scope="session")
def page_translator():
    """The released model as a page has it, in eight bits; here PyTorch computes."""
    from tformer_book.widgets._model import released_model

    return released_model().translator


@pytest.fixture(scope="session")
def page_folder(tmp_path_factory):
    """A folder with what a page downloads of the released model."""
    from tformer_book.widgets._model import released_model

    folder = tmp_path_factory.mktemp("page-model")
    for name, content in released_model().files.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(scope="session")
def unpacked_folder(tmp_path_factory):
    """A folder with the released model in float32: the engine multiplies it exactly."""
    from tformer import load_pretrained

    folder = tmp_path_factory.mktemp("unpacked-model")
    load_pretrained().save(folder, dtype=torch.float32)
    return folder


@pytest.fixture(scope="session")
def forced() -> Callable[[list[int]], contextlib.AbstractContextManager]:
    """``with forced(ids): …``: all searches see no way but to begin with these ids."""
    free, free_best = stepping.Stepper.log_probabilities, stepping.Stepper.best_pieces

    def force(ids: list[int]) -> contextlib.AbstractContextManager:
        def only(self) -> Tensor:
            log_p = free(self)
            if self.length >= len(ids):
                return log_p
            alone = torch.full_like(log_p, -torch.inf)
            alone[:, ids[self.length]] = log_p[:, ids[self.length]]
            return alone

        def only_best(self) -> list[int]:
            pieces = free_best(self)
            if self.length >= len(ids):
                return pieces
            return [ids[self.length]] * len(pieces)

        changes = {"log_probabilities": only, "best_pieces": only_best}
        return mock.patch.multiple(stepping.Stepper, **changes)

    return force


@pytest.fixture(scope="session")
def randomise() -> Callable[..., nn.Module]:
    """``randomise(module, seed=0)``: no parameter is left at a value that hides errors.

    Norms start with gain 1 and bias 0, projections with bias 0: a test that keeps those
    cannot see gains and biases swapped, dropped or given to another layer.
    """

    def randomise(module: nn.Module, seed: int = 0) -> nn.Module:
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                noise = torch.randn(parameter.shape, generator=generator)
                if parameter.dim() > 1:
                    parameter.copy_(noise / parameter.size(-1) ** 0.5)
                else:
                    is_gain = name.endswith(("gain", "weight"))
                    parameter.copy_(0.3 * noise + is_gain)
        return module

    return randomise


@pytest.fixture(scope="session")
def make_model(randomise) -> Callable[..., nn.Module]:
    """``make_model(**fields)``: a tiny random `Transformer` in eval mode."""
    from tformer.config import TransformerConfig
    from tformer.model import Transformer

    small = {
        "vocab_size": 13,
        "d_model": 8,
        "n_heads": 2,
        "d_ff": 16,
        "n_encoder_layers": 2,
        "n_decoder_layers": 2,
        "dropout": 0.0,
        "max_len": 16,
    }

    def make_model(*, seed: int = 0, **fields: object) -> nn.Module:
        config = TransformerConfig(**{**small, **fields})
        return randomise(Transformer(config), seed).eval()

    return make_model


@pytest.fixture(scope="session")
def random_ids() -> Callable[..., Tensor]:
    """``random_ids(lengths, vocab_size=13, seed=0)``: ids from 4 up, padded by 0."""

    def random_ids(
        lengths: list[int], *, vocab_size: int = 13, seed: int = 0
    ) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        shape = (len(lengths), max(lengths))
        ids = torch.randint(4, vocab_size, shape, generator=generator)
        beyond = torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None]
        return ids.masked_fill(beyond, 0)

    return random_ids


@pytest.fixture(scope="session")
def make_translator() -> Callable[[list[str]], Any]:
    """``make_translator(sentences)``: a tiny one whose tokenizer has learned them.

    Untrained, but with large weights: it says something else for each sentence.
    """
    from tformer.config import TransformerConfig
    from tformer.model import Transformer
    from tformer.tokenization import Tokenizer
    from tformer.translator import Translator

    def make_translator(sentences: list[str]) -> Translator:
        tokenizer = Tokenizer.train(sentences * 3, 330, algorithm="bpe")
        torch.manual_seed(4)
        sizes = {"d_model": 32, "n_heads": 4, "d_ff": 64, "max_len": 64}
        depth = {"n_encoder_layers": 2, "n_decoder_layers": 1}
        model = Transformer(TransformerConfig(330, **sizes, **depth))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.15 * torch.randn_like(parameter)
        return Translator(model.eval(), tokenizer, {"name": "tiny"})

    return make_translator
