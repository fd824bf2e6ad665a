"""What batches hide, ask for and end with, planted one by one."""

from __future__ import annotations

import pytest
import torch
from designs import BOS, EOS, MASK, PAD
from test_designs import batches_of, examined, loss

GUESSES = {"pad_id": PAD, "bos_id": BOS, "eos_id": EOS, "bidirectional": True}


def texts(seed, rows=16, n=10):
    """Whole texts, some of them padded."""
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, MASK, (rows, n), generator=g)
    ids[:, 0], ids[:, -1] = BOS, EOS
    ids[0, 4], ids[0, 5:] = EOS, PAD
    return ids


def hidden(seed=0, *, share=0.2, sign=MASK, least=EOS, drawn=None, n=10):
    ids = texts(seed, n=n)
    g = torch.Generator().manual_seed(seed if drawn is None else drawn)
    chosen = (torch.rand(ids.shape, generator=g) < share) & (ids > least)
    return ids.masked_fill(chosen, sign), ids.masked_fill(~chosen, -100)


def overwritten(seed):
    read, labels = hidden(seed)
    return read, labels.where(labels < 0, read)


HIDDEN = {  # the batch of a seed, and the code
    "sound": (hidden, ""),
    "two in five": (lambda i: hidden(i, share=0.4), ""),
    "one in ten": (lambda i: hidden(i, share=0.1), ""),
    "four in five": (lambda i: hidden(i, share=0.8), "hides-too-much"),
    "one in a hundred": (lambda i: hidden(i, share=0.015), "hides-too-little"),
    "signs, too": (lambda i: hidden(i, least=PAD), "signs-are-hidden"),
    "padding, too": (lambda i: hidden(i, least=-1), "signs-are-hidden"),
    "behind padding": (lambda i: hidden(i, sign=PAD), "hidden-behind-sign"),
    "behind the end": (lambda i: hidden(i, sign=EOS), "hidden-behind-sign"),
    "one seed": (lambda i: hidden(i, drawn=7), "hidden-places-repeat"),
    "one seed, other lengths": (
        lambda i: hidden(i, drawn=7, n=9 + i), "hidden-places-repeat"
    ),
    "the sign is asked for": (overwritten, "labels-overwritten"),
}  # fmt: skip


@pytest.mark.parametrize("name", HIDDEN)
def test_what_is_wrong_with_hidden_words_is_named(name):
    made, code = HIDDEN[name]
    given = {"batches": [made(i) for i in range(3)], **GUESSES}
    report = examined(given=given, kind="guesses")
    assert report.codes == ((code,) if code else ()), str(report)


@pytest.mark.parametrize("shows", [True, False])
def test_a_test_that_shows_its_answers_is_named(shows):
    tests = [(texts(9) if shows else hidden(9)[0], hidden(9)[1])]
    given = {"batches": [hidden(i) for i in range(3)], **GUESSES, "test_batches": tests}
    report = examined(given=given, kind="guesses")
    assert report.codes == (("test-shows-answers",) if shows else ()), str(report)


def test_rows_of_mask_signs_are_no_overlap():
    def bare(seed):
        read, labels = hidden(seed)
        read[3], labels[3] = BOS, texts(seed)[3]
        read[3, 1:-1], read[3, -1], labels[3, [0, -1]] = MASK, EOS, -100
        return read, labels

    batches = [bare(i) for i in range(3)]
    given = {"batches": batches, **GUESSES, "test_batches": [bare(8)]}
    assert (report := examined(given=given, kind="guesses")), str(report)


def turned(kind, change):
    return [change(*each) for each in batches_of(kind=kind)]


def late(ids, labels):
    """Padding of each row but the longest before its end."""
    labels = labels.clone()
    labels[:, 5:-1], labels[:, -1] = PAD, EOS
    return ids, labels


