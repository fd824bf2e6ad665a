"""The Python side of the heads' figure, and its own maths in Node."""

import itertools
import random

import pytest
import torch
import traitlets
from torch.testing import assert_close

from tformer.analysis import trace
from tformer.tokenization import Tokenizer
from tformer.translator import Translator
from tformer_book.widgets import Heads
from tformer_book.widgets._model import RUNNING
from tformer_book.widgets.heads import damage, recorded_damage

MATHS = "heads/maths.js"

RECORDED = 1 / 510 + 1e-6  # one byte for each weight


@pytest.fixture(scope="module")
def translator(page_translator):
    return page_translator


@pytest.fixture(scope="module")
def figure():
    return Heads()


@pytest.fixture(autouse=True)
def as_at_first(figure):
    figure.set_trait("site", "cross")
    figure.layer, figure.head, figure.compare, figure.knocked_out = 2, 0, "alone", []


def test_the_map_in_large_is_the_translators(figure, translator):
    maps = translator.attention(RUNNING)
    assert_close(figure.weights, maps.cross[2, 0], rtol=0, atol=0)
    figure.site, figure.layer, figure.head = "encoder", 1, 5
    assert_close(figure.weights, maps.encoder[1, 5], rtol=0, atol=0)
    figure.head = None
    assert_close(figure.weights, maps.encoder[1].mean(0))
    figure.compare, figure.other = "difference", [0, 2]
    assert_close(figure.weights, maps.encoder[1].mean(0) - maps.encoder[0, 2])


def test_the_sentence_on_the_screen_is_the_one_python_looks_at(figure, translator):
    text = "A man sleeps."
    figure.text = text
    assert_close(figure.weights, translator.attention(text).cross[2, 0])
    figure.text = RUNNING
    assert figure.attention.translation == translator.translate(RUNNING)


def test_python_says_what_the_model_says_without_the_heads(figure, translator):
    assert figure.translation == translator.translate(RUNNING)
    heads = list(itertools.product(["cross"], range(3), range(6)))
    figure.knocked_out = heads
    with trace.head_gains(translator.model, dict.fromkeys(heads, 0.0)):
        without = translator.translate(RUNNING)
    assert figure.translation == without != translator.translate(RUNNING)
    assert figure.attention.translation == translator.translate(RUNNING)


def test_a_knock_out_that_is_given_is_recorded(translator):
    out = [("encoder", 0, 2), ("cross", 2, 3)]
    knocked = Heads(knocked_out=out, layer=0).example["knocked"]
    german = translator.translate(RUNNING)
    before = translator.score(RUNNING, german).log_probability
    with trace.head_gains(translator.model, dict.fromkeys(out, 0.0)):
        assert knocked["translation"] == translator.translate(RUNNING)
        after = translator.score(RUNNING, german).log_probability
    assert knocked["heads"] == [list(each) for each in out]
    assert [knocked["before"], knocked["after"]] == pytest.approx([before, after])
    assert "knocked" not in Heads().example


def test_the_map_of_damage_is_the_fall_of_log_p_without_each_head(figure, translator):
    german = translator.translate(RUNNING)
    whole = translator.score(RUNNING, german)
    sizes = {site: tuple(each.shape) for site, each in figure.damage.items()}
    assert sizes == dict.fromkeys(("encoder", "decoder", "cross"), (3, 6))
    for head in [("encoder", 0, 5), ("decoder", 2, 1), ("cross", 1, 4)]:
        with trace.head_gains(translator.model, {head: 0.0}):
            without = translator.score(RUNNING, german).log_probability
        fall = (whole.log_probability - without) / len(whole.pieces)
        site, layer, number = head
        assert figure.damage[site][layer, number].item() == pytest.approx(
            fall, abs=1e-4
        )


def test_the_page_and_python_draw_the_same_map_of_damage(js, figure):
    found = js(MATHS, "falls(given)", figure.example["damage"])
    for site, each in figure.damage.items():
        assert_close(torch.tensor(found[site]), each, rtol=0, atol=1e-6)


