"""A model for CTranslate2, which translates several times as fast as PyTorch.

Its own converters read the files of other programs; here its description of a network
is filled in directly, so the sinusoids stay as they are, in pairs. It reads and writes
pieces, which the tokenizer in the folder splits and joins::

    import ctranslate2, sentencepiece
    pieces = sentencepiece.SentencePieceProcessor(f"{folder}/tokenizer.model")
    translator = ctranslate2.Translator(folder)  # compute_type="int8": faster still
    batch = [pieces.EncodeAsPieces("A man is riding a horse.")]
    found = translator.translate_batch(batch, beam_size=4, disable_unk=True)
    pieces.DecodePieces(found[0].hypotheses[0])

Its beam search divides by a power of the length without the paper's 5, so of two close
translations it may choose the other one (greedy search is the same).
"""

from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from tformer.attention import MultiHeadAttention
from tformer.common.files import write_atomically
from tformer.decoder import DecoderLayer
from tformer.encoder import EncoderLayer
from tformer.interop.models import transformer_of
from tformer.model import Transformer
from tformer.norm import LayerNorm
from tformer.positions import Positions
from tformer.translator import Translator
from tformer.translator.weights import stored_weights

NEEDS = ("ctranslate2",)
_ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "swish": "SWISH"}


def write(translator: Translator, folder: Path) -> None:
    """Write what ``ctranslate2.Translator(folder)`` opens, and the tokenizer.

    Raises:
        TypeError: the model is not a `Transformer`.
        ValueError: its weights are not finite, or it has two tokenizers.
    """
    model = transformer_of(translator)
    stored_weights(model, torch.float32)  # are they numbers?
    tokenizer = translator.tokenizer
    write_atomically(folder / "tokenizer.model", tokenizer.model_bytes)
    pieces = [tokenizer.id_to_piece(each) for each in range(tokenizer.vocab_size)]
    spec = _filled(model)
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    config = model.config
    spec.config.bos_token = spec.config.decoder_start_token = pieces[config.bos_id]
    spec.config.eos_token = pieces[config.eos_id]
    spec.config.unk_token = pieces[config.unk_id]
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize()
    spec.save(str(folder))


def _filled(model: Transformer) -> Any:
    """CTranslate2's description of a Transformer, with the numbers of ours."""
    from ctranslate2.specs import TransformerSpec
    from ctranslate2.specs.common_spec import Activation

    config = model.config
    spec = TransformerSpec.from_config(
        (config.n_encoder_layers, config.n_decoder_layers),
        config.n_heads,
        pre_norm=config.norm == "pre",
        activation=Activation[_ACTIVATIONS[config.activation]],
    )
    spec.encoder.embeddings[0].weight = _numbers(model.source_embedding.weight)
    spec.decoder.embeddings.weight = _numbers(model.target_embedding.weight)
    output = model.output_embedding
    spec.decoder.projection.weight = _numbers(output.weight)
    if output.output_bias is not None:
        spec.decoder.projection.bias = _numbers(output.output_bias)
    for theirs, ours in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        table = cast(Positions, model.positions).table
        theirs.position_encodings.encodings = _numbers(table)
        if config.norm == "pre":
            _norm(theirs.layer_norm, ours.final_norm)
        for their_layer, layer in zip(theirs.layer, ours.layers, strict=True):
            _layer(their_layer, cast(EncoderLayer | DecoderLayer, layer))
    return spec


def _layer(theirs: Any, layer: EncoderLayer | DecoderLayer) -> None:
    """One layer; each sub-layer's norm is stored with it."""
    own = layer.self_attention
    _linear(theirs.self_attention.linear[0], own.to_query, own.to_key, own.to_value)
    _linear(theirs.self_attention.linear[1], own.to_output)
    _norm(theirs.self_attention.layer_norm, layer.self_attention_residual.norm)
    if isinstance(layer, DecoderLayer):
        across: MultiHeadAttention = layer.cross_attention
        _linear(theirs.attention.linear[0], across.to_query)
        _linear(theirs.attention.linear[1], across.to_key, across.to_value)
        _linear(theirs.attention.linear[2], across.to_output)
        _norm(theirs.attention.layer_norm, layer.cross_attention_residual.norm)
    network: Any = layer.feed_forward
    _linear(theirs.ffn.linear_0, network.expand)
    _linear(theirs.ffn.linear_1, network.contract)
    _norm(theirs.ffn.layer_norm, layer.feed_forward_residual.norm)


def _linear(theirs: Any, *maps: nn.Linear) -> None:
    """Several linear maps of one input as a single one, outputs side by side."""
    theirs.weight = _numbers(torch.cat([each.weight for each in maps]))
    theirs.bias = _numbers(torch.cat([each.bias for each in maps]))


def _norm(theirs: Any, norm: nn.Module) -> None:
    ours = cast(LayerNorm, norm)
    theirs.gamma, theirs.beta = _numbers(ours.gain), _numbers(ours.bias)


def _numbers(tensor: torch.Tensor) -> Any:
    return tensor.detach().float().cpu().numpy()
