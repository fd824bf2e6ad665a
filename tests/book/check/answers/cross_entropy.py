import torch
import torch.nn.functional as F

from answers import right, wrong


def smooth(log_p, labels, smoothing):
    at = log_p.gather(-1, labels[..., None])[..., 0]
    return -(1 - smoothing) * at - smoothing * log_p.mean(-1)


@right
def plain(logits, labels, *, pad_id, smoothing=0.0):
    each = smooth(logits.log_softmax(-1), labels, smoothing)
    return each[labels != pad_id].mean()


@right
def torchs(logits, labels, pad_id, smoothing=0.0):
    return F.cross_entropy(
        logits.flatten(0, -2),
        labels.flatten(),
        ignore_index=pad_id,
        label_smoothing=smoothing,
    )


@wrong("clipped-logarithm", "log_softmax")
def plus_a_little(logits, labels, *, pad_id, smoothing=0.0):
    log_p = torch.log(logits.softmax(-1) + 1e-9)
    return smooth(log_p, labels, smoothing)[labels != pad_id].mean()


@wrong("kl-divergence", "Kullback")
def kl(logits, labels, *, pad_id, smoothing=0.0):
    v = logits.size(-1)
    q = (1 - smoothing) * F.one_hot(labels, v) + smoothing / v
    each = F.kl_div(logits.log_softmax(-1), q, reduction="none").sum(-1)
    return each[labels != pad_id].mean()


@wrong("divided-by-sentences")
def by_batch(logits, labels, *, pad_id, smoothing=0.0):
    each = smooth(logits.log_softmax(-1), labels, smoothing)
    return each[labels != pad_id].sum() / len(labels)


@wrong("smoothed-without-padding", "Annotated")
def annotated(logits, labels, *, pad_id, smoothing=0.0):
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, smoothing / (log_p.size(-1) - 2))
    q.scatter_(-1, labels.unsqueeze(-1), 1 - smoothing)
    q[..., pad_id] = 0
    return -(q * log_p).sum(-1)[labels != pad_id].mean()


@wrong("gradient-cut", "tensor(")
def through_lists(logits, labels, *, pad_id, smoothing=0.0):
    each = smooth(torch.tensor(logits.tolist()).log_softmax(-1), labels, smoothing)
    return each[labels != pad_id].mean()


@wrong("pad-id-ignored", "written into")
def padding_at_0(logits, labels, *, pad_id, smoothing=0.0):
    return torchs(logits, labels, 0, smoothing)


@wrong("axes-fixed", "any number of axes")
def three_axes(logits, labels, *, pad_id, smoothing=0.0):
    b, t, v = logits.shape
    return torchs(logits.view(b * t, v), labels.view(b * t), pad_id, smoothing)


wrong("wrong-numbers")(lambda *given, **named: plain(*given, **named) + 0.5)


@wrong("overflow")
def logarithm_of_softmax(logits, labels, *, pad_id, smoothing=0.0):
    log_p = logits.softmax(-1).log()
    at = log_p.gather(-1, labels[..., None])[..., 0]
    each = -(1 - smoothing) * at - smoothing * log_p.mean(-1)
    return each[labels != pad_id].mean()
