"""Forward and backward in the page, against PyTorch's autograd."""

import pytest
import torch
import torch.nn.functional as F
import traitlets
from torch.testing import assert_close

from tformer_book.widgets import OneGradient
from tformer_book.widgets.one_gradient import LAST_STEP

MATHS, STEPS = "one_gradient/maths.js", "one_gradient/steps.js"
MATRICES = ("w_query", "w_key", "w_value", "table")
NAMES = ("query", "keys", "values", "scores", "weights", "output", "logits", "p")


def as_shown():
    figure = OneGradient(step=LAST_STEP)
    return {name: getattr(figure, name) for name in ("x", *MATRICES, "target", "rate")}


def cases():
    generator = torch.Generator().manual_seed(0)

    def draw(rows, columns):
        numbers = torch.randn(rows, columns, generator=generator, dtype=torch.float64)
        return (2 * numbers).tolist()

    for i in range(20):
        matrices = {name: draw(2, 2) for name in MATRICES[:3]}
        yield {
            **matrices,
            "x": draw(3, 2),
            "table": draw(2, 3),
            "target": i % 3,
            "rate": i / 5,
        }
    yield as_shown()


def by_torch(case):
    """Every intermediate value and its gradient, the matrices' too."""
    given = {
        name: torch.tensor(case[name], dtype=torch.float64, requires_grad=True)
        for name in MATRICES
    }
    x = torch.tensor(case["x"], dtype=torch.float64)
    found = {
        "query": x[-1] @ given["w_query"],
        "keys": x @ given["w_key"],
        "values": x @ given["w_value"],
    }
    found["scores"] = found["keys"] @ found["query"] / 2**0.5
    found["weights"] = found["scores"].softmax(-1)
    found["output"] = found["weights"] @ found["values"]
    found["logits"] = found["output"] @ given["table"]
    found["p"] = found["logits"].softmax(-1)
    for each in found.values():
        each.retain_grad()
    found["loss"] = F.cross_entropy(found["logits"], torch.tensor(case["target"]))
    found["loss"].backward()
    return given | found


def test_values_and_gradients_are_those_of_autograd(js):
    for case, mine in zip(
        cases(), js(MATHS, "given.map(whole)", [*cases()]), strict=True
    ):
        wanted = by_torch(case)
        assert mine["found"]["loss"] == pytest.approx(wanted["loss"].item(), rel=1e-9)
        for name in NAMES:
            value = torch.tensor(mine["found"][name], dtype=torch.float64)
            assert_close(value, wanted[name].detach())
        for name in (*MATRICES, *NAMES[:-1]):
            gradient = torch.tensor(mine["gradients"][name], dtype=torch.float64)
            assert_close(gradient, wanted[name].grad, rtol=1e-7, atol=1e-10)


def test_the_update_goes_downhill_by_the_rate(js):
    case = as_shown()
    mine = js(MATHS, "whole(given)", case)
    wanted = by_torch(case)
    for name in MATRICES:
        moved = wanted[name] - case["rate"] * wanted[name].grad
        assert_close(
            torch.tensor(mine["matrices"][name], dtype=torch.float64), moved.detach()
        )
    figure = OneGradient()
    before, after = figure.losses
    assert mine["found"]["loss"] == pytest.approx(before)
    assert mine["after"]["loss"] == pytest.approx(after)
    assert after < before / 2
    for name, gradient in figure.gradients.items():
        assert_close(gradient, wanted[name].grad)
    assert f"{before:.3f} to {after:.3f}" in repr(figure)


def test_without_a_rate_nothing_moves(js):
    mine = js(MATHS, "whole(given)", as_shown() | {"rate": 0})
    assert mine["after"] == mine["found"]


def test_every_box_is_filled_before_its_gradient_comes_back(js):
    told = js(
        STEPS,
        "[STEPS.length, given.map((name) => [valueAt(name), gradientAt(name)])]",
        [*MATRICES, *NAMES[:-1]],
    )
    count, places = told
    assert count == LAST_STEP + 1
    forward = max(value for value, _ in places)
    assert all(value <= forward < gradient < count for value, gradient in places)


def test_the_number_that_is_worked_out_is_the_one_in_the_box(node):
    script = """
    import { whole } from "./one_gradient/maths.js";
    import { STEPS } from "./one_gradient/steps.js";
    const all = whole(given);
    const said = STEPS.map((step) => step.worked(given, all, given.target));
    console.log(JSON.stringify(said));"""
    named = {"words": OneGradient().words, "answers": OneGradient().answers}
    said = node(script, as_shown() | named)
    wanted = by_torch(as_shown())

    def number(tensor):
        return f"{tensor.item():.2f}".replace("-", "−")

    assert said[1].endswith(f"= {number(wanted['query'][0])}")
    assert said[2].endswith(f"= {number(wanted['scores'][0])}")
    assert said[3].endswith(f"= {number(wanted['weights'][0])}")
    assert said[4].endswith(f"= {number(wanted['output'][0])}")
    assert said[7].endswith(f"= {number(wanted['output'].grad[0])}")
    assert said[8].endswith(f"= {number(wanted['weights'].grad[0])}")
    assert said[9].endswith(f"= {number(wanted['scores'].grad[0])}")
    assert said[10].endswith(f"= {number(wanted['query'].grad[0])}")
    assert said[11].endswith(f"= {number(wanted['w_query'].grad[0, 0])}")


@pytest.mark.parametrize("wrong", [{"target": 3}, {"step": 13}, {"rate": -1.0}])
def test_what_cannot_be_shown_is_refused(wrong):
    with pytest.raises(traitlets.TraitError):
        OneGradient(**wrong)
