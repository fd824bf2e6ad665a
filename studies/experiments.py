"""Train models that differ in one setting, and keep what each of them scored.

    python -m studies.experiments candidates    recipes for Multi30k, on validation only
    python -m studies.experiments chosen        the best of them: three seeds, test sets
    python -m studies.experiments chosen-before   … and the best as long as it was
    python -m studies.experiments ablations     one change at a time, three seeds
    python -m studies.experiments ablations --only heads --minutes 60

Writes ``results/STUDY.json`` after each run; runs that are there already are left out,
and one that was cut off goes on from its checkpoint. So a study may take several
evenings, and several processes (with different ``--only``) may share the work. Threads:
as ``OMP_NUM_THREADS`` says.
"""

import argparse
import dataclasses
import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tformer import TransformerConfig, data, evaluate, train
from tformer.common.files import write_json
from tformer.data.corpus import Pair

ROOT = Path(__file__).resolve().parent.parent

MULTI30K = {  # two million parameters: more learn the 29,000 captions by heart
    "vocab_size": 6000,
    "d_model": 128,
    "n_heads": 4,
    "d_ff": 256,
    "n_encoder_layers": 4,
    "n_decoder_layers": 4,
    "dropout": 0.3,
    "max_len": 128,
    "norm": "pre",
    "max_tokens": 8192,
    "last_step": 4000,
    "warmup_steps": 1000,
    "lr_scale": 1.5,
    "eval_every": 500,
    "average_last": 1,
    "tokenizer": "unigram",
    "precision": "bf16",
}
SMALL = MULTI30K | {
    "vocab_size": 4000,
    "d_ff": 512,
    "n_encoder_layers": 2,
    "n_decoder_layers": 2,
    "dropout": 0.1,
    "max_tokens": 4096,
    "last_step": 1000,
    "warmup_steps": 250,
    "lr_scale": 1.0,
    "eval_every": 250,
}
R_DROP = {
    "r_drop": 5.0,
    "last_step": 8000,
    "eval_every": 400,
    "average_last": 6,
    "precision": "fp32",  # so small a model takes longer in bf16 on a GPU
}
WIDE = R_DROP | {
    "d_model": 256,
    "n_heads": 8,
    "d_ff": 512,
    "max_tokens": 6144,
    "last_step": 8500,
    "eval_every": 425,
}
WIDER = WIDE | {"d_model": 384, "d_ff": 768}


@dataclass(frozen=True)
class Study:
    """Runs that share all settings but one, each with several seeds.

    Attributes:
        base: the settings of configuration and recipe that all share.
        variants: name → the settings in which it differs.
        seeds: each variant is trained once with each.
        beam_size: of the search whose translations are scored.
        length_penalties: exponents of the search to try on the validation set; the best
            of them there, for each run on its own, is the one that counts.
        on_tests: score the test sets, too. Only for settings chosen before.
    """

    base: dict[str, Any]
    variants: dict[str, dict[str, Any]]
    seeds: tuple[int, ...] = (0,)
    beam_size: int = 5
    length_penalties: tuple[float, ...] = (0.6,)  # the paper's
    on_tests: bool = False


STUDIES = {
    "candidates": Study(
        MULTI30K,
        {
            "plain": {},
            "sampled pieces": {"sample_pieces": 0.2},
            "twice as long": {"last_step": 8000},
            "four times as long, averaged": {"last_step": 16000, "average_last": 10},
            "R-Drop": R_DROP,  # this one and the next ones on a GPU
            "R-Drop, d_model 256": WIDE,
            "d_model 256 without R-Drop": WIDE | {"r_drop": 0.0},
            "R-Drop, d_model 384": WIDER,
        },
        seeds=(0, 1, 2),
        length_penalties=(0.6, 1.0, 1.4, 1.8),
    ),
    **{
        name: Study(
            MULTI30K,
            {"chosen": recipe},
            seeds=(0, 1, 2),
            length_penalties=(0.6, 1.0, 1.4, 1.8),
            on_tests=True,
        )
        for name, recipe in (("chosen", WIDER), ("chosen-before", WIDE))
    },
    "ablations": Study(
        SMALL,
        {
            "base": {},
            "1 head": {"n_heads": 1},
            "2 heads": {"n_heads": 2},
            "8 heads": {"n_heads": 8},
            "16 heads": {"n_heads": 16},
            "1 + 1 layers": {"n_encoder_layers": 1, "n_decoder_layers": 1},
            "3 + 3 layers": {"n_encoder_layers": 3, "n_decoder_layers": 3},
            "4 + 4 layers": {"n_encoder_layers": 4, "n_decoder_layers": 4},
            "d_model 64": {"d_model": 64},
            "d_model 256": {"d_model": 256},
            "d_ff 128": {"d_ff": 128},
            "d_ff 1024": {"d_ff": 1024},
            "no dropout": {"dropout": 0.0},
            "dropout 0.3": {"dropout": 0.3},
            "no smoothing": {"label_smoothing": 0.0},
            "smoothing 0.2": {"label_smoothing": 0.2},
            "no warm-up": {"warmup_steps": 1},
            "untied tables": {"tie_embeddings": False},
            "learned positions": {"positions": "learned"},
            "post-norm": {"norm": "post"},
            "sampled pieces": {"sample_pieces": 0.2},
        },
        seeds=(0, 1, 2),
        beam_size=1,
    ),
}