def test_small_falls_do_not_look_like_large_ones(js):
    found = js(
        MATHS,
        "given.map((each) => largestFall(each))",
        [{"cross": [[0.5, -2]], "encoder": [[0.1, 0.2]]}, {"cross": [[1e-4]]}, {}],
    )
    assert found == [0.5, 0.01, 0.01]


def test_a_fall_fits_its_cell_without_the_zero_before_the_point(js):
    found = js(
        "kit/numbers.js", "given.map(brief)", [0.52, -0.52, 10.52, -20.05, 0, 100.25]
    )
    assert found == [".52", "−.52", "10.52", "−20.05", ".00", "100.25"]


def test_heads_that_are_out_are_listed_layer_by_layer(js):
    said = js(
        MATHS,
        "given.map((each) => listed(each, 3))",
        [
            [["cross", 1, 2], ["cross", 1, 0], ["encoder", 0, 1]],
            [["cross", 0, head] for head in range(3)],
        ],
    )
    assert said == ["cross layer 1: 0, 2; encoder layer 0: 1", "cross layer 0: all"]


def test_without_scripts_a_reader_is_told_where_the_model_looks_and_what_matters(
    figure,
):
    said = repr(figure)
    assert f"“{RUNNING}” becomes “{figure.attention.translation}”" in said
    best, at = figure.attention.cross[-1].mean(0).max(-1)
    piece = figure.attention.source_pieces[at[1]].replace("▁", "")
    assert f"Hund ← {piece} {best[1]:.2f}" in said
    worst = max(each.max().item() for each in figure.damage.values())
    assert f"falls by {worst:.2f} nats a piece" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"layer": 3}, "there is no layer 3 in 'cross': the model has 3"),
        ({"layer": -1}, "layer -1"),
        ({"head": 6}, "there is no head 6 in 'cross': the model has 6"),
        ({"site": "middle"}, "'encoder', 'decoder', 'cross'"),
        ({"other": [0]}, r"give \[layer, head\]"),
        ({"other": [0, 9]}, "head 9"),
        ({"knocked_out": [("cross", 1)]}, r"give \(site, layer, head\)"),
        ({"knocked_out": [("cross", 1, 9)]}, "head 9"),
        ({"knocked_out": [("middle", 1, 0)]}, "encoder, decoder, cross"),
        ({"compare": "both"}, "'alone', 'beside', 'difference'"),
    ],
)
def test_what_is_not_there_is_refused_in_words(figure, change, said):
    [(name, value)] = change.items()
    with pytest.raises(traitlets.TraitError, match=said):
        setattr(figure, name, value)
    with pytest.raises(traitlets.TraitError, match=said):
        Heads(**change)


def test_a_model_of_ones_own_is_shown_with_its_own_depth(make_model):
    sentences = ["Two dogs run.", "Zwei Hunde rennen.", "A dog."] * 5
    tokenizer = Tokenizer.train(sentences, 290, algorithm="bpe")
    sizes = {"n_encoder_layers": 1, "n_decoder_layers": 3, "max_len": 40}
    model = make_model(vocab_size=290, **sizes)
    figure = Heads("Two dogs.", site="encoder", translator=Translator(model, tokenizer))
    assert figure.layer == 0
    assert figure.model_key == ""
    assert figure.weights.shape == (len(figure.attention.source_pieces),) * 2
    with pytest.raises(traitlets.TraitError, match="layer 1 in 'encoder'"):
        figure.layer = 1
    figure.site = "cross"
    figure.layer = 2


def test_a_translation_that_cannot_be_scored_has_no_map_of_damage(translator):
    endless = "Der Hund " * translator.model.config.max_len
    assert recorded_damage(translator, RUNNING, endless) == {}
    with pytest.raises(ValueError, match="more pieces than"):
        damage(translator, RUNNING, endless)
    assert recorded_damage(translator, RUNNING, "")["pieces"] == 1  # the end alone


