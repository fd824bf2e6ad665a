"""The learning rate: up in a straight line, then down with the root of the step.

Source: Vaswani et al. 2017, section 5.3. Chapter *Training*.
"""


def inverse_square_root(
    step: int, *, d_model: int, warmup_steps: int, scale: float = 1.0
) -> float:
    """The learning rate of one step.

    ``scale * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)``

    The two arms meet at ``step = warmup_steps``, the peak.

    Args:
        step: from 1.
        d_model: wider models take smaller steps.
        warmup_steps: length of the straight climb; 4,000 in the paper.
        scale: a factor on the whole curve; 1 in the paper.

    Raises:
        ValueError: step or warmup_steps < 1.

    Source: section 5.3, equation 3.
    """
    if step < 1 or warmup_steps < 1:
        raise ValueError(
            f"step={step} and warmup_steps={warmup_steps} must be at least 1"
        )
    return scale * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
