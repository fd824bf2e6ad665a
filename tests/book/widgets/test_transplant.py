"""The figure of transplanted states: recorded by Python, told by the engine."""

import math

import pytest

from tformer_book.widgets import Transplant
from tformer_book.widgets.transplant import transplants

CASES = [
    ("A girl is riding a bike.", "A girl is riding a horse."),
    ("A man sleeps.", "Two women are eating an apple in the park."),
    ("A dog runs.", "A dog runs."),
]
MATHS = "transplant/maths.js"


@pytest.fixture(scope="module")
def recorded(page_translator):
    return [transplants(page_translator, *case) for case in CASES]


def test_the_engine_tells_what_python_recorded_and_leaves_the_model_whole(
    node, page_folder, recorded
):
    script = """
    import { loadPretrained } from "./engine/pretrained.js";
    import { drain } from "./engine/decode/stepping.js";
    const { cases, folder } = given;
    const read = (name) => new Uint8Array(readFileSync(`${folder}/${name}`)).buffer;
    const weights = read("model.safetensors"), tokenizer = read("tokenizer.model");
    const translator = await loadPretrained({ weights, tokenizer });
    console.log(JSON.stringify(cases.map(([text, donor]) => {
      const steps = [...translator.transplants(text, donor)];
      const found = drain(translator.transplants(text, donor));
      return { found, told: steps.length, same: JSON.stringify(steps.at(-1)) ===
        JSON.stringify(found), counts: steps.map((each) => each.cells.length) };
    })));"""
    all_told = node(script, {"folder": str(page_folder), "cases": CASES})
    for theirs, each in zip(recorded, all_told, strict=True):
        mine = each["found"]
        assert each["same"]
        assert each["counts"] == list(range(1, theirs["of"] + 1))
        for key in ("sourcePieces", "donorPieces", "text", "other", "of"):
            assert mine[key] == theirs[key]
        for one, other in zip(mine["cells"], theirs["cells"], strict=True):
            assert one == {**other, "moved": pytest.approx(other["moved"], abs=1e-3)}


def test_a_state_that_both_sentences_share_moves_nothing(recorded):
    found = recorded[0]
    pairs = zip(found["sourcePieces"], found["donorPieces"], strict=True)
    same = [own == other for own, other in pairs]
    assert same.count(False) == 1
    for cell in found["cells"][: len(same)]:  # depth 0: no layer has mixed anything
        if same[cell["position"]]:
            assert cell["moved"] == pytest.approx(0, abs=1e-4)
            assert cell["text"] == found["text"]
        else:  # the only one that differs is the whole difference
            assert cell["moved"] == pytest.approx(1, abs=1e-4)
            assert cell["text"] == found["other"]


def test_of_the_same_translation_nothing_is_said_to_have_moved(recorded, js):
    found = recorded[2]
    assert found["text"] == found["other"]
    assert {cell["moved"] for cell in found["cells"]} == {None}
    said = js(MATHS, "verdict(given, nearest(given, {depth: 1, position: 0}))", found)
    assert "nothing can move" in said


def test_sentences_of_other_lengths_share_their_first_positions(recorded, js):
    found = recorded[1]
    shortest = min(len(found["sourcePieces"]), len(found["donorPieces"]))
    places = "[positionsOf(given).length, depthsOf(given).length]"
    assert js(MATHS, places, found) == [shortest, 4]
    last = js(MATHS, "nearest(given, {depth: 99, position: 99})", found)
    assert last == found["cells"][-1]


def test_a_cell_is_told_in_words(recorded, js):
    found = recorded[0]
    told = "[isNew(given, c), sentence(given, c), verdict(given, c)]"
    all_said = js(MATHS, f"given.cells.map((c) => {told})", found)
    kinds = set()
    for cell, (is_new, sentence, verdict) in zip(found["cells"], all_said, strict=True):
        piece = found["donorPieces"][cell["position"]].replace("▁", "")
        shown = "the end" if piece == "</s>" else piece
        assert f"state of {shown} after {cell['depth']} layer" in sentence
        assert sentence.endswith(cell["text"])
        assert is_new == (cell["text"] not in (found["text"], found["other"]))
        kinds.add(verdict.split(":")[0])
    assert len(kinds) == 3  # stays, goes over, and neither
    begun = {**found, "cells": []}
    assert "not tried yet" in js(
        MATHS, "sentence(given, nearest(given, {depth: 1, position: 2}))", begun
    )


def test_python_reads_what_is_on_the_screen(recorded):
    figure = Transplant(*CASES[0])
    cells = recorded[0]["cells"]
    assert figure.moved.flatten().tolist() == pytest.approx(
        [cell["moved"] for cell in cells], abs=1e-4
    )
    assert recorded[0]["other"] in repr(figure)
    figure.text, figure.donor = CASES[2]
    assert all(math.isnan(x) for x in figure.moved.flatten().tolist())


def test_a_recorded_example_is_small_enough_for_a_page():
    state = Transplant().get_state(["example"])
    assert len(repr(state)) < 20_000
