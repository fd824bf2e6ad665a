"""The recipe: every value that means nothing is refused when the recipe is made."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import subprocess
import sys

import pytest

from tformer.common.recipe import Recipe
from tformer.tokenization import Tokenizer


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_tokens": 0}, "max_tokens=0 must be at least 1"),
        ({"max_tokens": 2**63}, "must be less than 2"),
        ({"warmup_steps": 0}, "warmup_steps=0"),
        ({"warmup_steps": 10**400}, "must be less than 2"),
        ({"last_step": 1000}, "last_step=1000 must be None or at least 1001"),
        ({"eval_every": 0}, "eval_every=0"),
        ({"accumulate": 0}, "accumulate=0 must be at least 1"),
        ({"accumulate": 2**62}, f"accumulate={2**62} must be at most max_tokens=4096"),
        ({"average_last": 0}, "average_last=0"),
        ({"patience": 0}, "patience=0 must be None or at least 1"),
        ({"seed": -1}, "seed=-1 must be at least 0"),
        ({"seed": 2**64}, "must be less than 2"),
        ({"lr_scale": 0.0}, r"lr_scale=0.0 must be in \[1e-30, 1e\+06\]"),
        ({"lr_scale": math.inf}, "lr_scale=inf must be in"),
        ({"lr_scale": 1e300}, r"lr_scale=1e\+300 must be in"),
        ({"clip_norm": math.nan}, "clip_norm=nan must be in"),
        ({"clip_norm": math.inf}, "clip_norm=inf must be in"),
        ({"clip_norm": -1}, "clip_norm=-1 must be in"),
        ({"adam_epsilon": 0.0}, r"adam_epsilon=0.0 must be in \[1e-37, 1\]"),
        ({"adam_epsilon": 1e-50}, "adam_epsilon=1e-50 must be in"),
        ({"adam_epsilon": math.nan}, "adam_epsilon=nan must be in"),
        ({"adam_betas": (0.9, 1.0)}, r"adam_betas=\(0.9, 1.0\) must be in \[0, 1\)"),
        ({"adam_betas": (-0.1, 0.9)}, r"adam_betas=\(-0.1, 0.9\) must be in"),
        ({"adam_betas": (math.nan, 0.9)}, r"adam_betas=\(nan, 0.9\) must be in"),
        ({"label_smoothing": 1.0}, r"label_smoothing=1.0 must be in \[0, 1\)"),
        ({"label_smoothing": math.nan}, r"label_smoothing=nan must be in \[0, 1\)"),
        ({"precision": "fp8"}, "precision='fp8' is none of: auto, fp32, bf16, fp16"),
        ({"tokenizer": "word"}, "tokenizer='word' is none of: bpe, unigram"),
        ({"r_drop": -1}, r"r_drop=-1 must be in \[0, 1e\+06\]"),
        ({"r_drop": math.inf}, "r_drop=inf must be in"),
        ({"sample_pieces": 0.2}, "sample_pieces=0.2 needs tokenizer='unigram'"),
        (
            {"sample_pieces": 1.1, "tokenizer": "unigram"},
            r"=1.1 must be None or in",
        ),
    ],
)
def test_a_value_that_breaks_a_rule_is_refused_with_the_rule(change, message):
    with pytest.raises(ValueError, match=message):
        Recipe(**change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"warmup_steps": math.inf}, "warmup_steps=inf must be an int"),
        ({"eval_every": 2.5}, "eval_every=2.5 must be an int"),
        ({"max_tokens": "many"}, "max_tokens='many' must be an int"),
        ({"average_last": True}, "average_last=True must be an int"),
        ({"patience": 1.5}, "patience=1.5 must be None or an int"),
        ({"seed": None}, "seed=None must be an int"),
        ({"lr_scale": "1"}, "lr_scale='1' must be a number"),
        ({"clip_norm": None}, "clip_norm=None must be a number"),
        ({"label_smoothing": False}, "label_smoothing=False must be a number"),
        ({"r_drop": None}, "r_drop=None must be a number"),
        ({"sample_pieces": True}, "sample_pieces=True must be a number"),
        ({"adam_betas": 0.9}, "adam_betas=0.9 must be two numbers"),
        ({"adam_betas": (0.9, 0.98, 0.99)}, "must be two numbers"),
        ({"adam_betas": (0.9, "0.98")}, "adam_betas='0.98' must be a number"),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_name(change, message):
    with pytest.raises(TypeError, match=message):
        Recipe(**change)


def test_a_recipe_comes_back_from_json_as_it_was():
    recipe = Recipe(adam_betas=(0, 0.95), patience=3)
    again = Recipe(**json.loads(json.dumps(dataclasses.asdict(recipe))))
    assert again == recipe
    assert [type(beta) for beta in again.adam_betas] == [float, float]  # as Adam wants


def test_the_recipe_and_the_tokenizer_learn_pieces_in_the_same_way_unless_told():
    default = inspect.signature(Tokenizer.train).parameters["algorithm"].default
    assert Recipe().tokenizer == default


def test_the_recipe_can_be_had_without_waiting_for_torch():
    code = "import sys, tformer.common.recipe; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
