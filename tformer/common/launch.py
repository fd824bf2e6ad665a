"""The processes that torchrun has started together, as the environment tells them.

Free of torch, so that the command line can ask before it loads anything heavy.
"""

import os

TORCHRUN = "torchrun --nproc-per-node N -m tformer train …"
NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_PORT")


def placed() -> tuple[int, int, int]:
    """How many processes there are, and this one's rank, overall and on its machine.

    Raises:
        ValueError: the environment speaks of several, but makes no sense.
    """
    if os.environ.get("WORLD_SIZE", "1") in ("", "1"):
        return 1, 0, 0
    there = {name: os.environ.get(name, "") for name in (*NAMES, "MASTER_ADDR")}
    missing = [name for name, value in there.items() if not value]
    if missing:
        raise ValueError(
            f"WORLD_SIZE={there['WORLD_SIZE']} means several processes, but "
            f"{', '.join(missing)} is not set: start them with {TORCHRUN}, or unset "
            "WORLD_SIZE"
        )
    for name in NAMES:
        if not there[name].isdecimal():
            raise ValueError(
                f"{name}={there[name]!r} must be a whole number: start with {TORCHRUN}"
            )
    n, rank = int(there["WORLD_SIZE"]), int(there["RANK"])
    if rank >= n:
        raise ValueError(
            f"RANK={rank} must be below WORLD_SIZE={n}: start with {TORCHRUN}"
        )
    return n, rank, int(there["LOCAL_RANK"])


def speaks() -> bool:
    """Whether this process is the one that speaks: alone, or the first of several.

    Other programs set some of the same variables; they silence nobody.
    """
    try:
        return placed()[1] == 0
    except ValueError:
        return True
