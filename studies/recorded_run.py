"""Train for long, keep what the book shows of the run, and release the model.

    python -m studies.recorded_run released    the released model: tformer/pretrained
    python -m studies.recorded_run further     the same, trained further from there
    python -m studies.recorded_run further --again    its history.json only, anew
    python -m studies.recorded_run grammar     a small model of the generated corpus

Writes ``results/run-NAME.json``: curves and samples. Of the released model also, along
the way, the translations and cross-attention of a few fixed sentences; its folder gets
a ``history.json``, with the curve thinned out, that chapters read with
``tformer.pretrained.load_history``. Of a corpus with true alignments also exact match,
by phenomenon, and the alignment error rate of the head that was best on the validation
split. Threads: as ``OMP_NUM_THREADS`` says.
"""

import argparse
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from tformer import TransformerConfig, data, evaluate, train
from tformer.common.files import write_json
from tformer.data import Corpus, grammar
from tformer.pretrained import load_pretrained
from tformer.translator import Translator

ROOT = Path(__file__).resolve().parent.parent
WATCHED = [
    (
        "The dog did not cross the street because it was tired.",
        "Der Hund überquerte die Straße nicht, weil er müde war.",
    ),
    (
        "The dog did not cross the street because it was wide.",
        "Der Hund überquerte die Straße nicht, weil sie breit war.",
    ),
    ("A man is riding a horse.", "Ein Mann reitet auf einem Pferd."),
    ("I do not know where he lives.", "Ich weiß nicht, wo er wohnt."),
]
RUNS: dict[str, dict[str, Any]] = {
    "released": {
        "corpus": "multi30k*2+tatoeba",
        "after": (),
        "steps": 9000,
        "config": TransformerConfig(dropout=0.1, norm="pre"),
        "recipe": train.Recipe(
            max_tokens=4096,
            last_step=9000,
            eval_every=500,
            average_last=1,  # the last steps are so short that they average already
            tokenizer="unigram",
            precision="bf16",
        ),
        "watched": WATCHED,
    },
    "further": {  # from the end of "released"; the learning rate rises and falls again
        "corpus": "multi30k*2+tatoeba",
        "after": ("released",),
        "steps": 10_000,
        "config": TransformerConfig(dropout=0.1, norm="pre"),
        "recipe": train.Recipe(
            max_tokens=4096,
            warmup_steps=1000,
            last_step=10_000,
            lr_scale=0.7,
            eval_every=500,
            average_last=1,
            tokenizer="unigram",
            precision="bf16",
            seed=1,  # the sentences in another order
        ),
        "watched": WATCHED,
    },
    "grammar": {
        "corpus": "grammar",
        "after": (),
        "n_train": 40_000,  # drawn anew: sentences never seen teach more than epochs
        "steps": 2300,
        "config": TransformerConfig(
            vocab_size=1000,
            d_model=128,
            n_heads=4,
            d_ff=384,
            n_encoder_layers=2,
            n_decoder_layers=2,
            dropout=0.0,
            max_len=64,
            norm="pre",
        ),
        "recipe": train.Recipe(
            max_tokens=1536,
            warmup_steps=300,
            lr_scale=0.7,
            label_smoothing=0.0,
            eval_every=100,
            average_last=8,
        ),
        "watched": WATCHED[:2],
    },
}
RELEASED_IN = torch.int8  # what the model is stored in, and, in words:
WEIGHTS = "int8 with a scale for each row, computed in float32"
MOST_POINTS = 180  # of a curve, in history.json
REPLAY_STEPS = {
    "released": (500, 1000, 1500, 2000, 3000, 4000, 5000, 7000, 9000),
    "further": (2000, 5000, 10_000),
}


