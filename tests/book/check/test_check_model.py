"""Every mistake that the graders of chapter 10 know is made here on purpose."""

import dataclasses
import math

import pytest
import torch

from tformer import masks
from tformer.config import TransformerConfig
from tformer.model import Transformer
from tformer_book import check
from tformer_book.check._compare import matches
from tformer_book.check.problems import forward as _forward
from tformer_book.check.problems import n_parameters as _count

# --- counting, as readers write it -------------------------------------------------


def count(config, **exchange):
    """A reader's count, with a line exchanged."""
    d, f, v = config.d_model, config.d_ff, config.vocab_size
    part = {
        "tables": v * d * (1 if config.tie_embeddings else 3),
        "attention": 4 * (d * d + d),
        "ffn": d * f + f + f * d + d,
        "norm": 2 * d,
        "encoder": config.n_encoder_layers,
        "decoder": config.n_decoder_layers,
        "final": 2 if config.norm == "pre" else 0,
        "extra": 0,
    }
    part |= {name: line(config) for name, line in exchange.items()}
    encoder = part["attention"] + part["ffn"] + 2 * part["norm"]
    decoder = 2 * part["attention"] + part["ffn"] + 3 * part["norm"]
    return (
        part["tables"]
        + part["encoder"] * encoder
        + part["decoder"] * decoder
        + part["final"] * part["norm"]
        + part["extra"]
    )


COUNTS = {
    "tying-ignored": {"tables": lambda c: 3 * c.vocab_size * c.d_model},
    "untied-counted-once": {"tables": lambda c: c.vocab_size * c.d_model},
    "untied-counted-twice": {
        "tables": lambda c: c.vocab_size * c.d_model * (2 - c.tie_embeddings)
    },
    "output-counted-again": {
        "tables": lambda c: c.vocab_size * c.d_model * (3 - c.tie_embeddings)
    },
    "positions-counted": {"extra": lambda c: c.max_len * c.d_model},
    "output-bias": {"extra": lambda c: c.vocab_size},
    "projection-forgotten": {"attention": lambda c: 3 * c.d_model * (c.d_model + 1)},
    "heads-too-wide": {
        "attention": lambda c: 4 * c.d_model * (c.d_model * c.n_heads + 1)
    },
    "attention-biases": {"attention": lambda c: 4 * c.d_model**2},
    "ffn-biases": {"ffn": lambda c: 2 * c.d_model * c.d_ff},
    "biases": {
        "attention": lambda c: 4 * c.d_model**2,
        "ffn": lambda c: 2 * c.d_model * c.d_ff,
    },
    "ffn-one-matrix": {"ffn": lambda c: c.d_model * c.d_ff + c.d_ff + c.d_model},
    "norms-forgotten": {"norm": lambda c: 0},
    "norm-gain-only": {"norm": lambda c: c.d_model},
    "final-norms-forgotten": {"final": lambda c: 0},
    "one-final-norm": {"final": lambda c: int(c.norm == "pre")},
    "final-norms-always": {"final": lambda c: 2},
    "layers-swapped": {
        "encoder": lambda c: c.n_decoder_layers,
        "decoder": lambda c: c.n_encoder_layers,
    },
    "encoder-depth-for-both": {"decoder": lambda c: c.n_encoder_layers},
    "decoder-depth-for-both": {"encoder": lambda c: c.n_decoder_layers},
    "one-layer": {"encoder": lambda c: 1, "decoder": lambda c: 1},
    "cross-attention-forgotten": {
        "extra": lambda c: -c.n_decoder_layers * 4 * c.d_model * (c.d_model + 1)
    },
    "cross-norm-forgotten": {"extra": lambda c: -c.n_decoder_layers * 2 * c.d_model},
    "decoder-like-encoder": {
        "extra": lambda c: -c.n_decoder_layers * c.d_model * (4 * (c.d_model + 1) + 2)
    },
    "encoder-like-decoder": {
        "extra": lambda c: c.n_encoder_layers * c.d_model * (4 * (c.d_model + 1) + 2)
    },
    "wrong-count": {"extra": lambda c: 7},
}