KNOWN = {"pad_id": PAD, "bos_id": BOS, "eos_id": EOS}
ROWS = {  # kind, the change of a batch, what is given, and the code
    "unknown sources": (
        "translates", lambda s, i, y: (s.where(s < 5, 5), i, y), {}, "words-are-one"
    ),
    "mostly unknown targets": (
        "translates", lambda s, i, y: (s, i, y.where((y < 5) | (y > 27), 5)), {},
        "words-are-one",
    ),
    "a text of one word": (
        "writes", lambda i, y: (i.where(i < 5, 5), y.where(y < 5, 5)), {},
        "words-are-one",
    ),
    "empty sources": (
        "translates",
        lambda s, i, y: (s.masked_fill(torch.arange(6)[:, None] > 3, PAD), i, y), {},
        "rows-empty",
    ),
    "an end after padding": ("writes", late, {"ignore_index": PAD, "loss": None},
                             "end-after-padding"),
    "an end that is left out": (
        "writes", lambda i, y: (i, y), {"ignore_index": EOS, "loss": None},
        "labels-without-end",
    ),
    "sound": ("translates", lambda s, i, y: (s, i, y), {}, ""),
    "a sound text": ("writes", lambda i, y: (i, y), {}, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_what_is_wrong_with_rows_is_named(name):
    kind, change, given, code = ROWS[name]
    given = {"batches": turned(kind, change), **KNOWN, **given}
    report = examined(given=given, kind=kind)
    assert report.codes == ((code,) if code else ()), str(report)


@pytest.mark.parametrize(
    ("pairs", "codes"),
    [
        ([("a b c", "c b a"), ("a b", "b a"), ("b", "b")] * 50, ("pairs-repeat",)),
        ([(f"a {i}", f"{i} a") for i in range(150)], ()),
        ([("a", "b")] * 20, ()),
    ],
)
def test_a_few_pairs_many_times_over_are_named(pairs, codes):
    report = examined(given={"pairs": pairs}, kind="translates")
    assert report.codes == codes, str(report)


SEP = 4


def answered(*, less=1, pad=PAD, ends=True, inside=False, by_id=True, sep=SEP):
    """Prompts of words and a sign, then an answer: the prompt is hidden from the loss.

    Args:
        less: how many of a prompt's ids are not hidden, as labels are shifted by one.
        inside: whether the loss shifts the labels.
        by_id: whether the labels of padding are hidden by its id, and not by length.
        sep: the sign, or None.
    """
    g = torch.Generator().manual_seed(3)
    rows, prompts = [], []
    for _ in range(12):
        n, m = (int(torch.randint(2, 7, (), generator=g)) for _ in range(2))
        words = torch.randint(5, MASK, (n + m,), generator=g).tolist()
        prompts.append([BOS, *words[:n], *([] if sep is None else [sep])])
        rows.append(prompts[-1] + words[n:] + [EOS] * ends)
    longest = max(map(len, rows))
    ids = torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
    labels = ids.clone()
    for label, row, prompt in zip(labels, rows, prompts, strict=True):
        label[len(row) :] = -100
        label[: len(prompt) + 1 - less] = -100
    labels[(ids == pad) & by_id] = -100
    return (ids, labels) if inside else (ids[:, :-1], labels[:, 1:])


def shifted(logits, labels):
    return loss(logits[:, :-1], labels[:, 1:])


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize(
    ("settings", "codes", "confirm", "says"),
    [
        ({}, (), (), ""),
        ({"less": 0}, (), ("answer-begins-hidden",), "4 stands before it"),
        ({"sep": None}, (), (), ""),
        ({"pad": EOS, "by_id": False}, (), (), ""),
        ({"pad": EOS}, ("labels-without-end",), (), "pad_id = eos_id hides both"),
        ({"ends": False}, ("labels-without-end",), (), "append eos_id to each target"),
        (
            {"ends": False, "pad": EOS},
            ("labels-without-end",), (), "hide labels by length alone",
        ),
    ],
)  # fmt: skip
def test_what_a_prompt_and_its_answer_hide_is_told(
    settings, codes, confirm, says, inside
):
    given = {"batches": [answered(**settings, inside=inside)], "bidirectional": False}
    given |= {"pad_id": settings.get("pad", PAD), "bos_id": BOS, "eos_id": EOS}
    report = examined(given=given | {"loss": shifted if inside else loss})
    assert report.codes == codes and report.to_confirm == confirm, str(report)
    assert says in " ".join(str(report).split())
