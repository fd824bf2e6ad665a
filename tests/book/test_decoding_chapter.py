"""Chapter *Decoding and scoring* says what the released model does: it does so."""

from __future__ import annotations

import math
import re

import pytest
import torch
from records import cells, result

from tformer import decode, evaluate, load_pretrained

CHESS = "A group of men are looking at an old man who is playing chess."
SAID = {
    "schaut": "Eine Gruppe von Männern schaut einen alten Mann, der Schach spielt.",
    "longer": "Eine Gruppe von Männern betrachtet einen alten Mann, der Schach spielt.",
    "shorter": "Eine Gruppe Männer betrachtet einen alten Mann, der Schach spielt.",
}
PROSE = cells("decoding-and-scoring")
# The steps whose probabilities the chapter tells, in its order.
STEPS = [("schaut", "▁einen"), ("longer", "▁einen"), ("schaut", ",")]


@pytest.fixture(scope="module")
def translator():
    return load_pretrained()


def best(translator, alpha):
    return translator.translate(CHESS, length_penalty=alpha)


def test_the_chapter_is_about_this_sentence():
    assert f"> *{CHESS}*" in PROSE["title"]


def test_two_verbs_lead_the_list_nearly_level(translator):
    before = translator.tokenizer.encode("Eine Gruppe von Männern")
    with torch.inference_mode():
        logits = translator.model(
            torch.tensor([translator.encode(CHESS)]),
            torch.tensor([[translator.tokenizer.bos_id, *before]]),
        )
    log_p = logits[0, -1].log_softmax(-1)
    p, ids = log_p.exp().topk(4)
    verbs = [translator.tokenizer.decode([i]) for i in ids.tolist()]
    table = PROSE["one-list"].split("|")[1:5]
    assert verbs == [each.strip() for each in table]
    assert p[1] > 0.85 * p[0] and p[2] < 0.2 * p[1]
    cold, _ = decode.distribution(log_p, temperature=0.1).topk(2)
    assert cold.sum() > 0.99 and 2.5 < cold[0] / cold[1] < 3.5  # "three to one"


def test_greedy_says_schaut_and_loses_to_both_others(translator):
    assert translator.translate(CHESS, beam_size=1) == SAID["schaut"]
    log_p = {k: translator.score(CHESS, v).log_probability for k, v in SAID.items()}
    assert log_p["schaut"] < log_p["longer"] < log_p["shorter"]


def test_greedy_leads_with_its_verb_and_falls_behind_at_the_next_piece(translator):
    scored = {k: translator.score(CHESS, v) for k, v in SAID.items()}
    sums = {
        k: torch.tensor(each.log_probabilities).cumsum(0) for k, each in scored.items()
    }
    verb = scored["schaut"].pieces.index("▁schaut")
    assert verb + 1 == 6
    for other in ("longer", "shorter"):
        level_or_ahead = sums["schaut"][: verb + 1] >= sums[other][: verb + 1] - 1e-4
        assert level_or_ahead.all() and sums["schaut"][verb] > sums[other][verb]
        assert sums["schaut"][verb + 1] < sums[other][verb + 1]


def test_alpha_alone_decides_between_the_two_that_the_beam_finds(translator):
    source_ids = torch.tensor([translator.encode(CHESS)])
    [beam] = decode.n_best(translator.model, source_ids, n=4, length_penalty=0.6)
    texts = [translator.tokenizer.decode(each.ids) for each in beam]
    assert texts[:2] == [SAID["longer"], SAID["shorter"]]
    assert best(translator, 0.6) == SAID["longer"]
    assert best(translator, 0.0) == SAID["shorter"]


def test_the_percentages_of_the_penalty_are_its_own(translator):
    longer, shorter = (
        translator.score(CHESS, SAID[k]).log_probability for k in ("longer", "shorter")
    )
    allowed, costs = re.findall(r"([\d.]+) % more", PROSE["penalty-read"])
    assert float(costs) == round(100 * (longer / shorter - 1), 1)
    penalties = [decode.length_penalty_of(n, 0.6) for n in (15, 13)]
    assert float(allowed) == round(100 * (penalties[0] / penalties[1] - 1), 1)


