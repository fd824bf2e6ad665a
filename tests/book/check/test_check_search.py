"""Every mistake that the grader of a beam step knows is made here on purpose."""

import pytest

from tformer_book import check
from tformer_book.check.problems import beam_step as _search


def right(beams, log_p, *, beam_size):
    found = [
        ([*ids, v], score + float(log_p[i, v]))
        for i, (ids, score) in enumerate(beams)
        for v in range(log_p.size(1))
    ]
    return sorted(found, key=lambda beam: -beam[1])[:beam_size]


def by_topk(beams, log_p, *, beam_size):
    scores = log_p + log_p.new_tensor([score for _, score in beams])[:, None]
    best = scores.flatten().topk(beam_size)
    width = log_p.size(1)
    return [
        ([*beams[j // width][0], j % width], score)
        for score, j in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    ]


def made(chosen):
    """A reader's step that ranks (beginning, piece) as `chosen` says."""

    def mine(beams, log_p, *, beam_size):
        pairs = [(i, v) for i in range(len(beams)) for v in range(log_p.size(1))]
        return chosen(beams, log_p, beam_size, pairs)

    return mine


def ranked(score=None, rank=None, ids=None):
    def chosen(beams, log_p, k, pairs):
        def value(i, v):
            new = float(log_p[i, v])
            return score(beams[i][1], new) if score else beams[i][1] + new

        def order(pair):
            return -(rank(value(*pair), float(log_p[pair])) if rank else value(*pair))

        def begun(i, v):
            return ids(beams, i, v) if ids else [*beams[i][0], v]

        return [(begun(i, v), value(i, v)) for i, v in sorted(pairs, key=order)[:k]]

    return made(chosen)


def one_of_each(beams, log_p, *, beam_size):
    best = log_p.argmax(-1).tolist()
    found = [
        ([*ids, v], score + float(log_p[i, v]))
        for (i, (ids, score)), v in zip(enumerate(beams), best, strict=True)
    ]
    return sorted(found, key=lambda beam: -beam[1])[:beam_size]


def appends(beams, log_p, *, beam_size):
    for (ids, _), v in zip(beams, log_p.argmax(-1).tolist(), strict=True):
        ids.append(v)
    return beams


MISTAKES = {
    "one-of-each-beam": one_of_each,
    "score-not-carried": ranked(score=lambda old, new: new),
    "ranked-by-last-piece": ranked(rank=lambda both, new: new),
    "logs-multiplied": ranked(score=lambda old, new: old * new),
    "probabilities-added": ranked(score=lambda old, new: old + 2.718281828459045**new),
    "lowest": ranked(rank=lambda both, new: -both),
    "wrong-beginning": ranked(ids=lambda beams, i, v: [*beams[v % 2][0], v]),
    "only-the-new-piece": ranked(ids=lambda beams, i, v: [v]),
    "nothing-is-appended": ranked(ids=lambda beams, i, v: beams[i][0]),
    "divided-by-length": ranked(score=lambda old, new: (old + new) / 3),
    "beam-size": lambda beams, log_p, *, beam_size: right(beams, log_p, beam_size=9),
    "not-sorted": lambda beams, log_p, *, beam_size: right(
        beams, log_p, beam_size=beam_size
    )[::-1],
    "changes-inputs": appends,
    "not-beams": lambda beams, log_p, *, beam_size: [1, 2, 3],
    "wrong-beams": lambda beams, log_p, *, beam_size: [([0], 0.0)] * beam_size,
    "returns-nothing": lambda beams, log_p, *, beam_size: None,
    "signature": lambda beams: beams,
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_beam_step_is_called_by_its_name(name):
    result = check.beam_step(MISTAKES[name])
    assert not result
    assert result.diagnosis == name, result.message


def test_every_known_wrong_beam_step_is_made_above():
    assert set(_search.WRONG) <= set(MISTAKES)


@pytest.mark.parametrize("mine", [right, by_topk])
def test_right_beam_steps_pass(mine):
    assert check.beam_step(mine)


def test_unfinished_work_is_told_so():
    def stub(beams, log_p, *, beam_size):
        raise NotImplementedError

    assert check.beam_step(stub).diagnosis == "stub"
