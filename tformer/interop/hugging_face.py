"""A model for Hugging Face's transformers: configuration, weights, tokenizer.

A post-norm model becomes a ``MarianMTModel``. Marian has no pre-norm, but its sibling
``PegasusForConditionalGeneration`` is the same network, sinusoids included, with norms
before the sub-layers and one at the end of each stack, so pre-norm models become that.
(Pegasus stores its table of positions in the file, so it may be a learned one.) Both
use a ``MarianTokenizer``, which splits text with the same sentencepiece model. None of
their packages is needed to write the files::

    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder)
    batch = tokenizer(["A man is riding a horse."], return_tensors="pt", padding=True)
    tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True)

Their programs do two things differently: beam search divides by a power of the length
without the paper's 5, so of two close translations it may choose the other one (greedy
search is the same); and their tokenizer reads a ``>>code<<`` at the beginning of a text
as the name of a language.
"""

from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from tformer.common.files import write_atomically, write_json
from tformer.common.search import USUAL
from tformer.config import TransformerConfig
from tformer.interop.layout import in_halves, their_name
from tformer.interop.models import transformer_of
from tformer.model import Transformer
from tformer.positions import Positions
from tformer.tokenization import Tokenizer
from tformer.translator import Translator
from tformer.translator.weights import stored_weights

NEEDS: tuple[str, ...] = ()
_CLASSES = {
    "post": ("marian", "MarianMTModel"),
    "pre": ("pegasus", "PegasusForConditionalGeneration"),
}


def write(translator: Translator, folder: Path) -> None:
    """Write what ``from_pretrained(folder)`` reads.

    Raises:
        TypeError: the model is not a `Transformer`.
        ValueError: learned positions in a post-norm model, or separate tables in a
            pre-norm model: none of their classes supports these.
    """
    model = transformer_of(translator)
    config = model.config
    weights = stored_weights(model, torch.float32)
    _check(config)
    write_json(folder / "config.json", _configuration(config))
    write_json(folder / "generation_config.json", _generation(config))
    _write_weights(folder / "model.safetensors", model, weights)
    _write_tokenizer(folder, translator.tokenizer, config)


def _check(config: TransformerConfig) -> None:
    if config.norm == "post" and config.positions == "learned":
        raise ValueError(
            "positions='learned' with norm='post': Marian, their post-norm model, "
            "computes its positions; export to ctranslate2 or onnx"
        )
    if config.norm == "pre" and not config.tie_embeddings:
        raise ValueError(
            "norm='pre' with tie_embeddings=False: Pegasus, their pre-norm model, has "
            "one table only; export to ctranslate2 or onnx"
        )


def _configuration(config: TransformerConfig) -> dict[str, Any]:
    model_type, class_name = _CLASSES[config.norm]
    return {
        "architectures": [class_name],
        "model_type": model_type,
        "vocab_size": config.vocab_size,
        "d_model": config.d_model,
        "encoder_layers": config.n_encoder_layers,
        "decoder_layers": config.n_decoder_layers,
        "encoder_attention_heads": config.n_heads,
        "decoder_attention_heads": config.n_heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "activation_function": config.activation,
        "dropout": config.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "max_position_embeddings": config.max_len,
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": config.tie_embeddings,
        "tie_word_embeddings": config.tie_embeddings,
        **_special(config),
        "is_encoder_decoder": True,
        "dtype": "float32",
    }


def _special(config: TransformerConfig) -> dict[str, Any]:
    return {
        "pad_token_id": config.pad_id,
        "bos_token_id": config.bos_id,
        "eos_token_id": config.eos_id,
        "decoder_start_token_id": config.bos_id,
        "forced_eos_token_id": None,  # theirs would end with id 0
    }


def _generation(config: TransformerConfig) -> dict[str, Any]:
    """How ``generate`` searches by default: as close to ours as it can."""
    return {
        **_special(config),
        "suppress_tokens": [config.pad_id, config.bos_id, config.unk_id],
        "max_length": 1 + min(USUAL.max_len, config.max_len - 1),  # bos is counted
        "num_beams": USUAL.beam_size,
        "length_penalty": USUAL.length_penalty,
    }


def _write_weights(path: Path, model: Transformer, weights: dict[str, Tensor]) -> None:
    from safetensors.torch import save

    config = model.config
    weights.pop("positions.table", None)
    owner = "source_embedding" if config.tie_embeddings else "output_embedding"
    bias = weights.pop(f"{owner}.output_bias", torch.zeros(config.vocab_size))
    theirs = {
        their_name(name, tied=config.tie_embeddings): in_halves(name, weight)
        for name, weight in weights.items()
    }
    if config.norm == "pre":
        positions = cast(Positions, model.positions).table.detach().float()
        for side in ("encoder", "decoder"):
            name = f"model.{side}.embed_positions.weight"
            theirs[name] = in_halves(name, positions)
    theirs["final_logits_bias"] = bias[None]
    write_atomically(path, save(theirs, {"format": "pt"}))


def _write_tokenizer(
    folder: Path, tokenizer: Tokenizer, config: TransformerConfig
) -> None:
    pieces = [tokenizer.id_to_piece(each) for each in range(tokenizer.vocab_size)]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    write_json(folder / "vocab.json", vocabulary)
    for name in ("source.spm", "target.spm"):
        write_atomically(folder / name, tokenizer.model_bytes)
    special = {
        f"{name}_token": pieces[getattr(config, f"{name}_id")]
        for name in ("pad", "bos", "eos", "unk")
    }
    about = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": "en",
        "target_lang": "de",
        "model_max_length": config.max_len,
        "split_special_tokens": True,  # a "</s>" that a reader types is plain text
        **special,
    }
    write_json(folder / "tokenizer_config.json", about)
