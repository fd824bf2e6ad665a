"""The comparison of programs: what it counts, and what is recorded of it."""

from __future__ import annotations

import json

from studies import other_tools as compare_tools

FOUND = json.loads(compare_tools.FILE.read_text("utf-8"))
TEXTS = ["A man is riding a horse.", "Two dogs play in the snow.", "Who is there?"]


def test_every_program_says_what_we_say(tmp_path):
    found = compare_tools.compare(TEXTS, TEXTS, tmp_path)
    exact = {n: each for n, each in found["programs"].items() if "int8" not in n}
    assert len(exact) == 4
    assert all(each["same"] == len(TEXTS) for each in exact.values())
    assert found["class"] == FOUND["class"]


def test_translations_come_back_in_the_order_of_the_texts():
    texts = ["a b c d", "e", "f g"]
    said, seconds = compare_tools.measure(
        lambda some: [[len(each)] for each in some], texts
    )
    assert said == [[7], [1], [3]]
    assert seconds >= 0


def test_the_record_is_of_the_whole_test_set_and_of_all_programs():
    assert FOUND["captions"] == 1000
    programs = {"tformer", "transformers", "onnxruntime"}
    programs |= {"ctranslate2", "ctranslate2, int8"}
    assert FOUND["programs"].keys() == programs
