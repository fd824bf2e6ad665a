"""The engine finds what `tformer.decode` finds."""

from __future__ import annotations

import itertools
import math
import random
import shutil

import pytest
import torch

from tformer import data, decode, load_pretrained
from tformer.decode.choosing import draw

TIE = 1e-4  # of two that are closer, either may win
N_SENTENCES = 510
LONGEST = 48  # characters, to save time
FIXED = [
    "The dog did not cross the street because it was tired.",
    "The dog did not cross the street because it was wide.",
    "A man is riding a horse.",
    "Two young girls in red dresses play in front of a fountain.",
    "I", "!", "?!?", "1234567890", "Straße", "naïve café", "日本語のテキスト。",
    "😀 😀 😀", "HELLO WORLD", "the the the the the the", "e = mc²", "https://x.y/z",
    "She gave the book that he had bought to the man who was waiting outside.",
]  # fmt: skip


def decoded(run, saved, model, sources, **options):
    """What the engine's searches find, for sources of ids."""
    given = {"file": saved(model, "searched"), "sources": sources, "options": options}
    return run("search", given)


def batch(rows):
    width = max(map(len, rows))
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])


@pytest.fixture(scope="module")
def sources():
    chosen = random.Random(0)
    return [
        [*(chosen.randrange(4, 31) for _ in range(1 + i % 9)), 2] for i in range(40)
    ]


KINDS = {
    "pre": {"norm": "pre"},
    "post": {"norm": "post"},
    "rotary": {"norm": "pre", "positions": "rotary"},
}


@pytest.fixture(scope="module", params=KINDS)
def model(request, make_model):
    sizes = {"vocab_size": 31, "d_model": 16, "n_heads": 4, "max_len": 24}
    return make_model(**KINDS[request.param], seed=3, **sizes)


@pytest.mark.parametrize("max_len", [1, 8, 64])
def test_greedy_search_is_pythons_with_and_without_a_cache(
    run, saved, model, sources, max_len
):
    mine = decoded(run, saved, model, sources, maxLen=max_len)
    theirs = decode.greedy(model, batch(sources), max_len=max_len)
    assert mine["greedy"] == theirs
    assert mine["greedyWithoutCache"] == theirs
    assert mine["coldest"] == theirs  # sampling, as cold as it gets
    for (ids, log_p), source in zip(mine["scored"], sources, strict=True):
        (scored,) = decode.score(model, torch.tensor([source]), [ids])
        assert log_p == pytest.approx(scored.log_probabilities, abs=1e-5)


@pytest.mark.parametrize(
    ("beam_size", "n", "length_penalty", "max_len"),
    [(1, 1, 0.6, 8), (4, 4, 0.6, 12), (4, 1, 0.0, 12), (6, 3, 2.0, 23), (20, 20, 1, 3)],
)
def test_beam_search_finds_pythons_hypotheses_with_their_scores(
    run, saved, model, sources, beam_size, n, length_penalty, max_len
):
    sizes = {"beamSize": beam_size, "n": n, "maxLen": max_len}
    options = {**sizes, "lengthPenalty": length_penalty}
    mine = decoded(run, saved, model, sources, **options)
    theirs = decode.n_best(
        model,
        batch(sources),
        n=n,
        beam_size=beam_size,
        length_penalty=length_penalty,
        max_len=max_len,
    )
    for found, wanted in zip(mine["nBest"], theirs, strict=True):
        assert [each["ids"] for each in found] == [each.ids for each in wanted]
        for ours, python in zip(found, wanted, strict=True):
            assert ours["score"] == pytest.approx(python.score, abs=1e-5)
            assert ours["logProbability"] == pytest.approx(
                python.log_probability, abs=1e-5
            )


@pytest.mark.parametrize("prefix", [[17], [9, 21, 9], [5] * 12, [6, 2], [2]])
def test_a_search_goes_on_from_a_beginning_that_is_given(
    run, saved, model, sources, forced, prefix
):
    mine = decoded(run, saved, model, sources, maxLen=12, prefix=prefix)
    ids = batch(sources)
    with forced(prefix):
        assert mine["greedy"] == decode.greedy(model, ids, max_len=12)
        theirs = decode.n_best(model, ids, n=4, max_len=12)
    assert mine["greedyWithoutCache"] == mine["coldest"] == mine["greedy"]
    for found, wanted in zip(mine["nBest"], theirs, strict=True):
        assert [each["ids"] for each in found] == [each.ids for each in wanted]
        assert [each["score"] for each in found] == pytest.approx(
            [each.score for each in wanted], abs=1e-5
        )
    pieces = [each for each in prefix if each != 2]
    assert all(ids[: len(pieces)] == pieces for ids in mine["sampled"])


