"""How far a signal travels between two tokens, for each kind of layer.

Table 1 of the paper, with numbers in place of its O(…): recurrent, convolutional and
attention layers compared by path length, by the number of sequential operations, and by
multiplications. Convolutions look to the left, as recurrent layers do; a second one
would read from the right.

Letters: n length of the sequence, d width of its vectors, k tokens that a kernel (or a
restricted attention) sees, its own among them.

Source: section 4 and table 1. Chapter *Transduction*.
"""

KINDS = (
    "recurrent",
    "convolution",
    "dilated convolution",
    "self-attention",
    "restricted attention",
)


def path_length(kind: str, distance: int, kernel: int = 3) -> int:
    """How many steps a signal takes from one token to the output of another.

    A step is one application of trained weights. In a recurrent layer the signal enters
    a state and is then passed on from state to state: ``distance + 1``. A convolution
    moves it by up to ``k - 1`` positions, so it takes a stack of layers; if dilated,
    layer l moves it by multiples of ``k ** l``. In self-attention it is 1.

    Args:
        kind: one of `KINDS`.
        distance: positions between the two tokens; 0 is the token itself.
        kernel: k, at least 2; tokens that a convolution or a restricted attention sees.

    Returns:
        Steps, at least 1.

    Raises:
        ValueError: an unknown kind, a negative distance, or a kernel below 2.

    Source: table 1, third column.
    """
    _check(kind, kernel)
    if distance < 0:
        raise ValueError(
            f"distance={distance} must be at least 0: give how far apart they are"
        )
    if kind == "recurrent":
        return distance + 1
    if kind == "self-attention":
        return 1
    if kind == "dilated convolution":
        layers = 1
        while kernel**layers <= distance:
            layers += 1
        return layers
    return max(1, -(-distance // (kernel - 1)))  # rounded up


def longest_path(kind: str, length: int, kernel: int = 3) -> int:
    """The path between the two ends of a sequence: the paper's maximum path length.

    Args:
        kind: one of `KINDS`.
        length: n, at least 1.
        kernel: k, at least 2.

    Raises:
        ValueError: as `path_length`.
    """
    return path_length(kind, length - 1, kernel)


def sequential_operations(kind: str, length: int) -> int:
    """How many operations of one layer must run one after another.

    A recurrent layer needs each state before the next: n. The others compute all
    positions at once: 1.

    Args:
        kind: one of `KINDS`.
        length: n.

    Raises:
        ValueError: an unknown kind.

    Source: table 1, second column.
    """
    _check(kind)
    return length if kind == "recurrent" else 1


def multiplications(kind: str, length: int, width: int, kernel: int = 3) -> int:
    """How many multiplications one layer needs: the leading term, as in the paper.

    Recurrent ``n d^2``, convolution ``k n d^2``, self-attention ``n^2 d``, restricted
    to k tokens ``k n d``. Constants are left out, and so are the projections that
    attention needs as well, 4 of ``n d^2`` each.

    Args:
        kind: one of `KINDS`.
        length: n.
        width: d.
        kernel: k, at least 2.

    Raises:
        ValueError: an unknown kind, or a kernel below 2.

    Source: table 1, first column.
    """
    _check(kind, kernel)
    if kind == "recurrent":
        return length * width**2
    if kind == "self-attention":
        return length**2 * width
    if kind == "restricted attention":
        return kernel * length * width
    return kernel * length * width**2


def _check(kind: str, kernel: int = 2) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is none of {', '.join(KINDS)}")
    if kernel < 2:
        raise ValueError(
            f"kernel={kernel} must be at least 2: with 1, no token sees another"
        )
