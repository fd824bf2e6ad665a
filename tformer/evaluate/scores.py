"""Score translations the way the field does, so that the numbers mean something.

A score is comparable only together with its whole recipe: which references, which case,
which tokenisation. sacreBLEU writes that recipe down as a *signature*; every score here
comes with one. Two kinds of scores are computed:

- the project's own: cased, detokenised output against raw references (BLEU and chrF);
- for comparison with published Multi30k tables only: BLEU on lower-cased text that was
  split by the Moses tokeniser, which is a different and usually higher number.

Source: Papineni et al. 2002 (BLEU); Popović 2015 (chrF); Post 2018 (sacreBLEU).
Chapter *Decoding and scoring*.
"""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from tformer.common.search import USUAL

CHUNK = 128  # sentences passed to the translator at once: one tick of the progress bar


class _Translates(Protocol):
    def translate(
        self, text: list[str], *, beam_size: int, length_penalty: float
    ) -> list[str]: ...


@dataclass(frozen=True)
class Metric:
    """A corpus score, together with the recipe that makes it comparable.

    Attributes:
        name: ``"BLEU"`` or ``"chrF2"``, sacreBLEU's name.
        score: 0 to 100.
        signature: sacreBLEU's, such as
            ``nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0``.
        details: for BLEU the four n-gram precisions, the brevity penalty and the
            lengths in tokens; empty for chrF.
    """

    name: str
    score: float
    signature: str
    details: str = ""

    def __str__(self) -> str:
        """The line that sacreBLEU's own command prints."""
        line = f"{self.name}|{self.signature} = {self.score:.1f}"
        return f"{line} {self.details}" if self.details else line


@dataclass(frozen=True)
class Sentence:
    """A test sentence, with its human translation and the model's."""

    source: str
    reference: str
    translation: str


@dataclass(frozen=True)
class Row:
    """A sentence of a test set with scores of its own, for tables.

    Sentence scores are for sorting; their mean is not the corpus score.

    Attributes:
        number: its place in the test set, from 0.
        source, reference, translation: as in `Sentence`.
        chrf: chrF2 of this sentence alone, 0 to 100.
        bleu: BLEU of this sentence alone, 0 to 100: n-gram orders that the sentence is
            too short for are left out, missing n-grams are smoothed.
        words: space-separated words of the translation.
        reference_words: those of the reference.
        is_exact: whether translation and reference are equal, character by character.
    """

    number: int
    source: str
    reference: str
    translation: str
    chrf: float
    bleu: float
    words: int
    reference_words: int
    is_exact: bool


