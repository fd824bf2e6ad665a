"""What a reader's function may do, and what the graders make of it."""

from __future__ import annotations

import contextlib
import math
import random

import pytest
import torch
from answers import load
from torch import Tensor

from tformer import schedule
from tformer_book import check
from tformer_book.check.kit import (
    Mistake,
    as_tensor,
    as_whole,
    call,
    probe_gradients,
    running,
)


def diagnosis(run):
    with pytest.raises(Mistake) as found:
        run()
    return found.value.diagnosis


def test_only_a_raise_of_ones_own_is_a_stub():
    def stub(x):
        raise NotImplementedError

    def pytorchs_own(x):
        return torch.ones(2, 2) & (x > 0)

    given = {"x": torch.ones(2, 2)}
    assert diagnosis(lambda: call(stub, given)) == "stub"
    assert diagnosis(lambda: call(pytorchs_own, given)) == "not-bool"


def test_a_loop_without_end_is_stopped(monkeypatch):
    monkeypatch.setattr(running, "SECONDS", 0.2)

    def waits(x):
        while True:
            pass

    def waits_for_ever(x):
        while True:
            with contextlib.suppress(Exception):
                waits(x)

    for mine in (waits, waits_for_ever):
        assert diagnosis(lambda mine=mine: call(mine, {"x": 1})) == "endless"


def test_chance_is_found_wherever_it_comes_from():
    import numpy as np

    def torchs(x):
        return torch.rand(3)

    def pythons(x):
        return [random.random()]

    def numpys(x):
        return float(np.random.rand())  # noqa: NPY002

    for mine in (torchs, pythons, numpys):
        assert diagnosis(lambda mine=mine: call(mine, {"x": 1})) == "random"


def test_chance_without_effect_is_no_mistake_and_moves_no_generator_twice():
    def mine(x):
        return [x] * (1 + 0 * random.randrange(5))

    random.seed(3)
    assert call(mine, {"x": 1}) == [1]
    once = random.random()
    random.seed(3)
    random.randrange(5)
    assert once == random.random()


@pytest.mark.parametrize(
    "given", [[1, 2], {"a": 1}, torch.zeros(2)], ids=["list", "dict", "tensor"]
)
def test_a_changed_input_is_found_and_the_callers_own_is_untouched(given):
    def mine(x):
        x[next(iter(x)) if isinstance(x, dict) else 0] = 7
        return 1

    assert diagnosis(lambda: call(mine, {"x": given})) == "changes-inputs"
    assert given in ([1, 2], {"a": 1}) or not given.any()


def test_a_part_of_a_larger_tensor_stays_one():
    x = torch.arange(12.0).view(2, 6)[:, :3]
    assert not call(lambda x: [x.is_contiguous()], {"x": x})[0]
    assert torch.equal(call(lambda x: x * 1, {"x": x}), x)


def test_whole_numbers_may_be_of_any_kind():
    import numpy as np

    for each in (3, 3.0, np.int64(3), np.float32(3), torch.tensor(3), np.array([3])):
        assert as_whole(each) == 3
    for each in (True, 3.5, "3", torch.ones(2), None):
        with pytest.raises(Mistake):
            as_whole(each)


def test_what_is_no_tensor_is_named():
    import numpy as np

    for each in (np.zeros(2), [1.0], (torch.ones(1), torch.ones(1)), 2.0):
        with pytest.raises(Mistake):
            as_tensor(each)


def gradient_diagnosis(mine):
    x = torch.tensor([1.0, 2.0])
    return diagnosis(
        lambda: probe_gradients(
            mine, lambda: call(mine, {"x": x}), lambda: x.exp() * x, {"x": x}
        )
    )


