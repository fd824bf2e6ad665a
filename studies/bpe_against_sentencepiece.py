"""Compare our byte-pair encoding with sentencepiece's on the same text.

    python -m studies.bpe_against_sentencepiece                      Multi30k, 2,000
    merges python -m studies.bpe_against_sentencepiece grammar --merges 300 --no-write

Writes ``results/bpe-against-sentencepiece.json``. Both learn from the training
sentences and spell the words of the validation sentences.

To be compared, sentencepiece is set to the same task: words are what blanks separate,
nothing is normalised, every character is known, and its mark for a blank stands at the
end of a word, as ``</w>`` does. One difference is left, and ``most_frequent`` checks
that there is no other: of equally frequent pairs we take the first in the alphabet,
sentencepiece the shorter, then the first in the alphabet. So the order of merges
differs, and now and then one choice rules another out. Their merges are replayed, and
at each of them the pair must be a most frequent one by our count.
"""

import argparse
import io
import platform
import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import sentencepiece

from tformer import data
from tformer.common.files import write_json
from tformer.tokenization.byte_pairs import (
    END_OF_WORD,
    BytePairEncoding,
    count_pairs,
    merge,
)

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "results" / "bpe-against-sentencepiece.json"
BLANK = "\u2581"  # sentencepiece's mark
N_SPECIAL = 4
SETTINGS = {
    "model_type": "bpe",
    "normalization_rule_name": "identity",
    "byte_fallback": False,
    "character_coverage": 1.0,
    "split_by_whitespace": True,
    "split_by_unicode_script": False,
    "split_by_number": False,
    "split_digits": False,
    "treat_whitespace_as_suffix": True,
    "max_sentencepiece_length": 512,
}


def train_sentencepiece(
    sentences: list[str], n_merges: int
) -> sentencepiece.SentencePieceProcessor:
    """A sentencepiece model with ``n_merges`` merges, set to be comparable."""
    characters = set("".join(sentences)) - {" "}
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(sentences),
        model_writer=model,
        vocab_size=N_SPECIAL + n_merges + 1 + len(characters),  # 1: its mark
        pad_id=0,
        bos_id=1,
        eos_id=2,
        unk_id=3,
        num_threads=1,
        max_sentence_length=1 << 20,
        minloglevel=3,
        **SETTINGS,
    )
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model.getvalue())
    return processor


def compare(train: Iterable[str], valid: Iterable[str], n_merges: int) -> dict:
    """Learn with both, spell the validation words with both, and count."""
    train = [" ".join(each.split()) for each in train]
    start = time.process_time()
    ours = BytePairEncoding.train(train, n_merges)
    seconds_ours = time.process_time() - start
    start = time.process_time()
    theirs = train_sentencepiece(train, n_merges)
    seconds_theirs = time.process_time() - start

    our_pieces = [left + right for left, right in ours.merges]
    their_pieces = [
        theirs.IdToPiece(N_SPECIAL + i).replace(BLANK, END_OF_WORD)
        for i in range(n_merges)
    ]
    common = set(our_pieces) & set(their_pieces)
    words = Counter(word for each in valid for word in each.split())
    spelled = {
        word: (
            ours.pieces(word),
            [each.replace(BLANK, END_OF_WORD) for each in theirs.EncodeAsPieces(word)],
        )
        for word in words
    }
    different = [word for word, (mine, other) in spelled.items() if mine != other]
    known_to_both = {*ours.vocabulary, *their_pieces} - {*our_pieces, *their_pieces}
    known_to_both |= common
    return {
        "merges": n_merges,
        "same_piece_at_same_place": sum(
            mine == other for mine, other in zip(our_pieces, their_pieces, strict=True)
        )
        / n_merges,
        "same_pieces": len(common) / n_merges,
        "most_frequent": replay(train, their_pieces) / n_merges,
        "only_ours": [each for each in our_pieces if each not in common],
        "only_theirs": [each for each in their_pieces if each not in common],
        "valid_words": len(words),
        "valid_words_spelled_alike": 1 - len(different) / len(words),
        "valid_running_words": words.total(),
        "valid_running_words_spelled_alike": 1
        - sum(words[word] for word in different) / words.total(),
        "spelled_differently_from_pieces_that_both_know": sum(
            known_to_both.issuperset(spelled[word][0] + spelled[word][1])
            for word in different
        ),
        "examples": [
            {"word": word, "ours": spelled[word][0], "theirs": spelled[word][1]}
            for word in different[:5]
        ],
        "cpu_seconds_ours": round(seconds_ours, 1),
        "cpu_seconds_theirs": round(seconds_theirs, 1),
    }


def replay(sentences: list[str], pieces: list[str]) -> int:
    """How many of these merges join a most frequent pair, when done in this order."""
    frequency = Counter(word for each in sentences for word in each.split())
    spelled = {word: (*word, END_OF_WORD) for word in frequency}
    counts = count_pairs({spelled[word]: n for word, n in frequency.items()})
    n_most_frequent = 0
    for piece in pieces:
        cuts = [(piece[:i], piece[i:]) for i in range(1, len(piece))]
        pair = max(cuts, key=lambda cut: counts[cut])
        n_most_frequent += counts[pair] == max(counts.values())
        for word, before in spelled.items():
            if piece not in word + END_OF_WORD or pair not in pairwise(before):
                continue
            n = frequency[word]
            spelled[word] = merge(before, pair)
            counts.subtract(count_pairs({before: n}))
            counts.update(count_pairs({spelled[word]: n}))
    return n_most_frequent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", nargs="?", default="multi30k")
    parser.add_argument("--merges", type=int, default=2000)
    parser.add_argument("--no-write", action="store_true", help="only print")
    arguments = parser.parse_args()
    corpus = data.load(arguments.corpus)
    found = compare(
        [sentence for pair in corpus.train for sentence in pair],
        [sentence for pair in corpus.valid for sentence in pair],
        arguments.merges,
    )
    result: dict[str, Any] = {
        "command": "python -m studies.bpe_against_sentencepiece",
        "corpus": corpus.name,
        "checksums": corpus.checksums,
        "train_sentences": 2 * len(corpus.train),
        "valid_sentences": 2 * len(corpus.valid),
        "sentencepiece_settings": SETTINGS,
        **found,
        "sentencepiece": sentencepiece.__version__,
        "python": platform.python_version(),
        "device": f"CPU ({platform.machine()}, 1 thread)",
        "date": datetime.now(UTC).date().isoformat(),
    }
    for key, value in found.items():
        print(f"{key}: {value}")
    if not arguments.no_write:
        write_json(RESULT, result)


if __name__ == "__main__":
    main()
