"""The figure's own softmax, in Node, against torch in 32 bits."""

import math

import pytest
import torch

from tformer_book.widgets import SoftmaxBars

MATHS = "softmax_bars/maths.js"


def cases():
    generator = torch.Generator().manual_seed(0)
    for i in range(60):
        scores = 4 * torch.randn(1 + i % 6, generator=generator)
        yield {
            "scores": scores.clamp(-10, 10).tolist(),
            "temperature": [0.1, 1.0, 5.0][i % 3],
            "added": [0, 95, -110, 40][i % 4],
            "subtract": i % 2 == 0,
        }


RUN = (
    "import { softmax32 } from './softmax_bars/maths.js';"
    "const text = (x) => Number.isFinite(x) ? x : String(x);"
    "console.log(JSON.stringify(given.map((c) => {"
    " const { powers, shares } = softmax32(c.scores, c);"
    " return [powers.map(text), shares.map(text)]; })))"
)


def numbers(values):
    return torch.tensor([float(str(v).replace("Infinity", "inf")) for v in values])


def test_the_page_computes_torchs_shares_and_its_failures(node):
    given = list(cases())
    found = node(RUN, given)
    failures = 0
    for case, (powers, shares) in zip(given, found, strict=True):
        figure = SoftmaxBars([str(i) for i in range(len(case["scores"]))], **case)
        wanted = figure.shares
        failures += int(not wanted.isfinite().all())
        torch.testing.assert_close(
            numbers(shares), wanted, rtol=1e-4, atol=1e-6, equal_nan=True
        )
        if case["subtract"]:
            assert max(float(p) for p in powers) == 1
    assert 5 < failures < 55  # both kinds are among the cases


def test_powers_end_where_32_bits_end(node):
    scores = [88.0, 89.0, -150.0]
    given = [{"scores": scores, "temperature": 1, "added": 0, "subtract": False}]
    powers, _ = node(RUN, given)[0]
    wanted = torch.tensor(scores).exp()
    assert wanted.isinf().tolist() == [False, True, False]
    torch.testing.assert_close(numbers(powers), wanted, rtol=1e-5, atol=0)


def test_numbers_are_short_and_readable(js):
    shown = js(
        MATHS, "[0, 0.5, 7.389, 148.4, 22026, 3.3e38, 1e-5, Infinity, NaN].map(short)"
    )
    assert shown == [
        "0", "0.500", "7.39", "148", "2.2 × 10⁴", "3.3 × 10³⁸", "1.0 × 10⁻⁵", "∞", "NaN"
    ]  # fmt: skip


def test_the_sentence_says_what_went_wrong(js):
    settings = [(100, False), (-120, False), (0, False), (0, True)]
    told = js(
        MATHS,
        "given.map(([added, subtract]) => explain(['a', 'b'], "
        "softmax32([2, 1], { added, subtract }), { subtract }))",
        settings,
    )
    assert "∞ ÷ ∞" in told[0]
    assert "0 ÷ 0" in told[1]
    assert "= 0.731" in told[2]
    assert "2.72 times as much as “b”" in told[2]
    assert "above 1" not in told[2]
    assert "No power is above 1" in told[3]


def test_the_head_of_the_powers_says_what_e_is_raised_to(js):
    settings = [
        {"temperature": t, "added": a, "subtract": subtract}
        for t, a, subtract in [
            (1, 0, False), (1, 120, False), (2, -5, False), (1, 120, True), (2, 0, True)
        ]
    ]  # fmt: skip
    heads = js(MATHS, "given.map(exponent)", settings)
    assert heads == [
        "score",
        "score + 120",
        "(score − 5) ÷ 2.0",
        "score − largest",
        "(score − largest) ÷ 2.0",
    ]


def test_a_later_cell_reads_the_shares_that_are_on_the_screen():
    shown = SoftmaxBars()
    before = shown.shares
    assert float(before.sum()) == pytest.approx(1)
    shown.temperature = 0.1
    assert shown.shares[0] > before[0]
    shown.temperature, shown.added = 1.0, 100.0
    torch.testing.assert_close(shown.shares, before, rtol=1e-4, atol=1e-6)
    shown.subtract = False
    assert math.isnan(shown.shares[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": ["a"]}, "one score for each"),
        ({"labels": [], "scores": []}, "1 to 8 labels"),
        ({"scores": [11, 0, 0, 0]}, "-10 to 10, got 11"),
        ({"temperature": 0}, "0.1 to 5, got 0"),
        ({"added": 1000}, "-120 to 120, got 1000"),
        ({"scores": [float("nan"), 0, 0, 0]}, "-10 to 10, got nan"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SoftmaxBars(**arguments)
