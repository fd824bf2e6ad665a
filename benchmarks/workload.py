"""The model and the batches that all peers get."""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass

import torch
from torch import Tensor

from tformer import Transformer, TransformerConfig, data
from tformer.data import Batch
from tformer.tokenization import Tokenizer

SIZES = TransformerConfig(
    vocab_size=8000,
    d_model=256,
    n_heads=8,
    d_ff=1024,
    n_encoder_layers=3,
    n_decoder_layers=3,
    dropout=0.1,
    norm="post",  # the paper's, and the only one that all peers have
)


@dataclass(frozen=True)
class Sources:
    """Sentences to translate, and to how many pieces."""

    source_ids: Tensor
    length: int


@dataclass(frozen=True)
class Workload:
    """What is run: real sentences, and a model that has learnt nothing.

    Attributes:
        config: the model's sizes.
        training: batches for training.
        sentences: batches for searches, each of like length; all its translations
            get the mean length of its references.
        single: likewise, one sentence each.
        about: what is told of all that.
    """

    config: TransformerConfig
    training: list[Batch]
    sentences: list[Sources]
    single: list[Sources]
    about: dict[str, object]


def random_ids(vocab_size: int, rows: int, length: int) -> Tensor:
    """(rows, length) int64: pieces drawn at random, the same ones every time."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(4, vocab_size, (rows, length), generator=generator)


def new_model(config: TransformerConfig) -> Transformer:
    """A model with random weights that never says eos: every search is as long."""
    torch.manual_seed(0)
    model = Transformer(config).eval()
    # Its logit is 0, and the best of thousands is always above.
    model.output_embedding.weight.data[config.eos_id] = 0
    return model


def make(
    config: TransformerConfig,
    corpus_name: str,
    *,
    max_tokens: int = 4096,
    at_once: int = 64,
    n: int = 5,
) -> Workload:
    """Batches of a corpus, cut by a tokenizer that is learnt from it."""
    corpus = data.load(corpus_name)
    texts = [text for pair in corpus.train for text in pair]
    tokenizer = Tokenizer.train(texts, config.vocab_size)
    special = {"pad_id": config.pad_id, "bos_id": config.bos_id}
    encoded = data.encode_pairs(corpus.train, tokenizer, config.max_len)
    epoch = data.batches(
        encoded,
        max_tokens=max_tokens,
        **special,
        eos_id=config.eos_id,
        seed=0,
        epoch=0,
    )
    whole = [batch for batch in epoch[: 2 * n] if _cost(batch) > 0.8 * max_tokens]
    pairs = sorted(
        data.encode_pairs(corpus.valid, tokenizer, config.max_len),
        key=lambda pair: (len(pair[0]), len(pair[1])),
    )
    groups = [pairs[i : i + at_once] for i in range(0, len(pairs), at_once)]
    draw = random.Random(0)
    full = [group for group in groups if len(group) == at_once] or groups
    chosen = draw.sample(full, min(n, len(full)))
    alone = draw.sample(pairs, min(8 * n, len(pairs)))
    costs = sum(_cost(batch) for batch in epoch)
    return Workload(
        config,
        whole[:n] or epoch[:n],
        [_sources(group, config) for group in chosen],
        [_sources([pair], config) for pair in alone],
        {
            "corpus": corpus.name,
            "max_tokens": max_tokens,
            "padding_share": 1 - sum(batch.n_tokens for batch in epoch) / costs,
            "sentences_at_once": at_once,
            "mean_pieces": statistics.mean(len(target) for _, target in pairs),
        },
    )


def _cost(batch: Batch) -> int:
    return batch.source_ids.numel() + batch.target_ids.numel()


def _sources(
    pairs: list[tuple[list[int], list[int]]], config: TransformerConfig
) -> Sources:
    width = max(len(source) for source, _ in pairs)
    rows = [s + [config.pad_id] * (width - len(s)) for s, _ in pairs]
    length = round(statistics.mean(len(target) for _, target in pairs))
    return Sources(torch.tensor(rows), max(1, length))
