"""The journey of a sentence: what the engine tells, and what the stops say."""

import json

import pytest
import torch
from torch.testing import assert_close

from tformer import Transformer, TransformerConfig
from tformer.tokenization import Tokenizer
from tformer.translator import Translator
from tformer_book.press.chapters import ROOT, keys, read, source
from tformer_book.widgets import Journey
from tformer_book.widgets._model import FILES, page_model
from tformer_book.widgets.journey import LONGEST, OPENING, STOPS, journey

ADDRESS = "journey/address.js"

GERMAN = "Meine Eltern wollen ihr altes Haus verkaufen."
TEXTS = [OPENING, "A dog runs.", "Nein!", "Zwei Straßen & 3 cafés 😀"]
TELL = """
import { loadPretrained } from "./engine/pretrained.js";
const { folder, texts, longest } = given;
const read = (name) => new Uint8Array(readFileSync(`${folder}/${name}`)).buffer;
const weights = read("model.safetensors"), tokenizer = read("tokenizer.model");
const translator = await loadPretrained({ weights, tokenizer });
const journeys = texts.map((text) => translator.journey(text, { maxLen: longest }));
const plain = (_, each) => (each instanceof Float32Array ? [...each] : each);
"""


@pytest.fixture(scope="module")
def translator(page_translator):
    return page_translator


@pytest.fixture(scope="module")
def recorded(translator):
    return [journey(translator, text) for text in TEXTS]


@pytest.fixture(scope="module")
def tell(node):
    """``tell(folder, texts)``: the engine's journeys with the model of a folder."""

    def tell(folder, texts):
        given = {"folder": str(folder), "texts": texts, "longest": LONGEST}
        return node(TELL + "console.log(JSON.stringify(journeys, plain));", given)

    return tell


def agree(mine, theirs, *, logit=1e-3, probability=1e-4):
    """Compare what the engine tells with what PyTorch computed."""
    assert mine.keys() == theirs.keys()
    for name, value in theirs.items():
        if isinstance(value, torch.Tensor):
            numbers = torch.tensor(mine[name]["data"]).view(mine[name]["shape"])
            assert_close(numbers, value.float().cpu(), rtol=1e-4, atol=1e-3)
        elif name == "layers":
            for one, other in zip(mine[name], value, strict=True):
                agree(one, other, logit=logit, probability=probability)
        elif name == "next":
            for one, other in zip(mine[name], value, strict=True):
                assert one[0]["piece"] == other[0]["piece"]
                for key, tolerance in (("logit", logit), ("probability", probability)):
                    assert [each[key] for each in one] == pytest.approx(
                        [each[key] for each in other], abs=tolerance
                    )
        elif name != "config":
            assert mine[name] == value, name


def test_the_engine_tells_at_every_stop_what_pytorch_computes(
    recorded, tell, unpacked_folder
):
    for mine, theirs in zip(tell(unpacked_folder, TEXTS), recorded, strict=True):
        agree(mine, theirs)


def test_in_eight_bits_it_tells_nearly_the_same(recorded, tell, page_folder):
    # The engine rounds what it multiplies by a matrix of eight bits, PyTorch doesn't.
    for mine, theirs in zip(tell(page_folder, TEXTS), recorded, strict=True):
        agree(mine, theirs, logit=2e-3, probability=5e-4)


def test_a_model_of_ones_own_may_be_post_norm(tell, tmp_path):
    tokenizer = Tokenizer.train(["A dog.", "Ein Hund."] * 3, 280, algorithm="bpe")
    torch.manual_seed(0)
    config = TransformerConfig(
        280, d_model=16, n_heads=2, d_ff=32, norm="post", activation="gelu"
    )
    own = page_model(Translator(Transformer(config).eval(), tokenizer))
    for name in FILES:
        (tmp_path / name).write_bytes(own.files[name])
    theirs = journey(own.translator, "A dog.")
    agree(tell(tmp_path, ["A dog."])[0], theirs)
    assert len(theirs["targetPieces"]) <= LONGEST


def test_the_opening_sentence_is_translated_rightly(recorded, translator):
    assert recorded[0]["translation"] == GERMAN
    assert translator.translate(OPENING) == GERMAN


def test_what_the_page_invites_to_try_is_there_to_be_seen(recorded):
    across = recorded[0]["cross"][-1].mean(0)
    for so_far, looked_at in ((5, "▁house"), (7, "▁sell")):
        piece = recorded[0]["sourcePieces"][int(across[so_far].argmax())]
        assert piece == looked_at
    assert recorded[0]["targetPieces"][5:7] == ["▁alte", "s"]


