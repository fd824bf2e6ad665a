"""The whole model: what may influence what, and what must not."""

from __future__ import annotations

import dataclasses
import math
from unittest import mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from tformer import masks
from tformer.analysis import trace
from tformer.analysis.cost import BASE
from tformer.config import TransformerConfig
from tformer.masks import source_mask
from tformer.model import Transformer
from tformer.positions import sinusoids
from tformer.variants.recurrent import RecurrentConfig, RecurrentSeq2Seq

# Equal up to the order in which sums of the same numbers are taken.
SINGLE = {"rtol": 0, "atol": 1e-5}
DOUBLE = {"rtol": 0, "atol": 1e-10}
NORMS = pytest.mark.parametrize("norm", ["post", "pre"])


# ------------------------------------------------------------------------ figure 1


@NORMS
@pytest.mark.parametrize("tied", [True, False])
def test_the_pieces_stand_where_figure_1_puts_them(make_model, random_ids, norm, tied):
    model = make_model(norm=norm, tie_embeddings=tied).double()
    source, target = random_ids([5, 3]), random_ids([4, 6], seed=1)
    mask = source_mask(source, 0)
    table = sinusoids(16, 8).double()

    def embed(embedding, ids):
        return embedding.weight[ids] * 8**0.5 + table[: ids.size(1)]

    memory = model.encoder(embed(model.source_embedding, source), mask)
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    mask_of_target = causal & (target != 0)[:, None, None, :]
    x = embed(model.target_embedding, target)
    hidden = model.decoder(x, memory, mask_of_target, mask)
    expected = hidden @ model.output_embedding.weight.T
    assert_close(model(source, target), expected, **DOUBLE)
    assert_close(model.encode(source), memory, **DOUBLE)
    assert_close(model.decode(target, memory, mask), hidden, **DOUBLE)
    assert_close(model.unembed(hidden), expected, **DOUBLE)


@NORMS
def test_a_fresh_model_starts_with_calm_logits(norm, random_ids):
    """Near-uniform guesses: the loss starts not far above ln V."""
    model = Transformer(TransformerConfig(vocab_size=500, norm=norm)).eval()
    ids = random_ids([12, 9, 5], vocab_size=500)
    with torch.no_grad():
        logits = model(ids, ids)
    assert 0.5 < logits.std() < 2
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), (ids + 7).flatten() % 500)
    assert loss < math.log(500) + 2


# ---------------------------------------------------- what influences what: Jacobians


def reach(make_output, embedding, ids):
    """(out, in): whether output row `out` depends on the embedding of column `in`."""
    seen = []

    def keep(module, inputs, output):
        seen.append(output)
        output.retain_grad()

    handle = embedding.register_forward_hook(keep)
    output = make_output(ids)
    handle.remove()
    rows = []
    for row in range(output.size(1)):
        direction = torch.randn_like(output[0, row])
        (gradient,) = torch.autograd.grad(
            (output[0, row] * direction).sum(), seen[0], retain_graph=True
        )
        rows.append(gradient[0].abs().amax(-1) > 0)
    return torch.stack(rows)


@NORMS
def test_a_target_row_depends_on_exactly_its_past(make_model, random_ids, norm):
    model = make_model(norm=norm, n_decoder_layers=3, tie_embeddings=False)
    source, table = random_ids([5]), model.target_embedding
    reaches = reach(lambda ids: model(source, ids), table, random_ids([6]))
    assert reaches.tolist() == torch.ones(6, 6).tril().bool().tolist()


@NORMS
def test_a_target_row_depends_on_all_the_source(make_model, random_ids, norm):
    """But its padding."""
    model = make_model(norm=norm, tie_embeddings=False)
    target, table = random_ids([4, 4]), model.source_embedding
    reaches = reach(lambda ids: model(ids, target), table, random_ids([3, 6]))
    assert reaches.shape == (4, 6)
    assert reaches[:, :3].all()
    assert not reaches[:, 3:].any()


# -------------------------------------------------- padding, batches, prefixes, cache


