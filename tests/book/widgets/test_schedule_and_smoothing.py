"""The figure's own maths, in Node, against the package's schedule and loss."""

import itertools
import json
import math

import pytest
import torch
from torch.testing import assert_close

from tformer.loss import cross_entropy
from tformer.schedule import inverse_square_root
from tformer_book.press.chapters import chapter, read, source
from tformer_book.widgets import ScheduleAndSmoothing
from tformer_book.widgets.schedule_and_smoothing import BY_HAND, SPREADS

MODULE = "./schedule_and_smoothing/maths.js"
SCHEDULES = [
    {"width": 512, "warmup": 4000, "factor": 1},
    {"width": 128, "warmup": 600, "factor": 1},
    {"width": 192, "warmup": 1, "factor": 2.5},
    {"width": 1024, "warmup": 300_000, "factor": 0.01},
]
LOGITS = [BY_HAND, (0.0,) * 6, (12.0, -3.0, 0.5, 0.0, 2.0, -9.0), (-4.0, 3, 3, 1, 0, 6)]


def targets_and_losses(node, cases):
    script = f"""
    import {{ lossesOf, predictionOf, targetOf }} from "{MODULE}";
    console.log(JSON.stringify(given.map(({{ epsilon, size, spread, logits }}) => {{
      const target = targetOf(epsilon, size, spread);
      const prediction = predictionOf(logits, size);
      return {{ target, prediction, ...lossesOf(target, prediction) }};
    }})));"""
    return node(script, cases)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_curve_is_the_packages_learning_rate(node, schedule):
    steps = [1, 2, 599, 600, 601, 4000, 16_000, 100_000]
    script = f"""
    import {{ peakOf, rateOf }} from "{MODULE}";
    const rates = given.steps.map((n) => rateOf(n, given.schedule));
    console.log(JSON.stringify([rates, peakOf(given.schedule)]));"""
    rates, peak = node(script, {"steps": steps, "schedule": schedule})
    asked = {
        "d_model": schedule["width"],
        "warmup_steps": schedule["warmup"],
        "scale": schedule["factor"],
    }
    wanted = [inverse_square_root(n, **asked) for n in steps]
    assert rates == pytest.approx(wanted, rel=1e-12)
    top = inverse_square_root(schedule["warmup"], **asked)
    assert peak == pytest.approx(top, rel=1e-12)


@pytest.mark.parametrize("logits", LOGITS)
@pytest.mark.parametrize("size", [5, 6, 100, 4000])
def test_the_cross_entropy_is_the_packages_loss(node, logits, size):
    z = torch.full((size,), float(logits[5]), dtype=torch.float64)
    z[:5] = torch.tensor(logits[:5], dtype=torch.float64)
    epsilons = [0.0, 0.1, 0.5]
    cases = [
        {"epsilon": e, "size": size, "spread": SPREADS[0], "logits": logits}
        for e in epsilons
    ]
    for epsilon, found in zip(epsilons, targets_and_losses(node, cases), strict=True):
        wanted = cross_entropy(
            z[None], torch.tensor([0]), pad_id=-1, smoothing=epsilon
        ).item()
        assert found["cross"] == pytest.approx(wanted, abs=1e-6, rel=1e-9)
        log_p = z.log_softmax(-1)
        shown = [found["prediction"][i]["logP"] for i in range(5)]
        assert shown == pytest.approx(log_p[:5].tolist(), abs=1e-9)
        masses = sum(each["mass"] for each in found["prediction"])
        assert masses == pytest.approx(1, abs=1e-9)
        assert found["hard"] == pytest.approx(-log_p[0].item(), abs=1e-9)


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("size", [5, 37_000])
def test_the_page_and_python_agree_on_target_and_losses(node, spread, size):
    for epsilon in (0.0, 0.07, 0.5):
        figure = ScheduleAndSmoothing(
            epsilon=epsilon, vocab_size=size, spread=spread, logits=LOGITS[2]
        )
        case = {"epsilon": epsilon, "size": size, "spread": spread}
        (found,) = targets_and_losses(node, [{**case, "logits": LOGITS[2]}])
        q, wanted = figure.target, figure.losses
        assert q.sum().item() == pytest.approx(1, abs=1e-9)
        shown = [found["target"]["right"], found["target"]["other"]]
        assert shown == pytest.approx([q[0].item(), q[1].item()], abs=1e-12)
        assert found["cross"] == pytest.approx(wanted.cross_entropy, abs=1e-6)
        assert found["entropy"] == pytest.approx(wanted.entropy, abs=1e-6)
        assert found["divergence"] == pytest.approx(wanted.divergence, abs=1e-6)
        # Cross-entropy and KL differ by the target's entropy, which is 0 if one-hot.
        gap = found["cross"] - found["divergence"]
        assert gap == pytest.approx(found["entropy"], abs=1e-9)
        assert (found["entropy"] == 0) == (epsilon == 0)


