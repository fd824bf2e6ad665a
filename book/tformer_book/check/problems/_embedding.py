"""What the problems of chapter *Embeddings* share."""

from torch import Tensor

from tformer_book.check import kit


def vectors(found: object) -> Tensor:
    """What came back, which should be a tensor and is often a list."""
    return kit.as_tensor(
        found,
        "a torch tensor: torch.tensor(…) makes one of a list of lists, torch.stack one "
        "of a list of tensors",
    )


def explain(stopped: kit.Stopped) -> kit.Mistake:
    """What is behind the error messages that people meet with tables and ids."""
    problem, text = stopped.problem, str(stopped.problem)
    if isinstance(problem, IndexError) and "must be" in text and "long" in text:
        return kit.Mistake(
            "ids-not-whole-numbers",
            "You turn the ids into floats before you look them up. An id is a name, "
            "the number of a row: it stays a whole number (int64), and nothing is "
            "calculated with it.",
        )
    return stopped
