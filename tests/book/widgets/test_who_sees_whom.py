"""The four mask pictures, in Node, against the package's masks."""

import pytest
import torch

from tformer import masks
from tformer_book.widgets import WhoSeesWhom
from tformer_book.widgets.who_sees_whom import KINDS


@pytest.fixture(scope="module")
def sights(js):
    return js("who_sees_whom/who_sees_whom.js", "sights()")


def seen(sight):
    return torch.tensor([[bool(how) for how in row] for row in sight["sees"]])


def test_the_pictures_are_in_the_order_of_the_names(sights):
    assert [sight["name"].replace("–", "-") for sight in sights] == list(KINDS)


def test_a_picture_is_the_mask_that_a_later_cell_reads(sights):
    for name, sight in zip(KINDS, sights, strict=True):
        assert torch.equal(seen(sight), WhoSeesWhom(name).mask)


def test_the_pictures_of_two_stacks_are_the_packages_masks(sights):
    """Upper left: the encoder; lower left: cross-attention; lower right: decoder."""
    ids = torch.full((1, 3), 5)
    picture = seen(sights[3])
    causal = masks.target_mask(ids, pad_id=0)[0, 0]
    source = masks.source_mask(ids, pad_id=0)[0, 0].expand(3, 3)
    assert torch.equal(picture[:3, :3], source)
    assert torch.equal(picture[3:, :3], source)
    assert torch.equal(picture[3:, 3:], causal)
    assert not picture[:3, 3:].any()
    how = sights[3]["sees"]
    assert {how[i][j] for i in range(3, 6) for j in range(3)} == {"cross"}


def test_only_a_prefix_parts_the_second_picture_from_the_third(sights):
    differ = seen(sights[1]) != seen(sights[2])
    assert differ.sum() == 3 and differ[:3, :3].sum() == 3


def test_what_a_word_must_name_it_cannot_see(sights):
    """Next pieces come later, and gaps are hidden, in every picture."""
    for sight in sights:
        for i, wanted in enumerate(sight["names"]):
            for word, how in zip(sight["words"], sight["sees"][i], strict=True):
                assert not (how and word == wanted)
    assert all(any(sight["names"]) for sight in sights)


def test_another_kind_is_refused():
    with pytest.raises(ValueError, match="none of encoder-only"):
        WhoSeesWhom("gpt")