def test_the_numbers_of_the_chapter_come_out():
    found = ScheduleAndSmoothing("smoothing").losses
    z = torch.tensor(BY_HAND[:5], dtype=torch.float64)
    torchs = torch.nn.functional.cross_entropy(
        z[None], torch.tensor([0]), label_smoothing=0.1
    )
    assert found.cross_entropy == pytest.approx(torchs.item(), abs=1e-9)


def test_a_dragged_bar_gets_its_height_and_the_others_keep_their_proportions(node):
    script = f"""
    import {{ predictionOf, withMass }} from "{MODULE}";
    console.log(JSON.stringify(given.map(([size, i, x]) => {{
      const before = predictionOf([2, 1, 0, -1, 0.5, -3], size);
      const after = predictionOf(withMass([2, 1, 0, -1, 0.5, -3], size, i, x), size);
      return [before, after].map((all) => all.map((each) => each.mass));
    }})));"""
    cases = [[5, 0, 0.9], [5, 3, 0.001], [100, 5, 0.25], [4000, 2, 0.5]]
    for (_, i, x), (before, after) in zip(cases, node(script, cases), strict=True):
        assert after[i] == pytest.approx(x, abs=1e-9)
        rest = [j for j in range(6) if j != i and before[j]]
        ratios = [after[j] / before[j] for j in rest]
        assert ratios == pytest.approx([ratios[0]] * len(rest), rel=1e-6)


def test_the_prediction_that_equals_the_target_leaves_the_entropy_alone(node):
    script = f"""
    import {{ lossesOf, matching, predictionOf, targetOf }} from "{MODULE}";
    console.log(JSON.stringify(given.map(([epsilon, size, spread]) => {{
      const target = targetOf(epsilon, size, spread);
      return lossesOf(target, predictionOf(matching(target), size));
    }})));"""
    cases = [[0.1, 5, SPREADS[0]], [0.1, 4000, SPREADS[1]], [0.5, 37_000, SPREADS[0]]]
    for found in node(script, cases):
        assert found["divergence"] == pytest.approx(0, abs=1e-9)
        assert found["cross"] == pytest.approx(found["entropy"], abs=1e-9)
    (one_hot,) = node(script, [[0, 5, SPREADS[0]]])
    assert one_hot["cross"] < 1e-6


def test_the_axis_leads_from_a_step_to_its_place_and_back(node):
    script = f"""
    import {{ heightOf, massAt, shareOf, stepAt }} from "{MODULE}";
    const back = given.flatMap(([n, total]) =>
      [true, false].map((log) => stepAt(shareOf(n, total, log), total, log)));
    const masses = [1e-6, 1e-3, 0.4, 1].flatMap((p) =>
      [true, false].map((log) => massAt(heightOf(p, log), log)));
    console.log(JSON.stringify([back, masses]));"""
    given = [[1, 2000], [600, 2000], [2000, 2000], [4000, 100_000], [77_777, 300_000]]
    back, masses = node(script, given)
    assert back == [n for n, _ in given for _ in (1, 2)]
    assert masses == pytest.approx([p for p in (1e-6, 1e-3, 0.4, 1) for _ in (1, 2)])


