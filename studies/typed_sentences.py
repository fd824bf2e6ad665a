"""Let the released model translate what was typed, and keep what the authors thought.

    python -m studies.typed_sentences

A hundred sentences, typed before the model was trained to its end and used for no
choice, and three that the model is meant to get right. The script translates them with
beam 4 into ``results/typed-sentences.json`` and notes which stand in the training data.
The authors mark each by reading it against the English: *right*, *understandable* (the
sense is there, the German is not right), or *wrong*. A mark is kept only while the
translation stays the same; new translations come out unmarked and wait for a reader.
"""

import json
from collections import Counter
from pathlib import Path

from tformer import data
from tformer.common.files import write_json
from tformer.data.corpus import keys, sentence_key
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
    # more from every day
    "I am looking for my keys.",
    "Can you help me, please?",
    "What is your name?",
    "How much does this bread cost?",
    "We have been married for ten years.",
    "My brother is taller than me.",
    "The soup is too hot to eat.",
    "Is there a pharmacy near here?",
    "I have to get up early tomorrow.",
    "Her daughter is learning to swim.",
    "He broke his arm when he fell off his bike.",
    "You should drink more water.",
    "They moved to Berlin last year.",
    "I would like a cup of tea, please.",
    "The shop closes at eight o'clock.",
    "My phone is broken.",
    "She is reading a letter from her father.",
    "Nobody answered the phone.",
    "I can't find my glasses.",
    "The baby slept all night.",
    "Why are you so tired today?",
    "He always forgets my birthday.",
    "It's too cold to go outside.",
    "We missed the last bus.",
    "Do you want to dance with me?",
    "I bought a new table for the kitchen.",
    "The doctor told him to stop smoking.",
    "Your dog bit me yesterday.",
    "I am afraid of spiders.",
    "There were many people at the party.",
    "She has lived here since she was a child.",
    "He asked me where the station was.",
    "I don't know what to say.",
    "Put your coat on, it's cold outside.",
    "My grandfather can still ride a bike.",
    "This is the best cake I have ever eaten.",
    "If it rains tomorrow, we will stay at home.",
    "Someone stole my bag on the train.",
    "I hope you feel better soon.",
    "The book you gave me was very interesting.",
    "We need eggs, butter and flour.",
    "She speaks three languages.",
    "He works from Monday to Friday.",
    "Have you ever been to Spain?",
    "The children are already asleep.",
    "I will never forget this day.",
    "Turn off the light before you leave.",
    "They are planning a trip to the mountains.",
    "My mother makes the best apple pie.",
    "He didn't want to talk about it.",
    "How long does it take to get to the airport?",
    "I have a headache.",
    "She was born in a small village.",
    "We watched a film and then went to bed.",
    "Can I pay by card?",
    "The neighbours are very friendly.",
    "I have never seen him so angry.",
    "You can sit next to me.",
    "The key is under the mat.",
    "He lost all his money.",
    "What are you doing this weekend?",
    "It was a long and boring meeting.",
    "She opened the door and let the cat in.",
    "We don't have much time.",
    "I think she likes you.",
    "The milk smells strange.",
    "He can't swim, but he loves the sea.",
    "Please speak more slowly.",
    "My shoes are wet.",
    "The flowers in the garden are beautiful.",
]


def main() -> None:
    translator = load_pretrained()
    trained_on = keys(data.load(translator.card["corpus"]).train)
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
        "command": "python -m studies.typed_sentences",
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
