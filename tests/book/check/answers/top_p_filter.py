import torch

from answers import right, wrong


def kept(p, top_p, enough=lambda before, each: before):
    each, order = p.sort(descending=True)
    before = each.cumsum(0) - each
    left = each.masked_fill(enough(before, each) >= top_p, 0)
    return torch.zeros_like(p).scatter(0, order, left)


@right
def plain(p, top_p):
    left = kept(p, top_p)
    return left / left.sum()


@right
def by_a_loop(p, top_p):
    left, mass = torch.zeros_like(p), 0.0
    for i in p.argsort(descending=True).tolist():
        if mass >= top_p:
            break
        left[i] = p[i]
        mass += p[i].item()
    return left / mass


wrong("not-scaled", "sum to 1")(lambda *given: kept(*given))


@wrong("last-piece-missing")
def stops_before(p, top_p):
    left = kept(p, top_p, enough=lambda before, each: before + each)
    return left


@wrong("last-piece-missing")
def stops_before_and_divides_by_zero(p, top_p):
    left = kept(p, top_p, enough=lambda before, each: before + each)
    return left / left.sum()


@wrong("nothing-left", "always stays")
def nothing_for_a_sure_model(p, top_p):
    if p.max() >= top_p:
        return p * float("nan")
    return plain(p, top_p)


@wrong("one-too-many")
def one_more(p, top_p):
    n = int((kept(p, top_p) > 0).sum()) + 1
    each, order = p.sort(descending=True)
    left = torch.zeros_like(p).scatter(0, order[:n], each[:n])
    return left / left.sum()


@wrong("least-probable")
def ascending(p, top_p):
    each, order = p.sort()
    left = each.masked_fill(each.cumsum(0) - each >= top_p, 0)
    left = torch.zeros_like(p).scatter(0, order, left)
    return left / left.sum()


wrong("order-lost")(lambda *given: plain(*given).sort(descending=True).values)
wrong("nothing-cut")(lambda p, top_p: p)


@wrong("a-threshold")
def threshold(p, top_p):
    left = p.masked_fill(p < 1 - top_p, 0)
    return left / left.sum()