def settings(
    study: Study, variant: str, seed: int
) -> tuple[TransformerConfig, train.Recipe]:
    """The configuration and the recipe of one run."""
    values = study.base | study.variants[variant] | {"seed": seed}
    of_config = {field.name for field in dataclasses.fields(TransformerConfig)}
    config = {name: x for name, x in values.items() if name in of_config}
    recipe = {name: x for name, x in values.items() if name not in of_config}
    return TransformerConfig(**config), train.Recipe(**recipe)


def run(
    study: Study, variant: str, seed: int, corpus: data.Corpus, folder: Path
) -> dict[str, Any]:
    """Train and score one model; what is kept of it."""
    config, recipe = settings(study, variant, seed)
    load = os.getloadavg()[0]
    trained = train.fit(
        config, corpus, steps=recipe.last_step, recipe=recipe, folder=folder
    )

    def score(name: str, pairs: list[Pair], length_penalty: float) -> dict[str, Any]:
        return evaluate.score(
            trained.translator,
            pairs,
            tokenised_references=corpus.tokenised_references.get(name),
            beam_size=study.beam_size,
            length_penalty=length_penalty,
        ).to_dict(sentences=False)

    tried = [score("valid", corpus.valid, alpha) for alpha in study.length_penalties]
    scores = {"valid": max(tried, key=lambda each: each["bleu"])}
    alpha = scores["valid"]["length_penalty"]
    if study.on_tests:
        scores |= {name: score(name, x, alpha) for name, x in corpus.test.items()}
    report = trained.report
    kept = "device precision torch date n_parameters steps epochs seconds valid_loss"
    return {
        "variant": variant,
        "seed": seed,
        "changes": study.variants[variant],
        **{name: report[name] for name in kept.split()},
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "load_average": [load, os.getloadavg()[0]],  # others may have run beside it
        "length_penalties": {x["length_penalty"]: x["bleu"] for x in tried},
        "scores": scores,
    }


def rows_of(file: Path) -> list[dict[str, Any]]:
    """The runs that a study has so far, those of other processes included."""
    if not file.is_file():
        return []
    rows: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))["runs"]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--only", default="", help="variants whose name contains this")
    parser.add_argument("--seed", type=int, help="runs with this seed")
    parser.add_argument("--minutes", type=float, help="begin no run after this long")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    parser.add_argument("--keep", action="store_true", help="keep the runs' folders")
    arguments = parser.parse_args()
    study, started = STUDIES[arguments.study], time.monotonic()
    file = arguments.results / f"{arguments.study}.json"
    arguments.results.mkdir(parents=True, exist_ok=True)  # now, not after the first run
    corpus = data.load("multi30k")
    for seed in study.seeds:  # so that a study cut off has all variants once
        for variant in study.variants:
            minutes = (time.monotonic() - started) / 60
            is_late = arguments.minutes is not None and minutes > arguments.minutes
            known = {(row["variant"], row["seed"]) for row in rows_of(file)}
            if (variant, seed) in known or arguments.only not in variant or is_late:
                continue
            if arguments.seed not in (None, seed):
                continue
            folder = arguments.runs / f"{arguments.study}-{variant}-{seed}"
            row = run(study, variant, seed, corpus, folder)
            write_json(
                file,
                {
                    "command": f"python -m studies.experiments {arguments.study}",
                    "corpus": corpus.name,
                    "checksums": corpus.checksums,
                    "base": study.base,
                    "beam_size": study.beam_size,
                    "runs": [*rows_of(file), row],
                },
            )
            if not arguments.keep:
                shutil.rmtree(folder)
            score = row["scores"]["valid"]
            print(f"{variant}, seed {seed}: {score['bleu']:.2f} BLEU (validation)")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on from the last checkpoint")
        raise SystemExit(130) from None
