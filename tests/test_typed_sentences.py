"""What a person thought of the released model's translations belongs to that model."""

import json
from pathlib import Path

import score_released

from tformer.pretrained import RELEASED, load_pretrained

ROOT = Path(__file__).resolve().parent.parent
FOUND = json.loads((ROOT / "results/typed-sentences.json").read_text("utf-8"))


def test_every_typed_sentence_carries_a_mark_of_a_reader():
    assert (len(FOUND["aims"]), len(FOUND["typed"])) == (3, 30)
    for each in FOUND["aims"] + FOUND["typed"]:
        assert each["mark"] in ("right", "understandable", "wrong"), each["source"]


def test_the_marked_translations_are_the_released_models():
    kept = FOUND["aims"] + FOUND["typed"]
    now = load_pretrained().translate([each["source"] for each in kept])
    same = sum(a == each["translation"] for a, each in zip(now, kept, strict=True))
    assert same >= len(kept) - 2  # two may flip on another machine: near ties


def test_the_readable_card_says_what_the_card_and_the_marks_say():
    card = json.loads((RELEASED / "card.json").read_text("utf-8"))
    assert (RELEASED / "README.md").read_text("utf-8") == score_released.readme(card)


def test_the_card_quotes_tatoeba_on_what_the_model_has_not_seen():
    card = json.loads((RELEASED / "card.json").read_text("utf-8"))
    leak = json.loads((ROOT / "results/split-leak.json").read_text("utf-8"))
    quoted, found = card["scores"]["tatoeba"], leak["by_group"]
    assert quoted["n_sentences"] == found["untouched"]["pairs"] < quoted["of"]
    assert quoted["of"] == found["test"]["pairs"]
    assert abs(quoted["bleu"] - found["untouched"]["bleu"]) < 0.1
    assert "12.7 %" in card["data"]  # of the split that it was trained with
