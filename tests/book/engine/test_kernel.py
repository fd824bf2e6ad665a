"""The kernel in WebAssembly gives what its JavaScript twin gives."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.testing import assert_close

from tformer import decode
from tformer.analysis.trace import attention_weights
from tformer.translator.weights import quantised

# Widths and heights around whole vectors, and those of a real model.
SIZES = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 48, 100, 192, 768]
SHAPES = [*itertools.product(SIZES[::2], SIZES[1::2]), (600, 192), (192, 768)]
TEXTS = [
    "The dog did not cross the street because it was tired.",
    "A man is riding a horse.",
    "I do not know where he lives.",
    "Two young girls in red dresses play in front of a fountain.",
]
NO_SIMD = "--no-enable-sse4-1"  # how V8 is told that a processor has none


def case(rows, columns, *, n, eight_bits, seed):
    """A weight and some vectors, of quite different sizes; a row of each is zero."""
    random = torch.Generator().manual_seed(seed)
    weight = torch.randn(rows, columns, generator=random)
    weight *= 10 ** torch.linspace(-4, 4, rows)[:, None]
    weight[rows // 2] = 0
    x = (
        torch.randn(n, columns, generator=random)
        * 10 ** torch.linspace(-6, 6, n)[:, None]
    )
    x[n // 2] = 0
    numbers, scales = quantised(weight) if eight_bits else (weight, None)
    return {"weight": numbers, "scales": scales, "x": x}


@pytest.fixture
def multiply(run, pack, unpack):
    """``multiply(cases)``: each kernel's products."""

    def multiply(cases):
        given = [{k: v if v is None else pack(v) for k, v in c.items()} for c in cases]
        found = run("products", given)
        return {name: [unpack(y) for y in each] for name, each in found.items()}

    return multiply


@pytest.mark.parametrize("eight_bits", [False, True], ids=["float32", "int8"])
def test_both_kernels_multiply_alike_whatever_the_shape(multiply, eight_bits):
    cases = [
        case(rows, columns, n=1 + i % 5, eight_bits=eight_bits, seed=i)
        for i, (rows, columns) in enumerate(SHAPES)
    ]
    found = multiply(cases)
    for given, plain, simd in zip(cases, found["plain"], found["simd"], strict=True):
        weight, scales, x = (given[k] for k in ("weight", "scales", "x"))
        assert plain.isfinite().all()
        if eight_bits:
            assert_close(simd, plain, rtol=0, atol=0)  # sums of whole numbers are exact
            weight = weight.double() * scales[:, None]
        exact = x.double() @ weight.double().T
        sizes = x.double().norm(dim=1)[:, None] * weight.double().norm(dim=1)
        tolerance = (1e-4 if eight_bits else 1e-6) * sizes
        for mine in (plain, simd):
            assert ((mine.double() - exact).abs() <= tolerance).all(), weight.shape


def test_kinds_of_weights_can_be_mixed_without_disturbing_each_other(multiply):
    cases = [
        case(rows, columns, n=3, eight_bits=i % 2 == 0, seed=i)
        for i, (rows, columns) in enumerate(SHAPES[:20])
    ]
    # Whole numbers as large as these are no numbers to a float32 that comes after them.
    cases.insert(3, case(4, 512, n=1, eight_bits=True, seed=0))
    cases[3]["x"] = torch.ones(1, 512)
    assert cases[4]["weight"].shape[1] % 4
    together = multiply(cases)["simd"]
    alone = [y for each in cases for y in multiply([each])["simd"]]
    for one, other in zip(together, alone, strict=True):
        assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("columns", [16, 192, 768, 4096, 20_000])
def test_the_largest_sums_fit_32_bits(multiply, columns):
    """Every number as large as it can be: the longer a sum, the coarser its steps."""
    weight = torch.full((5, columns), -127, dtype=torch.int8)
    weight[0] = 127
    scales = torch.full((5,), 0.5)
    x = torch.full((1, columns), 3e3)
    found = multiply([{"weight": weight, "scales": scales, "x": x}])
    wanted = (x.double() @ (weight.double() * scales[:, None]).T).float()
    for products in found.values():
        assert_close(products[0], wanted, rtol=1e-6, atol=0)


def test_a_vector_in_whole_numbers_is_off_by_half_a_step(run, pack):
    vectors = [case(1, n, n=1, eight_bits=False, seed=n)["x"] + 1 for n in SIZES]
    vectors += [torch.zeros(1, 9), torch.tensor([[1e-45, 0]]), torch.tensor([[-3e38]])]
    for x, found in zip(
        vectors, run("fixedPoints", [pack(x) for x in vectors]), strict=True
    ):
        numbers = torch.tensor(found["numbers"], dtype=torch.float64)
        assert found["step"] * 2**15 <= 1.1 * x.abs().max() * max(1, x.numel() / 512)
        if found["step"]:
            gap = (numbers * found["step"] - x[0].double()).abs().max()
            assert gap <= 0.5001 * found["step"]
        else:
            assert not numbers.any()


@pytest.mark.parametrize("step", [0.25, 49])
def test_both_kernels_round_halves_alike(multiply, step):
    """Up; but 24.5 * (1 / 49) is a hair less than a half in double precision."""
    x = step * torch.tensor([[2**15 - 1, *(torch.arange(15) - 6.5)]])
    ones = {"weight": torch.eye(16, dtype=torch.int8), "scales": torch.ones(16)}
    found = multiply([{**ones, "x": x}])
    value = x.double() * (1 / step)
    whole = value.floor() + (value - value.floor() >= 0.5)
    for [product] in found.values():
        assert_close(product, (step * whole).float(), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("given", "options"),
    [({"without": "WebAssembly"}, ()), ({}, (NO_SIMD,))],
    ids=["no WebAssembly", "no SIMD"],
)
def test_without_simd_the_twin_translates_alike(run, page_files, given, options):
    given = {"files": page_files, "texts": TEXTS, **given}
    there = run("whatRuns", {**given, "without": None})
    missing = run("whatRuns", given, options)
    assert there["fastest"]["kernel"] == "WebAssembly"
    assert missing["fastest"] == missing["plain"] == there["plain"]
    assert there["plain"]["kernel"] == "JavaScript"
    assert there["fastest"]["ids"] == there["plain"]["ids"]
    assert all(there["plain"]["ids"])


def test_eight_bits_compute_what_pytorch_computes_with_the_same_weights(
    run, unpack, page_files, page_translator
):
    translator, text = page_translator, TEXTS[0]
    source = [translator.encode(text)]
    german = translator.tokenizer.encode(translator.translate(text))
    target = [[translator.model.config.bos_id, *german]]
    ids = {"file": page_files["weights"], "source": source, "target": target}
    [mine] = run("forward", [ids])
    source_ids, target_ids = torch.tensor(source), torch.tensor(target)
    with torch.no_grad():
        logits = translator.model(source_ids, target_ids)
    assert_close(unpack(mine["logits"]), logits, rtol=0, atol=5e-3)
    maps = attention_weights(translator.model, source_ids, target_ids)
    for name, theirs in zip(("encoder", "decoder", "cross"), maps, strict=True):
        assert_close(unpack(mine[name]), theirs, rtol=0, atol=1e-3)
    found = run("translateAll", {"files": page_files, "texts": TEXTS})
    for text, each in zip(TEXTS, found, strict=True):
        [wanted] = decode.greedy(translator.model, torch.tensor([each["source"]]))
        assert each["greedy"] == wanted
        assert translator.tokenizer.decode(each["beam"]) == translator.translate(text)
