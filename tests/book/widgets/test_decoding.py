"""The steps of a search: recorded by Python, told by the engine, drawn as a tree."""

from dataclasses import fields

import pytest
import torch
import traitlets

from tformer import decode, load_pretrained
from tformer.common.search import SEARCHES, USUAL, SearchSettings
from tformer_book.widgets import Decoding
from tformer_book.widgets._model import page_settings
from tformer_book.widgets._searching import SearchTraits, search_steps

TEXTS = [
    "The dog did not cross the street because it was tired.",
    "Two young girls play in front of a fountain.",
    "I",
]
SETTINGS = [
    SearchSettings(search="greedy"),
    SearchSettings(),
    SearchSettings(beam_size=1, length_penalty=2.0),
    SearchSettings(beam_size=6, length_penalty=0.0),
    SearchSettings(search="sample", top_k=10, top_p=0.9, seed=1),
    SearchSettings(search="sample", temperature=1.5, seed=7),
    SearchSettings(search="sample", temperature=0.5, top_k=3, seed=30),
]
RUNS = [(text, settings) for text in TEXTS for settings in SETTINGS]


@pytest.fixture(scope="module")
def translator():
    return load_pretrained()


@pytest.fixture(scope="module")
def recorded(translator):
    return [search_steps(translator, text, settings) for text, settings in RUNS]


@pytest.fixture(scope="module")
def told(node, recorded, unpacked_folder):
    """What the engine and the figure make of the same runs."""
    script = """
    import { loadPretrained } from "./engine/pretrained.js";
    import { nextPieces, ranked, statusAt, treeOf } from "./decoding/search.js";
    const { runs, recorded, folder } = given;
    const read = (name) => new Uint8Array(readFileSync(`${folder}/${name}`)).buffer;
    const weights = read("model.safetensors"), tokenizer = read("tokenizer.model");
    const translator = await loadPretrained({ weights, tokenizer });
    console.log(JSON.stringify(runs.map(([text, settings], i) => {
      const steps = [...translator.steps(text, settings)];
      const nodes = treeOf(recorded[i]);
      const { finished } = recorded[i].at(-1);
      return {
        steps, nodes,
        statuses: recorded[i].map((_, at) => statusAt(nodes, at)),
        next: recorded[i].map((step) =>
          step.hypotheses.map((_, j) => nextPieces(step, j, settings))),
        ranked: [0, 0.6, 3].map((alpha) => ranked(finished, alpha)),
      };
    })));"""
    runs = [(text, page_settings(settings)) for text, settings in RUNS]
    given = {"folder": str(unpacked_folder), "runs": runs, "recorded": recorded}
    return node(script, given)


def same(mine, theirs, tolerance=1e-4):
    """Equal, numbers nearly."""
    if isinstance(theirs, float):
        return mine == pytest.approx(theirs, abs=tolerance)
    if isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(
            same(mine[name], theirs[name]) for name in theirs
        )
    if isinstance(theirs, list):
        return len(mine) == len(theirs) and all(map(same, mine, theirs))
    return mine == theirs


def test_what_is_recorded_is_what_decode_finds(translator, recorded):
    for (text, settings), steps in zip(RUNS, recorded, strict=True):
        source_ids = torch.tensor([translator.encode(text)])
        finished = steps[-1]["finished"]
        if settings.search == "greedy":
            assert [finished[0]["ids"]] == decode.greedy(
                translator.model, source_ids, max_len=128
            )
        elif settings.search == "beam":
            size = settings.beam_size
            (wanted,) = decode.n_best(
                translator.model,
                source_ids,
                n=size,
                beam_size=size,
                length_penalty=settings.length_penalty,
                max_len=128,
            )
            assert [each["ids"] for each in finished[:size]] == [
                each.ids for each in wanted
            ]
            for ours, theirs in zip(finished, wanted, strict=False):
                assert ours["logProbability"] == pytest.approx(
                    theirs.log_probability, abs=1e-4
                )
                assert ours["score"] == pytest.approx(theirs.score, abs=1e-4)


def test_every_log_probability_is_that_of_forced_decoding(translator, recorded):
    for (text, _), steps in zip(RUNS, recorded, strict=True):
        source_ids = torch.tensor([translator.encode(text)])
        for each in steps[-1]["finished"]:
            (scored,) = decode.score(translator.model, source_ids, [each["ids"]])
            assert each["logProbability"] == pytest.approx(
                scored.log_probability, abs=1e-3
            )


