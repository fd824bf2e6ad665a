import numpy as np
import torch

from answers import right, wrong


@right
def plain(config):
    d, f = config.d_model, config.d_ff
    a, n, ffn = 4 * d * d + 4 * d, 2 * d, 2 * d * f + d + f
    total = (1 if config.tie_embeddings else 3) * config.vocab_size * d
    total += config.n_encoder_layers * (a + ffn + 2 * n)
    total += config.n_decoder_layers * (2 * a + ffn + 3 * n)
    return total + (2 * n if config.norm == "pre" else 0)


right(lambda config: np.int64(plain(config)))
right(lambda config: torch.tensor(plain(config)))
wrong("final-norms-forgotten")(
    lambda config: plain(config) - (4 * config.d_model if config.norm == "pre" else 0)
)
wrong("wrong-count", "7 too many")(lambda config: plain(config) + 7)
wrong("wrong-count", "should be a letter")(
    lambda config: plain(config) if config.vocab_size == 101 else 1
)
wrong("not-a-whole-number")(lambda config: plain(config) + 0.5)
right(lambda config: float(plain(config)))
