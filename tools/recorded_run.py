"""Train for long, keep what the book shows of the run, and release the model.

    python tools/recorded_run.py released    the released model: tformer/pretrained
    python tools/recorded_run.py released --again    its history.json only, anew

Writes ``results/run-NAME.json``: curves, samples, and along the way the
translations and cross-attention of a few fixed sentences. The released model's folder
gets a ``history.json``, thinned out, that chapters read with
``tformer.pretrained.load_history``.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from tformer import TransformerConfig, data, train
from tformer.files import write_json

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
        "steps": 6000,
        "config": TransformerConfig(dropout=0.1, norm="pre"),
        "recipe": train.Recipe(max_tokens=4096, eval_every=500, precision="bf16"),
    },
}
MOST_POINTS = 180  # of a curve, in history.json
REPLAY_STEPS = (500, 1000, 1500, 2000, 3000, 4000, 6000)


class Replay:
    """A listener that keeps translations and cross-attention at a few checkpoints.

    Frames lie in a file beside the run, so that a run that is cut off and resumed
    keeps those it has.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        known = json.loads(file.read_text("utf-8")) if file.is_file() else []
        self.frames: list[dict[str, Any]] = known

    def __call__(self, event: dict[str, Any]) -> None:
        if event["kind"] == "start":  # what came after the checkpoint comes again
            self.frames = [
                each for each in self.frames if each["step"] <= event["step"]
            ]
        if event["kind"] != "evaluate" or event["step"] not in REPLAY_STEPS:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=RUNS)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--folder", type=Path, help="of the run (runs/NAME)")
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    parser.add_argument("--release", type=Path, default=ROOT / "tformer/pretrained")
    parser.add_argument(
        "--again", action="store_true", help="write history.json from the results"
    )
    arguments = parser.parse_args()
    file = arguments.results / f"run-{arguments.name}.json"
    if arguments.again:
        write_history(json.loads(file.read_text("utf-8")), arguments.release)
        return
    settings = RUNS[arguments.name]
    folder = arguments.folder or Path("runs") / arguments.name
    replay = Replay(folder / "replay.json")
    run = train.fit(
        settings["config"],
        data.load(settings["corpus"]),
        steps=settings["steps"],
        recipe=settings["recipe"],
        device=arguments.device,
        folder=folder,
        samples=WATCHED,
        on_event=replay,
    )
    arguments.results.mkdir(exist_ok=True)
    recorded = {
        "command": f"python tools/recorded_run.py {arguments.name}",
        "recipe": asdict(settings["recipe"]),
        "report": run.report,
        "history": run.history,
        "curve": run.curve[::5],
        "replay": replay.frames,
    }
    file.write_text(json.dumps(recorded, ensure_ascii=False) + "\n", "utf-8")
    if arguments.name == "released":
        run.translator.save(arguments.release, dtype=torch.float16)
        write_history(recorded, arguments.release)


def write_history(recorded: dict[str, Any], folder: Path) -> None:
    """Put what chapters show of a run beside its model: a few dozen kilobytes."""
    curve = recorded["curve"]
    size = -(-len(curve) // MOST_POINTS)
    groups = [curve[i : i + size] for i in range(0, len(curve), size)]
    thinned = [
        {
            "step": group[-1]["step"],
            **{
                key: float(f"{sum(each[key] for each in group) / len(group):.4g}")
                for key in ("loss", "learning_rate", "gradient_norm")
            },
        }
        for group in groups
    ]
    evaluations = [
        {key: round(x, 6) if isinstance(x, float) else x for key, x in record.items()}
        for record in recorded["history"]
    ]
    write_json(folder / "history.json", {"evaluations": evaluations, "curve": thinned})


if __name__ == "__main__":
    main()