def test_the_engine_tells_what_python_recorded(recorded, told):
    for run, ours, theirs in zip(RUNS, recorded, told, strict=True):
        assert len(ours) == len(theirs["steps"]), run
        for mine, engines in zip(ours, theirs["steps"], strict=True):
            assert mine["candidates"], run
            for name in ("candidates", "finished"):
                assert same(mine[name], engines[name]), (run, name)
            for one, other in zip(
                mine["hypotheses"], engines["hypotheses"], strict=True
            ):
                assert one["ids"] == other["ids"], run
                assert one["text"] == other["text"]
                for name in ("probability", "drawn"):
                    values = [
                        [each.get(name, 0) for each in x["next"]] for x in (one, other)
                    ]
                    assert values[0] == pytest.approx(values[1], abs=1e-4)


def test_the_tree_holds_every_continuation_below_what_it_continues(recorded, told):
    for steps, run in zip(recorded, told, strict=True):
        nodes = run["nodes"]
        assert len(nodes) == 1 + sum(len(step["candidates"]) for step in steps)
        for node in nodes[1:]:
            parent = nodes[node["parent"]]
            assert parent["column"] == node["column"] - 1
            assert node["ids"] == [*parent["ids"], node["id"]]
        for number, step in enumerate(steps[1:]):
            grown = [
                node["ids"]
                for node in nodes
                if node["column"] == number and node["hypothesis"] >= 0
            ]
            assert grown == [each["ids"] for each in step["hypotheses"]]


def test_a_branch_is_live_while_something_of_it_goes_on(recorded, told):
    for steps, run in zip(recorded, told, strict=True):
        nodes = run["nodes"]
        for at, status in enumerate(run["statuses"]):
            fates = [each["fate"] for each in steps[at]["candidates"]]
            ends = {"grown": "live", "finished": "finished", "dropped": "dropped"}
            column = [i for i, node in enumerate(nodes) if node["column"] == at]
            assert [status[i] for i in column] == [ends[fate] for fate in fates]
            live = [
                node["ids"]
                for node, it in zip(nodes, status, strict=True)
                if it == "live"
            ]
            going = [nodes[i]["ids"] for i in column if status[i] == "live"]
            prefixes = [ids[:n] for ids in going for n in range(len(ids) + 1)]
            assert {*map(tuple, live)} == {*map(tuple, prefixes)}
            later = [i for i, node in enumerate(nodes) if node["column"] > at]
            assert all(status[i] is None for i in later)


def test_the_bars_and_all_others_are_one_whole(translator, recorded, told):
    for (_, settings), steps, run in zip(RUNS, recorded, told, strict=True):
        for step, next_of in zip(steps, run["next"], strict=True):
            for hypothesis, shown in zip(step["hypotheses"], next_of, strict=True):
                rows, rest = shown["rows"], shown["rest"]
                for name in rest:
                    whole = sum(row[name] for row in rows) + rest[name]
                    assert whole == pytest.approx(1, abs=1e-5)
                for row in rows:
                    assert row["total"] == pytest.approx(
                        hypothesis["logProbability"]
                        + torch.tensor(row["probability"]).log().item(),
                        abs=1e-4,
                    )
        if settings.search == "sample":
            for step, (shown,) in zip(steps, run["next"], strict=True):
                drawn = [row for row in shown["rows"] if row["fate"]]
                assert [row["id"] for row in drawn] == [step["candidates"][0]["id"]]


def test_a_piece_from_beyond_the_bars_has_the_chance_it_was_drawn_with(
    translator, recorded, told
):
    seen = 0
    for (text, settings), steps, run in zip(RUNS, recorded, told, strict=True):
        if settings.search != "sample":
            continue
        for step, (shown,) in zip(steps, run["next"], strict=True):
            before = step["hypotheses"][0]
            if len(shown["rows"]) == len(before["next"]):
                continue
            prefix = [translator.model.config.bos_id, *before["ids"]]
            with torch.no_grad():
                logits = translator.model(
                    torch.tensor([translator.encode(text)]), torch.tensor([prefix])
                )[0, -1]
            logits[[0, 1, 3]] = -torch.inf
            p = decode.distribution(
                logits.double(),
                temperature=settings.temperature,
                top_k=settings.top_k,
                top_p=settings.top_p,
            )
            row = shown["rows"][-1]
            assert row["drawn"] == pytest.approx(float(p[row["id"]]), rel=1e-3)
            seen += 1
    assert seen


def test_the_penalty_ranks_as_the_package_does(recorded, told):
    for steps, run in zip(recorded, told, strict=True):
        for alpha, found in zip([0, 0.6, 3], run["ranked"], strict=True):
            scores = [each["score"] for each in found]
            assert scores == sorted(scores, reverse=True)
            assert len(found) == len(steps[-1]["finished"])
            for each in found:
                penalty = decode.length_penalty_of(len(each["ids"]) + 1, alpha)
                assert each["length"] == len(each["ids"]) + 1
                assert each["penalty"] == pytest.approx(penalty)
                assert each["score"] == pytest.approx(each["logProbability"] / penalty)


