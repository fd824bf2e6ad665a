"""The laboratory's own maths, in Node, against PyTorch and the package's attention."""

import itertools
import json

import pytest
import torch

from tformer import load_pretrained
from tformer.analysis.trace import attention_weights
from tformer.attention import attention
from tformer.masks import causal_mask
from tformer_book.widgets import MaskLaboratory
from tformer_book.widgets.mask_laboratory import FILLS, PAD, PRECISIONS, site

CAUSAL, PADDING, FILL, PRECISION = ("causal", "padding", "fill", "precision")


@pytest.fixture(scope="module")
def sites():
    return MaskLaboratory().sites


def settings():
    """Every fill and precision, with masks that hide little, much and whole rows."""
    masks = [
        {"causal": True, "padding": True, "hideQueries": False, "flips": []},
        {"causal": False, "padding": True, "hideQueries": True, "flips": [1, 9]},
        {"causal": True, "padding": False, "hideQueries": False, "flips": [0]},
    ]
    for mask, fill, precision in itertools.product(masks, FILLS, PRECISIONS):
        yield {**mask, "fill": fill, "precision": precision}


@pytest.fixture(scope="module")
def in_node(node, sites):
    script = """
    import { makeMask, attend, moved } from "./mask_laboratory/maths.js";
    const text = (x) => JSON.stringify(x, (_, v) => (v !== v ? "NaN" : v));
    console.log(text(given.sites.map((site) => given.settings.map((o) => {
      const mask = makeMask(site, o);
      return { mask, ...attend({ ...site, ...o, mask }),
        moved: site.keys.map((_, change) => moved(site, { ...o, mask, change })) };
    }))));"""
    return node(script, {"sites": sites, "settings": list(settings())})


def tensor(rows):
    return torch.tensor(
        [[float("nan") if x == "NaN" else x for x in row] for row in rows],
        dtype=torch.float64,
    )


def runs(sites, in_node):
    for each, results in zip(sites, in_node, strict=True):
        for options, result in zip(settings(), results, strict=True):
            yield each, options, result


def test_the_page_computes_what_the_package_computes(sites, in_node):
    compared = 0
    for each, options, result in runs(sites, in_node):
        mask = torch.tensor(result["mask"])
        if (options[FILL], options[PRECISION]) != ("−∞", "float32"):
            continue
        scores, values = torch.tensor(each["scores"]), torch.tensor(each["values"])
        size = scores.size(-1)
        output, weights = attention(
            scores * size**0.5, torch.eye(size), values, mask=mask
        )
        for mine, theirs in (("weights", weights), ("outputs", output)):
            torch.testing.assert_close(
                tensor(result[mine]), theirs.double(), rtol=0, atol=1e-6, equal_nan=True
            )
        seen = mask.any(-1)
        assert (tensor(result["weights"])[seen][~mask[seen]] == 0).all()
        compared += 1
    assert compared == 12


def test_other_fills_and_float16_come_out_as_in_pytorch(sites, in_node):
    for each, options, result in runs(sites, in_node):
        dtype = PRECISIONS[options[PRECISION]]
        low = torch.tensor(FILLS[options[FILL]](dtype)).to(dtype)
        mask = torch.tensor(result["mask"])
        masked = torch.where(mask, torch.tensor(each["scores"]).to(dtype), low)
        exact = masked.double().softmax(-1)
        mine = tensor(result["weights"])
        rounding = 1e-6 if dtype == torch.float32 else 2**-11
        torch.testing.assert_close(
            mine, exact, rtol=rounding, atol=1e-7, equal_nan=True
        )
        theirs = masked.softmax(-1).double()
        torch.testing.assert_close(
            mine, theirs, rtol=2 * rounding, atol=1e-6, equal_nan=True
        )


def test_rounding_to_float16_is_pytorchs(node):
    generator = torch.Generator().manual_seed(0)
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
    every = bits.view(torch.float16).float()
    every = every[every.isfinite()].unique()
    halfway = (every[1:] + every[:-1]) / 2  # ties
    numbers = torch.cat(
        [
            halfway,
            every[::7],
            torch.randn(2000, generator=generator) * 100,
            torch.randn(2000, generator=generator) * 1e-7,
            torch.tensor([65504.0, 65519.99, 65520.0, -65520.0, 1e9, -1e9, -1e4]),
        ]
    ).float()
    script = """
    import { half } from "./mask_laboratory/maths.js";
    const code = (x) => (Number.isFinite(x) ? x : x > 0 ? "inf" : "-inf");
    console.log(JSON.stringify(given.map(half).map(code)));"""
    mine = torch.tensor([float(x) for x in node(script, numbers.double().tolist())])
    assert torch.equal(mine, numbers.half().float())
    assert len(numbers) > 60_000


def test_no_row_moves_when_its_future_changes_and_the_mask_is_causal(sites, in_node):
    for each, options, result in runs(sites, in_node):
        if not (each["self"] and options[CAUSAL]) or options["flips"]:
            continue
        for token, shifts in enumerate(result["moved"]):
            assert all(shift == 0 for shift in shifts[:token])
            assert shifts[token] == "NaN" or shifts[token] > 0


