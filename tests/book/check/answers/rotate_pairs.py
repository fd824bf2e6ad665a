import torch

from answers import right, wrong


def angles(x, start=0, factor=1.0):
    pair = torch.arange(0, x.size(-1), 2) * factor
    place = torch.arange(start, start + x.size(-2))
    return place[:, None] / 10_000 ** (pair / x.size(-1))


def turned(x, angle):
    a, b = x[..., 0::2], x[..., 1::2]
    s, c = angle.sin(), angle.cos()
    return torch.stack([a * c - b * s, a * s + b * c], dim=-1).flatten(-2)


@right
def plain(x):
    return turned(x, angles(x))


@right
def complex_numbers(x):
    angle = angles(x).to(x.dtype)
    turn = torch.polar(torch.ones_like(angle), angle)
    as_complex = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(as_complex * turn).flatten(-2)


@wrong("pairs-from-halves", "rotate_half")
def llama(x):
    angle = torch.cat([angles(x), angles(x)], dim=-1)
    a, b = x.chunk(2, dim=-1)
    return x * angle.cos() + torch.cat([-b, a], dim=-1) * angle.sin()


wrong("turned-back")(lambda x: turned(x, -angles(x)))
wrong("positions-from-one")(lambda x: turned(x, angles(x, start=1)))
wrong("doubled-exponent")(lambda x: turned(x, angles(x, factor=2)))
wrong("half-exponent")(lambda x: turned(x, angles(x, factor=0.5)))
wrong("one-speed")(lambda x: turned(x, angles(x, factor=0)))


@wrong("not-woven")
def not_woven(x):
    y = plain(x)
    return torch.cat([y[..., 0::2], y[..., 1::2]], dim=-1)


@wrong("added")
def added(x):
    angle = angles(x)
    return x + torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


@wrong("turned-by-the-head")
def wrong_axis(x):
    if x.dim() < 3:
        return plain(x)
    return plain(x.transpose(-3, -2)).transpose(-3, -2)


@wrong("gradient-cut")
def through_numpy(x):
    return plain(x.detach())
