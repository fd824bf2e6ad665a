import torch
import torch.nn.functional as F

from answers import right, without_gradient, wrong


@right
def plain(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    x = norm_1(x + self_attention(x, mask=source_mask))
    return norm_2(x + feed_forward(x))


@right
def with_key_and_value(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    attended = self_attention(x, x, x, mask=source_mask)
    h = norm_1(attended + x)
    return norm_2(h + feed_forward(h))


@right
def in_place_on_a_new(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    y = self_attention(x, mask=source_mask)
    y += x
    y = norm_1(y)
    return norm_2(y + feed_forward(y))


@wrong("gradient-in-place", "y += feed_forward(y)")
def in_place(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    y = norm_1(x + self_attention(x, mask=source_mask))
    y += feed_forward(y)
    return norm_2(y)


@wrong("changes-inputs")
def into_x(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    x += self_attention(x, mask=source_mask)
    x = norm_1(x)
    return norm_2(x + feed_forward(x))


@wrong("gradient-partly-cut", "no_grad")
def frozen_attention(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    with torch.no_grad():
        a = self_attention(x, mask=source_mask)
    x = norm_1(x + a)
    return norm_2(x + feed_forward(x))


@wrong("mask-flipped", "wrong way round")
def inverted_mask(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    x = norm_1(x + self_attention(x, mask=~source_mask))
    return norm_2(x + feed_forward(x))


@wrong("mask-as-key")
def mask_by_position(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    x = norm_1(x + self_attention(x, source_mask))
    return norm_2(x + feed_forward(x))


@wrong("mask-not-passed")
def no_mask(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    x = norm_1(x + self_attention(x))
    return norm_2(x + feed_forward(x))


@wrong("pre-norm")
def pre(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    x = x + self_attention(norm_1(x), mask=source_mask)
    return x + feed_forward(norm_2(x))


@wrong("mask-not-passed", "second slip")
def pre_without_mask(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    x = x + self_attention(norm_1(x))
    return x + feed_forward(norm_2(x))


@wrong("in-parallel")
def parallel(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    a = norm_1(x + self_attention(x, mask=source_mask))
    return norm_2(a + feed_forward(x))


@wrong("returns-several")
def two(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    x = norm_1(x + self_attention(x, mask=source_mask))
    return norm_2(x + feed_forward(x)), x


@wrong("relu-after", "ReLU")
def relu_at_the_end(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    x = norm_1(x + self_attention(x, mask=source_mask))
    return norm_2(x + F.relu(feed_forward(x)))


@wrong("multiplied")
def gated(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    x = norm_1(x * self_attention(x, mask=source_mask))
    return norm_2(x * feed_forward(x))


@wrong("random")
def dropout(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    x = norm_1(x + F.dropout(self_attention(x, mask=source_mask), 0.1))
    return norm_2(x + F.dropout(feed_forward(x), 0.1))


wrong("gradient-cut", "no_grad")(without_gradient(plain))
wrong("mean-over-an-axis")(lambda *given: plain(*given).mean(1))
wrong("wrong-numbers")(lambda *given: 2 * plain(*given))
