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


@wrong("max")
def larger_arm(step, *, d_model, warmup_steps, scale=1.0):
    return scale * d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)
