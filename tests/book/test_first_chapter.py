"""What chapter 00 says about the sentences that it gives to the model."""

import ast

from chapters import ROOT, read, source

from tformer.data.corpus import keys, sentence_key
from tformer.pretrained import load_pretrained

CHAPTER = ROOT / "book" / "00-before-you-start.ipynb"


def sentences():
    """The English side of every dictionary of accepted translations."""
    found = []
    for cell in read(CHAPTER)["cells"]:
        if cell["id"] in ("model-sentences", "model-hard"):
            for statement in ast.parse(source(cell)).body:
                if statement.targets[0].id != "kinds":
                    found += ast.literal_eval(statement.value)
    return found


def test_none_of_the_sentences_was_learned_from(corpus_of):
    trained_on = keys(corpus_of(load_pretrained().card["corpus"]).train)
    assert len(trained_on) > 100_000
    assert len(sentences()) == 14
    assert [s for s in sentences() if sentence_key(s) in trained_on] == []
