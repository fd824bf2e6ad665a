"""Every answer in `answers` gets its verdict, and every wrong one its true reason."""

import pytest
from answers import load

from tformer_book import check
from tformer_book.check.kit import running

ANSWERS = load()


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Loops without end are stopped sooner than a reader's would be."""
    monkeypatch.setattr(running, "SECONDS", 1.5)


@pytest.mark.parametrize(
    "answer", ANSWERS, ids=lambda answer: f"{answer.problem}-{answer.mine.__name__}"
)
def test_an_answer_gets_its_true_reason(answer):
    result = getattr(check, answer.problem)(answer.mine)
    assert result.diagnosis == answer.diagnosis, result.message
    assert bool(result) == (answer.diagnosis == "correct")
    assert answer.hint in result.message


def test_every_problem_has_right_and_wrong_answers():
    problems = {*check.__all__} - {"Result", "hint"}
    assert problems == {a.problem for a in ANSWERS if a.diagnosis == "correct"}
    assert problems == {a.problem for a in ANSWERS if a.diagnosis != "correct"}
