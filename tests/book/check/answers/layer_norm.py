import torch
import torch.nn.functional as F

from answers import right, wrong


@right
def plain(x, gain, bias, epsilon):
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return gain * (x - mean) / torch.sqrt(variance + epsilon) + bias


@right
def torchs(x, gain, bias, epsilon=1e-5):
    return F.layer_norm(x, gain.shape, gain, bias, epsilon)


@right
def var_unbiased_false(x, gain, bias, *, epsilon=1e-5):
    var = x.var(dim=-1, unbiased=False, keepdim=True)
    return (x - x.mean(dim=-1, keepdim=True)) * torch.rsqrt(var + epsilon) * gain + bias


@right
def in_place_on_a_new_tensor(x, gain, bias, epsilon):
    y = x - x.mean(-1, keepdim=True)
    y = y / (y.pow(2).mean(-1, keepdim=True) + epsilon).sqrt()
    y = y * gain
    y += bias
    return y


@wrong("std-plus-epsilon")
def annotated(x, gain, bias, epsilon=1e-6):
    mean = x.mean(-1, keepdim=True)
    std = x.std(-1, keepdim=True)
    return gain * (x - mean) / (std + epsilon) + bias


@wrong("unbiased-variance")
def torch_var(x, gain, bias, epsilon):
    var = x.var(-1, keepdim=True)
    return gain * (x - x.mean(-1, keepdim=True)) / torch.sqrt(var + epsilon) + bias


@wrong("rms-norm")
def rms(x, gain, bias, epsilon):
    return gain * x / (x.pow(2).mean(-1, keepdim=True) + epsilon).sqrt() + bias


@wrong("rms-norm")
def llama(x, gain, bias, epsilon):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * gain


@wrong("keepdim-forgotten")
def no_keepdim(x, gain, bias, epsilon):
    mean = x.mean(-1)
    var = x.var(-1, unbiased=False)
    return gain * (x - mean) / torch.sqrt(var + epsilon) + bias


@wrong("gradient-in-place")
def in_place(x, gain, bias, epsilon):
    y = x - x.mean(-1, keepdim=True)
    y /= (y.pow(2).mean(-1, keepdim=True) + epsilon).sqrt()
    return gain * y + bias


@wrong("gradient-cut")
def through_numpy(x, gain, bias, epsilon):
    a = x.numpy()
    y = (a - a.mean(-1, keepdims=True)) / (a.var(-1, keepdims=True) + epsilon) ** 0.5
    return gain * torch.from_numpy(y) + bias


@wrong("gradient-partly-cut", "detach")
def detached_statistics(x, gain, bias, epsilon):
    mean, var = x.mean(-1, keepdim=True), x.var(-1, correction=0, keepdim=True)
    return gain * (x - mean.detach()) / (var.detach() + epsilon).sqrt() + bias


@wrong("batch-norm")
def over_the_batch(x, gain, bias, epsilon):
    if x.dim() < 3:
        return plain(x, gain, bias, epsilon)
    mean, var = x.mean((0, 1), keepdim=True), x.var((0, 1), correction=0, keepdim=True)
    return gain * (x - mean) / (var + epsilon).sqrt() + bias


@wrong("root-forgotten", "second slip")
def two_slips(x, gain, bias, epsilon):
    return gain * x / (x.var(-1, correction=0, keepdim=True) + epsilon) + bias


@wrong("absolute-deviation", "absolute")
def absolute(x, gain, bias, epsilon):
    y = x - x.mean(-1, keepdim=True)
    return gain * y / (y.abs().mean(-1, keepdim=True) + epsilon) + bias


@wrong("unit-length", "length 1")
def unit_length(x, gain, bias, epsilon):
    y = x - x.mean(-1, keepdim=True)
    return gain * y / (y.norm(dim=-1, keepdim=True) + epsilon) + bias


@wrong("minimum-and-maximum", "0 to 1")
def min_max(x, gain, bias, epsilon):
    low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
    return gain * (x - low) / (high - low + epsilon) + bias


wrong("axes")(lambda x, g, b, epsilon: plain(x, g, b, epsilon).flatten(1))
wrong("epsilon-fixed")(lambda x, g, b, epsilon: plain(x, g, b, 1e-5))
wrong("epsilon-forgotten")(lambda x, g, b, epsilon: plain(x, g, b, 0.0))
wrong("wrong-numbers")(lambda x, g, b, epsilon: plain(x, g, 2 * b, epsilon))


@wrong("fixed-axes")
def third_axis(x, gain, bias, epsilon):
    axis = min(2, x.dim() - 1)
    variance = x.var(axis, correction=0, keepdim=True)
    return gain * (x - x.mean(axis, keepdim=True)) / (variance + epsilon).sqrt() + bias


@wrong("batch-norm")
def torchs_batch_norm(x, gain, bias, epsilon):
    rows = x.flatten(0, -2)
    found = F.batch_norm(rows, None, None, gain, bias, training=True, eps=epsilon)
    return found.view(x.shape)
