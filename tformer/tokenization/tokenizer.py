"""Text to piece ids and back: the sentencepiece tokenizer.

A piece is a frequent string of characters; the vocabulary is learned from the
*training* sentences alone, both languages together, so that the model can share one
embedding table. Two algorithms are offered: byte-pair encoding, as in the paper, and
the unigram language model. With byte fallback any Unicode text can be written: a
character that the vocabulary lacks becomes its UTF-8 bytes, each a piece by itself.

Ids 0 to 3 are never text: ``pad`` pads a batch, ``bos`` and ``eos`` mark the
beginning and end of a sentence, ``unk`` stands for what cannot be written (only
without byte fallback).

Source: section 5.1 (byte-pair encoding, a shared vocabulary of about 37,000);
Sennrich et al. 2016; Kudo 2018; Kudo and Richardson 2018. Chapter *Tokenization*.
"""

from __future__ import annotations

import hashlib
import io
import operator
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import sentencepiece

from tformer.common.files import write_atomically

PAD_ID, BOS_ID, EOS_ID, UNK_ID = SPECIAL = 0, 1, 2, 3
N_BYTES = 256
_SPACE = "\u2581"  # how sentencepiece writes a space inside a piece
_ALGORITHMS = {"unigram": 1, "bpe": 2}  # numbers of TrainerSpec.ModelType
_SILENT = 3  # sentencepiece's log level for fatal errors only
_LONGEST_SENTENCE = 1 << 20  # bytes; sentencepiece silently drops longer ones