SIGNS = {"<s>": "⟨bos⟩", "</s>": "⟨eos⟩"}


def test_the_page_takes_the_same_map_out_of_all_weights(node, figure, translator):
    maps = translator.attention(RUNNING)
    script = """
    import { headMap, axes } from "./heads/weights.js";
    import { unpack } from "./kit/model.js";
    const maps = unpack(given);
    const heads = [0, 3, 5, null];
    console.log(JSON.stringify(["encoder", "decoder", "cross"].map((site) =>
      ({ ...axes(maps, site), maps: [0, 1, 2].map((layer) =>
         heads.map((head) => headMap(maps, site, layer, head))) }))));"""
    found = node(script, figure.example)
    axes = {
        "encoder": (maps.source_pieces, maps.source_pieces, []),
        "decoder": (maps.target_pieces, maps.target_pieces, maps.predicted_pieces),
        "cross": (maps.target_pieces, maps.source_pieces, maps.predicted_pieces),
    }
    for site, each in zip(axes, found, strict=True):
        for key, pieces in zip(
            ("rows", "columns", "predicted"), axes[site], strict=True
        ):
            assert each[key] == [SIGNS.get(piece, piece) for piece in pieces]
        weights = getattr(maps, site)
        wanted = torch.cat([weights[:, [0, 3, 5]], weights.mean(1, keepdim=True)], 1)
        assert_close(torch.tensor(each["maps"]), wanted, rtol=0, atol=RECORDED)


def test_changed_words_are_those_outside_a_longest_common_part(js):
    draw = random.Random(0)
    pairs = [[" ".join(draw.choices("abcde", k=draw.randint(0, 7))) for _ in range(2)]
             for _ in range(60)]  # fmt: skip
    pairs += [["Der Hund ist müde .", "Der Hund war müde ."], ["a b", "a b"], ["", ""]]
    found = js("kit/words.js", "given.map(([a, b]) => changedWords(a, b))", pairs)

    def common(a, b):
        table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
        for i, j in itertools.product(range(len(a)), range(len(b))):
            longer = max(table[i][j + 1], table[i + 1][j])
            table[i + 1][j + 1] = table[i][j] + 1 if a[i] == b[j] else longer
        return table[-1][-1]

    for (before, after), (left, right) in zip(pairs, found, strict=True):
        assert [word for word, _ in left] == before.split()
        assert [word for word, _ in right] == after.split()
        same = [word for word, changed in left if not changed]
        assert same == [word for word, changed in right if not changed]
        assert len(same) == common(before.split(), after.split())
    assert found[-3][0] == [["Der", False], ["Hund", False], ["ist", True],
                            ["müde", False], [".", False]]  # fmt: skip


def test_how_much_less_probable_is_said_in_words(js):
    said = js(
        MATHS,
        "given.map(([a, b]) => lessProbable(a, b))",
        [[-3, -3.01], [-3, -4], [-3, -9], [-9, -3], [-1, -20]],
    )
    assert said == [
        "about as probable as before",
        "2.7 times less probable than before",
        "403 times less probable than before",
        "403 times more probable than before",
        "10^8 times less probable than before",
    ]


def test_the_strongest_keys_come_first_and_those_that_round_to_zero_not_at_all(js):
    found = js(
        "heads/weights.js",
        "given.map((row) => strongest(row))",
        [[0.1, 0.004, 0.6, 0.296], [-0.5, 0.2, 0.3, -0.4], [0.001]],
    )
    assert found == [
        [[2, 0.6], [3, 0.296], [0, 0.1]],
        [[0, -0.5], [3, -0.4], [2, 0.3]],
        [],
    ]


def test_the_recorded_example_is_small(figure):
    state = figure.get_state("example")["example"]
    assert sum(len(state[site]["bytes"]) for site in trace.SITES) < 20_000