@dataclass(frozen=True)
class Report:
    """What `score` found out about a translator on one test set.

    Attributes:
        bleu: BLEU of cased, detokenised output, 0 to 100.
        signature: sacreBLEU's signature of ``bleu``.
        chrf: chrF2 (character n-grams up to 6), 0 to 100.
        chrf_signature: sacreBLEU's signature of ``chrf``.
        sentences: every sentence in the order of the test set.
        tokenised_bleu: BLEU of lower-cased, Moses-tokenised output, as published
            Multi30k tables give it; None without tokenised references.
        tokenised_signature: sacreBLEU's signature of ``tokenised_bleu``, or None.
        lines: the scores as sacreBLEU prints them, one line each.
        beam_size: hypotheses kept by the search that made the translations.
        length_penalty: its exponent α.
    """

    bleu: float
    signature: str
    chrf: float
    chrf_signature: str
    sentences: list[Sentence]
    tokenised_bleu: float | None = None
    tokenised_signature: str | None = None
    lines: tuple[str, ...] = ()
    beam_size: int = 4
    length_penalty: float = 0.6

    def __str__(self) -> str:
        """A summary: what was scored, then one line per score."""
        count = len(self.sentences)
        head = (
            f"{count} sentence{'s' if count != 1 else ''}, beam {self.beam_size}, "
            f"length penalty {self.length_penalty:g}"
        )
        block = [head, *(f"  {line}" for line in self.lines[:2])]
        if self.tokenised_bleu is not None:
            block.append("  lower-cased, Moses-tokenised (for published tables):")
            block += [f"  {line}" for line in self.lines[2:]]
        return "\n".join(block)

    @property
    def exact_match(self) -> float:
        """Share of the translations that equal their reference, 0 to 1.

        A measure for data where only one translation is right (``grammar``); on real
        text, where many are, it says little.
        """
        equal = [each.translation == each.reference for each in self.sentences]
        return sum(equal) / len(equal)

    def table(self) -> list[Row]:
        """One row for each sentence, in the order of the test set.

        In a notebook::

            rows = [(r.source, r.translation, f"{r.chrf:.0f}") for r in report.worst(5)]
            show.texts(rows, columns=("English", "the model", "chrF"))
        """
        from sacrebleu.metrics import BLEU, CHRF

        chrf, bleu = CHRF(), BLEU(effective_order=True)

        def alone(metric: Any, each: Sentence) -> float:
            found = metric.sentence_score(each.translation, [each.reference])
            return float(found.score)

        return [
            Row(
                number,
                each.source,
                each.reference,
                each.translation,
                chrf=alone(chrf, each),
                bleu=alone(bleu, each),
                words=len(each.translation.split()),
                reference_words=len(each.reference.split()),
                is_exact=each.translation == each.reference,
            )
            for number, each in enumerate(self.sentences)
        ]

    def worst(self, n: int = 10) -> list[Row]:
        """The n sentences with the lowest chrF, lowest first; ties by their order.

        A fixed rule, so that examples are not cherry-picked.

        Raises:
            ValueError: n is below 1.
        """
        return self._ranked(n, 1)

    def best(self, n: int = 10) -> list[Row]:
        """The n sentences with the highest chrF, highest first; ties by their order.

        Raises:
            ValueError: n is below 1.
        """
        return self._ranked(n, -1)

    def _ranked(self, n: int, sign: int) -> list[Row]:
        if n < 1:
            raise ValueError(f"n={n} must be at least 1: how many sentences to show")
        return sorted(self.table(), key=lambda row: sign * row.chrf)[:n]

    def to_dict(self, *, sentences: bool = True) -> dict[str, Any]:
        """The report as plain JSON values, with or without its sentences."""
        values = asdict(self)
        values["lines"] = list(self.lines)
        values["n_sentences"] = len(self.sentences)
        values["exact_match"] = self.exact_match
        if not sentences:
            del values["sentences"]
        return values


def bleu_chrf(
    hypotheses: Sequence[str], references: Sequence[str]
) -> tuple[Metric, Metric]:
    """Score detokenised, cased text as it is: the project's own scores.

    BLEU is the geometric mean of the 1- to 4-gram precisions, times
    ``min(1, exp(1 - ref_len / hyp_len))``; chrF2 is an F-score of character
    n-grams that weights recall twice. Both are computed over the corpus, not averaged
    over sentences. The numbers equal those of ``sacrebleu REF -i HYP -m bleu chrf``.

    Args:
        hypotheses: translations, detokenised.
        references: one German reference for each, raw.

    Returns:
        BLEU and chrF2, each with its signature.

    Raises:
        TypeError: a str or something else where lists of str are expected.
        ValueError: nothing to score, or lists of different lengths.
    """
    hypotheses, references = _two_lists(hypotheses, references)
    if (n := sum(each.rstrip().endswith(" .") for each in hypotheses)) >= 100:
        warnings.warn(
            f"{n} translations end in a full stop after a space, as tokenised text "
            "does: BLEU and chrF are for detokenised text",
            stacklevel=2,
        )
    from sacrebleu.metrics import BLEU, CHRF

    return (
        _corpus(BLEU(force=True), hypotheses, references),  # we have warned ourselves
        _corpus(CHRF(), hypotheses, references),
    )


