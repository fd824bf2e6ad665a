"""How a run learns, in Node: Adam, warm-up, clipping against PyTorch; repeatability."""

import math

import pytest
import torch
from torch.testing import assert_close

from tformer.schedule import inverse_square_root

RUN = 'import { Run } from "./training/run.js";\n'
SMALL = {"width": 16, "dFf": 16, "batch": 8, "seed": 5}

ADAM = """
import { Adam, clipGradients } from "./training/adam.js";
const weights = given.weights.map((data) => ({
  data: Float32Array.from(data),
  gradient: new Float32Array(data.length),
}));
const adam = new Adam(weights);
const norms = given.gradients.map((gradients, i) => {
  weights.forEach(({ gradient }, k) => gradient.set(gradients[k]));
  const norm = clipGradients(weights, given.most);
  adam.step(given.rates[i]);
  return norm;
});
const after = weights.map(({ data }) => Array.from(data));
console.log(JSON.stringify({ norms, weights: after }));
"""


@pytest.mark.parametrize("most", [1.0, 3.5, 1e9])
def test_clipping_and_adam_do_what_pytorchs_do(node, most):
    draw = torch.Generator().manual_seed(int(most))
    sizes = (7, 1, 30)
    weights = [torch.randn(n, generator=draw) for n in sizes]
    steps = [
        [10 ** (step % 3 - 1) * torch.randn(n, generator=draw) for n in sizes]
        for step in range(12)
    ]
    rates = [0.01 * (1 + step % 4) for step in range(len(steps))]
    theirs = [each.double().requires_grad_() for each in weights]
    optimizer = torch.optim.Adam(theirs, betas=(0.9, 0.98), eps=1e-9)
    norms = []
    for rate, gradients in zip(rates, steps, strict=True):
        for weight, gradient in zip(theirs, gradients, strict=True):
            weight.grad = gradient.double()
        norms.append(torch.nn.utils.clip_grad_norm_(theirs, most).item())
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
    given = {
        "weights": [each.tolist() for each in weights],
        "gradients": [[each.tolist() for each in gradients] for gradients in steps],
        "rates": rates,
        "most": most,
    }
    found = node(ADAM, given)
    assert found["norms"] == pytest.approx(norms, rel=1e-5)
    for mine, wanted in zip(found["weights"], theirs, strict=True):
        got = torch.tensor(mine, dtype=torch.float64)
        assert_close(got, wanted.detach(), rtol=1e-5, atol=1e-5)


RATES = """
import { learningRate } from "./training/adam.js";
console.log(JSON.stringify(given.steps.map((step) => learningRate(step, given))));
"""


def test_the_learning_rate_is_the_packages_schedule(node):
    steps = [1, 2, 50, 199, 200, 201, 777, 5000]
    found = node(RATES, {"rate": 0.003, "warmup": 200, "steps": steps})
    scale = 0.003 * math.sqrt(32 * 200)  # so that the peak is 0.003
    wanted = [
        inverse_square_root(step, d_model=32, warmup_steps=200, scale=scale)
        for step in steps
    ]
    assert found == pytest.approx(wanted, rel=1e-12)


def test_without_warm_up_only_the_warm_up_is_missing(node):
    steps = list(range(1, 400))
    with_, without = (
        node(RATES, {"rate": 0.003, "warmup": warmup, "steps": steps})
        for warmup in (40, 0)
    )
    assert without[:40] == [0.003] * 40
    assert with_[:39] == pytest.approx([0.003 * s / 40 for s in steps[:39]])
    assert with_[40:] == without[40:]


LEARN = (
    RUN
    + """
console.log(JSON.stringify(given.map((settings) => {
  const run = new Run(settings);
  const steps = Array.from({ length: 6 }, () => run.step());
  return { steps, evaluation: run.evaluate(), weights: run.model.weights.map(
    ({ data }) => Array.from(data)) };
})));
"""
)


def test_the_same_seed_gives_the_same_numbers(node):
    other = {**SMALL, "seed": 6}
    first, again, different = node(LEARN, [SMALL, SMALL, other])
    [elsewhere] = node(LEARN, [SMALL])
    assert first == again == elsewhere
    assert first["steps"] != different["steps"]
    assert first["weights"] != different["weights"]


WATCHED = (
    RUN
    + """
const [disturbed, alone] = [new Run(given), new Run(given)];
const losses = [disturbed, alone].map((run) => Array.from({ length: 6 }, () => {
  if (run === disturbed) { run.evaluate(); run.write("abcde"); }
  return run.step().loss;
}));
console.log(JSON.stringify(losses));
"""
)


def test_to_evaluate_and_to_write_changes_no_training(node):
    disturbed, alone = node(WATCHED, SMALL)
    assert disturbed == alone


ALONE = (
    RUN
    + """
import { corpusOf } from "./training/corpus.js";
console.log(JSON.stringify(given.map((settings) => {
  const run = new Run(settings);
  for (let i = 0; i < 60; i++) run.step();
  const { heldOut } = corpusOf(run.settings);
  const right = heldOut.filter(({ source }) => run.write(source).right).length;
  return { right: right / heldOut.length, ...run.evaluate() };
})));
"""
)


