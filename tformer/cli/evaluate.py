"""``evaluate``: score a model on a corpus's test sets."""

import argparse
import json
import os
import sys
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

from tformer.cli.options import (
    BEAM,
    PROGRAM,
    add_command,
    add_corpus,
    add_model_and_search,
    add_name,
    check_search,
    columns,
    given,
    load,
)
from tformer.cli.streams import (
    UsageError,
    check_output_is_open,
    check_writable,
    shown,
    unbroken,
    writer,
)


def add_parser(commands: Any) -> None:
    """Add the command ``evaluate`` to the program."""
    parser = add_command(
        commands,
        "evaluate",
        _run,
        "score a model on a corpus's test sets",
        """\
        Translates test sets and prints BLEU and chrF of the cased, detokenised text
        in sacreBLEU's own format, signature included. If the corpus has tokenised
        references (multi30k), the lower-cased, tokenised BLEU of published tables
        follows; it has a different signature, and the two are not comparable. Then
        come the checks: translations that are empty, loop, or have an odd length; for
        grammar, where only one German is right, also exact match by phenomenon.
        """,
        "evaluate --corpus multi30k --worst 10",
        "evaluate --model runs/first --test test_2016_flickr --output german.txt",
        "evaluate --model runs/first --limit 100 --beam-size 1 --json scores.json",
    )
    text = "as for train (default: multi30k)"
    add_corpus(parser, text, default="multi30k")
    parser.add_argument(
        "--test",
        action="append",
        metavar="NAME",
        help="a test set of the corpus; may be repeated (default: all of them)",
    )
    parser.add_argument(
        "--limit", type=int, metavar="N", help="only the first N sentences of each"
    )
    parser.add_argument(
        "--worst",
        type=int,
        metavar="N",
        help="show the N translations with the lowest chrF (ties: in order)",
    )
    add_name(parser, "--json", "FILE", "write scores and versions to this file")
    add_name(parser, "--output", "FILE", "write the translations to this file")
    parser.add_argument(
        "--no-tokenised",
        action="store_true",
        help="omit the lower-cased, tokenised BLEU (which needs sacremoses)",
    )
    add_model_and_search(parser)


def _run(options: argparse.Namespace) -> int:
    settings = given(options, [each for each in BEAM if each.name != "n_best"])
    check_search(settings)
    for name in ("limit", "worst"):
        if (number := getattr(options, name)) is not None and number < 1:
            raise UsageError(f"--{name} {number} must be at least 1")
    for name in ("json", "output"):
        if (path := getattr(options, name)) is not None:
            check_writable(path, f"--{name}")
    if options.json and options.output and _are_one(options.json, options.output):
        raise UsageError(f"--json and --output name one file, {options.json}: give two")
    check_output_is_open("the scores go there; send it to /dev/null")

    from tformer import data

    corpus = data.load(options.corpus, columns=columns(options))
    names = list(dict.fromkeys(options.test or corpus.test))
    for name in names:
        if name not in corpus.test:
            raise UsageError(
                f"{options.corpus} has no test set {name!r}: "
                f"it has {', '.join(corpus.test) or 'none'}"
            )
    if not names:
        raise UsageError(f"{options.corpus} has no test set")
    if options.output and len(names) > 1:
        raise UsageError(
            f"--output takes the translations of one test set, not of {len(names)}: "
            f"add --test NAME ({', '.join(names)})"
        )
    translator = load(options)

    with ExitStack() as stack:  # open the files now, not after an hour's work
        outputs = {
            name: stack.enter_context(writer(path))
            for name in ("json", "output")
            if (path := getattr(options, name)) is not None
        }
        scores = {}
        for name in names:
            report, scores[name] = _score(options, corpus, name, translator, settings)
            if "output" in outputs:
                outputs["output"].writelines(
                    f"{unbroken(each.translation)}\n" for each in report.sentences
                )
        if "json" in outputs:
            record = _record(options, corpus, translator, scores)
            text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
            outputs["json"].write(text + "\n")
    return 0


def _score(
    options: argparse.Namespace,
    corpus: Any,
    name: str,
    translator: Any,
    settings: dict[str, Any],
) -> tuple[Any, dict[str, Any]]:
    """Score one test set and print the result; return the report, and it as JSON."""
    from tformer import evaluate

    pairs = corpus.test[name][: options.limit]
    references = corpus.tokenised_references.get(name)
    if references is not None:
        references = None if options.no_tokenised else references[: options.limit]
    report = evaluate.score(
        translator,
        pairs,
        tokenised_references=references,
        progress=not options.quiet and sys.stderr.isatty(),
        **settings,
    )
    print(f"{name}: {report}")
    if corpus.is_synthetic:
        print("  (generated sentences: not comparable with scores on real text)")
    if len(pairs) < len(corpus.test[name]):
        print(
            f"  (the first {len(pairs)} of {len(corpus.test[name])} sentences: "
            "not comparable with scores on all of them)"
        )
    checks = evaluate.check(report, tokenizer=translator.tokenizer)
    print(f"  checks: {checks}")
    gold = corpus.alignments.get(name, [])[: len(pairs)]
    shares = evaluate.exact_by_phenomenon(report, gold) if gold else {}
    if gold:
        print(f"  exact match: {report.exact_match:.1%}")
    for phenomenon, share in shares.items():
        print(f"    {share.share:6.1%} of {share.n:4} with {phenomenon}")
    if options.worst:
        print("  the worst by chrF of the sentence:")
        for row in report.worst(options.worst):
            print(shown(f"  {row.chrf:5.1f}  {unbroken(row.source)}"))
            print(shown(f"         model      {unbroken(row.translation)}"))
            print(shown(f"         reference  {unbroken(row.reference)}"))
    sys.stdout.flush()
    record = report.to_dict(sentences=False) | {
        "complete": len(pairs) == len(corpus.test[name]),
        "checks": asdict(checks),
    }
    if gold:
        record["phenomena"] = {
            phenomenon: {"n": share.n, "exact_match": share.share}
            for phenomenon, share in shares.items()
        }
    return report, record


def _are_one(path: str, other: str) -> bool:
    """Whether two names lead to the same regular file."""
    path, other = os.path.realpath(path), os.path.realpath(other)
    return path == other and (os.path.isfile(path) or not os.path.exists(path))


def _record(
    options: argparse.Namespace, corpus: Any, translator: Any, scores: dict[str, Any]
) -> dict[str, Any]:
    """Everything needed to judge or reproduce the scores."""
    import datetime
    import platform
    from importlib.metadata import PackageNotFoundError, version

    def package(name: str) -> str | None:
        try:
            return version(name)
        except PackageNotFoundError:
            return None

    from tformer.train import device_name

    return {
        "command": f"{PROGRAM} evaluate",
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "model": str(options.model) if options.model else "released",
        "tokenizer": translator.tokenizer.fingerprint,
        "corpus": corpus.name,
        "is_synthetic": corpus.is_synthetic,
        "checksums": corpus.checksums,
        "device": device_name(translator.device),
        "versions": {
            "python": platform.python_version(),
            **{name: package(name) for name in ("torch", "sacrebleu", "sacremoses")},
        },
        "scores": scores,
    }
