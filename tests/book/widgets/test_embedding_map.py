"""What the map's Python hands over, and what its module makes of it, in Node."""

import json
import zlib

import pytest
import torch
from torch.nn.functional import normalize
from torch.testing import assert_close

from tformer import load_pretrained
from tformer_book.widgets import EmbeddingMap
from tformer_book.widgets.embedding_map import (
    DIGITS,
    FAMILIES,
    KINDS,
    LEVELS,
    N_AXES,
    N_FAMILY,
    N_NEIGHBOURS,
    families,
    kept,
    nearest,
    pack,
    principal_axes,
)

MATHS = "embedding_map/maths.js"

STATE = ("pieces", "links", "drops", "places", "bound")


@pytest.fixture(scope="module")
def figure():
    return EmbeddingMap()


@pytest.fixture(scope="module")
def rows():
    return load_pretrained().model.source_embedding.weight.detach()


@pytest.fixture(scope="module")
def decoded(js, figure):
    return js(
        MATHS,
        "{ ...decode(...given), KINDS, LEVELS }",
        [getattr(figure, name) for name in STATE],
    )


def test_a_rows_neighbours_are_those_of_all_pairs_compared():
    torch.manual_seed(0)
    table = torch.randn(2300, 6)  # more than two blocks
    ids, cosines = nearest(table, 5)
    alike = normalize(table, dim=-1) @ normalize(table, dim=-1).T
    best = alike.fill_diagonal_(-2).topk(5)
    assert torch.equal(ids, best.indices)
    assert_close(cosines, best.values)


def test_axes_are_principal_ones_and_do_not_depend_on_chance():
    torch.manual_seed(0)
    table = torch.randn(300, 5) * torch.tensor([1.0, 9, 2, 4, 0.5]) + 7
    places, shares = principal_axes(table, 3)
    centred = (table - table.mean(0)).double()
    _, values, axes = torch.linalg.svd(centred, full_matrices=False)
    assert_close(places.abs(), (centred @ axes.T)[:, :3].abs())
    assert_close(shares, (values**2 / (values**2).sum())[:3])
    turned = principal_axes(table.flip(0), 3)[0].flip(0)
    assert_close(turned, places, rtol=0, atol=1e-5)


def test_numbers_come_back_from_text(js):
    values = torch.tensor([[0, 1, len(DIGITS)], [len(DIGITS) ** 2 - 1, 87, 2000]])
    assert js(MATHS, "unpack(given)", pack(values)) == values.flatten().tolist()
    for bad in (-1, len(DIGITS) ** 2):
        with pytest.raises(ValueError, match=f"{bad}"):
            pack(torch.tensor([5, bad]))


def test_the_page_gets_pytorchs_neighbours_and_cosines(decoded, rows):
    ids, cosines = nearest(rows, N_NEIGHBOURS)
    found = torch.tensor(decoded["near"])  # (V, n, 2)
    assert torch.equal(found[..., 0].long(), ids)
    assert_close(found[..., 1], cosines, rtol=0, atol=0.00501)


def test_the_page_gets_the_places_of_the_principal_axes(decoded, figure, rows):
    unit = normalize(rows, dim=-1)
    own, _ = principal_axes(unit, N_AXES, of=unit[figure.words])
    table, _ = principal_axes(unit, N_AXES)
    found = torch.tensor(decoded["at"], dtype=torch.float64).T
    wanted = torch.cat([own, table], dim=1)
    assert_close(found, wanted, rtol=0, atol=figure.bound / (LEVELS - 1) + 1e-9)
    assert (decoded["KINDS"], decoded["LEVELS"]) == (list(KINDS), LEVELS)


def test_axes_of_some_rows_place_these_rows_as_if_there_were_no_others():
    torch.manual_seed(0)
    table = torch.randn(300, 5)
    some = table[20:60]
    places, shares = principal_axes(table, 2, of=some)
    alone, of_alone = principal_axes(some, 2)
    assert_close(places[20:60], alone)
    assert_close(shares, of_alone)
    assert not torch.allclose(shares, principal_axes(table, 2)[1])