@pytest.mark.parametrize("diagnosis", COUNTS)
def test_a_wrong_count_is_called_by_its_name(diagnosis, capsys):
    result = check.n_parameters(lambda config: count(config, **COUNTS[diagnosis]))
    assert not result
    assert result.diagnosis == diagnosis
    printed = capsys.readouterr().out
    assert printed.startswith("✗ Your n_parameters is not right yet.")


def test_every_known_wrong_count_is_made_above():
    assert set(_count.COUNTS) <= set(COUNTS)


def test_two_mistakes_in_one_count_are_both_named():
    result = check.n_parameters(
        lambda config: count(config, **COUNTS["biases"], **COUNTS["norms-forgotten"])
    )
    assert not result
    assert "biases" in result.message
    assert "norms are missing" in result.message


def test_the_right_count_passes_and_so_does_a_tensor_of_it(capsys):
    assert check.n_parameters(count)
    assert check.n_parameters(lambda config: torch.tensor(count(config)))
    assert check.n_parameters(lambda config: float(count(config)))
    assert capsys.readouterr().out.startswith("✓")


def count_stub(config):
    raise NotImplementedError


@pytest.mark.parametrize(
    ("mine", "diagnosis"),
    [
        (count_stub, "stub"),
        (lambda: 3, "signature"),
        (lambda config: "many", "not-a-whole-number"),
        (lambda config: count(config) + 0.5, "not-a-whole-number"),
        (
            lambda config: count(config) if config.vocab_size == 101 else 1,
            "wrong-count",
        ),
        (17, "not-a-function"),
    ],
)
def test_what_is_no_count_is_refused(mine, diagnosis):
    result = check.n_parameters(mine)
    assert not result
    assert result.diagnosis == diagnosis


def test_the_graders_arithmetic_is_the_models_count():
    for config in _count._configs():
        assert _count.Count().of(config) == Transformer(config).n_parameters()


# --- the forward pass, as readers write it -----------------------------------------


def right_forward(model, source_ids, target_ids):
    pad_id = model.config.pad_id
    source_mask = masks.source_mask(source_ids, pad_id)
    target_mask = masks.target_mask(target_ids, pad_id)
    x = model.dropout(model.positions(model.source_embedding(source_ids)))
    memory = model.encoder(x, source_mask)
    y = model.dropout(model.positions(model.target_embedding(target_ids)))
    return model.unembed(model.decoder(y, memory, target_mask, source_mask))


def forward(
    *,
    source=lambda model, ids: model.positions(model.source_embedding(ids)),
    target=lambda model, ids: model.positions(model.target_embedding(ids)),
    encode=lambda model, x, y, see: model.encoder(x, see),
    decode=lambda model, y, memory, past, see: model.decoder(y, memory, past, see),
    out=lambda model, y: model.output_embedding.unembed(y),
    see=lambda model, ids: masks.source_mask(ids, model.config.pad_id),
    past=lambda model, ids: masks.target_mask(ids, model.config.pad_id),
):
    """A reader's pass, with a line exchanged."""

    def mine(model, source_ids, target_ids):
        source_mask, target_mask = see(model, source_ids), past(model, target_ids)
        x = model.dropout(source(model, source_ids))
        y = model.dropout(target(model, target_ids))
        memory = encode(model, x, y, source_mask)
        return out(model, decode(model, y, memory, target_mask, source_mask))

    return mine


def bare(model, embedding, ids):
    return getattr(model, embedding).table(ids)


def both_ends(change):
    """The same change to source and target embedding."""
    return {
        "source": lambda m, ids: change(m, "source_embedding", ids),
        "target": lambda m, ids: change(m, "target_embedding", ids),
    }


def embedded(model, name, ids):
    return getattr(model, name)(ids)


def loop(stack, x, *rest):
    for layer in stack.layers:
        x = layer(x, *rest)
    return x


