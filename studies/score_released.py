"""Score the released model on every test set and write its card.

    python -m studies.score_released --before runs/further

Takes ``tformer/pretrained`` as it will be loaded by a reader (in eight bits),
translates the official test sets with beam 4, and writes the scores, with sacreBLEU's
signatures, into ``card.json`` and a readable ``README.md`` beside it. With the folder
of its last run, also what the model scored before its weights were rounded.
"""

import argparse
import json
import platform
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import torch

from studies.recorded_run import WEIGHTS
from studies.typed_sentences import FILE as TYPED
from tformer import data, evaluate
from tformer.common.files import write_atomically, write_json
from tformer.data.corpus import shared
from tformer.pretrained import RELEASED, load_pretrained

LIMITS = [
    "One sentence at a time: picture captions and short everyday sentences. Long "
    "sentences, rare names, numbers, news and anything technical go wrong, fluently.",
    "It may contradict the source, drop a negation or pick the wrong pronoun. Do not "
    "rely on it for anything.",
    "Both corpora have their bias: captions of photographs taken in the "
    "English-speaking world, and in Tatoeba a great many sentences about Tom.",
]
TATOEBA = (
    "Tatoeba was the public edition of 2018-05-13 less 2,000 pairs (whole groups of "
    "equal English sentences), split by groups of pairs that share a sentence in "
    "either language."
)
TERMS = (
    "Multi30k is provided for non-commercial research and education; so is this model. "
    "Tatoeba's sentences are CC BY 2.0 FR."
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, help="the model before it was rounded")
    before = parser.parse_args().before
    translator = load_pretrained()
    card = translator.card
    corpus = data.load(card["corpus"])
    scores = {}
    if before:
        card["before_rounding"] = {}
    for name, pairs in corpus.test.items():
        report = evaluate.score(
            translator,
            pairs,
            tokenised_references=corpus.tokenised_references.get(name),
            progress=True,
        )
        overlap = len(shared(pairs, corpus.train))
        scores[name] = {**report.to_dict(sentences=False), "shared_with_train": overlap}
        print(name, report, sep="\n")
        if before:
            exact = evaluate.score(load_pretrained(before), pairs, progress=True)
            same = [
                one.translation == other.translation
                for one, other in zip(report.sentences, exact.sentences, strict=True)
            ]
            card["before_rounding"][name] = {
                "bleu": exact.bleu,
                "chrf": exact.chrf,
                "same_text": sum(same) / len(same),
            }
    card["scores"] = scores
    card["scored"] = {
        "date": datetime.now(UTC).date().isoformat(),
        "torch": torch.__version__,
        "device": f"CPU ({platform.machine()})",
        "weights": WEIGHTS,
    }
    card["training_pairs"] = len(set(corpus.train))
    card["data"], card["limits"], card["terms"] = TATOEBA, LIMITS, TERMS
    write_json(RELEASED / "card.json", card)
    write_atomically(RELEASED / "README.md", readme(card).encode())


def training(card: dict) -> str:
    """How the model was trained, stage by stage."""
    told = []
    for stage in card["stages"]:
        recipe = stage["recipe"]
        told.append(
            f"`{stage['command']}`: {stage['steps']:,} steps of at most "
            f"{recipe['max_tokens']:,} padded tokens ({stage['epochs']} whole epochs), "
            f"seed {recipe['seed']}, {recipe['precision']} on {stage['device']}, "
            f"{stage['seconds'] / 60:.0f} minutes, {stage['date']}."
        )
    return (
        f"On {card['corpus']}, {card['training_pairs']:,} different pairs. "
        + " Then, from there: ".join(told)
        + " In each, the learning rate falls in a straight line to zero after the "
        f"last step. PyTorch {card['torch']}. No setting was chosen on a test set."
    )


def rounding(card: dict) -> str:
    """What eight bits cost."""
    each = card["before_rounding"].items()
    told = [
        f"{name} {card['scores'][name]['bleu'] - exact['bleu']:+.2f} BLEU "
        f"({exact['same_text']:.0%} of the translations the same)"
        for name, exact in each
    ]
    return (
        "Its weights are stored as whole numbers of eight bits, with a scale for each "
        "row of a matrix. Beside the weights before they were rounded: "
        f"{'; '.join(told)}. The scores above are those of the rounded weights, which "
        "Python and the book's pages share."
    )


def readme(card: dict) -> str:
    """The card for people, in Markdown."""
    config, recipe = card["config"], card["recipe"]
    rows = []
    for name, score in card["scores"].items():
        tokenised = score["tokenised_bleu"]
        shown = "–" if tokenised is None else f"{tokenised:.1f}"
        rows.append(
            f"| {name} | {score['n_sentences']:,} | {score['shared_with_train']} "
            f"| {score['bleu']:.1f} | {score['chrf']:.1f} | {shown} |"
        )
    typed = json.loads(TYPED.read_text("utf-8"))["typed"]
    marks = Counter(each["mark"] for each in typed)
    n_known = sum(each["in_training_data"] for each in typed)
    first = next(iter(card["scores"].values()))
    signatures = [first["signature"], first["chrf_signature"]]
    if first["tokenised_signature"]:
        signatures.append(first["tokenised_signature"])
    return "\n".join(
        [
            "# The released English–German model",
            "",
            "Written by `python -m studies.score_released`; the same facts for "
            "programs are in `card.json`.",
            "",
            "## Model",
            "",
            f"{card['n_parameters']:,} parameters: {config['n_encoder_layers']} "
            f"encoder and {config['n_decoder_layers']} decoder layers, d_model "
            f"{config['d_model']}, {config['n_heads']} heads, d_ff {config['d_ff']}, "
            f"{config['norm']}-norm, {config['vocab_size']:,} tied "
            f"{recipe['tokenizer']} pieces. Stored in eight bits.",
            "",
            "## Training",
            "",
            training(card),
            "",
            card["data"],
            "",
            "## Scores",
            "",
            "Beam 4, length penalty 0.6. BLEU and chrF: cased, detokenised. The last "
            "column is lower-cased and Moses-tokenised, for comparison with published "
            "Multi30k tables only.",
            "",
            "| test set | sentences | shared with training | BLEU | chrF "
            "| tokenised BLEU |",
            "| --- | ---: | ---: | ---: | ---: | ---: |",
            *rows,
            "",
            *(f"- `{signature}`" for signature in signatures),
            "",
            rounding(card),
            "",
            "## Everyday sentences",
            "",
            f"Of {len(typed)} sentences that were typed before the training ended, "
            f"{n_known} turned out to stand in the training data. The authors read "
            "each translation against the English and marked "
            f"{marks['right']} right, {marks['understandable']} understandable and "
            f"{marks['wrong']} wrong: one judgement each, no second marker. "
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
