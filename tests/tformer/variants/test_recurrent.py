"""The recurrent model: its formula, and that everything works on it unchanged."""

from __future__ import annotations

import dataclasses
import functools
import json
import random

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from tformer import Transformer, decode, load_pretrained, masks, train
from tformer.analysis import trace
from tformer.common.files import load_tensors, save_tensors
from tformer.config import TransformerConfig
from tformer.data import Corpus
from tformer.loss import cross_entropy
from tformer.translator import Translator
from tformer.translator.weights import build
from tformer.variants.recurrent import RecurrentConfig, RecurrentSeq2Seq

SMALL = {"vocab_size": 13, "d_model": 6, "d_hidden": 5, "dropout": 0.0, "max_len": 16}


def config(**changes) -> RecurrentConfig:
    return RecurrentConfig(**(SMALL | changes))


@pytest.fixture
def model(randomise) -> RecurrentSeq2Seq:
    return randomise(RecurrentSeq2Seq(config())).double().eval()


# What it computes


def test_every_step_is_the_papers_formula(model, random_ids):
    """Looks with the state before, then remembers, then speaks."""
    source_ids, target_ids = random_ids([5]), random_ids([4], seed=1)
    table = model.output_embedding.weight
    memory = model.encode(source_ids)
    state = torch.tanh(model.to_state(memory[:, 0, 5:]))
    expected = []
    for piece in target_ids[0].tolist():
        y = table[piece][None] * 6**0.5
        context = model.attention(state[:, None], memory)[:, 0]
        gates_x = model.decoder.weight_ih @ torch.cat([y, context], -1)[0]
        gates_x = (gates_x + model.decoder.bias_ih).chunk(3)
        gates_s = model.decoder.weight_hh @ state[0] + model.decoder.bias_hh
        gates_s = gates_s.chunk(3)
        reset, update = (torch.sigmoid(gates_x[i] + gates_s[i]) for i in (0, 1))
        new = torch.tanh(gates_x[2] + reset * gates_s[2])
        state = ((1 - update) * new + update * state[0])[None]
        spoken = torch.tanh(model.to_output(torch.cat([state, context, y], -1)))
        expected.append(spoken @ table.T)
    assert_close(model(source_ids, target_ids), torch.stack(expected, dim=1))


def test_the_memory_is_the_source_read_from_both_ends(model, random_ids):
    source_ids = random_ids([5])
    x = model.output_embedding(source_ids)
    both, _ = model.encoder(x)
    assert_close(model.encode(source_ids), both)
    changed = source_ids.clone()
    changed[0, 2] = 4 + (source_ids[0, 2] - 3) % 9
    same = (model.encode(changed) == model.encode(source_ids)).all(dim=-1)[0]
    assert not same.any()  # every position has read the third piece, from one side
    forward = (model.encode(changed) == both)[0, :, :5].all(dim=-1)
    backward = (model.encode(changed) == both)[0, :, 5:].all(dim=-1)
    assert forward.tolist() == [True, True, False, False, False]
    assert backward.tolist() == [False, False, False, True, True]


def test_it_looks_at_the_source_once_for_each_position(model, random_ids):
    source_ids, target_ids = random_ids([5, 3]), random_ids([4, 4], seed=1)
    with trace.watch(model, "attention.weights") as seen:
        model(source_ids, target_ids)
    weights = torch.cat(seen["attention.weights"], dim=-2)
    assert weights.shape == (2, 1, 4, 5)
    assert_close(weights.sum(-1), torch.ones(2, 1, 4).double())
    assert (weights[1, :, :, 3:] == 0).all() and (weights[0] > 0).all()


def test_padding_changes_nothing(model, random_ids):
    source_ids, target_ids = random_ids([7, 4, 2]), random_ids([6, 3, 5], seed=1)
    together = model(source_ids, target_ids)
    for row, (n_source, n_target) in enumerate([(7, 6), (4, 3), (2, 5)]):
        source, target = source_ids[row, :n_source], target_ids[row, :n_target]
        assert_close(model(source[None], target[None])[0], together[row, :n_target])
        more = F.pad(source, (0, 9 - n_source))[None]
        assert_close(model(more, target[None])[0], together[row, :n_target])
        wider = F.pad(source, (0, 9 - n_source), value=5)[None]  # it can fail
        assert not torch.allclose(model(wider, target[None]), model(more, target[None]))


def test_the_future_cannot_change_the_past(model, random_ids):
    source_ids, target_ids = random_ids([5]), random_ids([6], seed=1)
    before = model(source_ids, target_ids)
    target_ids[0, 4:] = 4
    after = model(source_ids, target_ids)
    assert_close(after[:, :4], before[:, :4], rtol=0, atol=0)
    assert not torch.allclose(after[:, 4:], before[:, 4:])


