"""One training step and greedy decoding, side by side with ``torch.nn.Transformer``.

    make bench

Both models have the released model's sizes (post-norm, so that both are the paper's)
and see the same random ids in the same process, in turn: A B A B … Times are medians
with quartiles; what counts is the ratio, taken pair by pair. Writes
``results/bench-against-torch.json``.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import torch
from torch import Tensor, nn

from tformer import Transformer, TransformerConfig, decode
from tformer.loss import cross_entropy
from tformer.positions import sinusoids
from tformer.train import device_name

ROOT = Path(__file__).resolve().parent.parent


class TorchPeer(nn.Module):
    """The same network out of PyTorch's own parts, as its documentation builds it."""

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
        self.register_buffer("table", sinusoids(config.max_len, config.d_model))

    def embed(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids) * self.config.d_model**0.5
        return nn.functional.dropout(
            x + self.table[: ids.size(1)], self.config.dropout, self.training
        )

    def decode(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        hide_future = nn.Transformer.generate_square_subsequent_mask(
            target.size(1), device=target.device, dtype=torch.bool
        )
        return self.core.decoder(
            self.embed(target),
            memory,
            tgt_mask=hide_future,
            tgt_is_causal=True,
            memory_key_padding_mask=source == self.config.pad_id,
        )

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        hidden = source == self.config.pad_id
        memory = self.core.encoder(self.embed(source), src_key_padding_mask=hidden)
        return self.decode(target, memory, source) @ self.embedding.weight.T

    @torch.inference_mode()
    def greedy(self, source: Tensor, length: int) -> Tensor:
        hidden = source == self.config.pad_id
        memory = self.core.encoder(self.embed(source), src_key_padding_mask=hidden)
        target = torch.full_like(source[:, :1], self.config.bos_id)
        for _ in range(length):
            state = self.decode(target, memory, source)[:, -1]
            best = (state @ self.embedding.weight.T).argmax(dim=-1, keepdim=True)
            target = torch.cat([target, best], dim=1)
        return target


def training_step(
    model: nn.Module, batch: tuple[Tensor, Tensor, Tensor]
) -> Callable[[], None]:
    """One step of Adam on one batch."""
    optimizer = torch.optim.Adam(model.parameters(), fused=batch[0].is_cuda)

    def step() -> None:
        model.train()
        logits = model(batch[0], batch[1])
        loss = cross_entropy(logits, batch[2], pad_id=0, smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def in_turn(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int
) -> dict:
    """Times of both, measured in turn after a warm-up, and the ratio pair by pair."""

    def seconds(call: Callable[[], object]) -> float:
        started = time.perf_counter()
        call()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter() - started

    for call in (ours, theirs):
        seconds(call)
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    columns = {
        "ours_seconds": [ours for ours, _ in pairs],
        "torch_seconds": [theirs for _, theirs in pairs],
        "torch_over_ours": [theirs / ours for ours, theirs in pairs],
    }
    return {name: _quartiles(values) for name, values in columns.items()}


def _quartiles(values: list[float]) -> dict[str, float]:
    low, middle, high = statistics.quantiles(values, n=4)
    return {"q1": low, "median": middle, "q3": high}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--sentences", type=int, default=64)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    device = torch.device(arguments.device)
    config = TransformerConfig()
    ids = torch.randint(4, config.vocab_size, (3, arguments.sentences, 20))
    source, target, labels = ids.to(device)
    source[::2, 15:] = config.pad_id
    ours, theirs = Transformer(config).to(device), TorchPeer(config).to(device)
    # Equal work: no hypothesis may end before the last step.
    ours.output_embedding.weight.data[config.eos_id] = 0
    length = 20
    results = {
        "training step": in_turn(
            training_step(ours, (source, target, labels)),
            training_step(theirs, (source, target, labels)),
            arguments.rounds,
        )
    }
    ours.eval(), theirs.eval()
    results[f"greedy, {length} pieces"] = in_turn(
        lambda: decode.greedy(ours, source, max_len=length),
        lambda: theirs.greedy(source, length),
        arguments.rounds,
    )
    record = {
        "command": "python benchmarks/against_torch.py",
        "device": device_name(device),
        "threads": arguments.threads,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
        "config": config.to_dict(),
        "sentences": arguments.sentences,
        "rounds": arguments.rounds,
        "results": results,
    }
    folder = ROOT / "results"
    folder.mkdir(exist_ok=True)
    file = folder / "bench-against-torch.json"
    file.write_text(json.dumps(record, indent=1) + "\n")
    for name, result in results.items():
        ratio = result["torch_over_ours"]
        print(
            f"{name}: ours {result['ours_seconds']['median'] * 1e3:.0f} ms, torch.nn "
            f"{result['torch_seconds']['median'] * 1e3:.0f} ms; ratio "
            f"{ratio['median']:.2f} (quartiles {ratio['q1']:.2f} to {ratio['q3']:.2f})"
        )


if __name__ == "__main__":
    main()
