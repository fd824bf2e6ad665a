"""Teacher forcing beside decoding: recorded by Python, told by the engine, aligned."""

import math

import pytest
import torch

from tformer import decode
from tformer_book.widgets import TeacherForcing
from tformer_book.widgets._searching import score_positions, search_steps
from tformer_book.widgets.teacher_forcing import CHANGED, GIVEN, GREEDY, RUNNING

PAIRS = [
    (RUNNING, GIVEN),
    (RUNNING, CHANGED),
    (RUNNING, "Nein!"),
    ("A dog runs.", "Ein Hund rennt, und rennt, und rennt."),
]


@pytest.fixture(scope="module")
def translator(page_translator):
    return page_translator


@pytest.fixture(scope="module")
def recorded(translator):
    return [
        {
            "scored": score_positions(translator, text, german),
            "steps": search_steps(translator, text, GREEDY),
        }
        for text, german in PAIRS
    ]


@pytest.fixture(scope="module")
def told(node, recorded, page_folder):
    """What the engine and the figure make of the same pairs."""
    script = """
    import { loadPretrained } from "./engine/pretrained.js";
    import { align, moved, parting } from "./teacher_forcing/maths.js";
    const { pairs, recorded, folder } = given;
    const read = (name) => new Uint8Array(readFileSync(`${folder}/${name}`)).buffer;
    const weights = read("model.safetensors"), tokenizer = read("tokenizer.model");
    const translator = await loadPretrained({ weights, tokenizer });
    const [first, second] = recorded.map(({ scored }) => scored.positions);
    console.log(JSON.stringify({
      scored: pairs.map(([text, german]) => translator.score(text, german)),
      rows: recorded.map(({ scored, steps }) => align(scored.positions, steps)),
      partings: recorded.map(({ scored, steps }) =>
        parting(align(scored.positions, steps))),
      moved: moved(first, second),
      still: moved(first, first),
    }));"""
    given = {"folder": str(page_folder), "pairs": PAIRS, "recorded": recorded}
    return node(script, given)


def test_what_is_recorded_is_what_forced_decoding_finds(translator, recorded):
    for (text, german), each in zip(PAIRS, recorded, strict=True):
        wanted = translator.score(text, german)
        positions = each["scored"]["positions"]
        assert [p["piece"] for p in positions] == wanted.pieces
        assert [p["logProbability"] for p in positions] == pytest.approx(
            wanted.log_probabilities, abs=1e-4
        )
        assert each["scored"]["logProbability"] == pytest.approx(
            wanted.log_probability, abs=1e-3
        )


def test_the_engine_tells_what_python_recorded(recorded, told):
    for ours, engines in zip(recorded, told["scored"], strict=True):
        for mine, theirs in zip(
            ours["scored"]["positions"], engines["positions"], strict=True
        ):
            assert mine["id"] == theirs["id"]
            assert mine["logProbability"] == pytest.approx(
                theirs["logProbability"], abs=1e-3
            )
            assert [each["probability"] for each in mine["next"]] == pytest.approx(
                [each["probability"] for each in theirs["next"]], abs=1e-3
            )


def test_each_position_reads_what_the_one_before_should_say(recorded, told):
    for each, rows in zip(recorded, told["rows"], strict=True):
        labels = [p["piece"] for p in each["scored"]["positions"]]
        given = rows[: len(labels)]
        assert [row["label"] for row in given] == labels
        assert [row["reads"] for row in given] == ["<s>", *labels[:-1]]
        own = [step["candidates"][0]["piece"] for step in each["steps"]]
        assert [row["own"]["piece"] for row in rows[: len(own)]] == own
        assert [row["own"]["reads"] for row in rows[: len(own)]] == ["<s>", *own[:-1]]
        assert len(rows) == max(len(labels), len(own))
        assert all(row["own"] is None for row in rows[len(own) :])


