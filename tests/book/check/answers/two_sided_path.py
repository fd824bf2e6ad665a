import math

from answers import right, wrong


@right
def counted(kind, distance, kernel):
    if kind == "recurrent":
        return distance + 1
    if kind == "self-attention":
        return 1
    layers, reach, step = 1, kernel // 2, kernel // 2
    while reach < distance:
        step *= kernel if kind.startswith("dilated") else 1
        reach += step
        layers += 1
    return layers


@wrong("one-sided")
def left_only(kind, distance, kernel):
    if kind == "convolution":
        return max(1, math.ceil(distance / (kernel - 1)))
    return counted(kind, distance, kernel)


@wrong("wrong-numbers", "logarithm")
def by_logarithm(kind, distance, kernel):
    if kind == "dilated convolution":
        return max(1, math.ceil(math.log(2 * distance + 1, kernel)))
    return counted(kind, distance, kernel)


@wrong("halved")
def halved(kind, distance, kernel):
    if kind == "recurrent":
        return math.ceil((distance + 1) / 2)
    return counted(kind, distance, kernel)