def test_each_way_to_lose_a_gradient_is_told_apart():
    def cut(x):
        return x.detach().exp() * x.detach()

    def partly(x):
        return x.detach().exp() * x

    def in_place(x):
        y = x.exp()
        z = y * x
        y += 1
        return z

    def in_numpy(x):
        return torch.from_numpy(x.numpy()).exp() * x

    def of_zero(x):
        zero = (x - x.detach()).abs()
        return x.exp() * x + 0 * zero.sqrt()

    assert gradient_diagnosis(cut) == "gradient-cut"
    assert gradient_diagnosis(in_numpy) == "gradient-cut"
    assert gradient_diagnosis(partly) == "gradient-partly-cut"
    assert gradient_diagnosis(in_place) == "gradient-in-place"
    assert gradient_diagnosis(of_zero) == "gradient-not-finite"


def test_gradients_are_asked_for_where_a_chapter_has_switched_them_off():
    def mine(x):
        return x.exp() * x

    x = torch.tensor([1.0, 2.0])
    with torch.no_grad():
        probe_gradients(
            mine, lambda: call(mine, {"x": x}), lambda: x.exp() * x, {"x": x}
        )


def test_a_keyword_of_another_name_is_a_signature():
    assert diagnosis(lambda: call(lambda x, m: x, {"x": 1}, {"mask": 2})) == "signature"


def test_every_problem_is_the_function_of_its_modules_name():
    for name in set(check.__all__) - {"Result", "hint"}:
        assert getattr(check, name).__name__ == name
    with pytest.raises(AttributeError, match="no grader 'attenion'"):
        check.attenion  # noqa: B018
    assert set(dir(check)) == set(check.__all__)


PROBLEMS = sorted(set(check.__all__) - {"Result", "hint"})


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_grader_names_a_signature_and_an_error(name):
    def stops(*given, **named):
        raise KeyError("nobody knows this")

    assert getattr(check, name)(lambda: 1).diagnosis == "signature"
    result = getattr(check, name)(stops)
    assert not result
    assert "KeyError" in result.message


def changes_its_input(right):
    """A right answer that writes over the first of its inputs that it can."""

    def mine(*given, **named):
        found = right(*given, **named)
        each = next((x for x in given if isinstance(x, Tensor | list | dict | set)), {})
        if isinstance(each, Tensor):
            each += each.new_ones(())
        else:
            each.clear()
        return found

    return mine


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_grader_finds_a_changed_input(name):
    right = next(
        a.mine for a in load() if (a.problem, a.diagnosis) == (name, "correct")
    )
    inputs = []

    def watched(*given, **named):
        inputs.extend(given)
        return right(*given, **named)

    assert getattr(check, name)(watched)
    mutable = any(isinstance(each, Tensor | list | dict | set) for each in inputs)
    result = getattr(check, name)(changes_its_input(right))
    assert result.diagnosis == ("changes-inputs" if mutable else "correct")


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_grader_lets_an_odd_answer_end_in_a_traceback(name, capsys):
    def stub(*given, **named):
        raise NotImplementedError

    def text(*given, **named):
        return "?"

    def number(*given, **named):
        return math.nan

    def nothing(*given, **named):
        return None

    for mine in (stub, text, number, nothing, lambda *a, **k: torch.zeros(0), int, 3):
        result = getattr(check, name)(mine)
        assert not result
        assert result.diagnosis != "not-judged", result.message
    assert getattr(check, name)(stub).diagnosis == "stub"


def test_the_verdict_is_printed_and_the_random_state_left_alone(capsys):
    before = torch.get_rng_state()
    assert check.inverse_square_root(schedule.inverse_square_root)
    assert capsys.readouterr().out.startswith("✓ Your learning rate is right.\n")
    assert not check.softmax(torch.sigmoid)
    assert capsys.readouterr().out.startswith("✗ Your softmax is not right yet.\n")
    assert torch.equal(before, torch.get_rng_state())


def test_what_a_grader_watches_is_as_it_was_afterwards():
    check.split(lambda pairs, share: ([], pairs))
    assert type(hash).__name__ == "builtin_function_or_method"


def test_two_mistakes_in_one_answer_are_both_told():
    from tformer_book.check.problems.n_parameters import built

    result = check.n_parameters(
        lambda config: built(config, attention_bias=0, vectors_per_norm=0)
    )
    assert "biases of attention are missing" in result.message
    assert "And there is a second slip: The norms are missing" in result.message
