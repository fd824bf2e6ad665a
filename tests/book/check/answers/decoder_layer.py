from answers import right, without_gradient, wrong


@right
def plain(layer, x, memory, target_mask, source_mask):
    x = layer.self_attention_residual(
        x, lambda h: layer.self_attention(h, mask=target_mask)
    )
    x = layer.cross_attention_residual(
        x, lambda h: layer.cross_attention(h, memory, mask=source_mask)
    )
    return layer.feed_forward_residual(x, lambda h: layer.feed_forward(h))


@wrong("x-instead-of-h", "argument")
def x_for_h(layer, x, memory, target_mask, source_mask):
    x = layer.self_attention_residual(
        x, lambda h: layer.self_attention(x, mask=target_mask)
    )
    x = layer.cross_attention_residual(
        x, lambda h: layer.cross_attention(x, memory, mask=source_mask)
    )
    return layer.feed_forward_residual(x, lambda h: layer.feed_forward(x))


@wrong("x-instead-of-h", "cross-attention")
def x_for_h_in_one(layer, x, memory, target_mask, source_mask):
    x = layer.self_attention_residual(
        x, lambda h: layer.self_attention(h, mask=target_mask)
    )
    x = layer.cross_attention_residual(
        x, lambda h: layer.cross_attention(x, memory, mask=source_mask)
    )
    return layer.feed_forward_residual(x, layer.feed_forward)


@wrong("result-instead-of-function", "lambda")
def result_for_function(layer, x, memory, target_mask, source_mask):
    x = layer.self_attention_residual(x, layer.self_attention(x, mask=target_mask))
    x = layer.cross_attention_residual(
        x, layer.cross_attention(x, memory, mask=source_mask)
    )
    return layer.feed_forward_residual(x, layer.feed_forward(x))


@wrong("calls-the-layer")
def itself(layer, x, memory, target_mask, source_mask):
    return layer(x, memory, target_mask, source_mask)


@wrong("masks-swapped")
def swapped(layer, x, memory, target_mask, source_mask):
    return plain(layer, x, memory, source_mask, target_mask)


@wrong("residuals-forgotten")
def bare(layer, x, memory, target_mask, source_mask):
    x = layer.self_attention(x, mask=target_mask)
    x = layer.cross_attention(x, memory, mask=source_mask)
    return layer.feed_forward(x)


@wrong("mask-flipped", "wrong way round")
def flipped(layer, x, memory, target_mask, source_mask):
    return plain(layer, x, memory, target_mask, ~source_mask)


wrong("gradient-cut")(without_gradient(plain))
wrong("wrong-numbers")(lambda layer, x, memory, target_mask, source_mask: x)


def beside(around):
    """A layer whose sub-layers run beside the stream in another way."""

    def mine(layer, x, memory, target_mask, source_mask):
        one, two, three = (
            layer.self_attention_residual,
            layer.cross_attention_residual,
            layer.feed_forward_residual,
        )
        x = around(one, x, lambda h: layer.self_attention(h, mask=target_mask))
        x = around(two, x, lambda h: layer.cross_attention(h, memory, mask=source_mask))
        return around(three, x, layer.feed_forward)

    return mine


wrong("pre-norm-only")(beside(lambda res, x, part: x + part(res.norm(x))))
wrong("post-norm-only")(beside(lambda res, x, part: res.norm(x + part(x))))
wrong("wrong-numbers")(beside(lambda res, x, part: res.norm(part(x))))


@wrong("only-equal-lengths")
def needs_equal_lengths(layer, x, memory, target_mask, source_mask):
    assert x.size(1) == memory.size(1)
    return plain(layer, x, memory, target_mask, source_mask)
