"""``torch.nn.Transformer``, put together as PyTorch's documentation shows it.

It brings layers and no search: its greedy search is the plain loop, which computes the
whole beginning again for each piece.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tformer import Transformer, TransformerConfig
from tformer.positions import sinusoids


def build(model: Transformer) -> TorchTransformer:
    peer = TorchTransformer(model.config)
    peer.embedding.weight.data.copy_(model.output_embedding.weight.data)
    return peer


class TorchTransformer(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        sizes = (config.d_model, config.n_heads, config.d_ff, config.dropout)
        encoder = nn.TransformerEncoderLayer(*sizes, batch_first=True)
        decoder = nn.TransformerDecoderLayer(*sizes, batch_first=True)
        self.core = nn.Transformer(
            config.d_model,
            config.n_heads,
            custom_encoder=nn.TransformerEncoder(encoder, config.n_encoder_layers),
            custom_decoder=nn.TransformerDecoder(decoder, config.n_decoder_layers),
            batch_first=True,
        )
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        table = sinusoids(config.max_len, config.d_model)
        self.register_buffer("table", table, persistent=False)

    @property
    def module(self) -> nn.Module:
        return self

    def embed(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids) * self.config.d_model**0.5
        x = x + self.table[: ids.size(1)]
        return F.dropout(x, self.config.dropout, self.training)

    def hidden(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        hide = source_ids == self.config.pad_id
        memory = self.core.encoder(self.embed(source_ids), src_key_padding_mask=hide)
        return self.write(target_ids, memory, hide)

    def write(self, target_ids: Tensor, memory: Tensor, hide: Tensor) -> Tensor:
        hide_future = nn.Transformer.generate_square_subsequent_mask(
            target_ids.size(1), device=target_ids.device, dtype=torch.bool
        )
        return self.core.decoder(
            self.embed(target_ids),
            memory,
            tgt_mask=hide_future,
            tgt_is_causal=True,
            memory_key_padding_mask=hide,
        )

    def loss(self, source_ids: Tensor, target_ids: Tensor, labels: Tensor) -> Tensor:
        logits = self.hidden(source_ids, target_ids) @ self.embedding.weight.T
        return F.cross_entropy(
            logits.flatten(0, 1),
            labels.flatten(),
            ignore_index=self.config.pad_id,
            label_smoothing=0.1,
        )

    @torch.inference_mode()
    def greedy(self, source_ids: Tensor, length: int) -> list[list[int]]:
        self.eval()
        hide = source_ids == self.config.pad_id
        memory = self.core.encoder(self.embed(source_ids), src_key_padding_mask=hide)
        target_ids = torch.full_like(source_ids[:, :1], self.config.bos_id)
        for _ in range(length):
            newest = self.write(target_ids, memory, hide)[:, -1]
            best = (newest @ self.embedding.weight.T).argmax(dim=-1, keepdim=True)
            target_ids = torch.cat([target_ids, best], dim=1)
        return target_ids[:, 1:].tolist()
