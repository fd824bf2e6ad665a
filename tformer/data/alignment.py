"""Word alignments: which word translates which, for words and for pieces.

Used to compare attention with the truth. Source of sure and possible links: Och and
Ney 2003. Chapters *Data* and *Inside the trained model*.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tformer.tokenization import Tokenizer

Links = frozenset[tuple[int, int]]  # (index in English, index in German)


@dataclass(frozen=True)
class AlignedPair:
    """A sentence pair and which word of it translates which.

    Attributes:
        english: words and punctuation marks, in order.
        german: words and punctuation marks, in order.
        sure: (index of the English word, index of the German word) of words that say
            the same thing.
        possible: ``sure`` and those that help to say it (auxiliaries, "to", commas).
        phenomena: names of what the sentence illustrates, for scores per phenomenon.
    """

    english: tuple[str, ...]
    german: tuple[str, ...]
    sure: Links
    possible: Links
    phenomena: frozenset[str]


def piece_links(
    pair: tuple[str, str], aligned: AlignedPair, tokenizer: Tokenizer
) -> tuple[Links, Links]:
    """The links of a pair between pieces instead of words.

    Pieces are linked if the words that they belong to are linked, so a heat map of
    attention between pieces can be compared with them. With a sentencepiece tokenizer::

        >>> corpus = data.load("grammar")
        >>> sentences = [text for pair in corpus.train for text in pair]
        >>> tokenizer = Tokenizer.train(sentences, 1000, algorithm="bpe")
        >>> pair = ("The cat sleeps.", "Die Katze schläft.")
        >>> words = [("The", "cat", "sleeps", "."), ("Die", "Katze", "schläft", ".")]
        >>> links = frozenset({(0, 0), (1, 1), (2, 2), (3, 3)})
        >>> aligned = AlignedPair(*words, links, links, frozenset())
        >>> tokenizer.pieces(pair[0])
        ['▁The', '▁cat', '▁sleep', 's', '.']
        >>> tokenizer.pieces(pair[1])
        ['▁Die', '▁Katze', '▁schl', 'ä', 'ft', '.']
        >>> sure, possible = piece_links(pair, aligned, tokenizer)
        >>> sorted(sure)  # sleep and s, each with schl, ä and ft
        [(0, 0), (1, 1), (2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (3, 4), (4, 5)]

    For the corpus' own pairs, ``aligned`` is ``corpus.alignments["random"][i]`` for
    ``corpus.test["random"][i]``, ``corpus.alignments["train"][i]`` for
    ``corpus.train[i]``, and so on.

    Args:
        pair: the sentences as written, (English, German).
        aligned: their alignment.
        tokenizer: whose pieces; ``tokenizer.encode`` numbers them.

    Returns:
        sure, possible: sets of (index of the English piece, index of the German one).
    """
    sources = words_of_pieces(pair[0], aligned.english, tokenizer)
    targets = words_of_pieces(pair[1], aligned.german, tokenizer)

    def projected(links: Iterable[tuple[int, int]]) -> Links:
        return frozenset(
            (s, t)
            for i, j in links
            for s, source in enumerate(sources)
            for t, target in enumerate(targets)
            if i in source and j in target
        )

    return projected(aligned.sure), projected(aligned.possible)


def words_of_pieces(
    text: str, words: Sequence[str], tokenizer: Tokenizer
) -> list[set[int]]:
    """For each piece of a text, the indices of the words that it is part of.

    A piece may cover a word and the full stop after it; if a character is written as
    bytes, all their pieces belong to its word; a space belongs to the word after it.

    Raises:
        ValueError: the words do not spell the text, or the tokenizer changes it.
    """
    if "".join(words) != text.replace(" ", ""):
        raise ValueError(f"the words {words!r} do not spell the text {text!r}.")
    if tokenizer.normalize(text) != text:
        raise ValueError(f"the tokenizer normalizes {text!r}: align normalized text.")
    owners: list[int] = []  # the word of each byte; the first space is sentencepiece's
    index = used = 0
    for character in f" {text}":
        if used == len(words[index]):
            index, used = index + 1, 0
        size = len("\u2581".encode()) if character == " " else len(character.encode())
        owners += [index] * size
        used += character != " "
    found = []
    at = 0
    for piece in tokenizer.pieces(text):
        is_byte = len(piece) == 6 and piece.startswith("<0x")
        size = 1 if is_byte else len(piece.encode())
        found.append(set(owners[at : at + size]))
        at += size
    return found