def test_a_recorded_number_is_off_by_half_of_its_last_place_at_most(node):
    figure = Journey()
    script = """
    import { unpack } from "./journey/facts.js";
    const { start, said, layers, config } = unpack(given);
    const plain = (_, each) => (each instanceof Float32Array ? [...each] : each);
    const found = { start, said, hidden: layers[2].hidden, config };
    console.log(JSON.stringify(found, plain));
    """
    read = node(script, figure.example)
    states = figure.states
    assert read["config"] == states["config"]
    pairs = (("start", states), ("said", states), ("hidden", states["layers"][2]))
    for name, theirs in pairs:
        numbers = torch.tensor(read[name]["data"]).view(read[name]["shape"])
        half = theirs[name].abs().max().item() / 32767 / 2
        assert_close(numbers, theirs[name].cpu(), rtol=0, atol=1.01 * half)


@pytest.fixture(scope="module")
def shown(node, page_folder):
    """What the stops make of the sentences, at usual and at unusual places."""
    script = """
    const { STATE } = await import("./journey/address.js");
    const { STOPS } = await import("./journey/stops.js");
    const facts = await import("./journey/facts.js");
    const softmax = (row) => {
      const all = row.map(Math.exp);
      const total = all.reduce((a, b) => a + b);
      return all.map((each) => each / total);
    };
    const asked = [{}, { piece: 0, layer: 2, head: 5, step: 0, across: 0 },
      { piece: 99, layer: 99, head: 99, step: 99, across: 99 }];
    console.log(JSON.stringify(journeys.map((journey, i) => {
      const all = [0, 1, 2].flatMap((layer) => [0, 5].map((head) => {
        const { value, mixed } = journey.layers[layer];
        const weights = facts.weightsOf(journey, layer, head);
        const part = (each) => facts.partOf(each, head, journey.config.n_heads);
        const values = facts.rows(value).map(part);
        return {
          weights, normed: facts.scoresOf(journey, layer, head).map(softmax),
          sums: weights.map((row) => [...values[0]].map((_, c) =>
            row.reduce((sum, w, j) => sum + w * values[j][c], 0))),
          mixed: facts.rows(mixed).map((each) => [...part(each)]),
        };
      }));
      const said = asked.map((each) => {
        const state = facts.fit({ ...STATE, ...each }, journey, texts[i], STOPS.length);
        return STOPS.map((stop) =>
          [stop.text(journey, state).join(""), stop.shape(journey, state)]);
      });
      return { all, texts: said, turned: facts.turned(journey),
        predicted: facts.predicted(journey), ended: facts.hasEnded(journey) };
    }), plain));"""
    given = {"folder": str(page_folder), "texts": TEXTS, "longest": LONGEST}
    return node(TELL + script, given)


def test_a_softmax_of_the_scores_shown_gives_the_weights_shown(shown):
    for each in shown:
        for head in each["all"]:
            assert_close(
                torch.tensor(head["normed"]),
                torch.tensor(head["weights"]),
                rtol=0,
                atol=1e-5,
            )


def test_the_values_shown_times_their_weights_make_the_mix_shown(shown):
    for each in shown:
        for head in each["all"]:
            assert_close(
                torch.tensor(head["sums"]),
                torch.tensor(head["mixed"]),
                rtol=0,
                atol=1e-4,
            )


def test_the_parts_of_a_sum_shown_make_the_sum(recorded):
    for states in recorded:
        before = states["start"]
        for layer in states["layers"]:
            total = before + layer["attended"] + layer["fed"]
            assert_close(layer["after"], total, rtol=0, atol=1e-4)
            before = layer["after"]


def test_the_angles_shown_are_pytorchs(shown, recorded):
    for each, states in zip(shown, recorded, strict=True):
        ends = states["layers"][-1]["after"]
        cosines = torch.cosine_similarity(states["start"], ends, dim=-1)
        mine = torch.tensor([angles[-1] for angles in each["turned"]])
        assert_close(mine, torch.rad2deg(cosines.acos()), rtol=0, atol=0.01)


def test_each_piece_that_is_appended_was_the_best_one(shown, recorded):
    for each, states in zip(shown, recorded, strict=True):
        assert each["predicted"][:-1] == states["targetPieces"][1:]
        assert each["ended"] == (each["predicted"][-1] == "</s>")


def test_every_stop_says_something_about_every_sentence(shown):
    for each in shown:
        for place in each["texts"]:
            assert len(place) == STOPS
            for text, shape in place:
                assert 200 < len(text) < 620, text
                assert shape
                for slip in ("undefined", "NaN", "null", "[object", "““", "”“"):
                    assert slip not in text + shape