@settings(max_examples=15)
@given(*2 * [st.integers(1, 6)], *2 * [st.integers(0, 5)], st.integers(0, 10**6))
def test_padding_changes_nothing(make_model, random_ids, s, t, more_s, more_t, seed):
    """Within 1e-5 in float32 and 1e-10 in float64."""
    source, target = random_ids([s], seed=seed), random_ids([t], seed=seed + 1)
    padded_source = nn.functional.pad(source, (0, more_s))
    padded_target = nn.functional.pad(target, (0, more_t))
    for model, tolerance in [(make_model(), SINGLE), (make_model().double(), DOUBLE)]:
        with torch.no_grad():
            alone = model(source, target)
            padded = model(padded_source, padded_target)
        assert_close(padded[:, :t], alone, **tolerance)


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.integers(1, 8), st.integers(1, 8)), min_size=2, max_size=5),
    st.sampled_from(["post", "pre"]),
    st.integers(0, 10**6),
)
def test_company_in_a_batch_changes_nothing(make_model, random_ids, sizes, norm, seed):
    """Each pair alone or with others: within 1e-5 in float32, 1e-10 in float64."""
    source = random_ids([s for s, _ in sizes], seed=seed)
    target = random_ids([t for _, t in sizes], seed=seed + 1)
    models = make_model(norm=norm), make_model(norm=norm).double()
    for model, tolerance in zip(models, (SINGLE, DOUBLE), strict=True):
        with torch.no_grad():
            together = model(source, target)
            for row, (s, t) in enumerate(sizes):
                alone = model(source[row : row + 1, :s], target[row : row + 1, :t])
                assert_close(together[row, :t], alone[0], **tolerance)


def test_what_stands_in_the_paddings_embedding_does_not_matter(make_model, random_ids):
    """Untied, so that the row is read on the way in only."""
    model = make_model(tie_embeddings=False)
    source, target = random_ids([3, 6]), random_ids([5, 2])
    with torch.no_grad():
        before = model(source, target)
        model.source_embedding.weight[0] = 1e3
        model.target_embedding.weight[0] = -1e3
        after = model(source, target)
    assert_close(after[target != 0], before[target != 0], rtol=0, atol=0)


def test_the_padding_id_is_the_configurations(make_model, random_ids):
    """The same model with two ids renamed gives the same logits, renamed."""
    ids = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3}
    model = make_model(**ids).double()
    renamed = make_model(**{**ids, "pad_id": 3, "unk_id": 0}).double()
    swap = torch.tensor([3, 1, 2, 0, *range(4, 13)])
    source, target = random_ids([5, 2]), random_ids([3, 6], seed=1)
    with torch.no_grad():
        renamed.source_embedding.weight.copy_(model.source_embedding.weight[swap])
        expected = model(source, target)[..., swap]
        assert_close(renamed(swap[source], swap[target]), expected, **DOUBLE)


@NORMS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_with_a_cache_each_step_is_the_whole_pass(make_model, random_ids, norm, dtype):
    model = make_model(norm=norm, n_decoder_layers=3).to(dtype)
    source, target = random_ids([5, 3]), random_ids([7, 7], seed=1)
    with torch.no_grad():
        whole = model(source, target)
        memory, mask = model.encode(source), source_mask(source, 0)
        cache = model.new_cache()
        for step in range(7):
            column = target[:, step : step + 1]
            hidden = model.decode(column, memory, mask, cache)
            assert hidden.shape == (2, 1, 8)
            tolerance = SINGLE if dtype == torch.float32 else DOUBLE
            assert_close(model.unembed(hidden)[:, 0], whole[:, step], **tolerance)
            assert cache.length == step + 1


def test_a_cache_takes_one_column_at_a_time(make_model, random_ids):
    model, source = make_model(), random_ids([5])
    memory, mask = model.encode(source), source_mask(source, 0)
    with pytest.raises(ValueError, match=r"one new column.* got \(1, 2\)"):
        model.decode(random_ids([2]), memory, mask, model.new_cache())


def test_a_cache_ends_where_the_positions_end(make_model, random_ids):
    model, source = make_model(max_len=3), random_ids([3])
    memory, mask = model.encode(source), source_mask(source, 0)
    cache = model.new_cache()
    for _ in range(3):
        model.decode(source[:, :1], memory, mask, cache)
    with pytest.raises(ValueError, match="4 tokens is longer than max_len=3"):
        model.decode(source[:, :1], memory, mask, cache)