class Replay:
    """A listener that keeps translations and cross-attention at a few steps.

    Frames lie in a file beside the run, so that a run that is cut off and resumed
    keeps those it has.
    """

    def __init__(self, file: Path, steps: tuple[int, ...]) -> None:
        self.file, self.steps = file, steps
        known = json.loads(file.read_text("utf-8")) if file.is_file() else []
        self.frames: list[dict[str, Any]] = known

    def __call__(self, event: dict[str, Any]) -> None:
        if event["kind"] == "start":  # what came after the checkpoint comes again
            self.frames = [
                each for each in self.frames if each["step"] <= event["step"]
            ]
        if event["kind"] != "evaluate" or event["step"] not in self.steps:
            return
        translator = event["translator"]
        frame: dict[str, Any] = {
            "step": event["step"],
            "valid_loss": event["valid_loss"],
            "sentences": [],
        }
        for source, reference in WATCHED:
            # The same German at every checkpoint: only so can the maps be compared.
            maps = translator.attention(source, reference)
            last_layer = maps.cross[-1].mean(dim=0)  # (query, key), mean of the heads
            frame["sentences"].append(
                {
                    "source": source,
                    "translation": translator.translate(source),
                    "source_pieces": maps.source_pieces,
                    "predicted_pieces": maps.predicted_pieces,
                    "cross_attention": [
                        [round(weight, 3) for weight in row]
                        for row in last_layer.tolist()
                    ],
                }
            )
        self.frames.append(frame)
        write_json(self.file, self.frames)


def score_aligned(translator: Translator, corpus: Corpus) -> dict[str, Any]:
    """Exact match and alignment error rate on every split but the training set.

    The rule that reads links from attention is the best on the validation split.
    """
    splits = {"valid": corpus.valid, **corpus.test}
    errors = evaluate.alignment_rules(
        translator, corpus.valid, corpus.alignments["valid"]
    )
    rule = next(iter(errors))
    scores: dict[str, Any] = {}
    for name, pairs in splits.items():
        gold = corpus.alignments[name]
        report = evaluate.score(translator, pairs)
        links = [
            evaluate.word_links(translator, pair, aligned, rule)
            for pair, aligned in zip(pairs, gold, strict=True)
        ]
        diagonal = [
            evaluate.diagonal_links(len(aligned.english), len(aligned.german))
            for aligned in gold
        ]
        by_phenomenon = evaluate.exact_by_phenomenon(report, gold)
        scores[name] = {
            **report.to_dict(sentences=False),
            "phenomena": {
                each: {"n": share.n, "exact_match": share.share}
                for each, share in by_phenomenon.items()
            },
            "checks": str(evaluate.check(report, tokenizer=translator.tokenizer)),
            "alignment_error_rate": evaluate.alignment_error_rate(links, gold),
            "alignment_error_rate_diagonal": evaluate.alignment_error_rate(
                diagonal, gold
            ),
        }
    return {
        "alignment_rule": {**asdict(rule), "in_words": str(rule), "chosen_on": "valid"},
        "alignment_error_rates_valid": {str(each): e for each, e in errors.items()},
        "splits": scores,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=RUNS)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--minutes", type=float, help="stop after this long, if sooner")
    parser.add_argument("--folder", type=Path, help="of the run (runs/NAME)")
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    parser.add_argument("--release", type=Path, default=ROOT / "tformer/pretrained")
    parser.add_argument(
        "--again", action="store_true", help="write history.json from the results"
    )
    arguments = parser.parse_args()
    settings = RUNS[arguments.name]
    file = arguments.results / f"run-{arguments.name}.json"
    before = [arguments.results / f"run-{each}.json" for each in settings["after"]]
    if arguments.again:
        write_history(whole_run([*before, file]), arguments.release)
        return
    folder = arguments.folder or Path("runs") / arguments.name
    replay = Replay(folder / "replay.json", REPLAY_STEPS.get(arguments.name, ()))
    corpus = data.load(settings["corpus"])
    if "n_train" in settings:
        corpus = grammar.extend(corpus, settings["n_train"])
    load = [os.getloadavg()[0]]
    run = train.fit(
        settings["config"],
        corpus,
        steps=settings["steps"],
        minutes=arguments.minutes,
        recipe=settings["recipe"],
        device=arguments.device,
        folder=folder,
        start=load_pretrained(arguments.release) if before else None,
        samples=settings["watched"],
        on_event=replay if arguments.name in REPLAY_STEPS else None,
    )
    load.append(os.getloadavg()[0])  # more than the threads: others ran as well
    arguments.results.mkdir(exist_ok=True)
    recorded = {
        "command": f"python -m studies.recorded_run {arguments.name}",
        "recipe": asdict(settings["recipe"]),
        "n_train": len(corpus.train),
        "report": run.report,
        "history": run.history,
        "curve": run.curve[::5],
        "replay": replay.frames,
        "cores": os.cpu_count(),
        "load_average": {"before": load[0], "after": load[1]},
    }
    if corpus.alignments:
        recorded["scores"] = score_aligned(run.translator, corpus)
    file.write_text(json.dumps(recorded, ensure_ascii=False) + "\n", "utf-8")
    if arguments.name in REPLAY_STEPS:
        run.translator.save(arguments.release, dtype=RELEASED_IN)
        whole = whole_run([*before, file])
        report = whole["report"]
        card = json.loads((arguments.release / "card.json").read_text("utf-8"))
        told = {name: report[name] for name in ("steps", "epochs", "seconds")}
        stages = whole["stages"]
        write_json(arguments.release / "card.json", card | told | {"stages": stages})
        write_history(whole, arguments.release)


