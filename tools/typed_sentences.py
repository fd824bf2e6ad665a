"""Let the released model translate what was typed, and keep what the authors thought.

    python tools/typed_sentences.py

Thirty sentences, typed before the model was trained to its end and used for no choice,
and three that the model is meant to get right. The script translates them with beam 4
into ``results/typed-sentences.json`` and notes which stand in the training data. The
authors mark each by reading it against the English: *right*, *understandable* (the
sense is there, the German is not right), or *wrong*. A mark is kept only while
the translation stays the same; new translations come out unmarked and wait for a
reader.
"""

import json
from collections import Counter
from pathlib import Path

from first_split import learned_from

from tformer.data.corpus import keys, sentence_key
from tformer.files import write_json
from tformer.pretrained import load_pretrained

FILE = Path(__file__).resolve().parent.parent / "results" / "typed-sentences.json"
MARKS = ("right", "understandable", "wrong")
AIMS = [
    "What time is it?",
    "I do not know where he lives.",
    "She said that she would come tomorrow.",
]
TYPED = [
    # everyday
    "Good morning, how did you sleep?",
    "My sister works in a hospital.",
    "We are going to the cinema tonight.",
    "I forgot my umbrella at the office.",
    "Could you please close the window?",
    "He has two cats and a very old dog.",
    "The train was late again this morning.",
    "I will call you when I get home.",
    "She doesn't like coffee, but she drinks tea.",
    "Where did you buy these shoes?",
    "There is no milk in the fridge.",
    "My parents want to sell their house.",
    "I think that he is lying.",
    "It has been raining since yesterday.",
    "Don't tell anybody what you saw here.",
    # grammar that German does differently
    "The woman whose bag was stolen called the police.",
    "He gets up at six every morning.",
    "If I had more money, I would buy a bicycle.",
    "The children were not allowed to play in the garden.",
    "The letter was written by my grandmother.",
    "She put the book on the table and sat down on the chair.",
    # what a photograph shows
    "Two boys are jumping into a lake.",
    "A woman with a blue hat is selling flowers at a market.",
    "An old man is reading a newspaper on a park bench.",
    "A black dog is running through the snow with a stick in its mouth.",
    "Several people are waiting for a bus in the rain.",
    # beyond what it was made for
    "The government decided to raise taxes on imported cars.",
    "The patient was given antibiotics to treat the infection.",
    "Water boils at a lower temperature on top of a mountain.",
    "The cat that the dog that the man bought chased ran away.",
]


def main() -> None:
    translator = load_pretrained()
    trained_on = keys(learned_from())
    known = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else {}
    marked = {
        (each["source"], each["translation"]): each
        for each in [*known.get("aims", []), *known.get("typed", [])]
    }

    def translated(sources: list[str]) -> list[dict[str, str | bool]]:
        translations = translator.translate(sources)
        return [
            {
                "source": source,
                "translation": translation,
                "in_training_data": sentence_key(source) in trained_on,
                "mark": marked.get((source, translation), {}).get("mark", ""),
                "remark": marked.get((source, translation), {}).get("remark", ""),
            }
            for source, translation in zip(sources, translations, strict=True)
        ]

    found = {
        "command": "python tools/typed_sentences.py",
        "marks": "by the authors, reading each translation against the English; one "
        f"judgement each, no second marker: {', '.join(MARKS)}",
        "aims": translated(AIMS),
        "typed": translated(TYPED),
    }
    write_json(FILE, found)
    for group in ("aims", "typed"):
        for each in found[group]:
            print(f"{each['mark'] or '?':15}{each['source']}")
            print(f"{'':15}{each['translation']}")
        print(group, dict(Counter(each["mark"] or "unmarked" for each in found[group])))


if __name__ == "__main__":
    main()
