"""The learning rate: a linear warm-up, then decay with the root of the step.

Or a linear decay as well, if the last step is known from the start.

Source: Vaswani et al. 2017, section 5.3. Chapter *Training*.
"""


def inverse_square_root(
    step: int, *, d_model: int, warmup_steps: int, scale: float = 1.0
) -> float:
    """The learning rate of one step.

    ``scale * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)``

    The two branches meet at ``step = warmup_steps``, the peak.

    Args:
        step: from 1.
        d_model: wider models take smaller steps.
        warmup_steps: length of the linear warm-up; 4,000 in the paper.
        scale: a factor on the whole curve; 1 in the paper.

    Raises:
        ValueError: step or warmup_steps < 1.

    Source: section 5.3, equation 3.
    """
    _check(step, warmup_steps)
    return scale * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def straight_line(
    step: int, *, d_model: int, warmup_steps: int, last_step: int, scale: float = 1.0
) -> float:
    """The learning rate of one step, if it is to reach zero after the last step.

    ``peak * min(step / warmup_steps, (last_step + 1 - step) / (last_step + 1 -
    warmup_steps))``, with the peak of `inverse_square_root`: the warm-up is the same.

    Args:
        step: from 1 to last_step.
        d_model: wider models take smaller steps.
        warmup_steps: length of the warm-up; less than last_step.
        last_step: the last one to be taken.
        scale: a factor on the whole curve.

    Raises:
        ValueError: step or warmup_steps < 1, or beyond the last step.

    Source: Defazio et al. 2023, *When, why and how much? Adaptive learning rate
    scheduling by refinement* (arXiv:2310.07831).
    """
    _check(step, warmup_steps)
    if step > last_step or warmup_steps >= last_step:
        raise ValueError(
            f"last_step={last_step} must be at least step={step}, and more than "
            f"warmup_steps={warmup_steps}"
        )
    peak = inverse_square_root(
        warmup_steps, d_model=d_model, warmup_steps=warmup_steps, scale=scale
    )
    end = last_step + 1
    return peak * min(step / warmup_steps, (end - step) / (end - warmup_steps))


def _check(step: int, warmup_steps: int) -> None:
    if step < 1 or warmup_steps < 1:
        raise ValueError(
            f"step={step} and warmup_steps={warmup_steps} must be at least 1"
        )
