"""Scores: equal to sacreBLEU's own command, on Multi30k's own tokenisation."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from tformer import evaluate

REFERENCES = [
    "Ein Mann fährt auf einem Pferd durch die Stadt.",
    "Zwei Hunde spielen im Schnee.",
    "Die Frau liest ein Buch, während das Kind schläft.",
    'Das Schild sagt: "Halt!"',
    "Der Hund überquerte die Straße nicht, weil er müde war.",
]
HYPOTHESES = [
    "Ein Mann reitet auf einem Pferd durch die Stadt.",
    "zwei Hunde spielen im Schnee",
    "Eine Frau liest ein Buch während das Kind schläft.",
    'Auf dem Schild steht: "Halt!"',
    "Der Hund überquerte die Straße, weil er müde war.",
]


class Parrot:
    """A translator that looks its answers up and remembers what it was asked."""

    def __init__(self, answers: dict[str, str]):
        self.answers = answers
        self.calls: list[tuple[int, int, float]] = []

    def translate(self, text, *, beam_size, length_penalty):
        assert isinstance(text, list)
        self.calls.append((len(text), beam_size, length_penalty))
        return [self.answers[sentence] for sentence in text]


def sacrebleu_command(tmp_path: Path, references, hypotheses, *options: str) -> list:
    ref, hyp = tmp_path / "ref.de", tmp_path / "hyp.de"
    ref.write_text("\n".join(references) + "\n", encoding="utf-8")
    hyp.write_text("\n".join(hypotheses) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", ref, "-i", hyp, "-w", "6", *options]
    found = json.loads(subprocess.check_output(command, stderr=subprocess.DEVNULL))
    return found if isinstance(found, list) else [found]


def multi30k(name: str) -> list[str]:
    folder = Path(os.environ.get("TFORMER_DATA", "/nowhere")) / "multi30k"
    path = folder / name
    if not path.exists():
        if os.environ.get("TFORMER_REQUIRE_DATA") == "1":
            pytest.fail(f"TFORMER_REQUIRE_DATA=1 but {path} is not there")
        pytest.skip(f"Multi30k is not under TFORMER_DATA ({path})")
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    return text.removesuffix("\n").split("\n")


def test_scores_and_signatures_are_those_of_sacrebleus_own_command(tmp_path):
    bleu, chrf = evaluate.bleu_chrf(HYPOTHESES, REFERENCES)
    expected = sacrebleu_command(tmp_path, REFERENCES, HYPOTHESES, "-m", "bleu", "chrf")
    for ours, theirs in zip((bleu, chrf), expected, strict=True):
        assert ours.name == theirs["name"]
        assert ours.score == pytest.approx(theirs["score"], abs=1e-6)
        assert ours.signature == theirs["signature"]
    assert bleu.details.split()[0].count("/") == 3  # four n-gram precisions


def test_a_metric_prints_the_line_that_sacrebleu_prints(tmp_path):
    sacrebleu_command(tmp_path, REFERENCES, HYPOTHESES)
    metrics = evaluate.bleu_chrf(HYPOTHESES, REFERENCES)
    for metric, name in zip(metrics, ("bleu", "chrf"), strict=True):
        command = [sys.executable, "-m", "sacrebleu", tmp_path / "ref.de"]
        command += ["-i", tmp_path / "hyp.de", "-m", name, "-f", "text"]
        assert str(metric) == subprocess.check_output(command, text=True).strip()


def test_tokenised_bleu_is_sacrebleus_on_text_that_moses_split(tmp_path):
    references = evaluate.moses_tokenise(REFERENCES)
    ours = evaluate.tokenised_bleu(HYPOTHESES, references)
    split, options = evaluate.moses_tokenise(HYPOTHESES), "-m bleu -tok none --force"
    [theirs] = sacrebleu_command(tmp_path, references, split, *options.split())
    assert ours.score == pytest.approx(theirs["score"], abs=1e-6)
    assert ours.signature == theirs["signature"]
    assert "|tok:none|" in ours.signature
    cased, _ = evaluate.bleu_chrf(HYPOTHESES, REFERENCES)
    assert abs(ours.score - cased.score) > 0.01


@pytest.mark.parametrize("name", ["test_2016_flickr", "test_2017_flickr"])
def test_our_tokenisation_rebuilds_multi30ks_published_files(name):
    raw = multi30k(f"{name}.de.gz")
    published = multi30k(f"tok/{name}.lc.norm.tok.de")
    assert evaluate.moses_tokenise(raw) == published
    assert evaluate.tokenised_bleu(raw, published).score == pytest.approx(100)


def test_moses_lowers_splits_normalises_and_escapes():
    """And moves commas out of quotes and joins numbers, as Multi30k does."""
    texts = ["Der „Hund“ geht's an, z. B. um 1,5 % & mehr!"]
    texts.append('"Halt," rufen 5\u00a0000 Hunde.')
    assert evaluate.moses_tokenise(texts) == [
        "der &quot; hund &quot; geht &apos; s an , z. b. um 1,5 % &amp; mehr !",
        "&quot; halt &quot; , rufen 5,000 hunde .",
    ]


def test_tokenised_text_is_told_of_in_our_words_and_sacrebleu_adds_none(caplog):
    text = [f"ein {i} hier ." for i in range(100)]
    with pytest.warns(UserWarning, match="100 translations end in a full stop after"):
        evaluate.bleu_chrf(text, text)
    assert caplog.text == ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate.bleu_chrf(text[1:], text[1:])


def test_perfect_translations_score_100_and_foreign_ones_near_0():
    bleu, chrf = evaluate.bleu_chrf(REFERENCES, REFERENCES)
    assert bleu.score == pytest.approx(100)
    assert chrf.score == pytest.approx(100)
    bleu, chrf = evaluate.bleu_chrf(["xyz"] * len(REFERENCES), REFERENCES)
    assert bleu.score < 1
    assert chrf.score < 1


def test_corpus_scores_ignore_the_order_of_the_sentences_but_not_their_pairing():
    order = list(range(len(REFERENCES)))
    random.Random(1).shuffle(order)
    said, meant = [HYPOTHESES[i] for i in order], [REFERENCES[i] for i in order]
    straight = evaluate.bleu_chrf(HYPOTHESES, REFERENCES)
    shuffled = evaluate.bleu_chrf(said, meant)
    assert [m.score for m in straight] == pytest.approx([m.score for m in shuffled])
    mispaired = evaluate.bleu_chrf(said, REFERENCES)
    assert mispaired[0].score < straight[0].score


def test_case_counts_in_the_cased_score_and_not_in_the_tokenised_one():
    lowered = [sentence.lower() for sentence in REFERENCES]
    assert evaluate.bleu_chrf(lowered, REFERENCES)[0].score < 100
    references = evaluate.moses_tokenise(REFERENCES)
    assert evaluate.tokenised_bleu(lowered, references).score == pytest.approx(100)


def test_score_keeps_the_order_of_the_test_set_and_passes_the_search_on(monkeypatch):
    monkeypatch.setattr(evaluate.scores, "CHUNK", 2)
    pairs = [("x" * (i * 7 % 5 + 1) + str(i), ref) for i, ref in enumerate(REFERENCES)]
    parrot = Parrot(dict(zip((s for s, _ in pairs), HYPOTHESES, strict=True)))
    report = evaluate.score(parrot, pairs, beam_size=3, length_penalty=0.9)

    assert parrot.calls == [(2, 3, 0.9), (2, 3, 0.9), (1, 3, 0.9)]
    assert [s.source for s in report.sentences] == [s for s, _ in pairs]
    assert [s.reference for s in report.sentences] == REFERENCES
    assert [s.translation for s in report.sentences] == HYPOTHESES
    bleu, chrf = evaluate.bleu_chrf(HYPOTHESES, REFERENCES)
    assert (report.bleu, report.signature) == (bleu.score, bleu.signature)
    assert (report.chrf, report.chrf_signature) == (chrf.score, chrf.signature)
    assert report.tokenised_bleu is None
    assert report.tokenised_signature is None


def test_a_report_reads_well_and_survives_json():
    pairs = [(f"source {i}", ref) for i, ref in enumerate(REFERENCES)]
    parrot = Parrot(dict(zip((s for s, _ in pairs), HYPOTHESES, strict=True)))
    references = evaluate.moses_tokenise(REFERENCES)
    report = evaluate.score(parrot, pairs, tokenised_references=references)
    tokenised = evaluate.tokenised_bleu(HYPOTHESES, references)
    assert report.tokenised_bleu == tokenised.score
    text = str(report)
    assert text.startswith("5 sentences, beam 4, length penalty 0.6\n")
    signatures = (report.signature, report.chrf_signature, report.tokenised_signature)
    assert all(f"|{signature} = " in text for signature in signatures)
    values = json.loads(json.dumps(report.to_dict()))
    assert values["bleu"] == report.bleu
    assert values["n_sentences"] == 5
    assert values["sentences"][4]["translation"] == HYPOTHESES[4]
    assert "sentences" not in report.to_dict(sentences=False)


@pytest.mark.parametrize(
    ("hypotheses", "references", "error", "message"),
    [
        ([], [], ValueError, "hypotheses is empty"),
        (["a"], ["a", "b"], ValueError, "1 hypotheses but 2 references"),
        ("a", ["a"], TypeError, r"hypotheses is one str \('a'\).*\[sentence\]"),
        (["a"], "a", TypeError, "references is one str"),
        (["a", None], ["a", "b"], TypeError, r"hypotheses\[1\] is None"),
        (7, ["a"], TypeError, "hypotheses is a int"),
    ],
)
def test_bad_lists_are_refused_by_name(hypotheses, references, error, message):
    for score in (evaluate.bleu_chrf, evaluate.tokenised_bleu):
        with pytest.raises(error, match=message):
            score(hypotheses, references)


@pytest.mark.parametrize(
    ("pairs", "error", "message"),
    [
        ([], ValueError, "no pairs to score"),
        ("Hello.", TypeError, "pairs is a str: give a list of"),
        ({"a": "b"}, TypeError, "pairs is a dict"),
        (["ab"], TypeError, r"pairs\[0\] is 'ab'"),
        ([("a", "b"), ("a", None)], TypeError, r"pairs\[1\] is \('a', None\)"),
        (3, TypeError, "pairs is a int"),
    ],
)
def test_bad_pairs_are_refused_before_any_translation(pairs, error, message):
    parrot = Parrot({})
    with pytest.raises(error, match=message):
        evaluate.score(parrot, pairs)
    with pytest.raises(ValueError, match="1 pairs but 2 tokenised references"):
        evaluate.score(parrot, [("a", "b")], tokenised_references=["b", "c"])
    assert parrot.calls == []


def test_without_sacremoses_only_the_tokenised_score_is_lost(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacremoses", None)  # import fails
    parrot = Parrot({"a": "Ein Hund ."})
    assert evaluate.score(parrot, [("a", "Ein Hund .")]).tokenised_bleu is None
    parrot.calls.clear()
    with pytest.raises(ModuleNotFoundError, match="pip install sacremoses"):
        evaluate.score(parrot, [("a", "b")], tokenised_references=["b"])
    assert parrot.calls == []