PASSES = {
    "target-mask-forgotten": {"past": lambda m, ids: None},
    "not-causal": {"past": lambda m, ids: masks.padding_mask(ids, m.config.pad_id)},
    "target-padding-visible": {"past": lambda m, ids: masks.causal_mask(ids.size(1))},
    "source-mask-forgotten": {"see": lambda m, ids: None},
    "no-masks": {"see": lambda m, ids: None, "past": lambda m, ids: None},
    "encoder-mask-forgotten": {"encode": lambda m, x, y, see: m.encoder(x)},
    "cross-mask-forgotten": {
        "decode": lambda m, y, mem, past, see: m.decoder(y, mem, past)
    },
    "source-unscaled": {
        "source": lambda m, ids: m.positions(bare(m, "source_embedding", ids))
    },
    "target-unscaled": {
        "target": lambda m, ids: m.positions(bare(m, "target_embedding", ids))
    },
    "unscaled": both_ends(lambda m, name, ids: m.positions(bare(m, name, ids))),
    "scaled-twice": both_ends(
        lambda m, name, ids: m.positions(
            embedded(m, name, ids) * math.sqrt(m.config.d_model)
        )
    ),
    "positions-scaled": both_ends(
        lambda m, name, ids: (
            m.positions(bare(m, name, ids)) * math.sqrt(m.config.d_model)
        )
    ),
    "no-positions": both_ends(embedded),
    "no-source-positions": {"source": lambda m, ids: m.source_embedding(ids)},
    "no-target-positions": {"target": lambda m, ids: m.target_embedding(ids)},
    "positions-twice": both_ends(
        lambda m, name, ids: m.positions(m.positions(embedded(m, name, ids)))
    ),
    "embedding-counted-twice": both_ends(
        lambda m, name, ids: (
            embedded(m, name, ids) + m.positions(embedded(m, name, ids))
        )
    ),
    "memory-not-encoded": {"encode": lambda m, x, y, see: x},
    "memory-forgotten": {
        "decode": lambda m, y, mem, past, see: m.decoder(y, y, past, see),
    },
    "source-table-for-the-target": {
        "target": lambda m, ids: m.positions(m.source_embedding(ids))
    },
    "unembedded-by-the-target-table": {
        "out": lambda m, y: m.target_embedding.unembed(y)
    },
    "unembedded-by-the-source-table": {
        "out": lambda m, y: y @ m.source_embedding.weight.T
    },
    "final-norms-forgotten": {
        "encode": lambda m, x, y, see: loop(m.encoder, x, see),
        "decode": lambda m, y, *rest: loop(m.decoder, y, *rest),
    },
    "encoder-norm-forgotten": {"encode": lambda m, x, y, see: loop(m.encoder, x, see)},
    "decoder-norm-forgotten": {"decode": lambda m, y, *rest: loop(m.decoder, y, *rest)},
    "softmax-applied": {"out": lambda m, y: m.unembed(y).softmax(-1)},
    "log-softmax-applied": {"out": lambda m, y: m.unembed(y).log_softmax(-1)},
    "logits-scaled": {"out": lambda m, y: m.unembed(y) * math.sqrt(m.config.d_model)},
    "logits-divided": {"out": lambda m, y: m.unembed(y) / math.sqrt(m.config.d_model)},
    "masks-swapped": {
        "decode": lambda m, y, mem, past, see: m.decoder(y, mem, see, past)
    },
    "masks-flipped": {
        "see": lambda m, ids: ids[:, None, None] == m.config.pad_id,
        "past": lambda m, ids: ~masks.target_mask(ids, m.config.pad_id),
    },
    "not-unembedded": {"out": lambda m, y: y},
    "shifted-inside": {"out": lambda m, y: m.unembed(y[:, :-1])},
    "last-position-only": {"out": lambda m, y: m.unembed(y[:, -1])},
    "shape": {"out": lambda m, y: m.unembed(y).transpose(1, 2)},
    "not-a-tensor": {"out": lambda m, y: m.unembed(y).tolist()},
    "gradient-cut": {"out": lambda m, y: m.unembed(y.detach()).detach()},
    "wrong-numbers": {"out": lambda m, y: m.unembed(y) + 0.1},
    "calls-the-model": {
        "encode": lambda m, x, y, see: m.encode(torch.ones(1, 1).long())
    },
}


