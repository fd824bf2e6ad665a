"""The settings of a search for a translation: declared, described and checked once.

`tformer.decode` follows them; `Translator`'s arguments, the command line's options, the
figures' traits and the page's sliders are made from them. Free of torch, so that
``--help`` need not wait for it.

Source: Vaswani et al. 2017, section 6.1 (beam 4, length penalty 0.6).
"""

from dataclasses import dataclass, field, fields
from typing import Any

from tformer.common.values import one_of, real, whole

SEARCHES = ("beam", "greedy", "sample")
DRAWN = ("sample",)  # those that sample, and take `chances`
PRECISIONS = ("float32", "int8")  # of the products, where they can be chosen


@dataclass(frozen=True)
class Slider:
    """How a figure lets a reader set a number.

    Attributes:
        label: the slider's name.
        short: what the number is called in a page's address.
        least, most, step: what can be set.
        everything: the number that stands for None, "cut nothing", if there is one.
    """

    label: str
    short: str
    least: float
    most: float
    step: float
    everything: float | None = None


def _setting(
    default: Any, *, of: str = "", slider: Slider | None = None, **bounds: Any
) -> Any:
    """A field; ``of`` names its search, "" all, and `tformer.common.values` checks it.

    ``bounds`` are that check's arguments.
    """
    metadata = {"of": of, "bounds": bounds, "slider": slider}
    return field(default=default, metadata=metadata)


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

    search: str = field(default="beam", metadata={"choices": SEARCHES})
    beam_size: int = _setting(
        4,
        of="beam",
        slider=Slider("beam size", "beam", 1, 6, 1),
        least=1,
        most=1024,
        remedy="memory and time grow with the beam, and few sentences gain from 10",
    )
    length_penalty: float = _setting(
        0.6, of="beam", slider=Slider("penalty α", "alpha", 0, 3, 0.1), least=0, most=10
    )
    n_best: int = _setting(1, of="beam", least=1)
    temperature: float = _setting(
        1.0,
        of="sample",
        slider=Slider("temperature", "temperature", 0.1, 2, 0.1),
        least=1e-6,
        most=1e30,
        remedy="if the best piece should always win, search greedily",
    )
    top_k: int | None = _setting(
        None,
        of="sample",
        slider=Slider("top-k", "top-k", 0, 50, 1, everything=0),
        least=1,
    )
    top_p: float | None = _setting(
        None,
        of="sample",
        slider=Slider("top-p", "top-p", 0.05, 1, 0.05, everything=1),
        above=0,
        most=1,
    )
    seed: int = _setting(0, of="sample", slider=Slider("seed", "seed", 0, 30, 1))
    max_len: int = _setting(128, least=1)

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


def settings_for(search: str, given: dict[str, Any]) -> SearchSettings:
    """The settings of one search, from those that a caller gave by name.

    Raises:
        TypeError: a name that is none of this search's settings; the message lists
            them.
        TypeError, ValueError: as `SearchSettings`.
    """
    own = [
        x.name for x in fields(SearchSettings) if x.metadata.get("of") in ("", search)
    ]
    for name in given:
        if name not in own:
            raise TypeError(
                f"{name!r} is no setting of this search, which has: {', '.join(own)}"
            )
    return SearchSettings(search=search, **given)