# ----------------------------------------------------------------------------- order


def test_order_matters_because_of_positions_and_of_nothing_else(make_model, random_ids):
    model = make_model().double()
    source = random_ids([6])
    order = torch.tensor([3, 0, 5, 4, 1, 2])
    with torch.no_grad():
        memory = model.encode(source)
        assert not torch.allclose(model.encode(source[:, order]), memory[:, order])
        model.positions.table.zero_()
        memory = model.encode(source)
        assert_close(model.encode(source[:, order]), memory[:, order], **DOUBLE)
        assert not torch.allclose(model.encode(source[:, order]), memory)


# ------------------------------------------------------------ fused path, watched path


@NORMS
def test_watching_every_weight_changes_nothing(make_model, random_ids, norm):
    """Neither outputs nor gradients."""
    model = make_model(norm=norm).double()
    source, target = random_ids([5, 3]), random_ids([4, 6], seed=1)
    probe = torch.randn(2, 6, 13, dtype=torch.float64)

    def run():
        model.zero_grad()
        logits = model(source, target)
        (logits * probe).mean().backward()
        return logits.detach(), [p.grad.clone() for p in model.parameters()]

    fused = run()
    names = [name for name, _ in model.named_modules() if name.endswith(".weights")]
    assert len(names) == 2 + 2 * 2  # one in an encoder layer, two in a decoder layer
    seen = []
    for name in names:
        hook = model.get_submodule(name).register_forward_hook
        hook(lambda module, inputs, output: seen.append(output))
    watched = run()
    assert_close(watched, fused, **DOUBLE)
    shapes = [tuple(weights.shape[2:]) for weights in seen]
    assert shapes == [(5, 5)] * 2 + [(6, 6), (6, 5)] * 2
    for weights in seen:
        assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]), **DOUBLE)


# --------------------------------------------------------------------------- dropout


def test_dropout_stands_where_the_paper_puts_it_and_nowhere_else(random_ids):
    """On sums of embedding and position, and on sub-layer outputs; not on weights."""
    model = Transformer(TransformerConfig(13, 8, 2, 16, 2, 2, dropout=0.5)).train()
    names = [n for n, m in model.named_modules() if isinstance(m, nn.Dropout)]
    residuals = [n for n, m in model.named_modules() if type(m).__name__ == "Residual"]
    assert names == ["dropout", *(f"{name}.dropout" for name in residuals)]
    assert len(residuals) == 2 * 2 + 2 * 3
    calls = []
    model.dropout.register_forward_hook(lambda m, i, o: calls.append((i[0], o)))
    ids, name = random_ids([6]), "encoder.layers.0.self_attention.weights"
    with trace.watch(model, name) as seen:
        model(ids, ids)
    assert len(calls) == 2  # source and target
    for before, after in calls:
        expected = model.source_embedding(ids) + sinusoids(6, 8)
        assert_close(before, expected)
        assert ((after == 0) | torch.isclose(after, 2 * before)).all()
    assert_close(seen[name][0].sum(-1), torch.ones(1, 2, 6))


def test_only_in_training_mode_two_passes_differ(make_model, random_ids):
    model, ids = make_model(dropout=0.5), random_ids([6])
    assert_close(model(ids, ids), model(ids, ids), rtol=0, atol=0)
    model.train()
    assert not torch.allclose(model(ids, ids), model(ids, ids))


# ------------------------------------------------------------------ tying, parameters


def test_tied_tables_are_one_tensor_and_learn_together(make_model, random_ids):
    model = make_model()
    tables = [model.source_embedding, model.target_embedding, model.output_embedding]
    assert len({id(embedding.weight) for embedding in tables}) == 1
    names = [name for name, _ in model.named_parameters() if "embedding" in name]
    assert len(names) == 1
    with torch.no_grad():
        model.source_embedding.weight[5] += 1
    assert_close(model.output_embedding.weight[5], model.source_embedding.weight[5])
    ids = random_ids([4])
    model(ids, ids).sum().backward()
    assert (tables[2].weight.grad.abs().sum(-1) > 0).all()  # the way out: all rows