def test_a_sample_that_is_given_its_own_beginning_stays_the_same(
    run, saved, model, sources
):
    (free,) = decoded(run, saved, model, sources[:1], maxLen=12)["sampled"]
    given = decoded(run, saved, model, sources[:1], maxLen=12, prefix=free[:3])
    assert given["sampled"] == [free]


def test_a_seed_repeats_a_sample_and_samples_differ(run, saved, model, sources):
    mine = decoded(run, saved, model, sources, maxLen=12)
    assert mine["sampled"] == mine["sampledAgain"]
    assert all(a != b for a, b in zip(mine["sampled"], mine["greedy"], strict=True))


def test_the_distribution_to_draw_from_is_pythons(run):
    generator = torch.Generator().manual_seed(7)
    log_p = torch.randn(12, 20, generator=generator).log_softmax(-1)
    log_p[:, :3] = -math.inf
    log_p[:, 8] = log_p[:, 7]  # a tie: the lower id counts as larger
    chances = torch.rand(12, generator=generator, dtype=torch.float64)
    rows = [[None if x == -math.inf else x for x in row] for row in log_p.tolist()]
    choices = itertools.product((0.1, 1, 3), (None, 1, 3, 50), (None, 0.2, 0.9, 1))
    names = ("temperature", "top_k", "top_p")
    options = [dict(zip(names, each, strict=True)) for each in choices]
    cases = [
        {
            "logP": row,
            "chance": chance,
            "options": {
                "temperature": each["temperature"],
                "topK": each["top_k"],
                "topP": each["top_p"],
            },
        }
        for each in options
        for row, chance in zip(rows, chances.tolist(), strict=True)
    ]
    mine = iter(run("distributions", cases))
    for each in options:
        p = decode.distribution(log_p, **each)
        found = [next(mine) for _ in rows]
        ours = torch.tensor([each["p"] for each in found], dtype=torch.float64)
        torch.testing.assert_close(ours, p.double(), rtol=0, atol=1e-6)
        assert [each["drawn"] for each in found] == draw(p, chances).tolist()


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("greedy", {"maxLen": 0}, "maxLen=0 must be at least 1"),
        ("nBest", {"beamSize": 0}, "beamSize=0 must be at least 1"),
        ("nBest", {"beamSize": 1.5}, "beamSize=1.5 must be"),
        ("nBest", {"lengthPenalty": -1}, "lengthPenalty=-1 must not be negative"),
        ("nBest", {"n": 5}, "n=5 must be at least 1 and at most beamSize=4"),
        ("sample", {"temperature": 0}, "temperature=0 must be above 0"),
        ("sample", {"topK": 0}, "topK=0 must be a whole number"),
        ("sample", {"topP": 1.5}, "topP=1.5 must be in (0, 1]"),
        ("greedy", {"prefix": [5, 1]}, "cannot begin with id 1"),
        ("nBest", {"prefix": [2, 5]}, "cannot begin with id 2"),
        ("sample", {"prefix": [31]}, "cannot begin with id 31"),
        ("nBest", {"prefix": [5] * 4, "maxLen": 3}, "4 pieces is too long: 3 are"),
        ("score", {"target": [5, 2]}, "id 2 is special"),
        ("score", {"target": [5] * 24}, "24 pieces is too long: the model takes 23"),
        ("score", {"target": [99]}, "token id 99 is outside"),
    ],
)
def test_options_that_make_no_sense_are_refused(run, saved, model, name, options, said):
    file = saved(model, "refused")
    given = {"file": file, "source": [5, 2], "cases": [[name, options]]}
    (message,) = run("badSearches", given)
    assert said in message


@pytest.fixture(scope="module")
def released(engine_folder, unpacked_folder):
    """The released model, and where the engine finds its files, in float32."""
    files = {"weights": "model.safetensors", "tokenizer": "tokenizer.model"}
    for name in files.values():
        shutil.copy(unpacked_folder / name, engine_folder / name)
    return load_pretrained(), files


