from answers import right, wrong

AVERAGES = {"sgd": 0, "momentum": 1, "adam": 2}


@right
def plain(n_parameters, optimizer):
    return 4 * n_parameters * (2 + AVERAGES[optimizer])


@wrong("gradients-forgotten")
def no_gradients(n_parameters, optimizer):
    return 4 * n_parameters * (1 + AVERAGES[optimizer])


@wrong("one-average-for-adam")
def one_average(n_parameters, optimizer):
    return 4 * n_parameters * (2 + min(1, AVERAGES[optimizer]))


@wrong("averages-forgotten")
def no_averages(n_parameters, optimizer):
    return 8 * n_parameters


@wrong("always-adam")
def adam(n_parameters, optimizer):
    return 16 * n_parameters


@wrong("numbers-not-bytes")
def numbers(n_parameters, optimizer):
    return plain(n_parameters, optimizer) // 4


@wrong("half-precision")
def halves(n_parameters, optimizer):
    return plain(n_parameters, optimizer) // 2


@wrong("wrong-count")
def another(n_parameters, optimizer):
    return plain(n_parameters, optimizer) + 1