def test_padding_that_nobody_sees_changes_nothing(node):
    """Alone and beside longer ones a sequence is written alike."""
    brief = {"task": "numbers", "rate": 0.01, "warmup": 10, "seed": 5}
    shapes = [{"shape": "encoder-decoder"}, {"shape": "decoder"}]
    unseen = node(ALONE, [{**brief, **each} for each in shapes])
    for each in unseen:
        assert each["right"] == each["accuracy"] == each["alone"]
    [seen] = node(ALONE, [{**brief, "padding": False}])
    assert seen["right"] == seen["alone"]
    assert any(each["accuracy"] for each in unseen), "they have learned something"


MAPS = (
    RUN
    + """
console.log(JSON.stringify(given.map((settings) => {
  const run = new Run(settings);
  for (let i = 0; i < 3; i++) run.step();
  const { maps, ...rest } = run.write("jabe");
  return { ...rest, maps: maps.map(({ heads, ...map }) =>
    ({ ...map, heads: heads.map((each) => Array.from(each)) })) };
})));
"""
)


def test_every_layer_shows_its_attention_and_its_rows_sum_to_one(node):
    shapes = ("encoder-decoder", "decoder", "encoder")
    found = node(MAPS, [{**SMALL, "layers": 2, "shape": shape} for shape in shapes])
    names = [[each["name"] for each in one["maps"]] for one in found]
    encoder = ["encoder layer 0", "encoder layer 1"]
    decoder = ["decoder layer 0", "cross 0", "decoder layer 1", "cross 1"]
    assert names == [encoder + decoder, decoder[::2], encoder]
    for one in found:
        assert one["source"] == list("jabe")
        assert one["expected"] == list("ebaj")
        for each in one["maps"]:
            shape = len(each["rows"]), len(each["columns"])
            assert len(each["heads"]) == 2
            for head in each["heads"]:
                weights = torch.tensor(head).view(shape)
                assert_close(weights.sum(1), torch.ones(shape[0]))
                if each["name"].startswith("decoder"):
                    assert not weights.triu(1).any()
    cross = found[0]["maps"][3]
    assert cross["columns"] == [*"jabe", "⟨eos⟩"]
    assert cross["rows"] == ["⟨bos⟩", *found[0]["written"]]
    assert found[1]["maps"][0]["rows"][:5] == [*"jabe", "⟨bos⟩"]


COMPLAIN = (
    RUN
    + """
const said = (call) => { try { call(); return null; } catch (error) {
  return [error.name, error.message]; } };
const run = new Run();
console.log(JSON.stringify([
  ...given.settings.map((each) => said(() => new Run(each))),
  ...given.texts.map((each) => said(() => run.write(each))),
]));
"""
)


def test_what_cannot_be_is_refused_with_the_value_and_the_remedy(node):
    wrong = [
        ({"width": 30, "heads": 4}, "a width of 30 cannot be shared by 4 heads: take"),
        ({"task": "poetry"}, 'task is "poetry": take one of reverse, copy'),
        ({"layers": 1.5}, "layers is 1.5: take a whole number from 1 to 6"),
        ({"rate": 7}, "rate is 7: take a number from 0 to 1"),
        ({"causal": 0}, "causal is 0: give a boolean"),
        ({"depth": 3}, 'there is no setting "depth"'),
        ({"layers": 6, "width": 128}, "more than 120,000: take a smaller width"),
        ({"task": "numbers", "shape": "encoder"}, "take the shape encoder-decoder"),
        (
            {"task": "lines", "lines": "a\tb"},
            "give 4 to 5000 lines, each a source, a tab (or two spaces)",
        ),
        ({"task": "lines", "lines": "a\tb\na\tb\nc\nd\te"}, "line 3 has no target"),
        ({"task": "lines", "lines": "a\tb\na\tb\tc\nc\te\nd\te"}, "line 2 has 2 tabs"),
    ]
    texts = [
        ("abxc", "“x” isn’t a symbol of this task"),
        ("", "there are 0 symbols: give 1 to"),
        ("a" * 80, "there are 80 symbols: give 1 to"),
    ]
    given = {"settings": [each for each, _ in wrong], "texts": [t for t, _ in texts]}
    found = node(COMPLAIN, given)
    for (_, wanted), said in zip([*wrong, *texts], found, strict=True):
        assert said is not None, wanted
        assert said[0] == "RangeError" and wanted in said[1], said


REVERSAL = (
    RUN
    + """
import { Dice } from "./training/dice.js";
const run = new Run({ task: "reverse", ...given.settings });
for (let i = 0; i < given.steps; i++) run.step();
const start = process.cpuUsage().user;
const dice = new Dice(77, "eight symbols");
const right = dice.many(given.n, () => {
  const source = dice.many(8, () => dice.pick([..."abcdefghij"]));
  return run.write(source).right;
});
console.log(JSON.stringify({
  right: right.filter(Boolean).length / given.n, seconds: start / 1e6 }));
"""
)


@pytest.mark.slow
def test_eight_symbols_are_reversed_after_a_minute_at_most(node):
    """Among ten to the eighth sequences a new one is never one of the training."""
    given = {"settings": {"batch": 64}, "steps": 700, "n": 300}
    found = node(REVERSAL, given)
    assert found["right"] >= 0.99, found
    assert found["seconds"] <= 60, found