def sentences():
    """English sentences: fixed ones, real ones where there are, then generated ones."""
    chosen = random.Random(1)
    texts = list(FIXED)
    for name in ("multi30k", "tatoeba"):
        try:
            found = [english for english, _ in data.load(name).valid]
        except (OSError, ValueError):
            continue  # not here: generated sentences fill its place
        short = [text for text in found if len(text) < LONGEST]
        texts += chosen.sample(short, N_SENTENCES // 4)
    generated = [english for english, _ in data.load("grammar").train]
    texts += chosen.sample([text for text in generated if len(text) < LONGEST], 600)
    return list(dict.fromkeys(texts))[:N_SENTENCES]


@pytest.mark.timeout(1200)  # a minute where nothing else runs
def test_the_released_model_translates_as_in_python(run, released, record_property):
    """Greedy and beam search on hundreds of sentences; near ties are counted."""
    translator, files = released
    model, texts = translator.model, sentences()
    assert len(texts) >= 500
    mine = run("translateAll", {"files": files, "texts": texts})
    rows = [each["source"] for each in mine]
    assert rows == [translator.encode(text) for text in texts]
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    ties = 0
    for start in range(0, len(order), 65):
        chosen = order[start : start + 65]
        ids = batch([rows[i] for i in chosen])
        searches = {
            "greedy": decode.greedy(model, ids),
            "beam": decode.beam_search(model, ids),
        }
        for name, theirs in searches.items():
            for i, wanted in zip(chosen, theirs, strict=True):
                if mine[i][name] != wanted:
                    gap = distance(model, rows[i], mine[i][name], wanted, name)
                    assert gap < TIE, (texts[i], name, gap)
                    ties += 1
    record_property("ties", ties)
    print(f"{len(texts)} sentences, greedy and beam: {ties} ties closer than {TIE}")


def distance(model, source, mine, theirs, search):
    """How far apart two translations are: at the piece where they part, or in score."""
    scored = decode.score(model, torch.tensor([source, source]), [mine, theirs])
    if search == "greedy":
        pairs = zip(*(each.log_probabilities for each in scored), strict=False)
        return next(abs(a - b) for a, b in pairs if a != b)
    scores = [
        each.log_probability / decode.length_penalty_of(len(each.ids) + 1, 0.6)
        for each in scored
    ]
    return abs(scores[0] - scores[1])


def test_a_figure_sees_every_step_of_a_search(run, released, unpack):
    translator, files = released
    text = FIXED[0]
    given = {"files": files, "text": text, "options": {"search": "beam", "shown": 5}}
    seen = run("stepByStep", given)
    assert seen["found"]["text"] == translator.translate(text)
    for number, step in enumerate(seen["steps"]):
        assert [len(each["ids"]) for each in step["hypotheses"]] == [number] * len(
            step["hypotheses"]
        )
        for each in step["hypotheses"]:
            assert len(each["next"]) == 5
            chances = [entry["probability"] for entry in each["next"]]
            assert chances == sorted(chances, reverse=True)
            assert 0 < sum(chances) <= 1
        totals = [each["logProbability"] for each in step["candidates"]]
        assert totals == sorted(totals, reverse=True)
        # What grew is what the next step goes on from, in this order.
        grown = [each for each in step["candidates"] if each["fate"] == "grown"]
        if number + 1 < len(seen["steps"]):
            after = seen["steps"][number + 1]["hypotheses"]
            assert [each["ids"] for each in after] == [
                [*step["hypotheses"][each["parent"]]["ids"], each["id"]]
                for each in grown
            ]
    best = seen["found"]["hypotheses"][0]
    assert best in seen["steps"][-1]["finished"]
    assert translator.tokenizer.decode(best["ids"]) == best["text"]
    maps = translator.attention(text)
    attention = seen["attention"]
    assert attention["sourcePieces"] == maps.source_pieces
    assert attention["targetPieces"] == maps.target_pieces
    assert attention["predictedPieces"] == maps.predicted_pieces
    assert attention["translation"] == maps.translation
    assert unpack(attention["cross"]).shape == maps.cross.shape
    scored = seen["scored"]
    assert [each["piece"] for each in scored["positions"]] == maps.predicted_pieces
    assert scored["logProbability"] == pytest.approx(best["logProbability"], abs=1e-4)
    assert seen["scoredByPieces"] == scored
    assert "is none of greedy, sample, beam" in seen["unknownSearch"]
    assert "no piece “▁∄”" in seen["unknownPiece"]
    assert "nothing to translate" in seen["empty"]
    assert "the model takes 255" in seen["long"]


@pytest.mark.parametrize("search", ["greedy", "sample"])
def test_a_figure_sees_each_piece_as_it_is_chosen(run, released, search):
    translator, files = released
    options = {"search": search, "seed": 4, "topK": 3}
    seen = run("stepByStep", {"files": files, "text": FIXED[2], "options": options})
    ids = seen["found"]["hypotheses"][0]["ids"]
    chosen = [step["candidates"][0]["id"] for step in seen["steps"]]
    assert chosen == [*ids, translator.model.config.eos_id]
    assert seen["steps"][-1]["candidates"][0]["fate"] == "finished"
    for step in seen["steps"]:
        entries = step["hypotheses"][0]["next"]
        best = [each["id"] for each in entries][: 1 if search == "greedy" else 3]
        assert step["candidates"][0]["id"] in best
        if search == "sample":
            drawn = [each["drawn"] for each in entries]
            assert sum(drawn) == pytest.approx(1)
            assert drawn[3:] == [0] * len(drawn[3:])
    total = sum(each["logProbability"] for each in seen["scored"]["positions"])
    assert total == pytest.approx(
        seen["found"]["hypotheses"][0]["logProbability"], abs=1e-4
    )
