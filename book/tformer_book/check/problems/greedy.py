"""The grader for `greedy` of chapter *The decoder*, and known mistakes."""

import random
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tformer_book.check import kit

HINTS = (
    "Of all the rows of logits that come back, which one speaks about the next piece?",
    "Start with ⟨bos⟩. Ask for the logits of all ids so far, take the last row's best"
    " piece, stop at ⟨eos⟩, else append it and ask again, `max_len` pieces at most.",
    "ids = [bos_id]",
)

BOS, EOS, SIZE = 1, 2, 12
PATH = (7, 5, 7, 9, 4)  # what the hidden model says; 7 comes twice
SETTINGS = [(PATH, 20), (PATH, 3), ((), 20)]  # its path, and max_len


class Speaker:
    """A stand-in for a model: it knows one sentence, and babbles beside it."""

    def __init__(
        self,
        path: Sequence[int] = PATH,
        margin: float = 6.0,
        *,
        bos: int = BOS,
        eos: int = EOS,
    ) -> None:
        self.bos, self.eos = bos, eos
        self.path = [bos, *path, eos]
        self.margin = margin
        self.calls: list[tuple[int, ...]] = []

    def scores(self, prefix: Sequence[int]) -> Tensor:
        """(V,) scores of the piece that follows a prefix."""
        seed = sum((i + 3) * 1009 ** (i % 4) * int(x) for i, x in enumerate(prefix))
        generator = torch.Generator().manual_seed(seed % 2**31)
        scores = torch.randn(SIZE, generator=generator, dtype=torch.float64)
        scores[[0, self.bos, self.eos, 3]] -= 5  # off the path nothing ends
        n = len(prefix)
        if list(prefix) == self.path[:n] and n < len(self.path):
            scores[self.path[n]] = self.margin + n
        return scores

    def __call__(self, target_ids: Tensor) -> Tensor:
        """(1, t) ids -> (1, t, V) logits, as a decoder with a causal mask."""
        if not isinstance(target_ids, Tensor) or target_ids.dim() != 2:
            shape = tuple(target_ids.shape) if isinstance(target_ids, Tensor) else ""
            raise kit.Mistake(
                "not-a-batch",
                "next_logits takes a tensor (1, t), a batch of one row; you give it a "
                f"{type(target_ids).__name__} {shape}: torch.tensor([ids]).",
            )
        row = [int(x) for x in target_ids[0]]
        if any(not 0 <= x < SIZE for x in row):
            raise kit.Mistake(
                "not-an-id",
                f"You go on with {max(row)}, which is "
                f"no piece: there are {SIZE}. Does your argmax run over all positions "
                "at once? Take the last row first: logits[0, -1].argmax().",
            )
        self.calls.append(tuple(row))
        if len(self.calls) > kit.ENDLESS:
            raise kit.Endless
        return torch.stack([self.scores(row[: i + 1]) for i in range(len(row))])[None]


def built(
    next_logits: kit.Function,
    *,
    bos_id: int,
    eos_id: int,
    max_len: int,
    row: str = "last",
    context: str = "all",
    keep_eos: bool = False,
    keep_bos: bool = False,
    stops: bool = True,
    lowest: bool = False,
    starts: str = "bos",
    extra: int = 0,
    repeats: bool = True,
) -> list[int]:
    """Greedy search, or a known mistake."""
    ids, found = [bos_id if starts == "bos" else eos_id], []
    for _ in range(max_len + extra):
        given = {"all": ids, "last": ids[-1:], "bos": ids[:1]}[context]
        logits = next_logits(torch.tensor([given]))[0]
        place = {"last": -1, "first": 0, "before": -2, "axis": -1}[row] % len(logits)
        best = int(logits[place].argmin() if lowest else logits[place].argmax())
        if row == "axis":
            best = int(logits.argmax(0)[-1])
        if best in ids and not repeats:
            break
        if best == eos_id and stops:
            found += [best] * keep_eos
            break
        ids.append(best)
        found.append(best)
    return [bos_id, *found] if keep_bos else found


