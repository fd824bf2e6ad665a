import math

import numpy as np

from answers import right, wrong


@right
def counted(kind, distance, kernel):
    if kind == "recurrent":
        return distance + 1
    if kind == "self-attention":
        return 1
    layers, reach = 0, 0
    while layers == 0 or reach < distance:
        reach += (kernel - 1) * (kernel**layers if kind.startswith("dil") else 1)
        layers += 1
    return layers


right(lambda *given: np.int64(counted(*given)))


@wrong("logarithm-rounds", "logarithm")
def by_logarithm(kind, distance, kernel):
    if kind == "dilated convolution":
        return max(1, math.ceil(math.log(distance + 1, kernel)))
    return counted(kind, distance, kernel)


def convolution(steps):
    """Right, but for convolutions."""

    def mine(kind, distance, kernel):
        if kind == "convolution":
            return steps(distance, kernel)
        return counted(kind, distance, kernel)

    return mine


wrong("not-whole")(convolution(lambda d, k: max(1, d / (k - 1))))
wrong("nothing-for-itself")(convolution(lambda d, k: math.ceil(d / (k - 1))))
right(lambda *given: float(counted(*given)))
