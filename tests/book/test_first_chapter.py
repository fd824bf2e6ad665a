"""What *Before you start* says about the sentences that it gives to the model."""

import ast

from tformer.data.corpus import keys, sentence_key
from tformer.pretrained import load_pretrained
from tformer_book.press.chapters import chapter, read, source

CHAPTER = chapter("before-you-start")


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
    trained_on = keys(corpus_of("multi30k+tatoeba").train)
    assert len(trained_on) > 100_000
    assert len(sentences()) == 15
    assert [s for s in sentences() if sentence_key(s) in trained_on] == []


def test_the_model_gets_one_sentence_with_it_right_and_says_es_in_the_others():
    """What the chapter says of them; other chapters repeat the first."""
    translator = load_pretrained()
    right = "The dog did not drink the water because it was cold."
    wanted = "Der Hund hat das Wasser nicht getrunken, weil es kalt war."
    assert translator.translate(right) == wanted
    assert translator.translate(right, beam_size=1) == wanted
    for last in ("tired", "wide"):
        english = f"The dog did not cross the street because it was {last}."
        german = translator.translate(english)
        assert german.startswith("Der Hund überquerte nicht die Straße, weil es ")