def test_every_preset_can_be_said_by_the_sliders(node):
    script = f"""
    import * as x from "{MODULE}";
    const presets = [x.SCHEDULES, x.TARGETS].map((all) => all.map((each) => each[1]));
    console.log(JSON.stringify([...presets, x.WIDTHS, x.WARMUPS, x.FACTORS, x.TOTALS,
      x.VOCABULARIES]));"""
    schedules, targets, widths, warmups, factors, totals, sizes = node(script)
    for each in schedules:
        assert each["width"] in widths
        assert each["warmup"] in warmups
        assert each["factor"] in factors
        assert each["total"] in totals
    assert all(each["size"] in sizes for each in targets)
    for values in (widths, warmups, factors, totals, sizes):
        assert values == sorted(set(values))
        assert all(b / a < 3 for a, b in itertools.pairwise(values))


def test_our_preset_is_the_live_run_of_the_chapter(node):
    cells = {cell["id"]: source(cell) for cell in read(chapter("training"))["cells"]}
    script = f"""
    import {{ SCHEDULES }} from "{MODULE}";
    const presets = Object.fromEntries(SCHEDULES);
    console.log(JSON.stringify(presets["ours, in this chapter"]));"""
    preset = node(script)
    assert f"SHORT, FULL = {preset['total']}, " in cells["before"]
    assert f"d_model=192 if gpu else {preset['width']}," in cells["before"]
    assert f"warmup_steps=1000 if gpu else {preset['warmup']}," in cells["live"]
    assert preset["factor"] == 1


def test_small_numbers_are_written_with_a_power_of_ten(node):
    shown = node(
        f'import {{ scientific }} from "{MODULE}";'
        "console.log(JSON.stringify([0, 1, 0.25, 0.00069877, 1.7469e-7, -0.5, 37000,"
        " 123.4].map((x) => scientific(x))))"
    )
    small = ["0", "1", "0.25", "6.99 × 10⁻⁴", "1.75 × 10⁻⁷", "−0.5"]
    assert shown == [*small, "3.70 × 10⁴", "123"]


def test_python_reads_what_is_on_the_screen():
    figure = ScheduleAndSmoothing(
        d_model=128, warmup_steps=600, total_steps=2000, step=150, scale=2.0
    )
    wanted = inverse_square_root(150, d_model=128, warmup_steps=600, scale=2.0)
    assert figure.rate == wanted
    assert "rate 0.0" in repr(figure)
    figure.step = 600  # as a reader's slider does
    assert math.isclose(figure.rate, figure.rate_at(150) * 4)
    assert_close(figure.prediction.sum().item(), 1.0)
    assert "KL" not in repr(ScheduleAndSmoothing("schedule"))
    assert "rate" not in repr(ScheduleAndSmoothing("smoothing"))
    assert ScheduleAndSmoothing(warmup_steps=900, total_steps=500).step == 500


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"part": "all"}, "part='all' must be one of both, schedule, smoothing"),
        ({"d_model": 0}, "d_model=0 must be at least 1"),
        ({"warmup_steps": 0}, "warmup_steps=0 must be at least 1"),
        ({"total_steps": 1}, "total_steps=1 must be at least 2"),
        ({"vocab_size": 4}, "vocab_size=4 must be at least 5"),
        ({"scale": 0.0}, "scale=0.0 must be greater than 0"),
        ({"step": 100_001}, "step=100001 must be from 1 to total_steps=100000"),
        ({"epsilon": 0.6}, "epsilon=0.6 must be from 0 to 0.5"),
        ({"spread": "evenly"}, "spread='evenly' must be one of"),
        ({"logits": [0.0] * 5}, "logits=.* must be 6 finite numbers"),
        ({"logits": [math.inf] * 6}, "logits=.* must be 6 finite numbers"),
    ],
)
def test_what_cannot_be_shown_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ScheduleAndSmoothing(**options)


def test_the_state_of_the_figure_is_plain_json():
    state = ScheduleAndSmoothing().get_state(["part", "logits", "spread", "epsilon"])
    assert json.loads(json.dumps(state)) == state
