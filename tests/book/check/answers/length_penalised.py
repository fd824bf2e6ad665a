import numpy as np

from answers import right, wrong


@right
def plain(log_p, length, alpha):
    return log_p / ((5 + length) / 6) ** alpha


@right
def in_numpy(log_p, length, alpha):
    return np.float32(log_p / ((5 + length) / 6) ** alpha)


@wrong("multiplied", "divide")
def multiplied(log_p, length, alpha):
    return log_p * ((5 + length) / 6) ** alpha


@wrong("plain-mean")
def mean(log_p, length, alpha):
    return log_p / length


@wrong("power-of-the-length")
def power(log_p, length, alpha):
    return log_p / length**alpha


@wrong("six-forgotten")
def no_six(log_p, length, alpha):
    return log_p / (5 + length) ** alpha


@wrong("alpha-times")
def times(log_p, length, alpha):
    return log_p / (alpha * (5 + length) / 6) if alpha else float("inf")


@wrong("alpha-ignored")
def no_alpha(log_p, length, alpha):
    return log_p / ((5 + length) / 6)


@wrong("power-before-the-quotient")
def brackets(log_p, length, alpha):
    return log_p / ((5 + length) ** alpha / 6)


@wrong("end-counted-twice")
def one_more(log_p, length, alpha):
    return log_p / ((6 + length) / 6) ** alpha


@wrong("subtracted")
def subtracted(log_p, length, alpha):
    return log_p - ((5 + length) / 6) ** alpha


@wrong("nothing-done")
def nothing(log_p, length, alpha):
    return log_p


@wrong("not-a-number")
def words(log_p, length, alpha):
    return f"{log_p:.2f}"


@wrong("wrong-score")
def off(log_p, length, alpha):
    return log_p - 1