@pytest.mark.parametrize("diagnosis", PASSES)
def test_a_wrong_pass_is_called_by_its_name(diagnosis, capsys):
    result = check.forward(forward(**PASSES[diagnosis]))
    assert not result
    assert result.diagnosis == diagnosis
    assert capsys.readouterr().out.startswith("✗ Your forward is not right yet.")


def swapped(model, source_ids, target_ids):
    return right_forward(model, target_ids, source_ids)


def whole(model, source_ids, target_ids):
    return model(source_ids, target_ids)


def encoder_on_the_target(model, source_ids, target_ids):
    pad_id = model.config.pad_id
    y = model.dropout(model.positions(model.target_embedding(target_ids)))
    see = masks.padding_mask(target_ids, pad_id)
    past = masks.target_mask(target_ids, pad_id)
    return model.unembed(model.decoder(y, model.encoder(y, see), past, see))


def no_dropout(model, source_ids, target_ids):
    pad_id = model.config.pad_id
    see = masks.source_mask(source_ids, pad_id)
    past = masks.target_mask(target_ids, pad_id)
    memory = model.encoder(model.positions(model.source_embedding(source_ids)), see)
    y = model.positions(model.target_embedding(target_ids))
    return model.unembed(model.decoder(y, memory, past, see))


def pass_stub(model, source_ids, target_ids):
    raise NotImplementedError


@pytest.mark.parametrize(
    ("mine", "diagnosis"),
    [
        (pass_stub, "stub"),
        (lambda model: 0, "signature"),
        (whole, "calls-the-model"),
        (encoder_on_the_target, "encoder-runs-on-the-target"),
        (swapped, "as-long-as-the-source"),
        (no_dropout, "dropout-forgotten"),
        (
            forward(
                decode=lambda m, y, mem, past, see: m.decoder(y[:, :2], mem, past, see)
            ),
            "stops-with-an-error",
        ),
    ],
)
def test_other_wrong_passes_are_named_too(mine, diagnosis):
    result = check.forward(mine)
    assert not result
    assert result.diagnosis == diagnosis


def test_every_known_wrong_pass_is_made_above():
    made = {*PASSES, "encoder-runs-on-the-target"}
    assert set(_forward.PASSES) <= made


def test_two_mistakes_in_one_pass_are_both_named():
    result = check.forward(
        forward(past=lambda m, ids: None, out=lambda m, y: m.unembed(y).softmax(-1))
    )
    assert not result
    assert "target mask is forgotten" in result.message
    assert "You return probabilities" in result.message


def test_the_right_pass_passes_and_leaves_the_model_alone(capsys):
    assert check.forward(right_forward)
    with torch.no_grad():  # as in a chapter that trains nothing
        assert check.forward(forward())
    assert capsys.readouterr().out.startswith("✓")
    case = _forward.Case.random("pre", tied=True)
    case.run(right_forward)
    assert "forward" not in vars(case.model)
    assert "forward" not in vars(case.model.positions)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_graders_own_pass_is_the_models(norm):
    case = _forward.Case.random(norm, tied=norm == "pre")
    ours = _forward.Pass().run(case.model, case.source_ids, case.target_ids)
    torch.testing.assert_close(ours, case.right())


def test_no_known_mistake_is_right_or_equals_another():
    """Else a diagnosis could be wrong."""
    cases = [
        _forward.Case.random("pre", tied=False),
        _forward.Case.random("post", tied=True, seed=1),
    ]
    right = [case.right() for case in cases]
    found = {
        name: wrong
        for name, message, wrong in _forward._wrong(cases)
        if "second slip" not in message
    }
    assert len(found) > 25
    for name, wrong in found.items():
        assert not matches(wrong, right), name
        for other, also in found.items():
            assert name == other or not matches(wrong, also), (name, other)


def test_configs_differ_in_every_letter():
    for config in _count._configs():
        sizes = [
            value
            for name, value in dataclasses.asdict(config).items()
            if isinstance(value, int) and name.startswith(("vocab", "d_", "n_", "max"))
        ]
        assert len(set(sizes)) == len(sizes)
    assert isinstance(config, TransformerConfig)
