"""Score the released model on every test set and write its card.

    python tools/score_released.py

Takes ``tformer/pretrained`` as it will be loaded by a reader (half-precision weights),
translates the official test sets with beam 4, and writes the scores, with sacreBLEU's
signatures, into ``card.json`` and a readable ``README.md`` beside it.
"""

import json
import platform
from collections import Counter
from datetime import UTC, datetime

import torch
from typed_sentences import FILE as TYPED

from tformer import data, evaluate
from tformer.files import write_atomically, write_json
from tformer.pretrained import RELEASED, load_pretrained

LIMITS = [
    "One sentence at a time: picture captions and short everyday sentences. Long "
    "sentences, rare names, numbers, news and anything technical go wrong, fluently.",
    "It may contradict the source, drop a negation or pick the wrong pronoun. Do not "
    "rely on it for anything.",
    "Both corpora have their bias: captions of photographs taken in the "
    "English-speaking world, and in Tatoeba a great many sentences about Tom.",
]
TERMS = (
    "Multi30k is provided for non-commercial research and education; so is this model. "
    "Tatoeba's sentences are CC BY 2.0 FR."
)


def main() -> None:
    translator = load_pretrained()
    card = translator.card
    corpus = data.load(card["corpus"])
    scores = {}
    for name, pairs in corpus.test.items():
        report = evaluate.score(
            translator,
            pairs,
            tokenised_references=corpus.tokenised_references.get(name),
            progress=True,
        )
        scores[name] = report.to_dict(sentences=False)
        print(name, report, sep="\n")
    card["scores"] = scores
    card["scored"] = {
        "date": datetime.now(UTC).date().isoformat(),
        "torch": torch.__version__,
        "device": f"CPU ({platform.machine()})",
        "weights": "float16, computed in float32",
    }
    card["limits"], card["terms"] = LIMITS, TERMS
    write_json(RELEASED / "card.json", card)
    write_atomically(RELEASED / "README.md", readme(card).encode())


def readme(card: dict) -> str:
    """The card for people, in Markdown."""
    config, recipe = card["config"], card["recipe"]
    rows = []
    for name, score in card["scores"].items():
        tokenised = score["tokenised_bleu"]
        shown = "–" if tokenised is None else f"{tokenised:.1f}"
        rows.append(
            f"| {name} | {score['n_sentences']:,} | {score['bleu']:.1f} "
            f"| {score['chrf']:.1f} | {shown} |"
        )
    typed = json.loads(TYPED.read_text("utf-8"))["typed"]
    marks = Counter(each["mark"] for each in typed)
    first = next(iter(card["scores"].values()))
    signatures = [first["signature"], first["chrf_signature"]]
    if first["tokenised_signature"]:
        signatures.append(first["tokenised_signature"])
    return "\n".join(
        [
            "# The released English–German model",
            "",
            "Written by `python tools/score_released.py`; the same facts for programs "
            "are in `card.json`.",
            "",
            "## Model",
            "",
            f"{card['n_parameters']:,} parameters: {config['n_encoder_layers']} "
            f"encoder and {config['n_decoder_layers']} decoder layers, d_model "
            f"{config['d_model']}, {config['n_heads']} heads, d_ff {config['d_ff']}, "
            f"{config['norm']}-norm, {config['vocab_size']:,} tied "
            f"{recipe['tokenizer']} pieces. Stored in float16.",
            "",
            "## Training",
            "",
            f"`python tools/recorded_run.py released`: {card['corpus']}, "
            f"{card['steps']:,} steps of at most {recipe['max_tokens']:,} padded "
            f"tokens ({card['epochs']} whole epochs), seed {recipe['seed']}, "
            f"{card['precision']}, {card['seconds'] / 60:.0f} minutes on "
            f"{card['device']}, PyTorch {card['torch']}, {card['date']}. The last "
            f"{card['averaged_snapshots']} snapshots are averaged. No setting was "
            "chosen on a test set.",
            "",
            "## Scores",
            "",
            "Beam 4, length penalty 0.6. BLEU and chrF: cased, detokenised. The last "
            "column is lower-cased and Moses-tokenised, for comparison with published "
            "Multi30k tables only.",
            "",
            "| test set | sentences | BLEU | chrF | tokenised BLEU |",
            "| --- | ---: | ---: | ---: | ---: |",
            *rows,
            "",
            *(f"- `{signature}`" for signature in signatures),
            "",
            "## Everyday sentences",
            "",
            f"Of {len(typed)} sentences that were typed before the training ended, "
            f"a person marked {marks['right']} of its translations right, "
            f"{marks['understandable']} understandable and {marks['wrong']} wrong: "
            "`results/typed-sentences.json` in the repository has all of them.",
            "",
            "## Limits",
            "",
            *(f"- {limit}" for limit in card["limits"]),
            "",
            "## Terms",
            "",
            card["terms"],
            "",
            card["attribution"],
            "",
        ]
    )


if __name__ == "__main__":
    main()