def test_the_texts_speak_of_the_readers_own_pieces_and_numbers(shown, recorded):
    usual = [text for text, _ in shown[0]["texts"][0]]
    house = recorded[0]["sourcePieces"].index("▁house")
    assert f"number {recorded[0]['sourceIds'][house]} of 6,000" in usual[2]
    weights = recorded[0]["encoder"][0][0][house]
    assert f"with weight {weights.max():.2f}" in usual[5]
    assert "“house” looks most at “old”" in usual[5]
    hidden = recorded[0]["layers"][0]["hidden"][house]
    assert f"{int((hidden > 0).sum())} of the 768" in usual[8]
    assert "looks most at “sell”" in usual[11]
    best = recorded[0]["next"][7][0]
    assert f"“verkaufen” comes first with {100 * best['probability']:.1f}" in usual[12]
    assert "byte by byte" in shown[3]["texts"][0][1][0]
    assert "in the 1st place" in shown[0]["texts"][1][4][0]


@pytest.mark.parametrize(
    ("hash", "found"),
    [
        ("", None),
        ("#what-to-try", None),
        ("#stop=6", {"stop": 6}),
        ("#stop=6&text=A+dog+runs.", {"stop": 6, "text": "A dog runs."}),
        ("#text=A+dog", {"text": "A dog"}),
        ("#stop=99", {"stop": 15}),
        ("#stop=-1&text=+", {"stop": 1}),
        ("#stop=x", None),
        ("#stop=6&layer=1&head=4", {"stop": 6, "layer": 1, "head": 4}),
        (
            "#stop=12&step=0&across=2&piece=3",
            {"stop": 12, "step": 0, "across": 2, "piece": 3},
        ),
        ("#stop=6&layer=-1&head=x&step=-2&piece=Infinity", {"stop": 6}),
    ],
)
def test_an_address_names_stop_place_and_sentence(js, hash, found):
    usual = {
        "stop": 1, "text": "", "piece": -1, "layer": 0, "head": 0, "step": -1,
        "across": -1,
    }  # fmt: skip
    assert js(ADDRESS, "ofHash(given, 15)", hash) == (
        found if found is None else usual | found
    )


def test_an_address_keeps_stop_and_sentence(node):
    script = (
        "import { ofHash, toHash } from './journey/address.js';"
        "const both = (text) => [toHash({ stop: 3, text }, given[0]),"
        " ofHash(toHash({ stop: 3, text }), 15)];"
        "console.log(JSON.stringify(given.map(both)))"
    )
    texts = ["a", "50 % & more = #1 + “ü” 日本 😀?"]
    first, second = node(script, texts)
    assert first[0] == "#stop=3"
    assert second[0].isascii()
    assert (second[1]["stop"], second[1]["text"]) == (3, texts[1])


def test_an_address_keeps_the_head_and_all_that_differs_from_the_beginning(node):
    script = (
        "import { ofHash, STATE, toHash } from './journey/address.js';"
        "console.log(JSON.stringify(given.map((each) => {"
        " const hash = toHash({ ...STATE, text: '', ...each }, '');"
        " return [hash, ofHash(hash, 15)]; })))"
    )
    states = [{"stop": 6, "layer": 2, "head": 5}, {"stop": 12, "step": 0, "across": 1}]
    for state, (hash, found) in zip(states, node(script, states), strict=True):
        assert found | state == found
        assert hash == "#" + "&".join(f"{k}={v}" for k, v in state.items())


def test_each_stop_names_the_chapter_that_it_leads_to(js):
    stops = js("journey/stops.js", "STOPS.map(({ title, book }) =>[title, ...book])")
    page = read(keys()["journey"])
    table = next(source(cell) for cell in page["cells"] if cell["id"] == "stops")
    assert len(stops) == STOPS
    for number, (title, name, heading_shown) in enumerate(stops, start=1):
        file = f"{name}.ipynb"
        chapter = read(ROOT / "book" / file)
        heading = source(chapter["cells"][0]).splitlines()[0].removeprefix("# ")
        assert heading_shown == heading
        assert f"| {number} | {title} |" in table
        row = next(row for row in table.splitlines() if row.startswith(f"| {number} "))
        assert f"[{heading}]({file})" in row


def test_python_and_the_page_agree_on_what_is_usual(js):
    state = js(ADDRESS, "STATE")
    figure = Journey()
    assert state == {name: getattr(figure, name) for name in state}
    assert json.loads(json.dumps(figure.example)) == figure.example
