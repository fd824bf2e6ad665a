import numpy as np

from answers import right, wrong

right(lambda log_p, length, alpha: log_p / ((5 + length) / 6) ** alpha)
right(lambda log_p, length, alpha: np.float32(log_p / ((5 + length) / 6) ** alpha))
wrong("multiplied", "divide")(
    lambda log_p, length, alpha: log_p * ((5 + length) / 6) ** alpha
)
wrong("plain-mean")(lambda log_p, length, alpha: log_p / length)
wrong("power-of-the-length")(lambda log_p, length, alpha: log_p / length**alpha)
wrong("six-forgotten")(lambda log_p, length, alpha: log_p / (5 + length) ** alpha)


@wrong("alpha-times")
def times(log_p, length, alpha):
    return log_p / (alpha * (5 + length) / 6) if alpha else float("inf")


wrong("alpha-ignored")(lambda log_p, length, alpha: log_p / ((5 + length) / 6))
wrong("power-before-the-quotient")(
    lambda log_p, length, alpha: log_p / ((5 + length) ** alpha / 6)
)
wrong("end-counted-twice")(
    lambda log_p, length, alpha: log_p / ((6 + length) / 6) ** alpha
)
wrong("subtracted")(lambda log_p, length, alpha: log_p - ((5 + length) / 6) ** alpha)
wrong("nothing-done")(lambda log_p, length, alpha: log_p)
wrong("not-a-number")(lambda log_p, length, alpha: f"{log_p:.2f}")
wrong("wrong-score")(lambda log_p, length, alpha: log_p - 1)