SLIPS: kit.Table = {
    "never-stops": (
        {"stops": False},
        "Your loop does not stop at eos: it goes on to max_len, and what follows eos "
        "is nonsense. When the best piece is eos, the translation is finished.",
    ),
    "emits-eos": (
        {"keep_eos": True},
        "Your list ends in eos. It is the sign to stop, not a piece of the "
        "translation: leave the loop before you append it.",
    ),
    "emits-bos": (
        {"keep_bos": True},
        "Your list begins with bos. The decoder reads it; it is no piece of the "
        "translation.",
    ),
    "emits-bos-and-eos": (
        {"keep_bos": True, "keep_eos": True},
        "Your list still has bos and eos in it. One was there to begin, the other to "
        "stop; neither is a piece of the translation.",
    ),
    "first-position": (
        {"row": "first"},
        "You read the scores at the first position, so you get the same piece again "
        "and again. Row t scores what follows position t: take the last row, "
        "logits[0, -1].",
    ),
    "position-before-the-last": (
        {"row": "before"},
        "You read the scores one position too early: that row says what follows the "
        "piece BEFORE the newest one, which you have already. Take the last row, "
        "logits[0, -1].",
    ),
    "argmax-over-positions": (
        {"row": "axis"},
        "Your argmax runs over positions, so what comes out is the number of a place "
        "and not of a piece. Take the last row, then the best of its V scores: "
        "logits[0, -1].argmax().",
    ),
    "only-the-last-piece": (
        {"context": "last"},
        "You give the model its newest piece alone, so it forgets what it has said. "
        "(With a key/value cache one gives just that; next_logits has none.) Give it "
        "bos and all pieces so far.",
    ),
    "nothing-is-appended": (
        {"context": "bos"},
        "The model reads bos alone, at every step: what it says is never given back to "
        "it. Its output is its next input: append the piece.",
    ),
    "starts-with-eos": (
        {"starts": "eos"},
        "You begin with eos. Training began every input with bos, so must you.",
    ),
    "lowest": (
        {"lowest": True},
        "You take the piece with the lowest score: argmax, not argmin.",
    ),
    "stops-at-repeats": (
        {"repeats": False},
        "You stop when a piece comes twice. Sentences repeat pieces (the, commas): "
        "stop at eos and at max_len, at nothing else.",
    ),
    "bos-counted": (
        [
            {"keep_bos": True, "stops": False, "extra": -1},
            {"keep_bos": True, "extra": -1},
            {"keep_bos": True, "keep_eos": True, "extra": -1},
        ],
        "Your list begins with bos, and bos counts as one of the max_len pieces. The "
        "decoder reads it; it is no piece of the translation, and neither is what "
        "comes from eos on.",
    ),
    "one-too-many": (
        {"extra": 1},
        "One piece more than max_len. That many pieces at most, eos not counted.",
    ),
    "one-too-few": (
        {"extra": -1},
        "Your loop ends one piece early: max_len pieces are allowed.",
    ),
}


def _said(mine: kit.Function, speaker: Speaker, max_len: int) -> list[int]:
    ids = {"bos_id": speaker.bos, "eos_id": speaker.eos, "max_len": max_len}
    return kit.generated(mine, {"next_logits": speaker}, ids, len(speaker.path) - 2)


def _probe_chance(mine: kit.Function) -> None:
    """Where two pieces are nearly as good, chance shows in every second sentence."""
    states = random.getstate(), torch.get_rng_state()

    def anew(**ids: int) -> Any:
        return mine(Speaker(margin=2.5), **ids)

    try:
        kit.call(anew, {}, {"bos_id": BOS, "eos_id": EOS, "max_len": 20})
    except kit.Mistake as mistake:
        if mistake.diagnosis == "random":
            raise kit.Mistake(
                "random",
                "Two runs give different sentences: you sample. Greedy search takes "
                "the best piece, each time: argmax, not multinomial or choices.",
            ) from None
    finally:
        random.setstate(states[0])
        torch.set_rng_state(states[1])


def _said_and_asked(function: kit.Function) -> tuple[list[list[int]], list[Any]]:
    """What it says, and what it asks the model: a surer sign."""
    speakers = [Speaker(path) for path, _ in SETTINGS]
    said = [
        function(speaker, bos_id=BOS, eos_id=EOS, max_len=limit)
        for speaker, (_, limit) in zip(speakers, SETTINGS, strict=True)
    ]
    return said, [speaker.calls for speaker in speakers]


