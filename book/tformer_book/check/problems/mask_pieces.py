"""The grader for `mask_pieces` of chapter *What came after*, and known mistakes."""

import torch
from torch import Tensor

from tformer_book.check import kit

HINTS = (
    "Which pieces have a label: only those that were hidden, or also the exchanged "
    "and the untouched ones?",
    "Pick where `chance` is below 0.15 and the id isn't special. Of these, below 0.12"
    " becomes the mask, from there to 0.135 another piece, and the rest stay. All "
    "that were picked have a label.",
    "picked = (chance < 0.15) & (ids >= 4)",
)

MASK, PAD = 50, 0
Answer = tuple[Tensor, Tensor]


def built(
    ids: Tensor,
    chance: Tensor,
    others: Tensor,
    mask_id: int = MASK,
    *,
    hidden: tuple[float, float] = (0.0, 0.12),
    exchanged: tuple[float, float] = (0.12, 0.135),
    chosen: float = 0.15,
    special: int = 4,
    swaps_any: bool = False,
    labels: str = "chosen",
    fill: str = "mask",
) -> Answer:
    """Masking in steps, each of which can be exchanged for a wrong one."""
    may = ids >= special
    picked = may & (chance < chosen)
    hide = may & (hidden[0] <= chance) & (chance < hidden[1])
    exchanged = (0.9, 1.0) if swaps_any else exchanged
    swap = may & (exchanged[0] <= chance) & (chance < exchanged[1])
    inputs = torch.where(swap, others, ids)
    inputs = torch.where(hide, mask_id if fill == "mask" else PAD, inputs)
    wanted = {
        "chosen": torch.where(picked, ids, PAD),
        "hidden": torch.where(hide, ids, PAD),
        "changed": torch.where(hide | swap, ids, PAD),
        "all": ids,
        "inputs": torch.where(picked, inputs, PAD),
        "others": torch.where(picked, PAD, ids),
    }[labels]
    return inputs, wanted


SLIPS: kit.Table = {
    "all-hidden": (
        {"hidden": (0.0, 0.15), "exchanged": (0.0, 0.0)},
        "You hide all that you choose. Only 80 % of the chosen pieces become the mask; "
        "10 % become another piece, and 10 % stay.",
    ),
    "of-all-pieces": (
        {"hidden": (0.0, 0.8), "exchanged": (0.8, 0.9), "chosen": 1.0},
        "You hide 80 % of *all* pieces. 15 % are chosen, and 80/10/10 are shares of "
        "those: 12 %, 1.5 % and 1.5 % of the sentence.",
    ),
    "others-anywhere": (
        {"swaps_any": True},
        "You exchange a tenth of *all* pieces. It is a tenth of the chosen ones, those "
        "with a chance from 0.12 to 0.135.",
    ),
    "none-kept": (
        {"exchanged": (0.12, 0.15)},
        "You exchange a fifth of the chosen pieces. Exchange a tenth, and let a tenth "
        "stay as they are.",
    ),
    "none-exchanged": (
        {"exchanged": (0.0, 0.0)},
        "No piece is exchanged for another: that should happen to a tenth of the "
        "chosen ones, those with a chance from 0.12 to 0.135.",
    ),
    "others-instead-of-masks": (
        [
            {"hidden": (0.12, 0.135), "exchanged": (0.0, 0.12)},
            {"hidden": (0.0, 0.015), "exchanged": (0.015, 0.135)},
            {"hidden": (0.0, 0.0), "exchanged": (0.0, 0.12)},
            {"hidden": (0.0, 0.0), "exchanged": (0.0, 0.135)},
            {"hidden": (0.0, 0.0), "exchanged": (0.0, 0.15)},
        ],
        "You put another piece where the mask should be. Of the chosen pieces 80 % are "
        "hidden, by mask_id, and only 10 % exchanged for another piece.",
    ),
    "other-ranges": (
        [
            {"hidden": (0.015, 0.135), "exchanged": (0.0, 0.015)},
            {"hidden": (0.03, 0.15), "exchanged": (0.0, 0.015)},
            {"hidden": (0.03, 0.15), "exchanged": (0.015, 0.03)},
            {"hidden": (0.015, 0.135), "exchanged": (0.135, 0.15)},
            {"exchanged": (0.135, 0.15)},
        ],
        "The shares are right: 12 %, 1.5 % and 1.5 %. But to be compared with mine the "
        "pieces must be the same ones: hide below a chance of 0.12, exchange from "
        "there to 0.135, and keep from there to 0.15.",
    ),
    "only-hidden-have-labels": (
        {"labels": "hidden"},
        "Only hidden pieces have a label. The exchanged and the kept ones need one "
        "as well: the model can't tell them from the rest, which is their point.",
    ),
    "only-changed-have-labels": (
        {"labels": "changed"},
        "The pieces that were chosen and kept have no label. They must be named as "
        "well, or else the model learns that what it sees is never what is asked.",
    ),
    "labels-everywhere": (
        {"labels": "all"},
        "Every piece has a label. Where nothing was chosen the label is pad_id, which "
        "the loss leaves out: to copy a piece that it sees teaches a model nothing.",
    ),
    "labels-from-the-inputs": (
        {"labels": "inputs"},
        "Your labels are what stands in the input. They are the pieces as they *were*.",
    ),
    "labels-the-wrong-way-round": (
        {"labels": "others"},
        "The labels stand where nothing was chosen, and pad_id where something was.",
    ),
    "special-pieces-chosen": (
        [{"special": 0}, {"special": 1}, {"special": 2}, {"special": 3}],
        "You choose special pieces, too. Leave alone what is below 4: nobody needs to "
        "guess padding.",
    ),
    "hidden-by-padding": (
        {"fill": "pad"},
        "You put pad_id where a piece is hidden. Padding is what no word may attend "
        "to; put mask_id, which is a piece like any other.",
    ),
}


