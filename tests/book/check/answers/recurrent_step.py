import torch
import torch.nn.functional as F

from answers import right, wrong


@right
def plain(x, state, input_weights, state_weights, bias):
    return torch.tanh(x @ input_weights.T + state @ state_weights.T + bias)


@right
def linear(x, state, input_weights, state_weights, bias):
    return (F.linear(x, input_weights, bias) + F.linear(state, state_weights)).tanh()


@wrong("weights-from-the-left", "x @ input_weights.T")
def from_the_left(x, state, input_weights, state_weights, bias):
    return torch.tanh(input_weights @ x + state_weights @ state + bias)


@wrong("no-tanh")
def straight(x, state, input_weights, state_weights, bias):
    return x @ input_weights.T + state @ state_weights.T + bias


@wrong("bias-outside-tanh", "inside the brackets")
def bias_outside(x, state, input_weights, state_weights, bias):
    return torch.tanh(x @ input_weights.T + state @ state_weights.T) + bias


@wrong("bias-twice", "twice")
def two_biases(x, state, input_weights, state_weights, bias):
    return plain(x, state, input_weights, state_weights, 2 * bias)


@wrong("gradient-cut", "state.detach()")
def detached_state(x, state, input_weights, state_weights, bias):
    return torch.tanh(x @ input_weights.T + state.detach() @ state_weights.T + bias)


wrong("mean-over-an-axis")(lambda *given: plain(*given).mean(0))
wrong("wrong-numbers")(lambda *given: plain(*given) + 1)
wrong("weights-from-the-left")(lambda x, state, w_x, w_s, b: x @ w_s)
