"""The figure's own maths, in Node, against the package's sinusoids."""

import json
import math

import pytest
import torch
from torch.testing import assert_close

from tformer.positions import sinusoids
from tformer_book.widgets import PositionWaves
from tformer_book.widgets.position_waves import LENGTH, REACH, VARIANTS, variant_table

SIZES = [(2, 10_000.0), (8, 100.0), (32, 10_000.0), (128, 2.0)]


def asked(node, *, d=16, base=10_000.0, k=5, variants=("", *VARIANTS)):
    """What the page computes for each variant: its table, pairs and facts."""
    script = """
    import {
      columnsOf, facts, pairOf, similarity, tableOf,
    } from "./position_waves/maths.js";
    const { d, base, k } = given;
    console.log(JSON.stringify(given.variants.map((variant) => {
      const table = tableOf(columnsOf(variant, d, base));
      return { table, similarity: similarity(table, 3), pair: pairOf(variant, d, 1),
        ...facts(variant, d, base, table, k) };
    })));"""
    found = node(script, {"d": d, "base": base, "k": k, "variants": list(variants)})
    return dict(zip(variants, found, strict=True))


@pytest.mark.parametrize(("d", "base"), SIZES)
def test_the_left_picture_is_the_packages_table(node, d, base):
    found = asked(node, d=d, base=base, variants=[""])[""]["table"]
    assert_close(
        torch.tensor(found), sinusoids(LENGTH, d, base=base), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize(("d", "base"), SIZES)
def test_the_right_picture_is_what_python_says_stands_there(node, d, base):
    found = asked(node, d=d, base=base, variants=VARIANTS)
    for variant in VARIANTS:
        wanted = variant_table(variant, LENGTH, d, base=base)
        assert_close(torch.tensor(found[variant]["table"]), wanted, rtol=0, atol=1e-6)


def test_the_variants_are_the_slips_that_they_are_named_after():
    """Each written out for one entry: position 3, columns 2 and 5 of 8."""
    table = {name: variant_table(name, 4, 8)[3].double() for name in VARIANTS}
    wanted = {
        "doubled exponent": [math.sin(3 / 10**2), math.cos(3 / 10**5)],
        "sin | cos halves": [math.sin(3 / 10**2), math.cos(3 / 10**1)],
        "degrees": [math.sin(math.radians(0.3)), math.cos(math.radians(0.03))],
        "no base": [math.sin(3), math.cos(3)],
    }
    for name, values in wanted.items():
        assert table[name][[2, 5]].tolist() == pytest.approx(values, abs=1e-7)


def test_halves_are_the_right_columns_in_another_order():
    right, other = sinusoids(20, 8), variant_table("sin | cos halves", 20, 8)
    assert_close(other, torch.cat([right[:, 0::2], right[:, 1::2]], 1))
    assert_close(other @ other.T, right @ right.T)


def test_the_facts_under_the_pictures_hold(node):
    k = 5
    found = asked(node, d=16, k=k)
    for variant, fact in found.items():
        table = (
            variant_table(variant, LENGTH, 16) if variant else sinusoids(LENGTH, 16)
        ).double()
        products = (table[:REACH] * table[k : k + REACH]).sum(1)
        assert fact["least"] == pytest.approx(products.min().item(), abs=1e-4)
        assert fact["most"] == pytest.approx(products.max().item(), abs=1e-4)
        moves = table[:REACH].amax(0) - table[:REACH].amin(0)
        assert fact["still"] == (moves < 0.01).sum()
        apart = torch.cdist(table, table) + 9 * torch.eye(LENGTH)
        assert fact["nearest"]["distance"] == pytest.approx(
            apart.min().item(), abs=1e-4
        )
        assert_close(
            torch.tensor(fact["similarity"]),
            (table[3] * table[3 : 3 + REACH]).sum(1).float(),
            rtol=0,
            atol=1e-4,
        )


def test_only_the_doubled_exponent_breaks_the_rotation(node):
    for k in (1, 7, 63):
        for variant, fact in asked(node, k=k).items():
            spread = fact["most"] - fact["least"]
            if variant == "doubled exponent":
                assert fact["error"] > 0.05
                assert spread > 0.05
            else:
                assert fact["error"] < 1e-9
                assert spread < 1e-9


def test_the_longest_wave_is_just_under_two_pi_times_the_base(node):
    found = asked(node, d=128)
    assert found[""]["shortest"] == pytest.approx(2 * math.pi)
    assert found[""]["longest"] == pytest.approx(
        2 * math.pi * 10_000 ** (126 / 128), rel=1e-9
    )
    assert found["degrees"]["shortest"] == pytest.approx(360)


def test_python_reads_what_is_on_the_screen():
    waves = PositionWaves(16, base=100.0, position=3, offset=5, variant="degrees")
    assert_close(waves.table, sinusoids(LENGTH, 16, base=100.0))
    assert_close(waves.beside, variant_table("degrees", LENGTH, 16, base=100.0))
    assert waves.similarity.shape == (2, REACH)
    for found, table in zip(waves.similarity, (waves.table, waves.beside), strict=True):
        assert found[5] == pytest.approx(float(table[3] @ table[8]), abs=1e-5)
    assert "Rows 3 and 8" in repr(waves)
    waves.position = 4  # as a reader's slider does
    assert "Rows 4 and 9" in repr(waves)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_model": 7}, "d_model=7 must be even"),
        ({"d_model": 130}, "d_model=130 must be even, from 2 to 128"),
        ({"base": 1.0}, "base=1.0 must be greater than 1"),
        ({"step": 3}, "step=3 must be from 0 to 2"),
        ({"position": 64}, "position=64 must be from 0 to 63"),
        ({"offset": -1}, "offset=-1 must be from 0 to 63"),
        ({"d_model": 8, "pair": 4}, "pair=4 must be from 0 to 3"),
        ({"variant": "rotary"}, "variant='rotary' must be one of"),
    ],
)
def test_what_cannot_be_shown_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        PositionWaves(**options)


def test_the_state_of_the_figure_is_plain_json():
    state = PositionWaves().get_state(["d_model", "base", "variant", "pair"])
    assert json.loads(json.dumps(state)) == state
