import torch

from answers import right, wrong


@right
def tries_all(model, source_ids, target_ids):
    with torch.no_grad():
        before = model(source_ids, target_ids)
        for t in range(1, target_ids.size(1)):
            other = target_ids.clone()
            other[:, t] = 3 + (other[:, t] - 2) % 10
            if not torch.equal(model(source_ids, other)[:, :t], before[:, :t]):
                return True
    return False


@wrong("always-true")
def compares_all(model, source_ids, target_ids):
    other = target_ids.clone()
    other[:, -1] = 3 + (other[:, -1] - 2) % 10
    return not torch.equal(model(source_ids, other), model(source_ids, target_ids))


@wrong("next-missed")
def last_only(model, source_ids, target_ids):
    other = target_ids.clone()
    other[:, -1] = 3 + (other[:, -1] - 2) % 10
    a, b = model(source_ids, other), model(source_ids, target_ids)
    return not torch.equal(a[:, 0], b[:, 0])


@wrong("middle-missed")
def tries_the_last(model, source_ids, target_ids):
    other = target_ids.clone()
    other[:, -1] = 3 + (other[:, -1] - 2) % 10
    a, b = model(source_ids, other), model(source_ids, target_ids)
    return not torch.equal(a[:, :-1], b[:, :-1])


@wrong("first-sentence-only")
def one_sentence(model, source_ids, target_ids):
    return tries_all(model, source_ids[:1], target_ids[:1])


wrong("always-false")(lambda model, source_ids, target_ids: False)
wrong("wrong-way-round")(lambda *given: not tries_all(*given))
