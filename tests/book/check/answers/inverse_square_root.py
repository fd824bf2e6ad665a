import numpy as np

from answers import right, wrong


@right
def plain(step, *, d_model, warmup_steps, scale=1.0):
    return scale * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


@right
def as_numpy(step, *, d_model, warmup_steps, scale=1.0):
    return np.float64(plain(step, d_model=d_model, warmup_steps=warmup_steps)) * scale


@wrong("scale-ignored")
def no_scale(step, *, d_model, warmup_steps, scale=1.0):
    return plain(step, d_model=d_model, warmup_steps=warmup_steps)


@wrong("scale-on-one-arm")
def only_the_climb(step, *, d_model, warmup_steps, scale=1.0):
    rate = plain(step, d_model=d_model, warmup_steps=warmup_steps)
    return rate * scale if step < warmup_steps else rate


@wrong("max")
def larger_arm(step, *, d_model, warmup_steps, scale=1.0):
    return scale * d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)


@wrong("flat-after-warm-up", "stays at its top")
def stays(step, *, d_model, warmup_steps, scale=1.0):
    step = min(step, warmup_steps)
    return plain(step, d_model=d_model, warmup_steps=warmup_steps, scale=scale)


@wrong("warm-up-fixed", "4000")
def papers_warm_up(step, *, d_model, warmup_steps, scale=1.0):
    return plain(step, d_model=d_model, warmup_steps=4000, scale=scale)


@wrong("inverse-not-root", "1/step")
def one_over_step(step, *, d_model, warmup_steps, scale=1.0):
    return scale * d_model**-0.5 * min(1 / step, step * warmup_steps**-1.5)


@wrong("whole-division", "//")
def in_stairs(step, *, d_model, warmup_steps, scale=1.0):
    climb = step // warmup_steps * warmup_steps**-0.5
    return scale * d_model**-0.5 * min(step**-0.5, climb)