def test_the_page_has_pythons_settings_by_names_of_its_own(node):
    traits = {"search": "sample", "beam_size": 2, "length_penalty": 0.1}
    traits |= {"temperature": 0.3, "top_k": 7, "top_p": 0.4, "seed": 5}
    uncut = {**traits, "top_k": 0, "top_p": 1}  # by traits that cut nothing
    wanted = [
        page_settings(SearchSettings(**traits)),
        page_settings(SearchSettings(**{**traits, "top_k": None, "top_p": None})),
    ]
    usual, found, back = node(
        "import { USUAL, settingsOf, traitsOf } from './engine/decode/settings.js';"
        "const found = given.map(settingsOf);"
        "console.log(JSON.stringify([USUAL, found, found.map(traitsOf)]))",
        [traits, uncut],
    )
    assert usual == page_settings(USUAL)
    assert [{**each, "maxLen": USUAL.max_len} for each in found] == wanted
    assert back == [traits, uncut]


def test_the_page_s_sliders_have_the_bounds_of_the_traits(js):
    ranges = js("engine/decode/settings.js", "RANGES")
    traits = SearchTraits.class_traits()
    assert ranges.keys() == traits.keys() - {"search"}
    for name, each in ranges.items():
        assert (each["min"], each["max"]) == (traits[name].min, traits[name].max)


def test_the_engine_is_told_what_the_search_uses(js):
    used = js(
        "engine/decode/settings.js",
        "Object.keys(USED).map((search) => used({ ...USUAL, search }))",
    )
    assert [each["search"] for each in used] == list(SEARCHES)
    for each in used:
        search = each.pop("search")
        own = [
            field.name
            for field in fields(SearchSettings)
            if field.metadata.get("of") == search
        ]
        wanted = {name: getattr(USUAL, name) for name in own if name != "n_best"}
        assert each.items() <= page_settings(USUAL).items()
        assert sorted(each.values(), key=str) == sorted(wanted.values(), key=str)


def test_a_search_is_run_again_where_a_setting_changes_it(js):
    usual = {"beamSize": 4, "lengthPenalty": 0.6, "temperature": 1}
    usual |= {"topK": None, "topP": None, "seed": 0}
    other = {"beamSize": 5, "lengthPenalty": 0, "temperature": 2}
    other |= {"topK": 3, "topP": 0.5, "seed": 1}
    matters = {
        "greedy": set(),
        "beam": {"beamSize"},  # its penalty only ranks
        "sample": {"temperature", "topK", "topP", "seed"},
    }
    cases = [
        [{**usual, "search": search, name: values[name]} for values in (usual, other)]
        for search in matters
        for name in usual
    ]
    changed = js(
        "decoding/search.js", "given.map(([a, b]) => keyOf(a) !== keyOf(b))", cases
    )
    wanted = [name in names for names in matters.values() for name in usual]
    assert changed == wanted


def test_python_reads_what_is_on_the_screen(page_translator):
    figure = Decoding(length_penalty=1.0, step=-1)
    wanted = page_translator.n_best(figure.text, 4, length_penalty=1.0)
    assert figure.translation == wanted[0].text
    for mine, theirs in zip(figure.hypotheses, wanted, strict=False):
        assert mine.score == pytest.approx(theirs.score, abs=1e-4)
    figure.length_penalty = 0.0
    assert figure.hypotheses[0].score == pytest.approx(
        figure.hypotheses[0].log_probability
    )
    figure.step = 0
    assert figure.hypotheses == [] and figure.translation is None


def test_the_search_that_was_asked_for_is_the_one_that_is_recorded(translator):
    figure = Decoding(
        "A dog runs.", search="sample", temperature=0.5, top_k=0, seed=3, step=-1
    )
    (run,) = [each for each in figure.example["runs"] if each["search"] == "sample"]
    assert (run["temperature"], run["topK"], run["topP"]) == (0.5, None, 0.9)
    assert figure.translation == run["steps"][-1]["finished"][0]["text"]
    (found,) = figure.hypotheses  # one line has nothing to rank
    assert found.score == found.log_probability


def test_what_cannot_be_searched_is_refused(translator):
    with pytest.raises(ValueError, match="beam_size=0 must be at least 1"):
        Decoding(beam_size=0)
    with pytest.raises(traitlets.TraitError, match="beam_size"):
        Decoding(beam_size=7)  # more than the figure has room for
    with pytest.raises(ValueError, match="nothing to translate"):
        Decoding("  ")


def test_it_begins_at_the_first_step_and_its_words_tell_the_end():
    figure = Decoding("A dog runs.")
    assert figure.step == 0 and figure.translation is None
    german = figure.translator.translate("A dog runs.")
    steps = figure.found["steps"]
    wanted = f"“A dog runs.” becomes “{german}” by beam search, in {steps} steps."
    assert repr(figure) == wanted