def test_dropout_acts_in_training_only(random_ids):
    model = RecurrentSeq2Seq(config(dropout=0.5))
    source_ids, target_ids = random_ids([5]), random_ids([4], seed=1)
    assert not torch.equal(*(model(source_ids, target_ids) for _ in range(2)))
    model.eval()
    assert torch.equal(*(model(source_ids, target_ids) for _ in range(2)))


def test_every_parameter_takes_part(model, random_ids):
    model(random_ids([5, 3]), random_ids([4, 4], seed=1)).square().mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    assert model.n_parameters() == sum(p.numel() for p in model.parameters())


# Decoding works on it as it is


@pytest.fixture(scope="module")
def reverser() -> RecurrentSeq2Seq:
    """Has learned to say up to five pieces backwards, on sentences of a small world."""
    torch.manual_seed(0)
    model = RecurrentSeq2Seq(config(d_model=32, d_hidden=32))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(160):
        source_ids, target_ids, labels = reversals(32, seed=step)
        loss = cross_entropy(model(source_ids, target_ids), labels, pad_id=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def reversals(n: int, seed: int):
    """(B, S) pieces + eos, (B, T) bos + reversed pieces, labels."""
    draw = random.Random(seed)
    rows = [[draw.randint(4, 12) for _ in range(draw.randint(1, 5))] for _ in range(n)]

    def padded(rows):
        width = max(map(len, rows))
        return torch.tensor([row + [0] * (width - len(row)) for row in rows])

    return (
        padded([[*row, 2] for row in rows]),
        padded([[1, *row[::-1]] for row in rows]),
        padded([[*row[::-1], 2] for row in rows]),
    )


HOT = functools.partial(decode.sample, temperature=2.0)


@pytest.mark.parametrize(
    "way", [decode.greedy, decode.beam_search, HOT], ids=["greedy", "beam", "sample"]
)
def test_with_and_without_a_cache_it_says_the_same(way, reverser):
    source_ids, _, _ = reversals(20, seed=999)
    with_cache = way(reverser, source_ids, max_len=8)
    assert with_cache == way(reverser, source_ids, max_len=8, use_cache=False)
    assert len({str(each) for each in with_cache}) > 10


def test_it_learns_to_reverse_sentences_it_never_saw(reverser):
    source_ids, _, labels = reversals(100, seed=12345)
    wanted = [[i for i in row if i > 3] for row in labels.tolist()]
    said = decode.greedy(reverser, source_ids, max_len=8)
    assert sum(map(list.__eq__, said, wanted)) >= 90


def test_step_by_step_with_a_cache_is_one_pass(model, random_ids):
    source_ids, target_ids = random_ids([5, 3]), random_ids([6, 6], seed=1)
    memory = model.encode(source_ids)
    source_mask = masks.source_mask(source_ids, 0)
    whole = model.decode(target_ids, memory, source_mask)
    cache = model.new_cache()
    for t in range(6):
        assert cache.length == t
        column = model.decode(target_ids[:, t : t + 1], memory, source_mask, cache)
        assert_close(column, whole[:, t : t + 1])


def test_a_cache_follows_the_rows_that_are_kept(model, random_ids):
    source_ids, target_ids = random_ids([5, 3, 4]), random_ids([2, 2, 2], seed=1)
    memory, mask = model.encode(source_ids), masks.source_mask(source_ids, 0)
    whole = model.decode(target_ids, memory, mask)
    cache = model.new_cache()
    cache.select(torch.tensor([0, 1, 2]))  # an empty one has nothing to keep
    model.decode(target_ids[:, :1], memory, mask, cache)
    rows = torch.tensor([2, 0, 2])
    cache.select(rows)
    last = model.decode(target_ids[rows, 1:], memory[rows], mask[rows], cache)
    assert_close(last, whole[rows, 1:])


def test_a_given_translation_is_scored_as_the_search_scored_it(reverser):
    source_ids, _, _ = reversals(5, seed=7)
    found = decode.n_best(reverser, source_ids, max_len=8)
    given = decode.score(reverser, source_ids, [row[0].ids for row in found])
    for hypotheses, scored in zip(found, given, strict=True):
        assert abs(scored.log_probability - hypotheses[0].log_probability) < 1e-4


# Training, keeping, loading


WORDS = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht"]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    draw = random.Random(7)
    lines = [" ".join(draw.choices(WORDS, k=draw.randint(1, 4))) for _ in range(300)]
    pairs = [(line, " ".join(line.split()[::-1])) for line in dict.fromkeys(lines)]
    return Corpus("words", pairs[20:], pairs[:20], {"test": pairs[:20]})


SIZES = {"vocab_size": 280, "d_model": 16, "d_hidden": 16, "max_len": 32}
RECIPE = train.Recipe(max_tokens=256, warmup_steps=20, eval_every=10)


def fit(corpus, folder, steps, config=RecurrentConfig(**SIZES)):  # noqa: B008
    options = {"device": "cpu", "recipe": RECIPE, "progress": "none"}
    return train.fit(config, corpus, steps=steps, folder=folder, **options)


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    return fit(corpus, tmp_path_factory.mktemp("run"), 30)


def test_a_run_trains_it_and_its_folder_loads_as_what_it_was(run, corpus):
    losses = [record["valid_loss"] for record in run.history]
    assert losses[-1] < losses[0]
    loaded = load_pretrained(run.folder)
    assert isinstance(loaded.model, RecurrentSeq2Seq)
    assert loaded.model.config == run.translator.model.config
    texts = [english for english, _ in corpus.valid]
    assert loaded.translate(texts) == run.translator.translate(texts)
    assert "encoder.weight_ih_l0_reverse" in dict(loaded.model.named_parameters())


def test_a_run_that_stopped_goes_on_to_the_same_numbers(run, corpus, tmp_path):
    fit(corpus, tmp_path, 20)
    again = fit(corpus, tmp_path, 30)
    assert again.report["valid_loss"] == run.report["valid_loss"]
    theirs = dict(run.translator.model.named_parameters())
    for name, parameter in again.translator.model.named_parameters():
        assert_close(parameter, theirs[name], rtol=0, atol=0)


def test_a_run_of_one_kind_is_not_continued_as_another(run, corpus):
    other = TransformerConfig(vocab_size=280, d_model=16, n_heads=2, max_len=32)
    with pytest.raises(ValueError, match="choose another folder"):
        fit(corpus, run.folder, 40, other)


def test_a_file_of_a_kind_we_do_not_have_is_refused(run, tmp_path):
    run.translator.save(tmp_path)
    file = tmp_path / "model.safetensors"
    weights, metadata = load_tensors(file)
    assert metadata["kind"] == "recurrent"
    save_tensors(file, weights, metadata | {"kind": "lstm"})
    with pytest.raises(ValueError, match="its kind is 'lstm'"):
        load_pretrained(tmp_path)


def test_a_file_from_before_there_were_kinds_is_a_transformer(run, tmp_path):
    small = TransformerConfig(vocab_size=280, d_model=8, n_heads=2, d_ff=8, max_len=32)
    tokenizer = run.translator.tokenizer
    Translator(Transformer(small), tokenizer).save(tmp_path)
    file = tmp_path / "model.safetensors"
    weights, metadata = load_tensors(file)
    del metadata["kind"], metadata["config"]["positions"]
    save_tensors(file, weights, metadata)
    loaded = load_pretrained(tmp_path)
    assert isinstance(loaded.model, Transformer)
    assert loaded.model.config == small


def test_attention_maps_of_layers_and_heads_are_a_transformers(run):
    with pytest.raises(TypeError, match="RecurrentSeq2Seq has no self-attention"):
        run.translator.attention("eins zwei")


def test_each_configuration_builds_its_own_kind():
    assert type(build(config())) is RecurrentSeq2Seq
    assert type(build(TransformerConfig(d_model=8, n_heads=2))) is Transformer
    with pytest.raises(TypeError, match="got {'d_model': 8}"):
        build({"d_model": 8})


# Errors


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"d_hidden": 0}, ValueError, "d_hidden=0 must be at least 1"),
        ({"d_model": 2.0}, TypeError, "d_model=2.0 must be an int"),
        ({"dropout": 1}, ValueError, r"dropout=1 must be in \[0, 1\)"),
        ({"eos_id": 1}, ValueError, "must be four different ids below vocab_size=13"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(changes, error, message):
    with pytest.raises(error, match=message):
        config(**changes)


def test_a_configuration_goes_through_json():
    fields = json.loads(json.dumps(config().to_dict()))
    assert RecurrentConfig.from_dict(fields) == config()
    with pytest.raises(ValueError, match="unknown configuration fields: n_heads"):
        RecurrentConfig.from_dict({"n_heads": 2})
    with pytest.raises(dataclasses.FrozenInstanceError):
        config().d_model = 3


@pytest.mark.parametrize(
    ("source", "target", "error", "message"),
    [
        ([[5.0]], [[1]], TypeError, "must be int64"),
        ([[5]], [[1], [1]], ValueError, "same batch size"),
        ([[5] * 17], [[1]], ValueError, "17 tokens are more than max_len=16"),
        ([[5]], [[1] * 17], ValueError, "17 tokens are more than max_len=16"),
        ([[13]], [[1]], ValueError, "token id 13 is outside the vocabulary"),
        ([[5, 5], [0, 0]], [[1], [1]], ValueError, "row 1 has no visible token"),
    ],
)
def test_ids_that_do_not_fit_are_refused(source, target, error, message, model):
    with pytest.raises(error, match=message):
        model(torch.tensor(source), torch.tensor(target))


def test_a_cache_takes_one_column_at_a_time(model, random_ids):
    memory, mask = model.encode(random_ids([3])), torch.ones(1, 1, 1, 3).bool()
    with pytest.raises(ValueError, match=r"one new column of ids at a time.*\(1, 2\)"):
        model.decode(random_ids([2]), memory, mask, model.new_cache())
