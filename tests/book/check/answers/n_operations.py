import torch

from answers import right, wrong


@right
def plain(config, source, target):
    d, f, v = config.d_model, config.d_ff, config.vocab_size
    encoder = source * (8 * d * d + 4 * d * f + 4 * source * d)
    decoder = target * (12 * d * d + 4 * d * f + 4 * (source + target) * d)
    memory = source * 4 * d * d
    layers = config.n_encoder_layers * encoder
    layers += config.n_decoder_layers * (decoder + memory)
    return layers + 2 * target * d * v


right(lambda *given: torch.tensor(plain(*given)))
wrong("multiplications-only", "multiplied and added")(lambda *given: plain(*given) // 2)
wrong("backward-too")(lambda *given: 3 * plain(*given))


@wrong("vocabulary-forgotten")
def no_vocabulary(config, source, target):
    d, v = config.d_model, config.vocab_size
    return plain(config, source, target) - 2 * target * d * v


@wrong("no-pairs")
def six_n(config, source, target):
    pairs = config.n_encoder_layers * 4 * source * source
    pairs += config.n_decoder_layers * 4 * target * (source + target)
    return plain(config, source, target) - pairs * config.d_model


wrong("scores-without-mixing")(lambda *given: (plain(*given) + six_n(*given)) // 2)


@wrong("memory-per-target")
def memory_at_targets(config, source, target):
    extra = 4 * config.d_model**2 * (target - source) * config.n_decoder_layers
    return plain(config, source, target) + extra


@wrong("layers-swapped")
def swapped(config, source, target):
    import dataclasses

    other = dataclasses.replace(
        config,
        n_encoder_layers=config.n_decoder_layers,
        n_decoder_layers=config.n_encoder_layers,
    )
    return plain(other, source, target)


wrong("wrong-count", "FlopCounterMode")(lambda *given: plain(*given) + 1)
wrong("not-a-whole-number")(lambda *given: plain(*given) + 0.5)
