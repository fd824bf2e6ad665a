from answers import right, wrong

AVERAGES = {"sgd": 0, "momentum": 1, "adam": 2}


@right
def plain(n_parameters, optimizer):
    return 4 * n_parameters * (2 + AVERAGES[optimizer])


wrong("gradients-forgotten")(
    lambda n_parameters, optimizer: 4 * n_parameters * (1 + AVERAGES[optimizer])
)
wrong("one-average-for-adam")(
    lambda n_parameters, optimizer: 4 * n_parameters * (2 + min(1, AVERAGES[optimizer]))
)
wrong("averages-forgotten")(lambda n_parameters, optimizer: 8 * n_parameters)
wrong("always-adam")(lambda n_parameters, optimizer: 16 * n_parameters)
wrong("numbers-not-bytes")(lambda *given: plain(*given) // 4)
wrong("half-precision")(lambda *given: plain(*given) // 2)
wrong("wrong-count")(lambda *given: plain(*given) + 1)