def _probe_greedy(mine: kit.Function) -> None:
    speakers = [Speaker(path) for path, _ in SETTINGS]
    found = [
        _said(mine, speaker, limit)
        for speaker, (_, limit) in zip(speakers, SETTINGS, strict=True)
    ]
    wanted = [list(path[:limit]) for path, limit in SETTINGS]
    if found == wanted:
        return
    calls = [speaker.calls for speaker in speakers]
    known = list(kit.slips(SLIPS, _said_and_asked, built))
    kit.recognise((found, calls), known)
    kit.recognise(
        found, (slip._replace(gives=slip.gives[0]) for slip in known[: len(SLIPS)])
    )
    if found[0] == list(PATH) and len(found[1]) > 3:
        raise kit.Mistake(
            "max-len-ignored",
            f"With max_len=3 you return {len(found[1])} pieces. A model that never "
            "says eos would keep your loop for ever.",
        )
    i = next(i for i in range(len(SETTINGS)) if found[i] != wanted[i])
    path, limit = SETTINGS[i]
    raise kit.Mistake(
        "wrong-pieces",
        f"I don't know this mistake. My model says {list(path)} and then eos; with "
        f"max_len={limit} you return {found[i]} and should return "
        f"{wanted[i]}.",
    )


def _probe_ids(mine: kit.Function) -> None:
    """Other ids begin and end, 1 and 2 are pieces, and one comes twice running."""
    path, bos, eos = [7, 7, 1, 2, 6], 8, 5
    speaker = Speaker(path, bos=bos, eos=eos)
    found = _said(mine, speaker, 9)
    if found == path:
        return
    given = f"My tokenizer here has bos_id={bos} and eos_id={eos}"
    if speaker.calls and speaker.calls[0] != (bos,):
        raise kit.Mistake(
            "bos-id-ignored",
            f"{given}, and you begin with {list(speaker.calls[0])}: an id is written "
            "into your code. Begin with the bos_id that you are given.",
        )
    if found == path[:1]:
        raise kit.Mistake(
            "stops-at-repeats",
            "You stop when a piece comes twice in a row. Sentences do that (“that "
            "that”, a comma too many): stop at eos and at max_len, at nothing else.",
        )
    raise kit.Mistake(
        "eos-id-ignored",
        f"{given}, and {EOS} is a piece like any other; it says {path} and then eos, "
        f"and you return {found}. Stop at the eos_id that you are given, and nowhere "
        "else.",
    )


def _probe_list(mine: kit.Function) -> None:
    speaker = Speaker()
    ids = {"bos_id": BOS, "eos_id": EOS, "max_len": 20}
    found = kit.call(mine, {"next_logits": speaker}, ids)
    if isinstance(found, Tensor) or any(isinstance(x, Tensor) for x in found):
        what = (
            f"a tensor of shape {tuple(found.shape)}"
            if isinstance(found, Tensor)
            else "a list of tensors"
        )
        raise kit.Mistake(
            "tensors-not-ids",
            f"The pieces are right, but you return {what}. A tokenizer decodes a list "
            "of plain numbers: .item() for one piece, .tolist() for a row.",
        )


def _probe_repeats(mine: kit.Function) -> None:
    speaker = Speaker()
    _said(mine, speaker, 20)
    if len(speaker.calls) > len(PATH) + 1:
        raise kit.Mistake(
            "too-many-calls",
            f"Right, but you run the model {len(speaker.calls)} times for {len(PATH)} "
            f"pieces and eos; {len(PATH) + 1} are enough. Keep its scores in a "
            "variable.",
        )


@kit.grader(_probe_chance, _probe_greedy, _probe_ids, _probe_list, _probe_repeats)
def greedy(mine: kit.Function) -> str:
    """Grade ``mine(next_logits, *, bos_id, eos_id, max_len)``, greedy search.

    ``next_logits`` takes (1, t) ids, bos + pieces so far, and returns logits (1, t,
    V); `mine` returns the list of pieces, without bos and eos, at most ``max_len``.
    """
    return (
        "It begins with bos, reads the last row, gives each piece back to the model, "
        "and stops at eos or at max_len, without either in its list."
    )
