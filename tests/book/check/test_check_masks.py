"""Every mistake that the graders of chapter 07 know is made here on purpose."""

import pytest
import torch

from tformer import masks
from tformer_book import check


def ones(length):
    return torch.ones(length, length, dtype=torch.bool)


CAUSAL = {
    "flipped": lambda length: ~ones(length).tril(),
    "sees-the-future": lambda length: ones(length).triu(),
    "sees-the-next": lambda length: ones(length).tril(1),
    "does-not-see-itself": lambda length: ones(length).tril(-1),
    "nothing-hidden": lambda length: ones(length),
    "only-itself": lambda length: torch.eye(length, dtype=torch.bool),
    "additive": lambda length: torch.full((length, length), float("-inf")).triu(1),
    "not-bool": lambda length: torch.ones(length, length).tril(),
    "not-a-tensor": lambda length: [[j <= i for j in range(9)] for i in range(9)],
    "length-ignored": lambda length: ones(5).tril(),
    "shape": lambda length: ones(length + 1).tril(),
    "wrong-cell": lambda length: ones(length).tril() & ~(ones(length).tril(-3)),
    "empty-row": lambda length: ones(length).tril() & (torch.arange(length) > 1),
}


@pytest.mark.parametrize("name", CAUSAL)
def test_a_wrong_causal_mask_is_named(name):
    result = check.causal_mask(CAUSAL[name])
    assert not result
    assert result.diagnosis == name


def test_copies_of_a_causal_mask_for_each_head_are_a_wrong_shape():
    result = check.causal_mask(lambda n: ones(n).tril().expand(8, n, n))
    assert result.diagnosis == "shape"
    assert "two axes broadcast" in result.message


def real(ids, pad_id):
    return (ids != pad_id)[:, None, None, :]


def square(ids, pad_id):
    return real(ids, pad_id).expand(-1, 1, ids.size(1), -1)


PADDING = {
    "flipped": lambda ids, pad_id: ~real(ids, pad_id),
    "nothing-hidden": lambda ids, pad_id: real(ids, -1),
    "pad-id-ignored": lambda ids, pad_id: real(ids, 0),
    "wrong-axis": lambda ids, pad_id: real(ids, pad_id).mT,
    "hides-queries": lambda ids, pad_id: real(ids, pad_id) & real(ids, pad_id).mT,
    "copied-for-queries": square,
    "copied-for-heads": lambda ids, pad_id: real(ids, pad_id).expand(-1, 8, -1, -1),
    "axes-missing": lambda ids, pad_id: ids != pad_id,
    "batch-in-the-heads": lambda ids, pad_id: real(ids, pad_id).transpose(0, 1),
    "batch-size-fixed": lambda ids, pad_id: real(ids, pad_id)[:1].expand(32, 1, 1, -1),
    "not-bool": lambda ids, pad_id: real(ids, pad_id).long(),
    "additive": lambda ids, pad_id: real(ids, pad_id).float().log(),
    "shape": lambda ids, pad_id: real(ids, pad_id).flatten(),
    "wrong-cell": lambda ids, pad_id: real(ids, pad_id) & (ids != 5)[:, None, None],
}


@pytest.mark.parametrize("name", PADDING)
def test_a_wrong_padding_mask_is_named(name):
    result = check.padding_mask(PADDING[name])
    assert not result
    assert result.diagnosis == name


def test_a_square_mask_of_hidden_queries_alone_is_a_wrong_axis():
    result = check.padding_mask(lambda ids, pad_id: square(ids, pad_id).mT)
    assert result.diagnosis == "wrong-axis"


def test_the_middle_axis_forgotten_meets_the_heads():
    result = check.padding_mask(lambda ids, pad_id: (ids != pad_id)[:, None])
    assert result.diagnosis == "axes-missing"
    assert "the heads" in result.message


def causal(ids):
    return ones(ids.size(1)).tril()


def from_the_source(source_ids, target_ids, pad_id):
    return causal(target_ids) & real(source_ids, pad_id)[..., : target_ids.size(1)]


def from_both(source_ids, target_ids, pad_id):
    return masks.target_mask(target_ids, pad_id) & real(source_ids, pad_id)[..., :5]


