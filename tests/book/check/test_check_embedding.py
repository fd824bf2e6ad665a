"""Every mistake that the graders of chapter 03 know is made here on purpose."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tformer.embedding import ScaledEmbedding
from tformer_book import check

# --- one-hot ----------------------------------------------------------------------


def hot(ids, size):
    return (ids[..., None] == torch.arange(size)).float()


def filled_in_a_loop(ids, size):
    table = torch.zeros(len(ids), size)
    for t in range(len(ids)):
        table[t, int(ids[t])] = 1
    return table


def filled_in_a_loop_from_one(ids, size):
    table = torch.zeros(*ids.shape, size)
    return table.scatter_(-1, (ids - 1).clamp(min=-1)[..., None] % size, 1.0)


def half_of_the_ids(ids, size):
    return hot(ids, size) / 2


WRONG_ONE_HOT = {
    "returns-nothing": lambda ids, size: None,
    "signature": lambda ids: hot(ids, 6),
    "not-a-tensor": lambda ids, size: hot(ids, size).tolist(),
    "vocabulary-from-the-ids": lambda ids, size: F.one_hot(ids).float(),
    "not-floats": lambda ids, size: F.one_hot(ids, size),
    "ids-counted-from-one": filled_in_a_loop_from_one,
    "counts-instead-of-rows": lambda ids, size: hot(ids, size).sum(-2),
    "axes-swapped": lambda ids, size: hot(ids, size).mT,
    "the-id-instead-of-one": lambda ids, size: hot(ids, size) * ids[..., None],
    "thermometer": lambda ids, size: (torch.arange(size) <= ids[..., None]).float(),
    "upside-down": lambda ids, size: 1 - hot(ids, size),
    "one-sentence-only": filled_in_a_loop,
    "axes": lambda ids, size: hot(ids, size)[None],
    "wrong-numbers": half_of_the_ids,
    "stops-with-an-error": lambda ids, size: hot(ids, size) @ torch.ones(99, 2),
}


@pytest.mark.parametrize("name", WRONG_ONE_HOT)
def test_wrong_one_hot_vectors_are_named(name):
    assert check.one_hot(WRONG_ONE_HOT[name]).diagnosis == name


@pytest.mark.parametrize(
    ("name", "mine"),
    [
        ("counts-instead-of-rows", lambda ids, size: hot(ids, size).amax(-2)),
        ("ids-counted-from-one", lambda ids, size: hot((ids + 1) % size, size)),
    ],
)
def test_other_forms_of_a_wrong_one_hot_are_named_alike(name, mine):
    assert check.one_hot(mine).diagnosis == name


@pytest.mark.parametrize(
    "mine",
    [
        hot,
        lambda ids, size: torch.eye(size)[ids],
        lambda ids, size: F.one_hot(ids, size).float(),
        lambda ids, size: F.one_hot(ids, size).double(),
    ],
)
def test_right_one_hot_vectors_pass(mine):
    assert check.one_hot(mine)


# --- embedding --------------------------------------------------------------------


def embed(ids, table, positions):
    return table[ids] * math.sqrt(table.size(-1)) + positions[: ids.size(1)]


def scaled_in_place(ids, table, positions):
    table *= math.sqrt(table.size(-1))
    return table[ids] + positions[: ids.size(1)]


def with_padding_idx(ids, table, positions):
    rows = table[ids].clone()
    rows[ids == 0] = 0
    return rows * table.size(-1) ** 0.5 + positions[: ids.size(1)]


def by_sentence(ids, table, positions):
    return table[ids] * table.size(-1) ** 0.5 + positions[: len(ids), None]


def own_table(ids, table, positions):
    module = nn.Embedding.from_pretrained(table.detach())
    return module(ids) * table.size(-1) ** 0.5 + positions[: ids.size(1)]


def with_floats(ids, table, positions):
    return embed(ids.float(), table, positions)


def double_root(ids, table, positions):
    root = torch.tensor([table.size(-1)], dtype=torch.float64).sqrt()
    return table[ids] * root + positions[: ids.size(1)]


WRONG_EMBEDDING = {
    "returns-nothing": lambda ids, table, positions: None,
    "not-scaled": lambda i, table, p: table[i] + p[: i.size(1)],
    "divided": lambda i, table, p: table[i] / table.size(1) ** 0.5 + p[: i.size(1)],
    "scaled-after-adding": lambda i, table, p: (
        (table[i] + p[: i.size(1)]) * table.size(1) ** 0.5
    ),
    "positions-scaled-instead": lambda i, table, p: (
        table[i] + p[: i.size(1)] * table.size(1) ** 0.5
    ),
    "times-the-width": lambda i, table, p: table[i] * table.size(1) + p[: i.size(1)],
    "root-of-another-size": lambda i, table, p: (
        table[i] * i.size(1) ** 0.5 + p[: i.size(1)]
    ),
    "positions-forgotten": lambda i, table, p: table[i] * table.size(1) ** 0.5,
    "positions-from-one": lambda i, table, p: embed(i, table, p[1:]),
    "one-position-for-all": lambda i, table, p: embed(i, table, p[:1].expand(99, -1)),
    "position-of-the-sentence": by_sentence,
    "positions-by-id": lambda i, table, p: table[i] * table.size(1) ** 0.5 + p[i],
    "padding-zeroed": with_padding_idx,
    "normalised": lambda i, table, p: embed(i, F.normalize(table, dim=-1), p),
    "ids-counted-from-one": lambda i, table, p: embed(i - 1, table, p),
    "table-transposed": lambda i, table, p: table[:, i],
    "table-changed": scaled_in_place,
    "changes-inputs": lambda i, table, p: embed(i.clamp_(max=1), table, p),
    "batch-and-length-swapped": lambda i, table, p: embed(i, table, p).transpose(0, 1),
    "counts-instead-of-rows": lambda i, table, p: embed(i, table, p).sum(1),
    "all-positions": lambda i, table, p: table[i] * table.size(1) ** 0.5 + p,
    "ids-not-whole-numbers": with_floats,
    "dtype": double_root,
    "gradient-cut": own_table,
    "not-a-tensor": lambda i, table, p: embed(i, table, p).tolist(),
    "axes": lambda i, table, p: embed(i, table, p)[None],
    "not-finite": lambda i, table, p: embed(i, table, p) / 0,
    "wrong-numbers": lambda i, table, p: embed(i, table, p).tanh(),
}


@pytest.mark.parametrize("name", WRONG_EMBEDDING)
def test_a_wrong_embedding_is_named(name):
    assert check.embedding(WRONG_EMBEDDING[name]).diagnosis == name


@pytest.mark.parametrize(
    ("name", "mine"),
    [
        ("not-scaled", lambda i, table, p: table[i]),
        (
            "padding-zeroed",
            lambda i, table, p: embed(i, table, p) * (i != 0)[..., None],
        ),
        ("table-transposed", lambda i, table, p: embed(i, table.T, p)),
        (
            "table-transposed",
            lambda i, table, p: table[:, i] * table.size(1) ** 0.5 + p[: i.size(1)],
        ),
        (
            "root-of-another-size",
            lambda i, table, p: table[i] * len(table) ** 0.5 + p[: i.size(1)],
        ),
        ("gradient-cut", lambda i, table, p: embed(i, table.detach(), p)),
        ("gradient-cut", lambda i, table, p: embed(i, table.data, p)),
    ],
)
def test_other_forms_of_a_wrong_embedding_are_named_alike(name, mine):
    assert check.embedding(mine).diagnosis == name


def test_a_transposed_square_table_is_found_though_its_shapes_fit():
    def mine(ids, table, positions):
        square = table.size(0) == table.size(1)
        return embed(ids, table.T if square else table, positions)

    assert check.embedding(mine).diagnosis == "table-transposed"


def by_product(ids, table, positions):
    rows = hot(ids, len(table)) @ table
    return rows * table.size(-1) ** 0.5 + positions[: ids.size(1)]


def by_the_package(ids, table, positions):
    embedding = ScaledEmbedding(*table.shape)
    rows = F.embedding(ids, table) * embedding.scale
    return rows + positions[: ids.size(1)]


@pytest.mark.parametrize("mine", [embed, by_product, by_the_package])
def test_a_right_embedding_passes(mine):
    assert check.embedding(mine)


# --- the way out ------------------------------------------------------------------


def own_layer(hidden, table):
    layer = nn.Linear(table.size(1), table.size(0), bias=False)
    layer.weight = nn.Parameter(table.detach().clone())
    return layer(hidden)


def not_transposed_if_square(hidden, table):
    return hidden @ (table if table.size(0) == table.size(1) else table.T)


WRONG_LOGITS = {
    "returns-nothing": lambda hidden, table: None,
    "table-not-transposed": lambda hidden, table: hidden @ table,
    "scaled-on-the-way-out": lambda h, t: h @ t.T * t.size(1) ** 0.5,
    "divided-on-the-way-out": lambda h, t: h @ t.T / t.size(1) ** 0.5,
    "probabilities": lambda h, t: (h @ t.T).softmax(-1),
    "cosine": lambda h, t: F.normalize(h, dim=-1) @ F.normalize(t, dim=-1).T,
    "distance": lambda h, t: -torch.cdist(h, t.expand(len(h), -1, -1)),
    "the-best-piece-alone": lambda h, t: (h @ t.T).argmax(-1),
    "last-position-only": lambda h, t: (h @ t.T)[:, -1],
    "axes-swapped": lambda h, t: t @ h.mT,
    "gradient-cut": own_layer,
    "changes-inputs": lambda h, t: h.mul_(2) @ t.T,
    "not-a-tensor": lambda h, t: (h @ t.T).tolist(),
    "axes": lambda h, t: (h @ t.T).flatten(0, 1),
    "not-finite": lambda h, t: h @ t.T / 0,
    "wrong-numbers": lambda h, t: h @ t.T + 1,
    "stops-with-an-error": lambda h, t: h @ t.T @ {}["no"],
}


@pytest.mark.parametrize("name", WRONG_LOGITS)
def test_a_wrong_way_out_is_named(name):
    assert check.tied_logits(WRONG_LOGITS[name]).diagnosis == name


@pytest.mark.parametrize(
    ("name", "mine"),
    [
        ("table-not-transposed", not_transposed_if_square),
        ("table-not-transposed", lambda h, t: F.linear(h, t.T)),
        ("probabilities", lambda h, t: (h @ t.T).log_softmax(-1)),
        ("cosine", lambda h, t: h @ F.normalize(t, dim=-1).T),
        ("last-position-only", lambda h, t: (h @ t.T)[:, -1:]),
        ("gradient-cut", lambda h, t: h @ t.T.detach()),
        ("gradient-cut", lambda h, t: h.detach() @ t.T),
        ("gradient-cut", lambda h, t: (h @ t.T).detach()),
    ],
)
def test_other_forms_of_a_wrong_way_out_are_named_alike(name, mine):
    assert check.tied_logits(mine).diagnosis == name


@pytest.mark.parametrize(
    "mine",
    [
        lambda h, t: h @ t.T,
        F.linear,
        lambda h, t: torch.einsum("btd,vd->btv", h, t),
        lambda h, t: (h[..., None, :] * t).sum(-1),
    ],
)
def test_a_right_way_out_passes(mine):
    assert check.tied_logits(mine)


@pytest.mark.parametrize("grader", [check.one_hot, check.embedding, check.tied_logits])
def test_the_starting_stub_is_rejected_and_a_number_is_no_function(grader):
    def stub(*_):
        raise NotImplementedError

    assert grader(stub).diagnosis == "stub"
    assert grader(3).diagnosis == "not-a-function"
