"""The settings of a search for a translation: declared, described and checked once.

`tformer.decode` follows them; the command line makes its options from them, and the
figures their traits. Free of torch, so that ``--help`` need not wait for it.

Source: Vaswani et al. 2017, section 6.1 (beam 4, length penalty 0.6).
"""

from dataclasses import dataclass, field, fields
from typing import Any

from tformer.common.values import one_of, real, whole

SEARCHES = ("beam", "greedy", "sample")
DRAWN = ("sample",)  # those that sample, and take `chances`


def _setting(default: Any, text: str, *, of: str = "", **bounds: Any) -> Any:
    """A field, with what a command line or a figure needs to know about it.

    Its metadata are ``help``, ``of`` (the search that it belongs to; "" for all), and
    ``bounds``, as `tformer.common.values` takes them.
    """
    return field(default=default, metadata={"help": text, "of": of, "bounds": bounds})


@dataclass(frozen=True)
class SearchSettings:
    """How to look for a translation.

    Args:
        search: "beam", "greedy" or "sample".
        beam_size: hypotheses kept alive; 1 is greedy search. The paper uses 4.
        length_penalty: alpha; 0 compares plain log-probabilities. The paper uses 0.6.
        n_best: finished hypotheses to return, at most beam_size.
        temperature: below 1 sharpens the distribution, above 1 flattens it.
        top_k: sample from the k most probable pieces only; None for all.
        top_p: sample from the most probable pieces that together reach this mass; None
            or 1 for all.
        seed: the same seed gives the same sample again.
        max_len: longest translation, in pieces; never more than fits the model.

    Raises:
        TypeError: a value that is not a number.
        ValueError: a value out of range; the message names it and the rule.
    """

    search: str = field(
        default="beam", metadata={"help": "how to search", "choices": SEARCHES}
    )
    beam_size: int = _setting(
        4,
        "hypotheses kept alive; 1 is greedy search",
        of="beam",
        least=1,
        most=1024,
        remedy="memory and time grow with the beam, and few sentences gain from 10",
    )
    length_penalty: float = _setting(
        0.6,
        "alpha of the length penalty; 0 compares plain log-probabilities",
        of="beam",
        least=0,
        most=10,
    )
    n_best: int = _setting(
        1, "finished hypotheses to return, at most the beam size", of="beam", least=1
    )
    temperature: float = _setting(
        1.0,
        "below 1 favours probable pieces, above 1 allows more variety",
        of="sample",
        least=1e-6,
        most=1e30,
        remedy="if the best piece should always win, search greedily",
    )
    top_k: int | None = _setting(
        None, "sample from the K most probable pieces only", of="sample", least=1
    )
    top_p: float | None = _setting(
        None,
        "sample only from the most probable pieces that together reach this mass",
        of="sample",
        above=0,
        most=1,
    )
    seed: int = _setting(0, "the same seed gives the same sample", of="sample")
    max_len: int = _setting(128, "longest translation, in pieces", least=1)

    def __post_init__(self) -> None:
        one_of("search", self.search, SEARCHES)
        for each in fields(self)[1:]:
            value = getattr(self, each.name)
            if value is None and each.default is None:
                continue
            check = whole if each.type in (int, int | None) else real
            checked = check(each.name, value, **each.metadata["bounds"])
            object.__setattr__(self, each.name, checked)
        if self.n_best > self.beam_size:
            raise ValueError(
                f"n_best={self.n_best} must be at most beam_size={self.beam_size}: "
                "a wider beam finds more"
            )


USUAL = SearchSettings()
