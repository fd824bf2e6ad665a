"""Chapter *Inside the trained model* repeats records: its numbers are theirs."""

from __future__ import annotations

import ast

import pytest
from records import cells, result

from tformer_book.press.chapters import ROOT
from tformer_book.widgets import Transplant

CELLS = cells("inside-the-model")


def literals(cell):
    """The names that a cell gives to plain values."""
    found = {}
    for statement in ast.parse(CELLS[cell]).body:
        if isinstance(statement, ast.Assign):
            [target] = statement.targets
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            try:
                value = ast.literal_eval(statement.value)
            except ValueError:
                continue
            values = value if isinstance(target, ast.Tuple) else [value]
            found |= {n.id: v for n, v in zip(names, values, strict=True)}
    return found


@pytest.fixture(scope="module")
def record():
    return result("knock-out")


@pytest.fixture(scope="module")
def told():
    names = "recorded-knock-out", "recorded-loss", "sub-layers"
    return {name: value for cell in names for name, value in literals(cell).items()}


def by_place(rows, get):
    """Recorded numbers as the chapter orders them: place -> one per head."""
    found = {}
    for row in rows:
        name = f"{row['site']}, layer {row['layer']}"
        found.setdefault(name, []).append(get(row))
    return found


def test_the_costs_of_all_heads_are_the_recorded_ones(told, record):
    heads = record["heads"]
    assert len(heads) == 54
    assert told["COSTS"] == by_place(heads, lambda row: row["cost"])
    assert told["LOW"] == by_place(heads, lambda row: row["interval"][0])
    assert told["HIGH"] == by_place(heads, lambda row: row["interval"][1])
    assert told["NATS"] == by_place(heads, lambda row: row["nats"])
    assert told["WHOLE"] == record["whole"]["bleu"]
    assert told["RECORDED_ON"] == f"{record['date']} on {record['device']}"


def test_the_curves_of_many_heads_are_the_recorded_ones(told, record):
    curves = record["together"]["curves"]
    assert [*told["TOGETHER"].values()] == [
        [point["bleu"] for point in curve] for curve in curves.values()
    ]
    assert [0, *told["STEPS"]] == [point["n"] for point in curves["least_first"]]
    for name, measure in (("", "cost"), ("_NATS", "nats")):
        layers = by_place(record["sub_layers"], lambda row, key=measure: row[key])
        said = told[f"WHOLE_SUB_LAYERS{name}"]
        assert said == {place: cost for place, [cost] in layers.items()}


def test_the_record_is_of_the_released_model(record):
    import hashlib

    weights = (ROOT / "tformer/pretrained/model.safetensors").read_bytes()
    assert record["model"] == hashlib.sha256(weights).hexdigest()


def test_the_run_on_the_grammar_is_told_as_recorded():
    run = result("run-grammar")
    said = literals("aer-recorded")["RECORDED_GRAMMAR"]
    scores = run["scores"]["splits"]["random"]
    for key in ("alignment_error_rate", "alignment_error_rate_diagonal"):
        assert said[key] == scores[key]
    assert (said["device"], said["date"]) == (
        run["report"]["device"],
        run["report"]["date"],
    )


def place(row):
    return row["site"], row["layer"], row["head"]


def test_what_the_chapter_says_of_the_knock_outs_is_so(record):
    """33 stars, none clearly better gone, none worth much, and which heads lead."""
    heads = record["heads"]
    assert sum(row["interval"][0] > 0 for row in heads) == 33
    assert not any(row["interval"][1] < 0 for row in heads)
    assert sum(row["cost"] < 0 for row in heads) == 1
    *top, fourth = sorted(heads, key=lambda row: -row["cost"])[:4]
    assert top[0]["cost"] < 3
    assert round(record["whole"]["bleu"]) == 44
    assert {place(row)[:2] for row in top} == {("cross", 2)}
    assert place(fourth) == ("cross", 0, 4)
    first, second = sorted(heads, key=lambda row: -row["nats"])[:2]
    assert place(first) == ("cross", 0, 4)
    assert second["site"] == "decoder"
    assert second["interval"][0] < 0
    [remembers] = [row for row in heads if place(row) == ("decoder", 1, 1)]
    assert f"{remembers['cost']:.1f}" == "0.7"


def test_what_the_chapter_says_of_many_heads_at_once_is_so(told):
    nats = {name: sum(row) for name, row in told["NATS"].items()}
    at_once = told["WHOLE_SUB_LAYERS_NATS"]
    assert all(at_once[name] > nats[name] for name in nats)
    double = {"decoder, layer 0", *(f"cross, layer {i}" for i in range(3))}
    assert {name for name in nats if at_once[name] > 1.9 * nats[name]} == double
    bleu = told["WHOLE_SUB_LAYERS"]
    more = {name: bleu[name] - sum(row) for name, row in told["COSTS"].items()}
    assert max(bleu, key=bleu.get) == "cross, layer 2"
    assert more.pop("cross, layer 2") > 5
    assert min(more.values()) < 0 < max(more.values())
    assert all(abs(each) <= 2 for each in more.values())
    good, *random = told["TOGETHER"].values()
    at = [0, *told["STEPS"]]
    assert good[at.index(6)] >= good[0]
    assert 4 < good[0] - good[at.index(18)] < 5
    assert good[at.index(36)] < good[0] / 2 < good[at.index(27)]
    assert all(
        curve[at.index(27)] < good[0] / 2 < curve[at.index(18)] for curve in random
    )


def test_after_all_layers_the_verb_is_chosen_where_riding_stands():
    """As the chapter says below its figure of transplants."""
    found = Transplant().example
    noun, riding = (
        found["donorPieces"].index(piece) for piece in ("▁horse", "▁riding")
    )
    says = {(each["depth"], each["position"]): each["text"] for each in found["cells"]}
    assert says[0, noun] == found["other"] != found["text"]
    assert says[0, riding] == found["text"]
    assert says[3, riding] == "Ein Mädchen reitet auf einem Fahrrad."
    assert says[3, noun] == "Ein Mädchen fährt auf einem Pferd."