def test_a_familys_words_are_the_nearest_that_nobody_has_taken(figure, decoded, rows):
    names = decoded["names"]
    unit = normalize(rows, dim=-1)
    assert len(set(figure.words)) == len(figure.words) == 40
    assert [names[i] for i in figure.words[: len(FAMILIES)]] == list(FAMILIES)
    taken = set(figure.words[: len(FAMILIES)])
    for home, word in enumerate(figure.words[: len(FAMILIES)]):
        members = [
            i
            for i, h in zip(figure.words, figure.homes, strict=True)
            if h == home and i != word
        ]
        alike = unit @ unit[word]
        for i in range(len(names)):
            whole = names[i].startswith("▁") and sum(map(str.isalpha, names[i])) > 1
            if whole and i not in taken and i not in members:
                assert alike[i] <= alike[members].min()
        taken.update(members)
        assert len(members) == N_FAMILY


def test_a_family_joins_neither_parts_of_words_nor_signs():
    names = ["▁dog", "s", "▁", "▁2", "<0x41>", "▁dogs", "▁Hund"]
    rows = torch.tensor([[1.0, x] for x in (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)])
    assert families(names, rows, ["▁dog"], 2) == ([0, 5, 6], [0, 0, 0])


def test_a_map_of_all_dimensions_keeps_everything_and_a_shuffled_one_does_not():
    torch.manual_seed(0)
    rows = normalize(torch.randn(30, 2, dtype=torch.float64), dim=-1)
    share, neighbours = kept(rows, rows, 4)
    assert (share, neighbours) == (pytest.approx(1), 120)
    share, neighbours = kept(rows, rows.roll(7, 0), 4)
    assert share == pytest.approx(1)
    assert neighbours < 60


def test_the_map_for_its_words_keeps_more_of_them_than_the_map_for_all(figure):
    assert figure.shares[0] > 2 * figure.shares[1]
    assert figure.kept[0] > figure.kept[1]
    assert f"{figure.shares[0]:.1%}" in repr(figure)


def test_a_vocabulary_without_our_words_gets_a_map_around_the_chosen_one():
    figure = EmbeddingMap("▁cat", words=["▁cat"])
    assert len(figure.words) == 1 + N_FAMILY
    with pytest.raises(ValueError, match="piece='kat' is not in the vocabulary"):
        EmbeddingMap(words=["kat"])


def test_no_name_covers_another_or_a_dot(node):
    torch.manual_seed(0)
    dots = (torch.rand(40, 2) * 300 + 50).tolist()
    widths = (torch.rand(40) * 50 + 20).tolist()
    script = """
    import { besideDots } from "./embedding_map/maths.js";
    const room = { width: 400, height: 400, line: 16 };
    console.log(JSON.stringify(besideDots(given.dots, given.widths, room)));"""
    found = node(script, {"dots": dots, "widths": widths})
    assert sum(each is not None for each in found) > 35
    boxes = [
        (x - w / 2, y - 8, x + w / 2, y + 8)
        for (x, y), w in (
            (place, w) for place, w in zip(found, widths, strict=True) if place
        )
    ]
    for i, (a, b, c, d) in enumerate(boxes):
        assert a >= 0 and b >= 0 and c <= 400 and d <= 400
        assert not any(a < x < c and b < y < d for x, y in dots)
        for e, f, g, h in boxes[:i]:
            assert not (a < g and e < c and b < h and f < d)


def test_the_state_is_small_enough_for_a_page(figure):
    state = json.dumps(figure.get_state([*STATE, "examples", "words"]))
    assert len(zlib.compress(state.encode(), 6)) < 150_000


def test_kinds_are_seen_from_the_spelling(js, decoded):
    pieces = ["▁dog", "s", "▁", ".", "▁2", "<0x41>", "<pad>", "▁Hund", "ß", "<"]
    assert js(MATHS, "given.map(kindOf)", pieces) == [2, 3, 4, 4, 4, 5, 5, 2, 3, 4]
    assert set(decoded["kinds"]) == {2, 3, 4, 5}