class Tokenizer:
    """Encodes any Unicode text as piece ids, and decodes ids to text again.

    ``decode(encode(text)) == normalize(text)`` holds for every text if the tokenizer
    was trained with byte fallback.

    Args:
        model_bytes: a serialised sentencepiece model, as in ``Tokenizer.model_bytes``.

    Attributes:
        fingerprint: SHA-256 of ``model_bytes`` in hexadecimal; two tokenizers with
            equal fingerprints encode every text alike.
        algorithm: "bpe" or "unigram".
        vocab_size: number of ids, including the four special ones and the bytes.
        pad_id, bos_id, eos_id, unk_id: the special ids: 0, 1, 2 and 3.

    Raises:
        TypeError: ``model_bytes`` is not bytes.
        ValueError: the bytes are not a complete sentencepiece model, or its special
            ids differ from ours.
    """

    def __init__(self, model_bytes: bytes) -> None:
        if not isinstance(model_bytes, (bytes, bytearray)):
            raise TypeError(
                f"model_bytes must be bytes, got {type(model_bytes).__name__}; "
                "use Tokenizer.load(path) for a file."
            )
        self._model_bytes = bytes(model_bytes)
        self.algorithm = _check_model(self.model_bytes)
        processor = sentencepiece.SentencePieceProcessor()
        try:
            processor.LoadFromSerializedProto(self.model_bytes)
        except (RuntimeError, ValueError) as error:
            raise ValueError(_corrupt(self.model_bytes, str(error))) from error
        self._processor = processor
        kinds = ("pad", "bos", "eos", "unk")
        special = tuple(getattr(processor, f"{each}_id")() for each in kinds)
        if special != SPECIAL:
            raise ValueError(
                f"the model's (pad, bos, eos, unk) ids are {special}, expected "
                f"{SPECIAL}; train it with Tokenizer.train."
            )
        self.pad_id, self.bos_id, self.eos_id, self.unk_id = special
        self.vocab_size: int = processor.GetPieceSize()
        self.fingerprint = hashlib.sha256(self.model_bytes).hexdigest()

    @classmethod
    def train(
        cls,
        sentences: Iterable[str],
        vocab_size: int,
        *,
        algorithm: str = "bpe",
        byte_fallback: bool = True,
        character_coverage: float | None = None,
    ) -> Tokenizer:
        """Learn a vocabulary from sentences.

        Deterministic: with one version of sentencepiece, the same sentences in the same
        order give the same bytes. Give it training sentences only: a vocabulary that
        was also learned from the test set leaks it.

        Args:
            sentences: text in both languages, one sentence per item.
            vocab_size: how many ids to learn, including special ids and bytes.
            algorithm: "bpe" merges the most frequent neighbours, bottom up; "unigram"
                starts with too many pieces and drops those that matter least.
            byte_fallback: write unknown characters as bytes instead of ``unk``.
            character_coverage: share of the characters of the text that get a piece
                of their own; the rest falls back to bytes. By default 0.9999 with byte
                fallback, 1.0 without.

        Raises:
            TypeError: a sentence is not a ``str``.
            ValueError: no text, an unknown algorithm, a lone surrogate, or a
                ``vocab_size`` that this text cannot fill or that cannot hold its
                characters; the message says what is possible.

        Source: section 5.1.
        """
        if algorithm not in _ALGORITHMS:
            raise ValueError(
                f"algorithm must be 'bpe' or 'unigram', got {algorithm!r}."
            )
        if isinstance(sentences, str):
            raise TypeError("sentences must be a list of texts, got one text (str).")
        if isinstance(vocab_size, bool) or not isinstance(vocab_size, int):
            raise TypeError(
                f"vocab_size must be an int, got {type(vocab_size).__name__}."
            )
        if not isinstance(byte_fallback, bool):
            raise TypeError(f"byte_fallback={byte_fallback!r} must be a bool.")
        least = 4 + (N_BYTES if byte_fallback else 0)
        if vocab_size <= least:
            raise ValueError(
                f"vocab_size={vocab_size} leaves no room for text: {least} ids are "
                "taken by the special ids"
                + (" and the 256 bytes" if byte_fallback else "")
                + "; give a larger one."
            )
        if character_coverage is None:
            character_coverage = 0.9999 if byte_fallback else 1.0
        if not 0.98 <= character_coverage <= 1.0:  # sentencepiece's own bounds
            raise ValueError(
                f"character_coverage={character_coverage} must lie in [0.98, 1]."
            )
        reader = _Sentences(sentences)
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.Train(
                sentence_iterator=iter(reader),
                model_writer=model,
                vocab_size=vocab_size,
                model_type=algorithm,
                byte_fallback=byte_fallback,
                character_coverage=character_coverage,
                pad_id=PAD_ID,
                bos_id=BOS_ID,
                eos_id=EOS_ID,
                unk_id=UNK_ID,
                num_threads=1,  # with more, sums vary from run to run
                max_sentence_length=_LONGEST_SENTENCE,
                minloglevel=_SILENT,
            )
        except (RuntimeError, OSError) as error:
            if reader.error is not None:
                raise reader.error from None
            raise ValueError(
                _training_failed(str(error), vocab_size, algorithm, reader)
            ) from error
        if reader.error is not None:
            raise reader.error
        return cls(model.getvalue())

    @property
    def model_bytes(self) -> bytes:
        """The model, byte for byte as it is saved."""
        return self._model_bytes

    @property
    def target(self) -> Tokenizer:
        """The tokenizer of the other language: the same, since they share pieces."""
        return self

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tokenizer:
        """Read a tokenizer that ``save`` has written.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is truncated or not a sentencepiece model.
        """
        path = Path(path)
        if path.is_dir():
            raise FileNotFoundError(f"no tokenizer at {path}: it is a folder.")
        if not path.is_file():
            raise FileNotFoundError(f"no tokenizer at {path}: the file does not exist.")
        try:
            return cls(path.read_bytes())
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model: the complete file or, if that fails, nothing."""
        write_atomically(Path(path), self.model_bytes)

    def normalize(self, text: str) -> str:
        """The text as the tokenizer sees it, and as ``decode`` gives it back.

        Unicode is normalised (NFKC: "ﬁ" becomes "fi"), control characters are removed,
        runs of spaces, tabs and line ends become one space, and spaces at either end
        are dropped.
        """
        normal = self._processor.Normalize(_check_text(text))
        return normal.replace(_SPACE, " ").removeprefix(" ")

    def encode(self, text: str) -> list[int]:
        """The text as ids, without ``bos`` and ``eos``; empty text gives none.

        What looks like a special piece (``<s>`` typed by a reader) is plain text.

        Raises:
            TypeError: ``text`` is not a ``str``.
            ValueError: it holds a lone surrogate, which UTF-8 cannot encode.
        """
        return self._processor.EncodeAsIds(_check_text(text))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """``[encode(text) for text in texts]``, several times as fast."""
        if isinstance(texts, str):
            raise TypeError("texts must be a list of texts, got one text (str).")
        return self._processor.Encode([*map(_check_text, texts)], out_type=int)

    def pieces(self, text: str) -> list[str]:
        """The pieces of the text; "▁" marks the space before a word."""
        return self._processor.EncodeAsPieces(_check_text(text))

    def n_best(self, text: str, n: int) -> list[tuple[list[int], float]]:
        """The n most probable ways to write the text, with their log-probabilities.

        Returns:
            (ids, natural logarithm of the product of the pieces' probabilities), best
            first; fewer than n if there are no more.

        Raises:
            ValueError: the algorithm is not "unigram": the others know no probability.
        """
        if self.algorithm != "unigram":
            raise ValueError(
                f"n_best needs the probabilities of a unigram tokenizer; this one is "
                f"{self.algorithm!r}."
            )
        score = self._processor.GetScore
        ways: list[list[int]] = self._processor.NBestEncodeAsIds(_check_text(text), n)
        return [(ids, sum(map(score, ids))) for ids in ways]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids; ``pad``, ``bos`` and ``eos`` are skipped.

        ``unk`` shows as "⁇", bytes that are not UTF-8 (a model can produce them) as
        U+FFFD.

        Raises:
            TypeError: an id is not an integer.
            ValueError: an id lies outside the vocabulary.
        """
        if isinstance(ids, str):
            raise TypeError("decode takes ids, got a str; did you mean encode?")
        return self._processor.DecodeIds([self._check_id(i) for i in ids])

    def id_to_piece(self, i: int) -> str:
        """The piece of one id, as in ``pieces``; bytes are written "<0xE2>"."""
        return self._processor.IdToPiece(self._check_id(i))

    def _check_id(self, i: int) -> int:
        try:
            value = operator.index(i)
        except TypeError:
            raise TypeError(
                f"piece ids must be integers, got {type(i).__name__} {i!r}."
            ) from None
        if not 0 <= value < self.vocab_size:
            raise ValueError(
                f"piece id {value} is outside the vocabulary of {self.vocab_size} "
                "(0 to vocab_size - 1); were these ids made by a different tokenizer?"
            )
        return value

    def __repr__(self) -> str:
        return (
            f"Tokenizer(vocab_size={self.vocab_size}, algorithm={self.algorithm!r}, "
            f"fingerprint={self.fingerprint[:12]}…)"
        )


def _check_text(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"expected a text (str), got {type(text).__name__}.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the text holds a lone surrogate (U+{ord(text[error.start]):04X} at "
            f"position {error.start}), which is not a character; read the file as "
            "UTF-8 or replace it."
        ) from None
    return text


class _Sentences:
    """Feeds the trainer line by line and keeps what went wrong.

    sentencepiece swallows an exception raised inside its iterator, so it is kept in
    ``error`` and raised again by the caller.
    """

    def __init__(self, sentences: Iterable[str]) -> None:
        self._sentences = sentences
        self.error: BaseException | None = None
        self.count = 0

    def __iter__(self) -> Iterator[str]:
        try:
            for number, sentence in enumerate(self._sentences):
                try:
                    text = _check_text(sentence)
                except (TypeError, ValueError) as error:
                    raise type(error)(f"sentence {number}: {error}") from None
                # The trainer skips sentences with a tab or U+2585, its own marks.
                text = " ".join(text.replace("\u2585", " ").split())
                if text:
                    self.count += 1
                    yield text
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            self.error = error


def _training_failed(
    message: str, vocab_size: int, algorithm: str, reader: _Sentences
) -> str:
    """Say in one sentence what sentencepiece meant."""
    if reader.count == 0:
        return "there is no text to learn a vocabulary from: every sentence is empty."
    if "all_chars_count" in message:
        return (
            "there is no text to learn a vocabulary from: the sentences hold nothing "
            "but control characters and spaces."
        )
    if found := re.search(r"too high \(\d+\).*<= (\d+)", message):
        return (
            f"vocab_size={vocab_size} is too large for {reader.count} sentences: "
            f"with algorithm={algorithm!r} at most {found[1]} pieces can be learned "
            "from them; give a smaller vocab_size or more text."
        )
    if found := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return (
            f"vocab_size={vocab_size} is too small: special ids, bytes and the "
            f"characters of the text alone need {found[1]}; give a larger vocab_size."
        )
    return f"sentencepiece could not learn a vocabulary: {message}"


def _corrupt(model_bytes: bytes, why: str) -> str:
    return (
        f"these {len(model_bytes)} bytes are not a whole sentencepiece model ({why}); "
        "the file is truncated or corrupt: save it again or retrain."
    )


def _check_model(model_bytes: bytes) -> str:
    """Check that a serialised model is complete; return its algorithm.

    sentencepiece loads one that was cut off between two pieces. A complete one declares
    how many pieces it has and ends with its normaliser.
    """
    n_pieces, n_declared, algorithm, has_normalizer = 0, 0, 0, False
    try:
        for field, value in _fields(model_bytes):
            if field == 1:  # ModelProto.pieces
                n_pieces += 1
            elif field == 2 and isinstance(value, bytes):  # ModelProto.trainer_spec
                spec = dict(_fields(value))
                n_declared = int(spec.get(4, 0))  # TrainerSpec.vocab_size
                algorithm = int(spec.get(3, 1))  # TrainerSpec.model_type
            elif field == 3:  # ModelProto.normalizer_spec
                has_normalizer = True
    except (IndexError, ValueError):
        raise ValueError(_corrupt(model_bytes, "it breaks off or is garbled")) from None
    names = {number: name for name, number in _ALGORITHMS.items()}
    if not n_declared or not has_normalizer or n_pieces != n_declared:
        why = f"{n_pieces} pieces, {n_declared or 'no number'} declared"
        raise ValueError(_corrupt(model_bytes, why))
    if algorithm not in names:
        raise ValueError(
            f"the model's algorithm is number {algorithm}, expected bpe or unigram."
        )
    return names[algorithm]


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Walk the (field number, value) pairs of one protocol-buffer message."""
    i = 0

    def varint() -> int:
        nonlocal i
        value = shift = 0
        while True:
            byte = data[i]
            i += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    while i < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 2: -1, 5: 4}.get(kind)
        if size is None:
            raise ValueError(f"unknown wire type {kind}")
        if size < 0:
            size = varint()
        if i + size > len(data):
            raise ValueError("breaks off")
        yield key >> 3, data[i : i + size]
        i += size
