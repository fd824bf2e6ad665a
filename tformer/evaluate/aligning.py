"""Compare attention with true word alignments: which word did a head look at?

Attention weights are between pieces; alignments, between words. So weights are summed
over the pieces of a word, and each German word is linked to the English word with the
most weight (an argmax: every German word has exactly one link, the end-of-sentence
column none). What remains is to choose a rule: which layer, which head or their mean,
and which *row*. A decoder row reads one piece and predicts the next:

    row        0      1      2      3
    reads      <s>    Der    Hund   schläft
    predicts   Der    Hund   schläft  </s>

so the row of a word may be the one that ``predicts`` it or the one that ``reads`` it.
Both are in use; neither is the truth. Choose the rule on the validation split with
`alignment_rules`, then report its error on a test set, once.

Source: Och and Ney 2003, section 5 (the error rate); Chen et al. 2020 (rows that read).
Chapter *Inside the trained model*.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tformer.common.values import one_of
from tformer.data.alignment import AlignedPair, Links, words_of_pieces
from tformer.translator import Translator

ROWS = ("predicts", "reads")


@dataclass(frozen=True)
class AlignmentRule:
    """How to read word links from cross-attention.

    Attributes:
        layer: of the decoder, from 0.
        head: from 0, or None for the mean of the layer's heads.
        row: "predicts" or "reads": which row represents a German piece.

    Raises:
        ValueError: any other row.
    """

    layer: int
    head: int | None = None
    row: str = "predicts"

    def __post_init__(self) -> None:
        one_of("row", self.row, ROWS)

    def __str__(self) -> str:
        head = "mean of heads" if self.head is None else f"head {self.head}"
        return f"layer {self.layer}, {head}, the row that {self.row} the word"


def alignment_error_rate(found: Sequence[Links], gold: Sequence[AlignedPair]) -> float:
    """How far links are from the truth: 0 is perfect, 1 has nothing right.

    ``AER = 1 - (|A & S| + |A & P|) / (|A| + |S|)`` for the links found A, the sure ones
    S and the possible ones P (which include S), each counted over all sentences. A link
    that is only possible costs nothing; a sure link that is missing does.

    Args:
        found: for each sentence, links (index of the English word, of the German one).
        gold: the same sentences' true alignments, such as
            ``corpus.alignments["random"]``.

    Raises:
        ValueError: not one set of links for each sentence; nothing to compare; a link
            to a word that the sentence does not have.

    Source: Och and Ney 2003, section 5, equation 21 and following.
    """
    if len(found) != len(gold):
        raise ValueError(
            f"links of {len(found)} sentences but {len(gold)} true alignments: give "
            "one set of links for each, in the same order"
        )
    n_found = n_sure = hits = 0
    for links, aligned in zip(found, gold, strict=True):
        for i, j in links:
            if not (0 <= i < len(aligned.english) and 0 <= j < len(aligned.german)):
                raise ValueError(
                    f"the link {(i, j)} does not join words of "
                    f"{' '.join(aligned.english)!r} and {' '.join(aligned.german)!r}: "
                    "link words, not pieces"
                )
        n_found += len(links)
        n_sure += len(aligned.sure)
        hits += len(links & aligned.sure) + len(links & aligned.possible)
    if n_found + n_sure == 0:
        raise ValueError("no links at all: there is nothing to compare")
    return 1 - hits / (n_found + n_sure)


def word_links(
    translator: Translator,
    pair: tuple[str, str],
    aligned: AlignedPair,
    rule: AlignmentRule,
) -> Links:
    """The word links that a head's attention suggests for a given translation.

    The model reads the reference (teacher forcing), so that links can be compared with
    the truth whatever the model itself would have said.

    Args:
        translator: whose attention.
        pair: the sentences as written, (English, German).
        aligned: their words (its links are not used).
        rule: which head, and which row.

    Returns:
        One link (index of the English word, of the German one) per German word.

    Raises:
        ValueError: no such layer or head; the words do not spell the pair.
    """
    [links] = _links_by_rule(translator, pair, aligned, [rule]).values()
    return links


def alignment_rules(
    translator: Translator,
    pairs: Sequence[tuple[str, str]],
    gold: Sequence[AlignedPair],
) -> dict[AlignmentRule, float]:
    """The alignment error rate of every rule, the best first.

    To choose a rule, give the validation split::

        errors = alignment_rules(translator, corpus.valid, corpus.alignments["valid"])
        rule = next(iter(errors))

    then measure that one rule on a test set::

        pairs, gold = corpus.test["random"], corpus.alignments["random"]
        errors = alignment_rules(translator, pairs, gold)[rule]

    Args:
        translator: whose attention.
        pairs: (English, German) sentences.
        gold: their true alignments.

    Returns:
        rule → error rate: every layer, each head and the mean of heads, both rows.
        Ties are in the order of layer, head (the mean last) and row.

    Raises:
        ValueError: no pairs, or not one alignment for each.
    """
    if not pairs or len(pairs) != len(gold):
        raise ValueError(
            f"{len(pairs)} pairs and {len(gold)} true alignments: give one for each"
        )
    config = translator.model.config
    rules = [
        AlignmentRule(layer, head, row)
        for layer in range(config.n_decoder_layers)
        for head in [*range(config.n_heads), None]
        for row in ROWS
    ]
    found: dict[AlignmentRule, list[Links]] = {rule: [] for rule in rules}
    for pair, aligned in zip(pairs, gold, strict=True):
        for rule, links in _links_by_rule(translator, pair, aligned, rules).items():
            found[rule].append(links)
    errors = {rule: alignment_error_rate(found[rule], gold) for rule in rules}
    return dict(sorted(errors.items(), key=lambda item: item[1]))


def _links_by_rule(
    translator: Translator,
    pair: tuple[str, str],
    aligned: AlignedPair,
    rules: Sequence[AlignmentRule],
) -> dict[AlignmentRule, Links]:
    """The links of several rules from one forward pass."""
    english = words_of_pieces(pair[0], aligned.english, translator.tokenizer)
    german = words_of_pieces(pair[1], aligned.german, translator.tokenizer)
    cross = translator.attention(*pair).cross  # (layer, head, T, S)
    n_layers, n_heads = cross.shape[:2]
    links = {}
    for rule in rules:
        if not 0 <= rule.layer < n_layers or not 0 <= (rule.head or 0) < n_heads:
            raise ValueError(
                f"the model has {n_layers} decoder layers of {n_heads} heads, counted "
                f"from 0, but no {rule}"
            )
        layer = cross[rule.layer]
        weights = layer.mean(dim=0) if rule.head is None else layer[rule.head]
        links[rule] = links_from_attention(weights, english, german, row=rule.row)
    return links


def links_from_attention(
    weights: Tensor,
    english: Sequence[set[int]],
    german: Sequence[set[int]],
    *,
    row: str = "predicts",
) -> Links:
    """Link each German word to the English word that its rows attend to most.

    Weights are summed over the pieces of the English word and over the rows of the
    pieces of the German one; a piece that spells two words counts for both. Of equal
    sums the first word is taken.

    Args:
        weights: (T, S) cross-attention; T = bos + German pieces, S = English pieces +
            eos. What goes to eos belongs to no word.
        english: for each English piece, the words that it spells
            (`tformer.data.alignment.words_of_pieces`).
        german: the same for the German pieces.
        row: "predicts": the row before a piece, whose output is that piece; "reads":
            the row whose input it is.

    Returns:
        (index of the English word, index of the German word), one for each German word.

    Raises:
        ValueError: any other row, or weights of the wrong size.
    """
    one_of("row", row, ROWS)
    expected = (len(german) + 1, len(english) + 1)
    if tuple(weights.shape) != expected:
        raise ValueError(
            f"weights of shape {tuple(weights.shape)}: {len(german)} German and "
            f"{len(english)} English pieces need {expected}, with bos and eos"
        )
    shift = 0 if row == "predicts" else 1
    rows = weights[shift : shift + len(german), : len(english)]
    by_word = _membership(german, weights) @ rows @ _membership(english, weights).T
    return frozenset((int(i), j) for j, i in enumerate(by_word.argmax(dim=1)))


def _membership(pieces: Sequence[set[int]], like: Tensor) -> Tensor:
    """(words, pieces): 1 where a piece belongs to a word."""
    member = torch.zeros(1 + max(map(max, pieces)), len(pieces)).to(like)
    for at, words in enumerate(pieces):
        member[sorted(words), at] = 1
    return member


def diagonal_links(n_english: int, n_german: int) -> Links:
    """Links that ignore the words: each German word at the same relative position.

    The baseline that a head must beat. Halves are rounded up.

    Raises:
        ValueError: a sentence without words.
    """
    if min(n_english, n_german) < 1:
        raise ValueError(
            f"sentences of {n_english} and {n_german} words: each needs at least 1"
        )
    step = (n_english - 1) / max(n_german - 1, 1)
    return frozenset((int(j * step + 0.5), j) for j in range(n_german))
