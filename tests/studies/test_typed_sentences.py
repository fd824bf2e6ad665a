"""What a person thought of the released model's translations belongs to that model."""

import json
from pathlib import Path

from studies import score_released
from tformer.pretrained import RELEASED, load_pretrained

ROOT = Path(__file__).resolve().parents[2]
FOUND = json.loads((ROOT / "results/typed-sentences.json").read_text("utf-8"))


def test_every_typed_sentence_carries_a_mark_of_a_reader():
    assert (len(FOUND["aims"]), len(FOUND["typed"])) == (3, 100)
    for each in FOUND["aims"] + FOUND["typed"]:
        assert each["mark"] in ("right", "understandable", "wrong"), each["source"]


def test_the_marked_translations_are_the_released_models():
    kept = FOUND["aims"] + FOUND["typed"]
    now = load_pretrained().translate([each["source"] for each in kept])
    same = sum(a == each["translation"] for a, each in zip(now, kept, strict=True))
    assert same >= len(kept) - 4  # a few may flip on another machine: near ties


def test_the_readable_card_says_what_the_card_and_the_marks_say():
    card = json.loads((RELEASED / "card.json").read_text("utf-8"))
    assert (RELEASED / "README.md").read_text("utf-8") == score_released.readme(card)


def test_no_pair_that_the_card_quotes_shares_a_sentence_with_training():
    card = json.loads((RELEASED / "card.json").read_text("utf-8"))
    leak = json.loads((ROOT / "results/split-leak.json").read_text("utf-8"))
    assert {each["shared_with_train"] for each in card["scores"].values()} == {0}
    quoted, found = card["scores"]["tatoeba"], leak["now"]["by_group"]["test"]
    assert quoted["n_sentences"] == found["pairs"]
    assert abs(quoted["bleu"] - found["bleu"]) < 0.1
