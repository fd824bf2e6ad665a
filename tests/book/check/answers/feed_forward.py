import torch
import torch.nn.functional as F

from answers import right, wrong


@right
def plain(x, w_1, b_1, w_2, b_2):
    return torch.relu(x @ w_1 + b_1) @ w_2 + b_2


@right
def in_place_relu(x, w_1, b_1, w_2, b_2):
    h = x @ w_1
    h += b_1
    F.relu_(h)
    return h @ w_2 + b_2


@right
def with_linear(x, w_1, b_1, w_2, b_2):
    return F.linear(F.relu(F.linear(x, w_1.T, b_1)), w_2.T, b_2)


@right
def maximum(x, w_1, b_1, w_2, b_2):
    return torch.maximum(x @ w_1 + b_1, torch.zeros(1)) @ w_2 + b_2


@wrong("truth-of-a-tensor", "clamp")
def python_max(x, w_1, b_1, w_2, b_2):
    return max(0, x @ w_1 + b_1) @ w_2 + b_2


@wrong("truth-of-a-tensor")
def python_if(x, w_1, b_1, w_2, b_2):
    h = x @ w_1 + b_1
    h = h if h > 0 else 0
    return h @ w_2 + b_2


@wrong("number-and-tensor", "clamp(min=0)")
def torch_max_zero(x, w_1, b_1, w_2, b_2):
    return torch.max(0, x @ w_1 + b_1) @ w_2 + b_2


@wrong("relu-missing")
def no_relu(x, w_1, b_1, w_2, b_2):
    return (x @ w_1 + b_1) @ w_2 + b_2


@wrong("weights-transposed")
def as_linear_keeps_them(x, w_1, b_1, w_2, b_2):
    return F.linear(F.relu(F.linear(x, w_1, b_1)), w_2, b_2)


@wrong("other-activation", "gelu")
def gelu(x, w_1, b_1, w_2, b_2):
    return F.gelu(x @ w_1 + b_1) @ w_2 + b_2


@wrong("gradient-cut", "numpy")
def numpy_max(x, w_1, b_1, w_2, b_2):
    h = torch.from_numpy((x @ w_1 + b_1).numpy().clip(0))
    return h @ w_2 + b_2


@wrong("residual-inside")
def residual(x, w_1, b_1, w_2, b_2):
    return x + plain(x, w_1, b_1, w_2, b_2)


@wrong("norm-inside", "norm")
def normed(x, w_1, b_1, w_2, b_2):
    return F.layer_norm(plain(x, w_1, b_1, w_2, b_2), b_2.shape)


@wrong("relu-after-the-second-layer", "second slip")
def two_slips(x, w_1, b_1, w_2, b_2):
    return ((x @ w_1) @ w_2 + b_2).relu()


@wrong("random")
def with_dropout(x, w_1, b_1, w_2, b_2):
    return F.dropout(torch.relu(x @ w_1 + b_1), 0.1) @ w_2 + b_2


@wrong("sign")
def keeps_the_negative(x, w_1, b_1, w_2, b_2):
    return (x @ w_1 + b_1).clamp(max=0) @ w_2 + b_2


wrong("wrong-numbers")(lambda x, w, b, v, c: plain(x, w, b, v, 2 * c))
wrong("mixes-positions")(lambda x, *given: plain(x + x.mean(1, keepdim=True), *given))
wrong("mixes-positions")(
    lambda x, *given: plain(x.transpose(0, 1).reshape(x.shape), *given)
)


@wrong("mixes-sentences")
def the_first_reads_the_second(x, w_1, b_1, w_2, b_2):
    other = torch.zeros_like(x)
    other[0] = x[1].mean(0)
    return plain(x + other, w_1, b_1, w_2, b_2)
