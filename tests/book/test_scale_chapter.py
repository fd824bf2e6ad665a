"""What chapter *Scale* says follows from the package and from its record."""

from __future__ import annotations

import pytest
from records import cells, recorded, result

from tformer import TransformerConfig
from tformer.analysis import cost
from tformer.analysis.cost import BASE, BIG

CELLS, RESULT = cells("scale"), result("other-tools")


def test_the_chapter_repeats_the_record_of_the_programs():
    repeated = recorded("scale")
    for name in ("date", "device", "captions"):
        assert repeated[name] == RESULT[name]
    assert f"`{RESULT['class']}`" in CELLS["recorded-after"]
    for name, each in RESULT["programs"].items():
        wanted = {key: each[key] for key in ("same", "bleu", "cpu_seconds")}
        assert repeated["programs"].pop(name) == wanted
    assert repeated["programs"] == {}


def test_what_it_says_about_the_programs_is_so():
    """None differs in float32; in int8 one caption in ten; the score hardly moves."""
    exact = dict(RESULT["programs"])
    int8 = exact.pop("ctranslate2, int8")
    assert {each["same"] for each in exact.values()} == {1000}
    assert 0.05 < 1 - int8["same"] / RESULT["captions"] < 0.15
    assert abs(int8["bleu"] - exact["tformer"]["bleu"]) < 0.3


def test_the_papers_models_are_its_table_3():
    assert (BASE.d_model, BASE.d_ff, BASE.n_heads, BASE.n_encoder_layers) == (
        *(512, 2048),
        *(8, 6),
    )
    assert (BIG.d_model, BIG.d_ff, BIG.n_heads, BIG.dropout) == (1024, 4096, 16, 0.3)
    assert BIG.n_decoder_layers == BASE.n_decoder_layers == 6
    assert round(BASE.n_parameters / 1e6, 1) == 63.1


def test_a_layer_of_the_encoder_keeps_and_costs_what_the_formulas_say():
    def layers(n):
        sizes = {"d_model": 512, "n_heads": 8, "d_ff": 2048, "n_decoder_layers": 1}
        return TransformerConfig(n_encoder_layers=n, **sizes)

    one, two = (cost.encoder(layers(n), 1, 25) for n in (1, 2))
    assert two - one == 24 * 25 * 512**2 + 4 * 25**2 * 512
    one, two = (cost.activations(layers(n), 1, 0) for n in (1, 2))
    assert two - one == pytest.approx(14 * 512, rel=0.01)


def test_the_assumptions_of_the_bill_stand_in_its_table():
    table, code = CELLS["bill-after"], CELLS["then-now"]
    for text in ("41 to 140", "289 to 981", "989 trillion", "2 to 5"):
        assert text in table
    for text in ('"base": (41, 140)', '"big": (289, 981)', "989e12", "(2, 5)"):
        assert text in code
    # Strubell's prices are hours of 8 GPUs at 0.43 to 1.46 dollars.
    for hours, low, high in ((12, 41, 140), (84, 289, 981)):
        assert round(8 * hours * 0.43) == low
        assert round(8 * hours * 1.46) == high
