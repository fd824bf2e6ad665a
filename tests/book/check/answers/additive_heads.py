import torch

from answers import right, wrong


@right
def broadcast(query, key, to_query, to_key, to_score):
    asks = query[:, None] @ to_query.mT
    answers = key[:, None] @ to_key.mT
    hidden = torch.tanh(asks[:, :, :, None] + answers[:, :, None])
    return (hidden * to_score[:, None, None]).sum(-1)


@right
def looped(query, key, to_query, to_key, to_score):
    out = []
    for w_q, w_k, v in zip(to_query, to_key, to_score, strict=True):
        h = (query @ w_q.T).unsqueeze(2) + (key @ w_k.T).unsqueeze(1)
        out.append(torch.tanh(h) @ v)
    return torch.stack(out, dim=1)


wrong("axes-swapped")(lambda *given: looped(*given).transpose(0, 1))


@wrong("tanh-missing")
def straight(query, key, to_query, to_key, to_score):
    out = []
    for w_q, w_k, v in zip(to_query, to_key, to_score, strict=True):
        h = (query @ w_q.T).unsqueeze(2) + (key @ w_k.T).unsqueeze(1)
        out.append(h @ v)
    return torch.stack(out, dim=1)


wrong("heads-summed")(lambda *given: looped(*given).sum(1))