def test_untied_tables_are_three(make_model):
    model = make_model(tie_embeddings=False)
    names = [name for name, _ in model.named_parameters() if "embedding" in name]
    assert len(names) == 3
    assert model.n_parameters() == make_model().n_parameters() + 2 * 13 * 8


def count(*, vocab_size, d_model, d_ff, layers, norm="post", tables=1):
    """The number of parameters, by arithmetic."""
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = (d_model * d_ff + d_ff) + (d_ff * d_model + d_model)
    norm_size = 2 * d_model
    encoder_layer = attention + feed_forward + 2 * norm_size
    decoder_layer = 2 * attention + feed_forward + 3 * norm_size
    final = 2 * norm_size if norm == "pre" else 0
    embedding = tables * vocab_size * d_model
    return embedding + layers * (encoder_layer + decoder_layer) + final


@pytest.mark.parametrize("tied", [True, False])
def test_an_output_bias_adds_a_number_to_each_logit(tied, make_model, random_ids):
    model = make_model(tie_embeddings=tied, output_bias=True)
    source, target = random_ids([5, 3]), random_ids([4, 4])
    with torch.inference_mode():
        logits = model(source, target)
        bias = model.output_embedding.output_bias
        assert bias.shape == (13,) and bias.abs().min() > 0
        model.output_embedding.output_bias = None
        assert_close(logits, model(source, target) + bias)
    plain = make_model(tie_embeddings=tied)
    assert not any("bias" in name.split(".")[1] for name, _ in plain.named_parameters())


@NORMS
@pytest.mark.parametrize("tied", [True, False])
def test_parameters_add_up(norm, tied):
    config = TransformerConfig(norm=norm, tie_embeddings=tied)
    sizes = {"vocab_size": 6000, "d_model": 192, "d_ff": 768, "layers": 3}
    expected = count(**sizes, norm=norm, tables=1 if tied else 3)
    assert Transformer(config).n_parameters() == config.n_parameters == expected
    biased = dataclasses.replace(config, output_bias=True)
    assert Transformer(biased).n_parameters() == biased.n_parameters == expected + 6000


def test_the_papers_base_model_comes_close_to_its_65_million():
    """63 M by our count for 37,000 pieces; the paper's table 3 says 65 million.

    What is left of the difference is the paper's to explain: its vocabulary is "about
    37,000", and each further thousand pieces would add half a million.
    """
    with torch.device("meta"):  # shapes only: nothing is allocated
        n_parameters = Transformer(BASE).n_parameters()
    expected = count(vocab_size=37_000, d_model=512, d_ff=2048, layers=6)
    assert n_parameters == expected
    assert 0.96 < n_parameters / 65e6 < 1


def test_every_parameter_learns(make_model, random_ids):
    """But key biases: they shift a whole row of scores, which softmax ignores."""
    model = make_model(norm="pre", tie_embeddings=False).double()
    ids = random_ids([6, 4])
    (model(ids, ids) * torch.randn(2, 6, 13)).sum().backward()
    for name, parameter in model.named_parameters():
        largest = parameter.grad.abs().max()
        if name.endswith("to_key.bias"):
            assert largest < 1e-10, name
        else:
            assert largest > 1e-6, name


def test_the_settings_reach_the_stacks():
    other = {"dropout": 0.25, "norm": "pre", "activation": "gelu"}
    model = Transformer(TransformerConfig(13, 12, 3, 20, 1, 4, **other))
    assert (len(model.encoder.layers), len(model.decoder.layers)) == (1, 4)
    for layer in [*model.encoder.layers, *model.decoder.layers]:
        assert layer.self_attention.n_heads == 3
        assert layer.feed_forward.expand.out_features == 20
        assert layer.feed_forward.activation is nn.functional.gelu
        assert layer.feed_forward_residual.is_pre
        assert layer.feed_forward_residual.dropout.p == 0.25
    assert model.dropout.p == 0.25


