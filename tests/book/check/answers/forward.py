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


wrong("softmax-applied")(lambda *given: plain(*given).softmax(-1))


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


def assembled(model, source_ids, target_ids, pad, embed):
    see = masks.source_mask(source_ids, pad)
    x, y = (
        embed(model, table, ids)
        for table, ids in (
            (model.source_embedding, source_ids),
            (model.target_embedding, target_ids),
        )
    )
    seen = masks.target_mask(target_ids, pad)
    return model.unembed(model.decoder(y, model.encoder(x, see), seen, see))


@wrong("pad-id-ignored", "model.config.pad_id")
def padding_at_0(model, source_ids, target_ids):
    def embed(model, table, ids):
        return model.dropout(model.positions(table(ids)))

    return assembled(model, source_ids, target_ids, 0, embed)


@wrong("dropout-misplaced", "positions come first")
def drops_before_positions(model, source_ids, target_ids):
    def embed(model, table, ids):
        return model.positions(model.dropout(table(ids)))

    pad = model.config.pad_id
    return assembled(model, source_ids, target_ids, pad, embed)


@wrong("mode-changed", ".eval()")
def leaves_it_in_eval(model, source_ids, target_ids):
    model.eval()
    return plain(model, source_ids, target_ids)


wrong("as-long-as-the-source")(lambda model, s, t: plain(model, t, s))
wrong("calls-the-model")(lambda model, s, t: model(s, t))
wrong("calls-the-model")(lambda model, s, t: model.encode(s))
wrong("last-position-only")(lambda *given: plain(*given)[:, -1])
wrong("shifted-inside")(lambda *given: plain(*given)[:, :-1])
wrong("not-unembedded")(lambda model, s, t: model.target_embedding(t))
wrong("wrong-numbers")(lambda *given: plain(*given) + 0.1)
wrong("target-mask-forgotten", "You return probabilities")(
    lambda *given: without_target_mask(*given).softmax(-1)
)


def without_target_mask(model, source_ids, target_ids):
    see = masks.source_mask(source_ids, model.config.pad_id)
    x = model.positions(model.source_embedding(source_ids))
    y = model.positions(model.target_embedding(target_ids))
    return model.unembed(model.decoder(y, model.encoder(x, see), None, see))


@wrong("dropout-forgotten")
def no_dropout(model, source_ids, target_ids):
    def embed(model, table, ids):
        return model.positions(table(ids))

    return assembled(model, source_ids, target_ids, model.config.pad_id, embed)
