"""What the doctor says: findings, what it did not try, and what it cannot examine."""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
import re
from pathlib import Path

import pytest
import torch
from cases import admitted, broken
from torch import nn

from tformer import doctor
from tformer.doctor import examinations
from tformer.doctor.report import Finding
from tformer_book.press.chapters import ROOT


class Bag(nn.Module):
    """A language model without a sequence: it looks at each word alone."""

    def __init__(self, change=lambda x: x):
        super().__init__()
        self.table, self.out = nn.Embedding(12, 8), nn.Linear(8, 12)
        self.change = change

    def forward(self, ids):
        return self.change(self.out(self.table(ids)))


def examine(model, **given):
    return doctor.examine(model, pad_id=None, bos_id=None, eos_id=None, **given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x.transpose(0, 1), r"sequence is first here: .*\.transpose\(0, 1\)"),
        (lambda x: x.flatten(0, 1), r"positions are flattened: .*\.view\(B, T, -1\)"),
        (lambda x: x.argmax(-1), "logits are .*before any softmax"),
        (lambda x: "logits", "returned a str in which I find no logits"),
        (lambda x: x @ torch.ones(3), "stopped with RuntimeError on target ids"),
    ],
)
def test_a_wrong_adapter_gets_one_clear_message(change, message):
    with pytest.raises(doctor.CannotExamine, match=message) as caught:
        examine(Bag(change))
    assert "\n" not in str(caught.value)


def test_a_class_is_no_model():
    with pytest.raises(TypeError, match="call it first"):
        doctor.examine(Bag)


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([], "gave nothing"),
        ([torch.ones(2, 3).long()], r"batches must give \(ids, labels\)"),
        ([(torch.ones(2, 3).long(), torch.ones(2, 4).long())], "must have one shape"),
    ],
)
def test_wrong_batches_get_one_clear_message(batches, message):
    with pytest.raises(doctor.CannotExamine, match=message):
        examine(Bag(), batches=batches)


def test_what_was_not_given_is_not_tried_and_the_report_says_so():
    report = examine(Bag())
    reasons = {each.examination: each.reason for each in report.not_tried}
    assert "loss=…" in reasons["loss"]
    assert "decode=…" in reasons["decoding"]
    assert "tokenizer=…" in reasons["tokenizer"]
    assert "pad_id=None" in reasons["padding"]
    assert not set(reasons) & set(report.sound)


def test_a_report_reads_the_same_in_a_terminal_and_in_a_notebook():
    text = broken("gpt", "is_causal=True", "is_causal=True, scale=1.0")
    model, given = admitted("gpt", text)
    report = examine(model, forward=given["forward"], scale=8**-0.5)
    assert not report and report.codes == ("no-scale",)
    text, page = str(report), report._repr_html_()
    assert max(map(len, text.splitlines())) <= 80
    for label, said in report.findings[0].rows():
        assert label in text and label in page
        assert said.split()[0] in text and said.split()[0] in page
    assert "Not tried" in text and "<details><summary>Not tried" in page
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.findings[0].code = "other"


def texts_of_examinations():
    for module in pkgutil.iter_modules(examinations.__path__):
        source = importlib.import_module(f"{examinations.__name__}.{module.name}")
        assert source.__doc__ and callable(source.examine)
        yield Path(source.__file__).read_text("utf-8")


def test_every_chapter_that_a_finding_names_is_in_the_book():
    titles = {
        json.loads(path.read_text("utf-8"))["cells"][0]["source"][0].strip("# \n")
        for path in (ROOT / "book").glob("*.ipynb")
    }
    named = set(
        re.findall(r'(?i)chapter ?= ?"(.+?)"', " ".join(texts_of_examinations()))
    )
    assert len(named) > 8
    assert named <= titles