def test_weights_can_be_saved_and_loaded(make_model, random_ids):
    model, other = make_model(seed=1), make_model(seed=2)
    ids = random_ids([4])
    assert not torch.allclose(model(ids, ids), other(ids, ids))
    other.load_state_dict(model.state_dict())
    assert_close(model(ids, ids), other(ids, ids), rtol=0, atol=0)


# ------------------------------------------------------------- bad input, one error


BAD_IDS = [
    (torch.ones(1, 3), TypeError, r"int64, got torch.float32: use ids.long\(\)"),
    (torch.ones(1, 3).int(), TypeError, r"int64, got torch.int32: use ids.long\(\)"),
    ([[4, 5]], TypeError, "as a tensor, got list"),
    (torch.tensor([4, 5]), ValueError, r"\(batch, length\).*got \(2,\): pad"),
    (torch.ones(1, 1, 3).long(), ValueError, r"\(batch, length\).*got \(1, 1, 3\)"),
    (torch.ones(1, 0).long(), ValueError, r"both at least 1, got \(1, 0\)"),
    (torch.tensor([[4, 13]]), ValueError, r"token id 13 .*0…12.*different tokenizer\?"),
    (torch.tensor([[4, -1]]), ValueError, r"token id -1 .*0…12.*different tokenizer\?"),
    (torch.tensor([[0, 0]]), ValueError, "row 0 has no visible token.*remove the row"),
    (torch.full((1, 17), 4), ValueError, "17 tokens .* max_len=16: split the text"),
]


@pytest.mark.parametrize(("ids", "error", "message"), BAD_IDS)
def test_bad_ids_are_named_with_the_remedy(make_model, random_ids, ids, error, message):
    model, good = make_model(), random_ids([3])
    for call in [
        lambda: model(ids, good),
        lambda: model(good, ids),
        lambda: model.encode(ids),
        lambda: model.decode(ids, model.encode(good), source_mask(good, 0)),
    ]:
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize("kind", ["Transformer", "recurrent"])
def test_a_pass_checks_each_tensor_once(make_model, random_ids, kind):
    """Where they enter; nine looks at the same ids were a stall too many."""
    recurrent = RecurrentConfig(vocab_size=13, d_model=6, d_hidden=5, max_len=16)
    model = make_model() if kind == "Transformer" else RecurrentSeq2Seq(recurrent)
    source_ids, target_ids = random_ids([3, 5]), random_ids([4, 2])
    for name in ("check_id_shape", "check_range", "_check_visible"):
        check = getattr(masks, name)
        with mock.patch.object(masks, name, wraps=check) as spy:
            model(source_ids, target_ids)
        seen = [id(call.args[0]) for call in spy.call_args_list]
        assert sorted(seen) == sorted([id(source_ids), id(target_ids)])


def test_a_target_padded_on_the_left_is_refused(make_model, random_ids):
    with pytest.raises(ValueError, match="row 0 of the target begins with pad_id=0"):
        make_model()(random_ids([3]), torch.tensor([[0, 4]]))


def test_source_and_target_must_come_in_equal_numbers(make_model, random_ids):
    message = r"same batch size, got \(2, 4\) and \(3, 5\)"
    with pytest.raises(ValueError, match=message):
        make_model()(random_ids([4, 2]), random_ids([5, 5, 1]))


def test_max_len_itself_still_fits(make_model, random_ids):
    logits = make_model()(random_ids([16]), random_ids([16]))
    assert logits.shape == (1, 16, 13) and logits.dtype == torch.float32


def test_learned_positions_are_trained_where_sinusoids_are_not(make_model, random_ids):
    model = make_model(positions="learned")
    fixed = make_model()
    assert model.n_parameters() - fixed.n_parameters() == 16 * 8  # max_len x d_model
    source_ids, target_ids = random_ids([5, 3]), random_ids([4, 4], seed=1)
    model(source_ids, target_ids).square().mean().backward()
    assert model.positions.table.grad.abs().sum() > 0
    before = model(source_ids, target_ids)
    with torch.no_grad():
        model.positions.table[1] += 1.0
    assert not torch.allclose(model(source_ids, target_ids), before)
