"""The replay shows what was recorded, and nothing else."""

import copy
import gzip
import json

import pytest
import torch

from tformer.pretrained import load_history, load_pretrained
from tformer_book.widgets import TrainingReplay

MODULE = "./training_replay/maths.js"


@pytest.fixture(scope="module")
def history():
    return load_history()


def test_the_frames_are_those_of_the_record(history):
    replay = TrainingReplay()
    assert [each["step"] for each in replay.frames] == [
        each["step"] for each in history["replay"]
    ]
    for f, kept in enumerate(history["replay"]):
        replay.frame = f
        for s, sentence in enumerate(kept["sentences"]):
            replay.sentence = s
            assert replay.translation == sentence["translation"]
            assert replay.sentences[s]["source"] == sentence["source"]
            wanted = torch.tensor(sentence["cross_attention"])
            assert torch.equal(replay.attention, wanted)


def test_a_map_has_a_row_for_each_german_piece_and_a_column_for_each_english_one():
    replay = TrainingReplay()
    for f in range(len(replay.frames)):
        for s, sentence in enumerate(replay.sentences):
            replay.frame, replay.sentence = f, s
            sizes = len(sentence["target_pieces"]), len(sentence["source_pieces"])
            assert tuple(replay.attention.shape) == sizes
            # Rows are shared out over keys; the record has three digits.
            assert (replay.attention.sum(-1) - 1).abs().max() < 0.01


def test_the_last_map_is_nearly_that_of_the_released_model():
    """Released is the average of the last five snapshots; rows and columns must fit."""
    replay, translator = TrainingReplay(), load_pretrained()
    replay.frame = len(replay.frames) - 1
    for s, sentence in enumerate(replay.sentences):
        replay.sentence = s
        maps = translator.attention(sentence["source"], sentence["reference"])
        assert maps.source_pieces == sentence["source_pieces"]
        assert maps.predicted_pieces == sentence["target_pieces"]
        now = maps.cross[-1].mean(dim=0)
        assert (now - replay.attention).abs().mean() < 0.03


def test_it_says_where_and_when_it_was_recorded():
    card = load_pretrained().card
    said = TrainingReplay().recorded
    assert said.startswith("Recorded, not computed here")
    assert card["device"] in said
    assert card["date"] in said


def test_the_loss_and_rate_of_a_frame_are_those_of_its_evaluation(history):
    evaluations = {each["step"]: each for each in history["evaluations"]}
    for frame in TrainingReplay().frames:
        kept = evaluations[frame["step"]]
        assert frame["valid_loss"] == pytest.approx(kept["valid_loss"], abs=1e-5)
        assert frame["learning_rate"] == kept["learning_rate"]


def test_the_whole_state_is_small_enough_for_a_page():
    state = TrainingReplay().get_state()
    kept = {k: v for k, v in state.items() if k not in ("_esm", "_css")}
    assert len(gzip.compress(json.dumps(kept).encode())) < 150_000


def test_a_run_without_a_replay_is_refused(history):
    without = {k: v for k, v in history.items() if k != "replay"}
    with pytest.raises(ValueError, match="the history has no replay: record the run"):
        TrainingReplay(without)


@pytest.mark.parametrize(("name", "last"), [("frame", 11), ("sentence", 3)])
def test_frames_and_sentences_that_are_not_there_are_refused(history, name, last):
    fewer = copy.deepcopy(history)
    TrainingReplay(fewer, **{name: last})
    for wrong in (-1, last + 1):
        with pytest.raises(ValueError, match=f"{name}={wrong} must be from 0 to"):
            TrainingReplay(fewer, **{name: wrong})


def test_words_that_were_not_said_before_are_found(node):
    cases = [
        ["", "Der Hund.", [True, True]],
        ["Der Hund.", "Der Hund.", [False, False]],
        ["Der Hund war nicht da.", "Der Hund ist da.", [False, False, True, False]],
        ["Ein Mann fährt.", "Ein alter Mann reitet.", [False, True, False, True]],
        ["a b a", "a a b", [False, False, True]],
    ]
    found = node(
        f'import {{ newWords }} from "{MODULE}";'
        "console.log(JSON.stringify(given.map(([a, b]) => newWords(a, b))))",
        [case[:2] for case in cases],
    )
    for (_, after, new), words in zip(cases, found, strict=True):
        assert " ".join(word for word, _ in words) == after
        if after == "a a b":  # two answers are as good
            assert sum(is_new for _, is_new in words) == 1
        else:
            assert [is_new for _, is_new in words] == new


def test_a_place_on_the_axis_leads_to_the_nearest_checkpoint(node):
    found = node(
        f'import {{ nearestFrame }} from "{MODULE}";'
        "console.log(JSON.stringify([-5, 500, 749, 751, 11400, 11600, 99999]"
        ".map((x) => nearestFrame([500, 1000, 9000, 14000], x))))"
    )
    assert found == [0, 0, 0, 1, 2, 3, 3]


def test_sharpness_is_the_mean_of_what_each_row_gives_to_its_favourite(node):
    maps = TrainingReplay().frames[0]["attention"]
    found = node(
        f'import {{ sharpness, strongest }} from "{MODULE}";'
        "console.log(JSON.stringify(given.map((map) => "
        "[sharpness(map), map.map(strongest)])))",
        maps,
    )
    for each, (sharp, places) in zip(maps, found, strict=True):
        best = torch.tensor(each).max(dim=-1)
        assert sharp == pytest.approx(best.values.mean().item(), abs=1e-6)
        assert places == best.indices.tolist()


def test_an_axis_ends_at_or_above_the_largest_value(node):
    values = [9.1, 8.0, 1.0, 14000, 0.0017]
    found = node(
        f'import {{ axisOf }} from "{MODULE}";'
        "console.log(JSON.stringify(given.map((x) => axisOf(x))))",
        values,
    )
    for value, marks in zip(values, found, strict=True):
        assert marks[0] == 0
        assert value <= marks[-1] < 3 * value