def test_a_reader_finds_the_word_itself_before_what_begins_like_it(js):
    names = ["▁do", "dog", "▁dogs", "▁Dog", "▁dog", "do", "▁cat", "▁doggedly"]
    typed = ["dog", " ▁dog ", "DOG", "do", "x", "", "  "]
    found = js(
        MATHS,
        "given.typed.map((t) => matches(given.names, t, 3))",
        {"names": names, "typed": typed},
    )
    shown = [[names[i] for i in each] for each in found]
    assert shown[0] == shown[1] == ["▁dog", "dog", "▁Dog"]
    assert shown[2] == ["▁Dog", "▁dog", "dog"]
    assert shown[3][:2] == ["▁do", "do"]
    assert shown[4:] == [[], [], []]


def test_dots_are_ranked_by_their_distance_on_the_map(node):
    torch.manual_seed(1)
    x, y = torch.randn(2, 60, dtype=torch.float64)
    script = """
    import { onMap } from "./embedding_map/maths.js";
    const found = onMap(given.x, given.y, 7, [3, 4, 50], 5);
    console.log(JSON.stringify([found.nearest, found.ranks]));"""
    near, ranks = node(script, {"x": x.tolist(), "y": y.tolist()})
    far = torch.hypot(x - x[7], y - y[7])
    order = [i for i in far.argsort().tolist() if i != 7]
    assert near == order[:5]
    assert ranks == [1 + order.index(i) for i in (3, 4, 50)]


def test_an_arrow_key_goes_to_the_next_dot_in_its_direction(node):
    # The last dot is nearest of all, but more above than beside.
    x, y = [0, 1, 3, -1, 0.2, 0, 0.2], [0, 0.1, 0, 0, 2, -1, 0.5]
    script = """
    import { onward } from "./embedding_map/maths.js";
    const ways = [[1, 0], [-1, 0], [0, 1], [0, -1]];
    const go = (i) => ways.map((way) => onward(given.x, given.y, i, way));
    console.log(JSON.stringify([go(0), go(2)]));"""
    found = node(script, {"x": x, "y": y})
    assert found[0] == [1, 3, 6, 5]
    assert found[1][0] == 2  # nothing further right: it stays


def test_the_window_holds_all_dots_with_room_for_names(node):
    x, y = [-2, 0, 4], [0, 1, 2]
    script = """
    import { windowOf } from "./embedding_map/maths.js";
    const room = { width: 400, height: 300 };
    console.log(JSON.stringify(windowOf(given.x, given.y, room)));"""
    found = node(script, {"x": x, "y": y})
    across = [200 + found["scale"] * (v - found["cx"]) for v in x]
    up = [150 - found["scale"] * (v - found["cy"]) for v in y]
    assert min(across) > 40 and max(across) < 360
    assert min(up) > 15 and max(up) < 285
    assert min(across) == pytest.approx(44)  # and no more room than that


def test_python_and_the_page_agree_about_the_chosen_piece(figure, decoded):
    figure.chosen = decoded["names"].index("▁street")
    assert figure.piece == "▁street"
    near = decoded["near"][figure.chosen]
    assert [decoded["names"][i] for i, _ in near] == [n for n, _ in figure.neighbours]
    assert repr(figure).startswith("▁street: nearest by cosine ")
    pair = figure.cosine(["▁street", figure.neighbours[0][0]])
    assert pair[0, 1].item() == pytest.approx(figure.neighbours[0][1], abs=1e-5)
    assert_close(pair.diagonal(), torch.ones(2))


def test_what_is_not_there_is_refused(figure):
    with pytest.raises(ValueError, match="piece='dogdogdog' is not in the vocabulary"):
        EmbeddingMap("dogdogdog")
    with pytest.raises(ValueError, match="kind='verbs' must be one of"):
        EmbeddingMap(kind="verbs")
    with pytest.raises(ValueError, match="not in the vocabulary"):
        figure.cosine(["▁dog", "▁nosuchword"])
