import torch.nn.functional as F

from answers import right, wrong
from tformer import masks


def encode(model, source_ids, final=True, mask=True):
    see = masks.source_mask(source_ids, model.config.pad_id) if mask else None
    x = model.positions(model.source_embedding(source_ids))
    for layer in model.encoder.layers:
        norm = layer.self_attention_residual.norm
        x = x + layer.self_attention(own_norm(x, norm), mask=see)
        read = own_norm(x, layer.feed_forward_residual.norm)
        x = x + layer.feed_forward.contract(layer.feed_forward.expand(read).relu())
    return own_norm(x, model.encoder.final_norm) if final else x


def own_norm(x, norm):
    return F.layer_norm(x, x.shape[-1:], norm.gain, norm.bias, norm.epsilon)


right(lambda *given: encode(*given))
wrong("final-norm-missing")(
    lambda model, source_ids: encode(model, source_ids, final=False)
)
wrong("mask-forgotten")(lambda model, source_ids: encode(model, source_ids, mask=False))
wrong("calls-the-encoder")(lambda model, source_ids: model.encode(source_ids))


@wrong("post-norm")
def post(model, source_ids):
    see = masks.source_mask(source_ids, model.config.pad_id)
    x = model.positions(model.source_embedding(source_ids))
    for layer in model.encoder.layers:
        norm = layer.self_attention_residual.norm
        x = own_norm(x + layer.self_attention(x, mask=see), norm)
        wide = layer.feed_forward.expand(x).relu()
        norm = layer.feed_forward_residual.norm
        x = own_norm(x + layer.feed_forward.contract(wide), norm)
    return x


wrong("pad-id-ignored", "pad_id")(
    lambda model, source_ids: by_hand(model, source_ids, pad_id=0)
)
wrong("layers-counted", "two layers")(
    lambda model, source_ids: by_hand(model, source_ids, n_layers=2)
)
wrong("residual-of-the-normed", "x + sublayer(norm(x))")(
    lambda model, source_ids: by_hand(model, source_ids, onto="normed")
)


def by_hand(model, source_ids, pad_id=None, n_layers=None, onto="stream"):
    see = masks.source_mask(
        source_ids, model.config.pad_id if pad_id is None else pad_id
    )
    x = model.positions(model.source_embedding(source_ids))
    for layer in list(model.encoder.layers)[:n_layers]:
        read = own_norm(x, layer.self_attention_residual.norm)
        said = layer.self_attention(read, mask=see)
        x = said + (x if onto == "stream" else read)
        read = own_norm(x, layer.feed_forward_residual.norm)
        said = layer.feed_forward.contract(layer.feed_forward.expand(read).relu())
        x = said + (x if onto == "stream" else read)
    return own_norm(x, model.encoder.final_norm)