def test_python_reads_the_mask_and_the_weights_on_the_screen(in_node):
    laboratory = MaskLaboratory()
    for number, results in enumerate(in_node):
        for options, result in zip(settings(), results, strict=True):
            laboratory.site = number
            laboratory.causal, laboratory.padding = options[CAUSAL], options[PADDING]
            laboratory.hide_queries = options["hideQueries"]
            laboratory.flips = options["flips"]
            laboratory.fill, laboratory.precision = options[FILL], options[PRECISION]
            assert laboratory.mask.tolist() == result["mask"]
            torch.testing.assert_close(
                laboratory.weights.double(),
                tensor(result["weights"]),
                rtol=2**-10,
                atol=1e-6,
                equal_nan=True,
            )


def diagnose(node, each, **options):
    given = {"causal": each["causal"], "padding": each["padding"]} | {
        "fill": "−∞",
        "precision": "float32",
        **options,
    }
    script = """
    import { diagnose, makeMask } from "./mask_laboratory/maths.js";
    const [site, o] = given;
    console.log(JSON.stringify(diagnose(site, { ...o, mask: makeMask(site, o) })));"""
    return " ".join(node(script, [each, given]))


def test_the_right_mask_gets_no_complaint_and_a_wrong_one_gets_its_own(node, sites):
    encoder, alone, padded, cross = sites
    for each in sites:
        assert diagnose(node, each) == ""
    assert "future leaks through 15 cells" in diagnose(node, alone, causal=False)
    assert "Padding is seen" in diagnose(node, cross, padding=False)
    assert "hide something real" in diagnose(node, encoder, causal=True)
    empty = diagnose(node, encoder, hideQueries=True)
    assert "NaN" in empty and "attend to nothing" in empty
    assert "uniform" in diagnose(node, encoder, hideQueries=True, fill="−1e9")
    small = {"hideQueries": True, "fill": "−1e9", "precision": "float16"}
    assert "65504" in diagnose(node, encoder, **small)
    assert "NaN" in diagnose(node, encoder, **small)
    assert "1 cell" in diagnose(node, padded, flips=[1])


@pytest.mark.parametrize("layer", [0, 2])
def test_a_real_heads_scores_give_the_models_weights(layer):
    translator = load_pretrained()
    laboratory = MaskLaboratory.from_translator(
        translator,
        "The dog was tired.",
        "Der Hund war müde.",
        layer=layer,
        head=1,
        pads=(2, 1),
    )
    ids = [
        torch.tensor([[translator.tokenizer.pad_id if n == PAD else i for i, n in row]])
        for row in _ids(translator, laboratory)
    ]
    encoder, decoder, cross = attention_weights(translator.model, *ids)
    for number, wanted in ((0, encoder), (2, decoder), (3, cross)):
        shown = laboratory.sites[number]
        laboratory.site = number
        laboratory.causal, laboratory.padding = shown["causal"], shown["padding"]
        torch.testing.assert_close(
            laboratory.weights, wanted[0, layer, 1], rtol=0, atol=2e-3
        )
    assert not any("attend" in vars(m) for m in translator.model.modules())


def _ids(translator, laboratory):
    source, target = laboratory.sites[0]["keys"], laboratory.sites[2]["keys"]
    english = translator.encode("The dog was tired.")
    german = [translator.tokenizer.bos_id, *translator.encode("Der Hund war müde.")]
    for ids, names in ((english, source), (german, target)):
        yield list(zip([*ids, 0, 0][: len(names)], names, strict=True))


def test_the_right_masks_are_the_packages(sites):
    laboratory = MaskLaboratory()
    laboratory.site, laboratory.causal, laboratory.padding = 1, True, False
    assert torch.equal(laboratory.mask, causal_mask(6))
    assert "15" not in repr(laboratory) and "21 of 36" in repr(laboratory)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scores": [[1.0]]}, r"shape \(2, 2\).*got \(1, 1\)"),
        ({"values": [[1.0], [2.0, 3.0]]}, "one width"),
        ({"scores": [[1.0, float("-inf")], [0, 0]]}, "finite"),
        ({"keys": [PAD, "a"]}, "pad on the right"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    given = {
        "queries": ["a", "b"],
        "keys": ["a", "b"],
        "scores": [[1, 2], [3, 4]],
        "values": [[1], [2]],
    }
    with pytest.raises(ValueError, match=message):
        site("x", "y", **{**given, **arguments})


def test_a_head_or_a_start_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="one of the 4 sites"):
        MaskLaboratory(start=4)
    with pytest.raises(ValueError, match="layer 9, head 0"):
        MaskLaboratory.from_translator(load_pretrained(), "A.", "B.", layer=9)


def test_the_state_of_the_laboratory_is_plain_json():
    state = MaskLaboratory().get_state()
    assert json.loads(json.dumps(state["sites"])) == state["sites"]
