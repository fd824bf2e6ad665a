import torch

from answers import right, wrong
from tformer import masks


@right
def plain(model, source_ids, target_ids):
    pad = model.config.pad_id
    see = masks.source_mask(source_ids, pad)
    x = model.dropout(model.positions(model.source_embedding(source_ids)))
    y = model.dropout(model.positions(model.target_embedding(target_ids)))
    memory = model.encoder(x, see)
    seen = masks.target_mask(target_ids, pad)
    return model.unembed(model.decoder(y, memory, seen, see))


@wrong("softmax-applied")
def probabilities(model, source_ids, target_ids):
    return plain(model, source_ids, target_ids).softmax(-1)


@wrong("gradient-cut", "no_grad")
def encoder_under_no_grad(model, source_ids, target_ids):
    pad = model.config.pad_id
    see = masks.source_mask(source_ids, pad)
    x = model.dropout(model.positions(model.source_embedding(source_ids)))
    y = model.dropout(model.positions(model.target_embedding(target_ids)))
    with torch.no_grad():
        memory = model.encoder(x, see)
    seen = masks.target_mask(target_ids, pad)
    return model.unembed(model.decoder(y, memory, seen, see))