def tokenised_bleu(
    hypotheses: Sequence[str], tokenised_references: Sequence[str]
) -> Metric:
    """BLEU as published Multi30k tables give it: lower-cased and Moses-tokenised.

    The hypotheses are put through `moses_tokenise`; the references are taken as they
    are, so they must already be in that form (Multi30k's ``*.lc.norm.tok.de``). This
    is a different number from `bleu_chrf`'s: never put the two in one column.

    Args:
        hypotheses: translations, detokenised and cased (they are lower-cased here).
        tokenised_references: one reference for each, lower-cased and tokenised.

    Returns:
        BLEU with the signature ``…|tok:none|…``.

    Raises:
        TypeError: a str or something else where lists of str are expected.
        ValueError: nothing to score, or lists of different lengths.
        ModuleNotFoundError: sacremoses is not installed.
    """
    hypotheses, references = _two_lists(hypotheses, tokenised_references)
    from sacrebleu.metrics import BLEU

    metric = BLEU(tokenize="none", force=True)  # force: yes, the text is tokenised
    return _corpus(metric, moses_tokenise(hypotheses), references)


def moses_tokenise(sentences: Iterable[str]) -> list[str]:
    """Lower-case, normalise punctuation and split as Multi30k's own script does.

    Reproduces upstream's ``lowercase.perl | normalize-punctuation.perl |
    tokenizer.perl`` for German; tokens are joined by single spaces and the characters
    that Moses reserves are escaped (``'`` becomes ``&apos;``).

    Raises:
        ModuleNotFoundError: sacremoses is not installed.
    """
    normalizer, tokenizer = _moses()
    return [
        tokenizer.tokenize(
            normalizer.normalize(sentence.lower()), return_str=True, escape=True
        )
        for sentence in sentences
    ]


def score(
    translator: _Translates,
    pairs: Sequence[tuple[str, str]],
    *,
    tokenised_references: Sequence[str] | None = None,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    progress: bool = False,
) -> Report:
    """Translate a test set and score the result.

    Args:
        translator: anything with `Translator.translate`.
        pairs: (english, german) sentences, such as ``corpus.test["test_2016_flickr"]``.
        tokenised_references: the German side lower-cased and Moses-tokenised, such as
            ``corpus.tokenised_references["test_2016_flickr"]``; for ``tokenised_bleu``.
        beam_size: hypotheses kept per sentence; 1 = greedy.
        length_penalty: exponent α of the paper's length penalty.
        progress: show a bar while translating.

    Returns:
        The scores with their signatures, and every sentence in the order of ``pairs``.

    Raises:
        TypeError: ``pairs`` is not a list of pairs of str.
        ValueError: no pairs, or not one tokenised reference for each.
        ModuleNotFoundError: tokenised references without sacremoses.

    Source: section 6.1 (beam 4, α = 0.6).
    """
    sources, references = _sides(pairs)
    if tokenised_references is not None:  # before the long work, not after it
        tokenised_references = _strings("tokenised_references", tokenised_references)
        if len(tokenised_references) != len(sources):
            raise ValueError(
                f"{len(sources)} pairs but {len(tokenised_references)} tokenised "
                "references: give one for each pair, in the same order"
            )
        _moses()

    translations = _translate(
        translator, sources, beam_size, length_penalty, progress=progress
    )
    bleu, chrf = bleu_chrf(translations, references)
    metrics = [bleu, chrf]
    tokenised = None
    if tokenised_references is not None:
        tokenised = tokenised_bleu(translations, tokenised_references)
        metrics.append(tokenised)
    return Report(
        bleu=bleu.score,
        signature=bleu.signature,
        chrf=chrf.score,
        chrf_signature=chrf.signature,
        sentences=[
            Sentence(*row)
            for row in zip(sources, references, translations, strict=True)
        ],
        tokenised_bleu=tokenised.score if tokenised else None,
        tokenised_signature=tokenised.signature if tokenised else None,
        lines=tuple(str(metric) for metric in metrics),
        beam_size=beam_size,
        length_penalty=length_penalty,
    )