def test_probabilities_beside_each_other_are_those_of_their_own_past(
    translator, recorded, told
):
    for (text, _), each, rows in zip(PAIRS, recorded, told["rows"], strict=True):
        source_ids = torch.tensor([translator.encode(text)])
        (own,) = decode.greedy(translator.model, source_ids, max_len=128)
        (scored,) = decode.score(translator.model, source_ids, [own])
        shown = [row["own"]["p"] for row in rows if row["own"]]
        assert shown == pytest.approx(
            [math.exp(x) for x in scored.log_probabilities], abs=1e-5
        )
        given = [row["p"] for row in rows if "label" in row]
        assert given == pytest.approx(
            [math.exp(p["logProbability"]) for p in each["scored"]["positions"]]
        )


def test_who_has_read_the_same_finds_the_same_likely(recorded, told):
    for each, rows in zip(recorded, told["rows"], strict=True):
        for t, row in enumerate(rows):
            if not row["same"]:
                continue
            one = each["scored"]["positions"][t]["next"]
            other = each["steps"][t]["hypotheses"][0]["next"]
            assert [x["id"] for x in one] == [x["id"] for x in other]
            assert [x["probability"] for x in one] == pytest.approx(
                [x["probability"] for x in other], abs=1e-5
            )


def test_they_part_where_the_model_first_takes_another_piece(recorded, told):
    for each, rows, at in zip(recorded, told["rows"], told["partings"], strict=True):
        labels = [p["id"] for p in each["scored"]["positions"]]
        own = [step["candidates"][0]["id"] for step in each["steps"]]
        assert labels[:at] == own[:at]
        assert labels[at] != own[at]
        assert [row["same"] for row in rows] == [t <= at for t in range(len(rows))]


def test_a_changed_word_moves_only_later_positions(recorded, told):
    first, second = (each["scored"]["positions"] for each in recorded[:2])
    changed = next(
        t for t, (a, b) in enumerate(zip(first, second, strict=True)) if a != b
    )
    assert (first[changed]["piece"], second[changed]["piece"]) == ("▁er", "▁es")
    assert told["moved"][: changed + 1] == [0] * (changed + 1)
    assert all(shift > 0 for shift in told["moved"][changed + 1 :])
    assert told["still"] == [0] * len(first)


def test_how_far_a_distribution_moved_is_its_largest_change(translator, told):
    source_ids = torch.tensor([translator.encode(RUNNING)])
    both = []
    for german in (GIVEN, CHANGED):
        ids = [translator.model.config.bos_id, *translator.encode(german)[:-1]]
        with torch.no_grad():
            logits = translator.model(source_ids, torch.tensor([ids]))
        both.append(logits[0].softmax(-1))
    wanted = (both[0] - both[1]).abs().amax(-1)
    for shift, most in zip(told["moved"], wanted.tolist(), strict=True):
        assert shift <= most + 1e-6  # where it is not sure, it says less
        assert shift == pytest.approx(most, abs=2e-3)


def test_a_piece_that_only_one_of_two_shows_moved_at_least_from_its_least(node):
    def positions(probabilities):
        next_ = [{"id": i, "probability": p} for i, p in probabilities.items()]
        return [{"next": next_}]

    one, other = positions({1: 0.5, 2: 0.1}), positions({1: 0.5, 3: 0.4})
    shifts = node(
        "import { moved } from './teacher_forcing/maths.js';"
        "const [one, other] = given;"
        "console.log(JSON.stringify([moved(one, other), moved(other, one),"
        " moved(one, one), moved([], one)]))",
        [one, other],
    )
    assert shifts == [[pytest.approx(0.3)], [pytest.approx(0.3)], [0], [None]]


def test_python_reads_what_is_on_the_screen(translator):
    figure = TeacherForcing()
    assert figure.scored == translator.score(RUNNING, GIVEN)
    assert figure.decoded == figure.example["steps"][-1]["finished"][0]["text"]
    figure.translation = CHANGED
    assert figure.scored.pieces[9] == "▁es"
    assert CHANGED in repr(figure)


def test_a_figure_without_another_german_has_none():
    assert "other" not in TeacherForcing("A dog.", "Ein Hund.", other=None).example
    with pytest.raises(ValueError, match="nothing to translate"):
        TeacherForcing("A dog.", " ")
