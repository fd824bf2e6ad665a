import torch

from answers import right, wrong


@right
def plain(query, key, to_query, to_key, to_score):
    q, k = (query @ to_query.T).unsqueeze(2), (key @ to_key.T).unsqueeze(1)
    return torch.tanh(q + k) @ to_score


@wrong("no-tanh")
def straight(query, key, to_query, to_key, to_score):
    q, k = (query @ to_query.T).unsqueeze(2), (key @ to_key.T).unsqueeze(1)
    return (q + k) @ to_score


wrong("axes")(lambda *given: plain(*given)[None])
wrong("wrong-numbers")(lambda *given: 2 * plain(*given))


@wrong("pairs-missing", "I get 3 scores")
def one_key_for_each_query(query, key, to_query, to_key, to_score):
    return (query @ to_query.T + key @ to_key.T).tanh() @ to_score


@wrong("pairs-missing", "your function stops")
def adds_before_the_axes(query, key, to_query, to_key, to_score):
    inside = (query @ to_query.T + key @ to_key.T).tanh() @ to_score
    return plain(query, key, to_query, to_key, to_score) + 0 * inside[:, None]
