"""A model and its tokenizer: text in, text out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, overload

import torch
from torch import Tensor

from tformer import decode
from tformer.analysis import trace
from tformer.common.files import as_json, write_atomically
from tformer.common.search import DRAWN, USUAL, SearchSettings, settings_for
from tformer.common.together import together
from tformer.common.values import instance, named_folder, whole
from tformer.model import Transformer
from tformer.tokenization import Tokenizer
from tformer.translator.weights import save_model, stored_weights, uncompiled
from tformer.variants.recurrent import RecurrentSeq2Seq

Result = TypeVar("Result")


@dataclass(frozen=True)
class AttentionMaps:
    """What every head attended to while the model wrote a translation.

    Attributes:
        source_pieces: pieces + ``</s>``: rows and columns of ``encoder``, columns of
            ``cross``.
        target_pieces: ``<s>`` + pieces: rows and columns of ``decoder``, rows of
            ``cross``.
        predicted_pieces: pieces + ``</s>``: what each target row predicts.
        translation: the German text.
        encoder: (layer, head, query, key) float32, S x S.
        decoder: T x T.
        cross: T x S.
    """

    source_pieces: list[str]
    target_pieces: list[str]
    predicted_pieces: list[str]
    translation: str
    encoder: Tensor
    decoder: Tensor
    cross: Tensor


@dataclass(frozen=True)
class Candidate:
    """One of the best translations that a search found.

    Attributes:
        text: the German.
        log_probability: log p of its pieces and eos.
        score: what ranks it: the log-probability divided by the length penalty.
    """

    text: str
    log_probability: float
    score: float


@dataclass(frozen=True)
class ScoredTranslation:
    """How probable the model finds a given translation.

    Attributes:
        pieces: the translation's pieces + ``</s>``.
        log_probabilities: log p of each piece, given the source and all before it.
        log_probability: log p of the whole: their sum.
    """

    pieces: list[str]
    log_probabilities: list[float]
    log_probability: float


class Translator:
    """A model and its tokenizer: text in, text out.

    Args:
        model: a `Transformer`, or a `RecurrentSeq2Seq`.
        tokenizer: the one the model was trained with.
        card: the facts about the model: data, recipe, scores, terms.

    Raises:
        TypeError: the model has no configuration, the tokenizer is none, or the card is
            not a dictionary.
        ValueError: the tokenizer's size or special ids are not the model's.
    """

    def __init__(
        self,
        model: Transformer | RecurrentSeq2Seq,
        tokenizer: Tokenizer,
        card: dict | None = None,
    ) -> None:
        if not hasattr(model, "config") or not hasattr(tokenizer, "vocab_size"):
            raise TypeError(
                "expected a model of tformer and its tokenizer, got a "
                f"{type(model).__name__} and a {type(tokenizer).__name__}"
            )
        if card is not None:
            instance("card", card, dict, "of facts by name")
        config = model.config
        for name in ("vocab_size", "pad_id", "bos_id", "eos_id", "unk_id"):
            ours, theirs = getattr(config, name), getattr(tokenizer, name)
            if ours != theirs:
                raise ValueError(
                    f"the model has {name}={ours}, the tokenizer {name}={theirs}: "
                    "they were not trained together"
                )
        self.model: Any = uncompiled(model)  # it compiles nothing that we call
        self.tokenizer = tokenizer
        self.card: dict[str, Any] = card or {}

    @property
    def device(self) -> torch.device:
        """The model's device."""
        return self.model.output_embedding.weight.device

    @overload
    def translate(self, text: str, **settings: Any) -> str: ...
    @overload
    def translate(self, text: Sequence[str], **settings: Any) -> list[str]: ...
    def translate(
        self,
        text: str | Sequence[str],
        *,
        batch_size: int = 64,
        precision: str = "float32",
        **settings: Any,
    ) -> str | list[str]:
        """Translate English to German.

        Args:
            text: a sentence, or several; several are translated in batches of similar
                length, and returned in order.
            batch_size: sentences per batch.
            precision: of the matrix products, as in `tformer.decode.greedy`.
            settings: of beam search, by their names in
                `tformer.common.search.SearchSettings`: beam_size, length_penalty,
                max_len.

        Returns:
            A string for a string, a list for a list.

        Raises:
            TypeError: not a string, or not a sequence of strings; no such setting.
            ValueError: a text is empty or has more pieces than the model takes; a
                setting is out of range, or the precision is not possible here.
        """
        chosen = settings_for("beam", settings)
        found = self.search(text, chosen, batch_size=batch_size, precision=precision)
        return _best(found) if isinstance(text, str) else [*map(_best, found)]

    @overload
    def sample(self, text: str, **settings: Any) -> str: ...
    @overload
    def sample(self, text: Sequence[str], **settings: Any) -> list[str]: ...
    def sample(
        self,
        text: str | Sequence[str],
        *,
        seed: int | Iterable[int] = USUAL.seed,
        batch_size: int = 64,
        precision: str = "float32",
        **settings: Any,
    ) -> str | list[str]:
        """Translate by sampling each piece: different seeds, different translations.

        The result for a text depends on its own seed alone, not on the batches. For
        several translations of the same text, pass it several times.

        Args:
            text: a sentence, or several, as in `translate`.
            seed: for the whole call, or one per text (see `tformer.decode.row_seeds`).
            batch_size: sentences per batch.
            precision: as in `translate`.
            settings: of sampling, by their names in
                `tformer.common.search.SearchSettings`: temperature, top_k, top_p,
                max_len.

        Returns:
            A string for a string, a list for a list.

        Raises:
            TypeError, ValueError: as `translate` and `tformer.decode.sample`.
        """
        chosen = settings_for("sample", settings)
        seeds = decode.row_seeds(seed, _n_texts(text))
        found = self.search(
            text, chosen, batch_size=batch_size, seeds=seeds, precision=precision
        )
        return _best(found) if isinstance(text, str) else [*map(_best, found)]

    @overload
    def n_best(self, text: str, n: int = ..., **settings: Any) -> list[Candidate]: ...
    @overload
    def n_best(
        self, text: Sequence[str], n: int = ..., **settings: Any
    ) -> list[list[Candidate]]: ...
    def n_best(
        self,
        text: str | Sequence[str],
        n: int = 4,
        *,
        beam_size: int | None = None,
        batch_size: int = 64,
        precision: str = "float32",
        **settings: Any,
    ) -> list[Candidate] | list[list[Candidate]]:
        """The n best translations that beam search finds, the best first.

        Two of them may be the same text, cut into different pieces.

        Args:
            text: a sentence, or several, as in `translate`.
            n: how many.
            beam_size: hypotheses kept alive, at least n; by default 4 or n,
                whichever is larger.
            batch_size: sentences per batch.
            precision: as in `translate`.
            settings: as in `translate`.

        Returns:
            A list of `Candidate` for a string, a list of such lists for a list.

        Raises:
            TypeError, ValueError: as `translate` and `tformer.decode.n_best`.
        """
        n = whole("n", n, least=1)
        width = max(USUAL.beam_size, n) if beam_size is None else beam_size
        chosen = settings_for("beam", {"n_best": n, "beam_size": width, **settings})
        return self.search(text, chosen, batch_size=batch_size, precision=precision)

    def search(
        self,
        text: str | Sequence[str],
        settings: SearchSettings = USUAL,
        *,
        batch_size: int = 64,
        seeds: Sequence[int] | None = None,
        precision: str = "float32",
    ) -> Any:
        """What a search with these settings finds.

        Args:
            text: a sentence, or several, as in `translate`.
            settings: which search, and how.
            batch_size: sentences per batch.
            seeds: one per text, for sampling; made from the settings' seed if
                omitted.
            precision: as in `translate`.

        Returns:
            A list of `Candidate`, the best first, for a string; a list of such lists
            for a list.

        Raises:
            TypeError, ValueError: as `translate`.
        """
        n_texts = _n_texts(text)
        seeds = decode.row_seeds(settings.seed if seeds is None else seeds, n_texts)
        longest = min(settings.max_len, self.model.config.max_len)

        def search(source_ids: Tensor, chosen: list[int]) -> list[list[Candidate]]:
            options: dict[str, Any] = {"precision": precision}
            if settings.search in DRAWN:
                own = [seeds[i] for i in chosen]
                options["chances"] = decode.random_numbers(own, longest)
            steps = decode.STEPS[settings.search]
            found = decode.drain(steps(self.model, source_ids, settings, **options))
            text = self.tokenizer.decode
            return [
                [Candidate(text(x.ids), x.log_probability, x.score) for x in best]
                for best in found
            ]

        return self._run(search, text, batch_size)

    @overload
    def score(  # type: ignore[overload-overlap]
        self, text: str, translation: str, *, batch_size: int = ...
    ) -> ScoredTranslation: ...
    @overload
    def score(
        self, text: Sequence[str], translation: Sequence[str], *, batch_size: int = ...
    ) -> list[ScoredTranslation]: ...
    def score(
        self,
        text: str | Sequence[str],
        translation: str | Sequence[str],
        *,
        batch_size: int = 64,
    ) -> ScoredTranslation | list[ScoredTranslation]:
        """How probable the model finds given translations, piece by piece.

        A text can be cut into pieces in several ways; the tokenizer's is scored.

        Args:
            text: a sentence, or several, as in `translate`.
            translation: its German, or one for each text.
            batch_size: pairs per batch.

        Returns:
            One for a string, a list for a list.

        Raises:
            TypeError: a string and a list, or something that is not a string.
            ValueError: not one translation for each text; an empty one, or one with
                more pieces than the model takes.
        """
        if isinstance(text, str) != isinstance(translation, str):
            raise TypeError("give two strings, or two sequences of strings")
        n_texts = _n_texts(text)
        if _n_texts(translation) != n_texts:
            raise ValueError(
                f"{n_texts} texts and {_n_texts(translation)} translations: give one "
                "for each text"
            )
        given = [translation] if isinstance(translation, str) else translation
        targets = [self._encode(each, self.tokenizer.target)[:-1] for each in given]

        def look_up(source_ids: Tensor, chosen: list[int]) -> list[ScoredTranslation]:
            found = decode.score(self.model, source_ids, [targets[i] for i in chosen])
            return [
                ScoredTranslation(
                    self._pieces([*each.ids, self.model.config.eos_id]),
                    each.log_probabilities,
                    each.log_probability,
                )
                for each in found
            ]

        return self._run(look_up, text, batch_size)

    def _run(
        self,
        work: Callable[[Tensor, list[int]], list[Result]],  # source_ids, which texts
        text: str | Sequence[str],
        batch_size: int,
    ) -> Any:
        """Process texts in batches of similar length; return results in order."""
        batch_size = whole("batch_size", batch_size, least=1)
        if isinstance(text, str):
            return work(self._pad([self.encode(text)]), [0])[0]
        sources = [self.encode(each) for each in text]
        order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
        results: dict[int, Result] = {}
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            found = work(self._pad([sources[i] for i in chosen]), chosen)
            results.update(zip(chosen, found, strict=True))
        return [results[i] for i in range(len(sources))]

    def attention(self, text: str, translation: str | None = None) -> AttentionMaps:
        """Every attention weight of the forward pass that scores a translation.

        Args:
            text: one English sentence.
            translation: the German to look at; the model's own (beam 4) if omitted.

        Raises:
            TypeError, ValueError: as `translate`.
        """
        config = self.model.config
        source = self.encode(text)
        source_ids = self._pad([source])
        if translation is None:
            [target] = decode.beam_search(self.model, source_ids)
            translation = self.tokenizer.decode(target)
        else:
            target = self._encode(translation, self.tokenizer.target)[:-1]
        target_ids = self._pad([[config.bos_id, *target]])
        encoder, decoder, cross = trace.attention_weights(
            self.model, source_ids, target_ids
        )
        return AttentionMaps(
            source_pieces=self._pieces(source),
            target_pieces=self._pieces([config.bos_id, *target]),
            predicted_pieces=self._pieces([*target, config.eos_id]),
            translation=translation,
            encoder=encoder[0].float().cpu(),
            decoder=decoder[0].float().cpu(),
            cross=cross[0].float().cpu(),
        )

    def encode(self, text: str) -> list[int]:
        """Pieces + eos of one text, checked: what the encoder reads.

        Raises:
            TypeError: not a string.
            ValueError: nothing but whitespace, or more pieces than the model takes.
        """
        return self._encode(text, self.tokenizer)

    def _encode(self, text: str, tokenizer: Tokenizer) -> list[int]:
        if not isinstance(text, str):
            raise TypeError(f"expected a string to translate, got {text!r}")
        ids = tokenizer.encode(text)
        if not ids:
            raise ValueError(f"there is nothing to translate in {text!r}: give a text")
        longest = self.model.config.max_len - 1
        if len(ids) > longest:
            raise ValueError(
                f"the text beginning {text[:40]!r} has {len(ids)} pieces, the model "
                f"takes {longest}: split it into sentences"
            )
        return [*ids, self.model.config.eos_id]

    def _pieces(self, ids: list[int]) -> list[str]:
        return [self.tokenizer.id_to_piece(each) for each in ids]

    def _pad(self, rows: list[list[int]]) -> Tensor:
        width = max(map(len, rows))
        pad_id = self.model.config.pad_id
        filled = [row + [pad_id] * (width - len(row)) for row in rows]
        return torch.tensor(filled, device=self.device)

    def save(self, folder: str | Path, *, dtype: torch.dtype = torch.float32) -> None:
        """Write model, tokenizer and card to a folder: all of them, or none.

        A model that is there already is replaced. If that fails, or is interrupted at
        any moment, `load_pretrained` finds either the old model or the new one, whole.

        Args:
            folder: created if missing.
            dtype: of the stored weights; float16 halves the file, and int8, rounded
                row by row, quarters it.

        Raises:
            TypeError: as `tformer.translator.weights.stored_weights`, or the card holds
                something that JSON cannot express.
            ValueError: the same, or the folder has no name; nothing is written.
        """
        folder = named_folder(folder)
        weights = stored_weights(self.model, dtype)
        tokenizer = self.tokenizer.model_bytes
        try:
            card = as_json(self.card)
        except (TypeError, ValueError) as error:
            raise type(error)(f"the card cannot be written as JSON: {error}") from error
        folder.mkdir(parents=True, exist_ok=True)
        with together(folder) as place:
            write_atomically(place / "tokenizer.model", tokenizer)
            write_atomically(place / "card.json", card)
            save_model(
                place / "model.safetensors",
                self.model.config,
                weights,
                tokenizer=self.tokenizer.fingerprint,
            )


def _n_texts(text: str | Sequence[str]) -> int:
    """How many texts these are.

    Raises:
        TypeError: neither a string nor several in an order that stays.
    """
    if isinstance(text, str):
        return 1
    ordered = hasattr(text, "__len__") and hasattr(text, "__getitem__")
    if not ordered or isinstance(text, bytes | bytearray | Mapping):
        raise TypeError(
            f"expected a string or a list of strings, got {type(text).__name__}: put "
            "several texts into a list, in the order that you want"
        )
    return len(text)


def _best(found: list[Candidate]) -> str:
    return found[0].text if found else ""