def _translate(
    translator: _Translates,
    sources: list[str],
    beam_size: int,
    length_penalty: float,
    *,
    progress: bool,
) -> list[str]:
    """Translate in chunks of similar length (little padding), longest first.

    Longest first, so that a device that is too small fails at once. A wide beam takes
    fewer sentences at a time, so that memory does not grow with it.
    """
    size = max(1, CHUNK * USUAL.beam_size // max(USUAL.beam_size, beam_size))
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
    translations = [""] * len(sources)
    from tqdm import tqdm

    with tqdm(
        total=len(sources), desc="translating", unit="sentence", disable=not progress
    ) as bar:
        for start in range(0, len(order), size):
            chunk = order[start : start + size]
            out = translator.translate(
                [sources[i] for i in chunk],
                beam_size=beam_size,
                length_penalty=length_penalty,
            )
            for i, text in zip(chunk, out, strict=True):
                translations[i] = text
            bar.update(len(chunk))
    return translations


def _corpus(metric: Any, hypotheses: list[str], references: list[str]) -> Metric:
    result = metric.corpus_score(hypotheses, [references])
    return Metric(
        name=result.name,
        score=float(result.score),
        signature=str(metric.get_signature()),
        details=result._verbose,
    )


def _moses() -> tuple[Any, Any]:
    try:
        from sacremoses import MosesPunctNormalizer, MosesTokenizer
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "tokenised BLEU needs the package sacremoses, which is not installed: "
            "run `pip install sacremoses`, or omit the tokenised references",
            name="sacremoses",
        ) from error
    normalizer = MosesPunctNormalizer(
        lang="de", norm_quote_commas=True, norm_numbers=True
    )
    return normalizer, MosesTokenizer(lang="de")


def _two_lists(
    hypotheses: Sequence[str], references: Sequence[str]
) -> tuple[list[str], list[str]]:
    hypotheses = _strings("hypotheses", hypotheses)
    references = _strings("references", references)
    if len(hypotheses) != len(references):
        raise ValueError(
            f"{len(hypotheses)} hypotheses but {len(references)} references: give "
            "one reference for each hypothesis, in the same order"
        )
    return hypotheses, references


def _strings(name: str, values: Sequence[str]) -> list[str]:
    if isinstance(values, str):
        raise TypeError(
            f"{name} is one str ({_short(values)}): give a list of sentences, "
            "[sentence] for a single one"
        )
    try:
        values = list(values)
    except TypeError:
        raise TypeError(
            f"{name} is a {type(values).__name__}: give a list of sentences"
        ) from None
    if not values:
        raise ValueError(f"{name} is empty: there is nothing to score")
    for i, value in enumerate(values):
        if not isinstance(value, str):
            raise TypeError(
                f"{name}[{i}] is {_short(value)}, a {type(value).__name__}: "
                "every sentence must be a str"
            )
    return values


def _sides(pairs: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    remedy = 'give a list of (english, german) pairs such as corpus.test["…"]'
    if isinstance(pairs, str | dict):
        raise TypeError(f"pairs is a {type(pairs).__name__}: {remedy}")
    try:
        pairs = list(pairs)
    except TypeError:
        raise TypeError(f"pairs is a {type(pairs).__name__}: {remedy}") from None
    if not pairs:
        raise ValueError(f"no pairs to score: {remedy}")
    for i, pair in enumerate(pairs):
        if (
            not isinstance(pair, tuple | list)
            or len(pair) != 2
            or not all(isinstance(side, str) for side in pair)
        ):
            raise TypeError(f"pairs[{i}] is {_short(pair)}: {remedy}")
    return [source for source, _ in pairs], [reference for _, reference in pairs]


def _short(value: object, width: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= width else text[: width - 1] + "…"