def test_the_probabilities_and_costs_in_the_prose_are_the_models(translator):
    scored = {k: translator.score(CHESS, v) for k, v in SAID.items()}
    log_p = {k: each.log_probability for k, each in scored.items()}
    named = re.findall(r"([\d.]+) %", PROSE["greedy-loses-read"])
    ends = [f"{100 * math.exp(log_p[k]):.1f}" for k in ("schaut", "shorter")]
    assert named == ends
    at = {
        k: dict(zip(v.pieces, v.log_probabilities, strict=True))
        for k, v in scored.items()
    }
    steps = [at[k][x] for k, x in STEPS]
    told = re.findall(r"0\.\d\d", PROSE["greedy-loses-read"])
    assert told == [f"{math.exp(each):.2f}" for each in steps]
    assert scored["schaut"].pieces.index(",") + 1 == 10
    costs = re.findall(r"costs (\d+\.\d+)", PROSE["penalty-text"])
    assert costs == [f"{-log_p[k]:.3f}" for k in ("shorter", "longer")]


def test_bleu_and_chrf_rank_a_loop_and_the_opposite_above_the_right_one():
    person = "Der Hund überquerte die Straße nicht, weil er müde war."
    said = [
        "Der Hund Hund Hund überquerte die Straße nicht, weil er müde war.",
        "Der Hund überquerte die Straße, weil er müde war.",
        "Der Hund hat die Straße nicht überquert, weil er müde war.",
    ]
    scored = [evaluate.bleu_chrf([text], [person]) for text in said]
    for metric in (0, 1):
        scores = [each[metric].score for each in scored]
        assert scores == sorted(scores, reverse=True)


def test_the_sentence_scored_by_hand_is_what_the_model_says(translator):
    english = "The dog did not cross the street because it was tired."
    _, said = re.findall(r"> \*(Der Hund [^*]*)\*", PROSE["cost-read"])
    assert said.replace(" ,", ",").replace(" .", ".") == translator.translate(english)


def test_the_card_scores_as_many_reference_words_as_the_published_program():
    [words] = re.findall(r"counts ([\d,]+) words of reference", PROSE["bootstrap-read"])
    lines = load_pretrained().card["scores"]["test_2016_flickr"]["lines"]
    assert f"ref_len = {words.replace(',', '')})" in lines[2]


def test_alpha_changes_the_winner_where_the_problem_says_so():
    assert math.isclose(math.log(1.5) / math.log(24 / 12), 0.585, abs_tol=5e-4)
    for alpha, longer_wins in [(0.58, False), (0.6, True)]:
        short, long = (
            -cost / decode.length_penalty_of(n, alpha) for cost, n in ((2, 7), (3, 19))
        )
        assert (long > short) == longer_wins


def test_the_seeds_are_those_of_the_record_and_differ_as_it_is_said():
    runs = result("chosen")["runs"]
    sets = ["valid", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco"]
    scores = {
        run["seed"]: [run["scores"][name]["bleu"] for name in sets] for run in runs
    }
    text = PROSE["bootstrap-read"]
    for seed, row in scores.items():
        cells = " | ".join(f"{each:.1f}" for each in row)
        assert f"| seed {seed} | {cells} |" in text
    assert text.count("| seed ") == len(scores) == 3
    valid, of_flickr_2016, of_flickr_2017, of_coco = zip(*scores.values(), strict=True)
    tests = (of_flickr_2016, of_flickr_2017, of_coco)
    assert all(max(each) == each[2] for each in tests)
    assert 0 < min(valid[:2]) - valid[2] < 0.1
    assert 0.95 < of_coco[2] - of_coco[1] < 1.1
    assert f"{runs[-1]['device']}, {runs[-1]['date']}" in text
    for run in runs:
        tried = run["length_penalties"]
        [alpha] = {each["length_penalty"] for each in run["scores"].values()}
        assert str(alpha) == max(tried, key=tried.get)
        assert round(run["n_parameters"] / 1e6, 1) == 14.1
    tokenised = [
        f"{run['scores']['test_2016_flickr']['tokenised_bleu']:.1f}"
        for run in sorted(runs, key=lambda run: run["seed"])
    ]
    told = re.findall(r"reach ([\d.]+), ([\d.]+) and (\d+\.\d)", PROSE["good-read"])
    assert [list(each) for each in told] == [tokenised]