def _case(seed: int) -> kit.Case:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, 40, (6, 60), generator=generator)
    ids[:, 0], ids[:, -4], ids[:, -3], ids[:, -2:] = 1, 3, 2, PAD
    chance = torch.rand(ids.shape, generator=generator)
    chance[:, :5] = torch.tensor([0.01, 0.0, 0.119, 0.12, 0.1349])
    chance[:, 5:9] = torch.tensor([0.135, 0.1499, 0.15, 0.95])
    chance[:, -4:] = 0.05
    others = torch.randint(40, 50, ids.shape, generator=generator)
    return kit.Case({"ids": ids, "chance": chance, "others": others}, {"mask_id": MASK})


def _two(found: object) -> Answer:
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise kit.Mistake(
            "not-two",
            "Return two tensors: what the model reads, and the labels.",
        )
    return kit.as_tensor(found[0], "the inputs"), kit.as_tensor(found[1], "the labels")


def _probe(mine: kit.Function) -> None:
    for case in (_case(1), _case(2)):
        found, wanted = case.ask(mine, _two), case.of(built)
        if kit.matches(found, wanted):
            continue
        kit.recognise(found, kit.slips(SLIPS, case.of, built))
        if kit.matches(found[::-1], wanted):
            raise kit.Mistake(
                "swapped", "Return the inputs first and the labels second."
            )
        for what, mine_is, right in zip(
            ("inputs", "labels"), found, wanted, strict=True
        ):
            if mine_is.shape != right.shape:
                raise kit.Mistake(
                    "shape",
                    f"Your {what} have shape {tuple(mine_is.shape)}; ids have "
                    f"{tuple(right.shape)}, and so must they.",
                )
            off = (mine_is != right).nonzero()
            if len(off):
                place = tuple(off[0].tolist())
                raise kit.Mistake(
                    "wrong-numbers",
                    f"I don't know this mistake. For id {int(case['ids'][place])} with "
                    f"a chance of {float(case['chance'][place]):.4f} the {what} should "
                    f"have {int(right[place])}; yours have {int(mine_is[place])}.",
                )


@kit.grader(_probe)
def mask_pieces(mine: kit.Function) -> str:
    """Grade a reader's masking.

    ``mine`` is a function ``mine(ids, chance, others, mask_id)``, as
    `tformer.variants.mask_pieces`; ids below 4 are special, pad_id is 0, and mask_id is
    passed by name.
    """
    return (
        "15 % are chosen and named, of these 80 % hidden, 10 % exchanged and 10 % "
        "kept; special pieces are left alone."
    )
