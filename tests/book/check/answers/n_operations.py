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


@right
def as_tensor(config, source, target):
    return torch.tensor(plain(config, source, target))


@wrong("multiplications-only", "multiplied and added")
def half(config, source, target):
    return plain(config, source, target) // 2


@wrong("backward-too")
def with_backward(config, source, target):
    return 3 * plain(config, source, target)


@wrong("vocabulary-forgotten")
def no_vocabulary(config, source, target):
    d, v = config.d_model, config.vocab_size
    return plain(config, source, target) - 2 * target * d * v


@wrong("no-pairs")
def six_n(config, source, target):
    pairs = config.n_encoder_layers * 4 * source * source
    pairs += config.n_decoder_layers * 4 * target * (source + target)
    return plain(config, source, target) - pairs * config.d_model


@wrong("scores-without-mixing")
def scores_only(config, source, target):
    return (plain(config, source, target) + six_n(config, source, target)) // 2


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


@wrong("wrong-count", "FlopCounterMode")
def one_more(config, source, target):
    return plain(config, source, target) + 1


@wrong("not-a-whole-number")
def fraction(config, source, target):
    return plain(config, source, target) + 0.5
