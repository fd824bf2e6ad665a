from answers import right, wrong


@right
def plain(config, rows, source, target, bytes_each):
    each = 2 * config.d_model * config.n_decoder_layers
    return each * rows * (source + target) * bytes_each


wrong("keys-only", "a key and a value")(lambda *given: plain(*given) // 2)


@wrong("target-only", "memory")
def no_memory(config, rows, source, target, bytes_each):
    return plain(config, rows, 0, target, bytes_each)


@wrong("source-only")
def no_target(config, rows, source, target, bytes_each):
    return plain(config, rows, source, 0, bytes_each)


@wrong("per-head")
def every_head(config, rows, source, target, bytes_each):
    return plain(config, rows, source, target, bytes_each) * config.n_heads


@wrong("one-layer")
def one(config, rows, source, target, bytes_each):
    return 2 * config.d_model * rows * (source + target) * bytes_each


@wrong("encoder-layers")
def encoder(config, rows, source, target, bytes_each):
    return one(config, rows, source, target, bytes_each) * config.n_encoder_layers


wrong("all-layers")(lambda *given: plain(*given) + encoder(*given))


@wrong("one-sentence")
def single(config, rows, source, target, bytes_each):
    return plain(config, 1, source, target, bytes_each)


@wrong("numbers-not-bytes")
def numbers(config, rows, source, target, bytes_each):
    return plain(config, rows, source, target, 1)


@wrong("weights-kept")
def weights(config, rows, source, target, bytes_each):
    return plain(config, rows, source, target, bytes_each) * target


wrong("wrong-count")(lambda *given: plain(*given) + 8)
