"""The figure's own product, in Node, against torch."""

import pytest
import torch

from tformer_book.widgets import MatrixProduct

MATHS = "matrix_product/maths.js"


def pairs():
    generator = torch.Generator().manual_seed(0)
    for i in range(40):
        m, k, n = 1 + i % 4, 1 + i // 4 % 4, 1 + i // 10 % 4
        a = torch.randint(-9, 10, (m, k), generator=generator)
        b = torch.randint(-9, 10, (k, n), generator=generator)
        yield (a + 0.5 * (i % 2)).tolist(), b.tolist()


def test_the_page_computes_torchs_product(js):
    given = list(pairs())
    found = js(MATHS, "given.map(([a, b]) => multiply(a, b).product)", given)
    for (a, b), product in zip(given, found, strict=True):
        wanted = torch.tensor(a).double() @ torch.tensor(b).double()
        torch.testing.assert_close(torch.tensor(product).double(), wanted)


def test_an_entry_is_worked_out_with_its_own_row_and_column(js):
    text = js(MATHS, "explain([[1, 2, 0], [0, 1, -3]], [[1, 4], [2, 0], [2, 1]], 1, 1)")
    assert text == (
        "Row 2 of A along column 2 of B: 0 × 4 + 1 × 0 + (−3) × 1 = 0 + 0 + (−3) = −3."
    )


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        ([[1, 2, 3]], [[1], [2]], "third number of the row of A has no partner"),
        ([[1]], [[1], [2]], "second number of the column of B has no partner"),
    ],
)
def test_an_impossible_product_says_which_number_is_alone(js, a, b, told):
    product, text = js(
        MATHS, "[multiply(...given).product, explain(...given, 0, 0)]", [a, b]
    )
    assert product is None
    assert told in text
    with pytest.raises(ValueError, match="no product"):
        _ = MatrixProduct(a, b).product


def test_another_size_keeps_the_numbers_that_stay(js):
    smaller, larger = js(
        MATHS, "[resized([[5, 6], [7, 8]], 1, 2), resized([[5, 6], [7, 8]], 3, 4)]"
    )
    assert smaller == [[5, 6]]
    assert [row[:2] for row in larger[:2]] == [[5, 6], [7, 8]]
    assert [len(row) for row in larger] == [4, 4, 4]
    assert all(isinstance(x, int) for row in larger for x in row)


def test_a_later_cell_reads_the_product_that_is_on_the_screen():
    shown = MatrixProduct()
    assert shown.product.tolist() == [[5, 4], [8, 3]]
    shown.a = [[1, 0, 0]]
    assert shown.product.tolist() == [[1, 4]]
    assert MatrixProduct(torch.eye(2), [[1], [2]]).product.tolist() == [[1], [2]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"a": [[1, 2], [3]]}, "a must be a matrix"),
        ({"b": [[0] * 5] * 3}, "1 to 4 rows and columns"),
        ({"a": []}, "a must be a matrix"),
        ({"b": [1, 2]}, "b must be a matrix"),
        ({"a": [[float("nan")]]}, "from -99 to 99"),
        ({"row": 2}, r"no entry \(2, 0\)"),
        ({"column": -1}, r"no entry \(0, -1\)"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        MatrixProduct(**arguments)
