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


right(
    lambda x, w_1, b_1, w_2, b_2: F.linear(F.relu(F.linear(x, w_1.T, b_1)), w_2.T, b_2)
)


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


wrong("relu-missing")(lambda x, w_1, b_1, w_2, b_2: (x @ w_1 + b_1) @ w_2 + b_2)
wrong("weights-transposed")(
    lambda x, w_1, b_1, w_2, b_2: F.linear(F.relu(F.linear(x, w_1, b_1)), w_2, b_2)
)
wrong("other-activation", "gelu")(
    lambda x, w_1, b_1, w_2, b_2: F.gelu(x @ w_1 + b_1) @ w_2 + b_2
)


@wrong("gradient-cut", "numpy")
def numpy_max(x, w_1, b_1, w_2, b_2):
    h = torch.from_numpy((x @ w_1 + b_1).numpy().clip(0))
    return h @ w_2 + b_2


wrong("residual-inside")(lambda x, w_1, b_1, w_2, b_2: x + plain(x, w_1, b_1, w_2, b_2))
wrong("norm-inside", "norm")(
    lambda x, w_1, b_1, w_2, b_2: F.layer_norm(plain(x, w_1, b_1, w_2, b_2), b_2.shape)
)
wrong("relu-after-the-second-layer", "second slip")(
    lambda x, w_1, b_1, w_2, b_2: ((x @ w_1) @ w_2 + b_2).relu()
)
wrong("random")(
    lambda x, w_1, b_1, w_2, b_2: F.dropout(torch.relu(x @ w_1 + b_1), 0.1) @ w_2 + b_2
)
wrong("sign")(lambda x, w_1, b_1, w_2, b_2: (x @ w_1 + b_1).clamp(max=0) @ w_2 + b_2)
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