def test_every_code_that_is_said_to_explain_another_exists():
    codes, causes = set(), set()
    for text in texts_of_examinations():
        codes |= set(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', text))
        for block in re.findall(r"because=\((.*?)\)", text, re.S):
            causes |= set(re.findall(r'"([a-z-]+)"', block))
    assert causes <= codes


# --- corpus, tokenizer, behaviour --------------------------------------------------


class Letters:
    def encode(self, text):
        return [3 + ord(each) % 9 for each in text]

    def decode(self, ids):
        return "".join("x" for _ in ids)


class Whole(Letters):
    def encode(self, text):
        return [min(ord(each), 11) for each in text]

    def decode(self, ids):
        return "A man is riding a horse. " * 3


PAIRS = [("a man runs", "ein mann läuft"), ("two dogs play", "zwei hunde spielen")]


def test_a_tokenizer_that_loses_text_is_found():
    assert examine(Bag(), tokenizer=Letters()).codes == ("tokenizer-loses-text",)
    whole = examine(Bag(), tokenizer=Whole(), pairs=[PAIRS[0]])
    assert "tokenizer-loses-text" in whole.codes


def test_a_tokenizer_that_stops_at_its_own_ids_is_found():
    class Shifted(Letters):
        def decode(self, ids):
            return "".join({i: "x" for i in range(4, 12)}[each] for each in ids)

    [finding] = examine(Bag(), tokenizer=Shifted()).findings
    assert finding.code == "tokenizer-loses-text" and "KeyError: 3" in finding.seen


@pytest.mark.parametrize(("first", "codes"), [(2, ("word-has-special-id",)), (3, ())])
def test_a_word_with_the_id_of_a_sign_is_found(first, codes):
    words = ["two", "dogs", "play", "a", "ball"]

    class Words:
        encode = staticmethod(lambda text: [
            1, *(words.index(w) + first for w in text.split()), 2
        ])  # fmt: skip
        decode = staticmethod(lambda ids: " ".join(words[i - first] for i in ids[1:-1]))

    pairs = [("a ball two dogs play", "dogs two ball play a")]
    given = {"tokenizer": Words, "pairs": pairs, "pad_id": None}
    assert doctor.examine(Bag(), bos_id=1, eos_id=2, **given).codes == codes


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"pad_id": 12}, "pad_id is 12, and the model has 12 ids, 0 to 11"),
        ({"eos_id": -100}, "eos_id is -100, and the model has 12 ids, 0 to 11"),
        ({"pad_id": (40, 0)}, "pad_id is 40, and the model has 12 ids, 0 to 11"),
        ({"accept": ["layer-shared"]}, "no code of a finding; did you mean 'layers-sh"),
        ({"accept": "overflow"}, "accept: 'o' is no code of a finding"),
    ],
)
def test_an_id_or_a_code_that_is_not_there_is_refused(given, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        doctor.examine(Bag(), **given)


def test_every_code_that_a_finding_has_can_be_accepted():
    source = "".join(
        p.read_text("utf-8") for p in Path(doctor.__file__).parent.rglob("*.py")
    )
    codes = set(re.findall(r'code="([a-z-]+)"', source))
    codes |= {"source-in-reverse", "decoding-cache-order", "never-falls"}  # made
    assert len(codes) > 100
    assert doctor.examine(Bag(), accept=sorted(codes))


def test_what_train_and_test_share_is_told_once_and_reversed_sides_too():
    pairs = [(f"{a} {b}", f"{b} {b} {a}") for a in "abcd" for b in "efgh"]
    letters = {c: i for i, c in enumerate("abcdefgh", 3)}
    signs = {i: c for c, i in letters.items()}

    class Letters:
        encode = staticmethod(lambda text: [letters[c] for c in text.split()])
        decode = staticmethod(lambda ids: " ".join(signs[i] for i in ids))

    def rows(part, turned):
        both = [[Letters.encode(text) for text in pair] for pair in part]
        source = torch.tensor([a[::-1] if turned else a for a, _ in both])
        return [(source, torch.tensor([[1, *b] for _, b in both]),
                 torch.tensor([[*b, 2] for _, b in both]))]  # fmt: skip

    given = {"tokenizer": Letters, "pairs": pairs, "test_pairs": pairs[:3]}
    model, kept = admitted("annotated")
    for turned in (False, True):
        more = {"batches": rows(pairs, turned), "test_batches": rows(pairs[:3], turned)}
        report = doctor.examine(
            model, forward=kept["forward"], vocab_size=20, **given, **more
        )
        assert report.codes == ("train-test-overlap",), str(report)
        assert ("source-in-reverse" in report.to_confirm) == turned


def test_train_and_test_overlap_is_found_and_only_where_it_is():
    other = [("a man sings", "ein mann singt")]
    assert examine(Bag(), pairs=PAIRS, test_pairs=other)
    report = examine(Bag(), pairs=PAIRS, test_pairs=[*other, PAIRS[0]])
    assert report.codes == ("train-test-overlap",)
    assert "1 (50%)" in report.findings[0].seen


def test_swapped_sides_of_a_test_set_are_found():
    swapped = [("ein hunde läuft", "a dogs runs")]
    report = examine(Bag(), pairs=PAIRS, test_pairs=swapped)
    assert report.codes == ("source-and-target-swapped",)


def test_a_schedule_without_sense_is_found():
    def schedule(step):
        return float("nan") if step == 100 else 1 / step

    assert examine(Bag(), schedule=schedule, steps=100).codes == ("bad-learning-rate",)


def test_a_finding_is_a_value():
    one = Finding("a-b", *"123456")
    assert one == Finding("a-b", *"123456") and hash(one)


# --- what was given and cannot be used ---------------------------------------------


def length_first(batches):
    return [tuple(each.t() for each in batch) for batch in batches]


@pytest.mark.parametrize("name", ["annotated", "cached", "marian", "torch_wrapper"])
def test_batches_with_the_length_first_are_refused(name):
    model, given = admitted(name)
    made = [given["batches"]]
    if name == "annotated":  # even if nothing is shifted
        made.append([(s, t, t) for s, t, _ in given["batches"]])
    for batches in made:
        given["batches"] = length_first(batches)
        with pytest.raises(doctor.CannotExamine, match=r"length first.*t\.t\(\), y\.t"):
            doctor.examine(model, **given)


def test_windows_that_start_one_word_apart_are_batch_first():
    words = torch.randint(3, 12, (40,), generator=torch.Generator().manual_seed(1))
    windows = words.unfold(0, 9, 1)[:8]
    assert examine(Bag(), batches=[(windows[:, :-1], windows[:, 1:])])


def test_batches_of_unequal_numbers_of_rows_are_refused():
    model, given = admitted("annotated")
    [(source, read, labels), *_] = given["batches"]
    given["batches"] = [(source[:3], read, labels)]
    with pytest.raises(doctor.CannotExamine, match="one number of rows"):
        doctor.examine(model, **given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"decode": lambda m, ids: ["a"]}, "decode: it returned a list of str"),
        ({"loss": lambda x, y: None}, "loss: it stopped with"),
        ({"tokenizer": object()}, "tokenizer: it stopped with AttributeError"),
        ({"schedule": lambda step: 1.0}, "schedule: steps=… was not given"),
        ({"steps": 100}, "steps: schedule=… was not given"),
        ({"test_pairs": PAIRS}, "test_pairs: pairs=… was not given"),
        ({"gradients": lambda m, b: None}, "gradients: batches=… was not given"),
    ],
)
def test_what_was_given_and_could_not_be_used_is_told_at_the_top(given, said):
    report = examine(Bag(), **given)
    head, told, *rest = str(report).split("\n\n")
    assert head.startswith("Bag: nothing found")
    assert " ".join(told.split()).startswith(f"Could not use {said}")
    assert said.partition(":")[0] not in report.sound
    assert not any(told.removeprefix("Could not use ") in each for each in rest)
    assert "Could not use" in report._repr_html_().partition("<details>")[0]


def test_nothing_is_said_to_be_unused_if_everything_was_used():
    for name in ("annotated", "gpt"):
        model, given = admitted(name)
        assert "Could not use" not in str(doctor.examine(model, **given))
