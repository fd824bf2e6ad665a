"""Hints come one at a time: a question, a pointer, the first line."""

from __future__ import annotations

import pytest

from tformer_book import check
from tformer_book.check.kit import hints
from tformer_book.course.problems import load
from tformer_book.press.chapters import chapters

POSED = {
    graded.grader: graded
    for path in chapters()
    for problem in load(path).problems
    for graded in problem.graded
}


@pytest.fixture(autouse=True)
def nobody_has_asked(monkeypatch):
    monkeypatch.setattr(hints, "_given", hints.Counter())


@pytest.mark.parametrize("name", sorted(POSED))
def test_every_problem_has_three_hints_that_do_not_solve_it(name):
    asks, points, starts = hints.hints_of(getattr(check, name))
    assert "?" in asks
    assert len(points) > 30
    solution = POSED[name].solution
    assert "\n" not in starts
    assert starts not in solution or len(solution.splitlines()) > 5


def test_each_call_prints_the_next_one(capsys):
    printed = []
    for _ in range(4):
        check.hint(check.split_heads)
        printed.append(capsys.readouterr().out)
    asks, points, starts = hints.hints_of(check.split_heads)
    for shown, hint in zip(printed, (asks, points, starts, starts), strict=True):
        assert " ".join(hint.split()) in " ".join(shown.split())
    assert "call check.hint(check.split_heads) again" in printed[0]
    assert "last hint" in printed[2]
    assert printed[3] == printed[2]


def test_a_grader_without_hints_says_so(capsys):
    check.hint(check.sinusoids)
    assert capsys.readouterr().out == "There are no hints for this problem.\n"


def test_an_empty_stub_is_told_where_hints_are(capsys):
    def mine(x, n_heads):
        raise NotImplementedError

    assert not check.split_heads(mine)
    assert "call check.hint(check.split_heads)" in capsys.readouterr().out
    assert not check.split_heads(lambda x, n_heads: x)
    assert "hint" not in capsys.readouterr().out