TARGET = {
    "flipped": lambda t, pad_id: ~masks.target_mask(t, pad_id),
    "or-instead-of-and": lambda t, pad_id: causal(t) | real(t, pad_id),
    "padding-forgotten": lambda t, pad_id: causal(t),
    "future-forgotten": lambda t, pad_id: real(t, pad_id),
    "upper-triangle": lambda t, pad_id: causal(t).mT & real(t, pad_id),
    "sees-the-next": lambda t, pad_id: ones(t.size(1)).tril(1) & real(t, pad_id),
    "does-not-see-itself": lambda t, pad_id: ones(t.size(1)).tril(-1) & real(t, pad_id),
    "hides-queries": lambda t, pad_id: causal(t) & real(t, pad_id) & real(t, pad_id).mT,
    "pad-id-ignored": lambda t, pad_id: causal(t) & real(t, 0),
    "axes-missing": lambda t, pad_id: masks.target_mask(t, pad_id)[:, 0],
    "copied-for-heads": lambda t, pad_id: masks.target_mask(t, pad_id).expand(
        -1, 8, -1, -1
    ),
    "batch-in-the-heads": lambda t, pad_id: masks.target_mask(t, pad_id).transpose(
        0, 1
    ),
    "batch-size-fixed": lambda t, pad_id: masks.target_mask(t, pad_id)[:1].expand(
        32, -1, -1, -1
    ),
    "not-bool": lambda t, pad_id: masks.target_mask(t, pad_id).float(),
    "made-from-the-source": from_the_source,
    "source-too": from_both,
    "shape": lambda t, pad_id: masks.target_mask(t, pad_id)[0, 0, 0],
    "wrong-cell": lambda t, pad_id: (
        masks.target_mask(t, pad_id) & (t != 5)[:, None, None]
    ),
}


@pytest.mark.parametrize("name", TARGET)
def test_a_wrong_target_mask_is_named(name):
    result = check.target_mask(TARGET[name])
    assert not result
    assert result.diagnosis == name


def test_hiding_only_padded_queries_of_the_target_is_the_same_mistake():
    result = check.target_mask(lambda t, pad_id: causal(t) & real(t, pad_id).mT)
    assert result.diagnosis == "hides-queries"


def test_a_target_mask_with_the_sources_length_is_made_from_the_source():
    result = check.target_mask(lambda s, t, pad_id: masks.target_mask(s, pad_id))
    assert result.diagnosis == "made-from-the-source"


def test_a_target_mask_that_lives_on_the_cpu_whatever_the_ids_is_remarked_on():
    def fixed(target_ids, pad_id):
        length, batch = target_ids.size(1), target_ids.size(0)
        if target_ids.device.type == "meta":
            return ones(length).expand(batch, 1, length, length)
        return masks.target_mask(target_ids, pad_id)

    assert "on the CPU" in check.target_mask(fixed).message


def by_hand(target_ids, pad_id):
    batch, length = target_ids.shape
    mask = torch.zeros(batch, 1, length, length, dtype=torch.bool)
    for b in range(batch):
        for i in range(length):
            for j in range(i + 1):
                mask[b, 0, i, j] = bool(target_ids[b, j] != pad_id)
    return mask


def test_right_masks_are_accepted():
    assert check.causal_mask(masks.causal_mask)
    assert check.causal_mask(
        lambda length: torch.arange(length)[:, None] >= torch.arange(length)
    )
    assert check.padding_mask(masks.padding_mask)
    assert check.padding_mask(lambda ids, pad_id: real(ids, pad_id))
    assert check.target_mask(masks.target_mask)
    assert check.target_mask(lambda s, t, pad_id: masks.target_mask(t, pad_id))
    assert check.target_mask(by_hand)


@pytest.mark.parametrize("part", ["causal_mask", "padding_mask", "target_mask"])
def test_a_stub_is_told_that_it_is_one(part):
    def stub(*arguments, **options):
        raise NotImplementedError

    assert getattr(check, part)(stub).diagnosis == "stub"


@pytest.mark.parametrize("part", ["causal_mask", "padding_mask", "target_mask"])
def test_a_mask_made_before_is_no_function(part):
    assert getattr(check, part)(ones(3)).diagnosis == "not-a-function"