def whole_run(files: list[Path]) -> dict[str, Any]:
    """Recorded runs as one, where each began with the weights that the last ended with.

    Steps, epochs and seconds are counted from the very beginning.
    """
    whole: dict[str, Any] = {"history": [], "curve": [], "replay": [], "stages": []}
    total = {"step": 0, "epoch": 0, "seconds": 0.0}
    for file in files:
        recorded = json.loads(file.read_text("utf-8"))
        report = recorded["report"]
        for part in ("history", "curve", "replay"):
            whole[part] += [
                each | {name: each[name] + total[name] for name in total & each.keys()}
                for each in recorded.get(part, [])
            ]
        for name, of_report in (("step", "steps"), ("epoch", "epochs")):
            total[name] += report[of_report]
        total["seconds"] += report["seconds"]
        kept = ("steps", "epochs", "seconds", "date", "device", "recipe", "start")
        stage = {name: report[name] for name in kept if name in report}
        whole["stages"].append({"command": recorded["command"], **stage})
    whole["report"] = report | {
        "steps": total["step"],
        "epochs": total["epoch"],
        "seconds": total["seconds"],
    }
    return whole


def write_history(recorded: dict[str, Any], folder: Path) -> None:
    """Put what chapters show of a run beside its model: a few dozen kilobytes."""
    curve = recorded["curve"]
    size = -(-len(curve) // MOST_POINTS)
    groups = [curve[i : i + size] for i in range(0, len(curve), size)]

    def mean(group: list[dict[str, float | None]], key: str) -> float | None:
        known = [each[key] for each in group if each[key] is not None]
        return float(f"{sum(known) / len(known):.4g}") if known else None

    thinned = [
        {
            "step": group[-1]["step"],
            "loss": mean(group, "loss"),
            "learning_rate": float(f"{group[-1]['learning_rate']:.4g}"),
            "gradient_norm": mean(group, "gradient_norm"),  # None: all skipped
        }
        for group in groups
    ]
    evaluations = [
        {key: round(x, 6) if isinstance(x, float) else x for key, x in record.items()}
        for record in recorded["history"]
    ]
    replay = recorded.get("replay", [])
    history = {"evaluations": evaluations, "curve": thinned, "replay": replay}
    write_json(folder / "history.json", history)


if __name__ == "__main__":
    main()
