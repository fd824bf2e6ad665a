"""Tracing: what is shown is what the model really did."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tformer import Transformer, TransformerConfig, masks
from tformer.analysis import trace
from tformer.attention import attention

SOURCE = torch.tensor([[5, 6, 7, 8, 2], [9, 4, 2, 0, 0]])
TARGET = torch.tensor([[1, 8, 7, 6], [1, 5, 0, 0]])


def model(norm: str = "post", dropout: float = 0.0) -> Transformer:
    torch.manual_seed(0)
    options = {"max_len": 16, "norm": norm, "dropout": dropout}
    return Transformer(TransformerConfig(12, 16, 4, 32, 3, 2, **options)).eval()


def test_watched_values_are_those_of_the_actual_pass():
    m = model()
    names = ("encoder.layers.1", "decoder.layers.0.cross_attention.weights", "encoder")
    with trace.watch(m, *names) as seen:
        logits = m(SOURCE, TARGET)
    assert set(seen) == set(names)
    assert [len(outputs) for outputs in seen.values()] == [1, 1, 1]
    assert_close(seen["encoder"][0], m.encode(SOURCE), rtol=0, atol=1e-6)
    x = seen["encoder.layers.1"][0]
    last = m.encoder.layers[2](x, masks.source_mask(SOURCE, 0))
    assert_close(m.encoder.final_norm(last), seen["encoder"][0], rtol=0, atol=1e-6)
    assert_close(m(SOURCE, TARGET), logits, rtol=0, atol=1e-6)


def test_every_pass_is_kept_and_nothing_after_the_block():
    m = model()
    with trace.watch(m, "decoder") as seen:
        m(SOURCE, TARGET)
        m(SOURCE[:1], TARGET[:1])
    m(SOURCE, TARGET)
    assert [tuple(each.shape) for each in seen["decoder"]] == [(2, 4, 16), (1, 4, 16)]
    assert not any(module._forward_hooks for module in m.modules())


def test_hooks_go_even_when_the_pass_fails():
    m = model()
    with pytest.raises(ValueError, match="max_len"), trace.watch(m, "encoder"):
        m(torch.full((1, 99), 5), TARGET[:1])
    assert not any(module._forward_hooks for module in m.modules())


def meanwhile(work):
    """Do some work in another thread, and wait for its result."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(work).result()


def test_only_the_passes_of_the_same_thread_are_watched():
    m = model()
    with trace.watch(m, "decoder") as seen:
        mine = m(SOURCE, TARGET)
        theirs = meanwhile(lambda: m(SOURCE[:1], TARGET[:1]))
    assert [len(each) for each in seen["decoder"]] == [len(SOURCE)]
    assert_close(mine[:1], theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: trace.head_gains(m, {("cross", 1, 2): 0, ("encoder", 0, 1): 3}),
        lambda m: trace.weight_gains(m, ("decoder", 0), torch.zeros(())),
    ],
)
def test_what_one_thread_changes_does_not_change_the_passes_of_another(change):
    m = model()
    whole = m(SOURCE, TARGET)
    with change(m):
        changed, theirs = m(SOURCE, TARGET), meanwhile(lambda: m(SOURCE, TARGET))
    assert not torch.allclose(changed, whole, atol=1e-3)
    assert_close(theirs, whole, rtol=0, atol=1e-5)


def test_several_threads_trace_one_model_each_its_own_pass():
    m = model()
    sources = [SOURCE[:1], SOURCE[1:, :3], SOURCE]

    def maps(number):
        source = sources[number % 3]
        return trace.attention_weights(m, source, TARGET[: len(source)])

    expected = [maps(number) for number in range(3)]
    with ThreadPoolExecutor(6) as threads:
        for number, found in enumerate(threads.map(maps, range(60))):
            for mine, theirs in zip(found, expected[number % 3], strict=True):
                assert_close(mine, theirs, rtol=0, atol=1e-6)


def test_what_is_watched_carries_no_gradient_but_the_pass_does():
    m = model()
    with trace.watch(m, "encoder.layers.0") as seen:
        loss = m(SOURCE, TARGET).sum()
    assert not seen["encoder.layers.0"][0].requires_grad
    loss.backward()
    assert m.encoder.layers[0].feed_forward.expand.weight.grad is not None


def test_an_unknown_name_is_refused_with_a_way_to_find_the_right_one():
    watching = trace.watch(model(), "encoder", "encodr")
    message = r"'encodr'; list\(dict\(model.named_modules"
    with pytest.raises(ValueError, match=message), watching:
        pass


def test_a_module_that_never_ran_is_not_taken_for_one_without_output():
    """The decoder's layers call methods of their attention, never its forward."""
    m, name = model(), "decoder.layers.0.cross_attention"
    message = rf"nothing was seen of '{name}'.*watch a part: .*to_output, weights"
    with pytest.raises(ValueError, match=message), trace.watch(m, "encoder", name):
        m(SOURCE, TARGET)
    assert not any(module._forward_hooks for module in m.modules())
    with trace.watch(m, f"{name}.to_output") as seen:
        m(SOURCE, TARGET)
    assert seen[f"{name}.to_output"][0].shape == (2, 4, 16)

    watching = trace.watch(m, "decoder.final_norm")
    with (
        pytest.raises(ValueError, match="inside the block, in the same thread$"),
        watching,
    ):
        m.encode(SOURCE)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_attention_weights_have_their_axes_and_rows_that_sum_to_one(norm):
    encoder, decoder, cross = trace.attention_weights(model(norm), SOURCE, TARGET)
    assert encoder.shape == (2, 3, 4, 5, 5)  # batch, layer, head, query, key
    assert decoder.shape == (2, 2, 4, 4, 4)
    assert cross.shape == (2, 2, 4, 4, 5)
    for weights in (encoder, decoder, cross):
        assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
        assert (weights >= 0).all()


def test_traced_weights_hide_padding_and_the_future_exactly():
    encoder, decoder, cross = trace.attention_weights(model(), SOURCE, TARGET)
    assert (encoder[1, ..., 3:] == 0).all()
    assert (cross[1, ..., 3:] == 0).all()
    assert (decoder.triu(1) == 0).all()
    assert (decoder[1, ..., 2:] == 0).all()
    assert (encoder[0] > 0).all()  # nothing else is hidden
    assert (cross[0] > 0).all()


def test_traced_weights_are_the_softmax_of_each_layers_own_scores():
    m = model()
    encoder, _, cross = trace.attention_weights(m, SOURCE, TARGET)
    names = ("encoder.layers.1", "encoder", "decoder.layers.0.self_attention_residual")
    with trace.watch(m, *names) as seen:
        m(SOURCE, TARGET)
    source_mask = masks.source_mask(SOURCE, 0)

    last = m.encoder.layers[2].self_attention
    _, weights = attention(*last.project(seen[names[0]][0]), mask=source_mask)
    assert_close(encoder[:, 2], weights, rtol=0, atol=1e-6)

    across = m.decoder.layers[0].cross_attention
    query = across.project_query(seen[names[2]][0])
    key, value = across.project_memory(seen["encoder"][0])
    _, weights = attention(query, key, value, mask=source_mask)
    assert_close(cross[:, 0], weights, rtol=0, atol=1e-6)


def test_tracing_is_without_dropout_and_gives_the_mode_back():
    m = model(dropout=0.5)
    calm = trace.attention_weights(m, SOURCE, TARGET)
    m.train()
    again = trace.attention_weights(m, SOURCE, TARGET)
    assert m.training
    for a, b in zip(calm, again, strict=True):
        assert_close(a, b, rtol=0, atol=0)
        assert not a.requires_grad
    with pytest.raises(ValueError, match="no visible token"):
        trace.attention_weights(m, SOURCE * 0, TARGET)
    assert m.training
    assert not any(module._forward_hooks for module in m.modules())


def test_a_head_that_is_knocked_out_leaves_what_the_others_say():
    m = model()
    layer = m.decoder.layers[1].cross_attention
    name = "decoder.layers.1.cross_attention"
    with trace.watch(m, f"{name}.heads") as before:
        whole = m(SOURCE, TARGET)
    gains = {("cross", 1, 2): 0.0, ("cross", 1, 0): 3.0}
    with trace.head_gains(m, gains), trace.watch(m, f"{name}.to_output") as after:
        without = m(SOURCE, TARGET)
    heads = before[f"{name}.heads"][0].clone()
    heads[:, 2] = 0
    heads[:, 0] *= 3
    merged = layer.to_output(layer.merge_heads(heads)).detach()
    assert_close(after[f"{name}.to_output"][0], merged)
    assert not torch.allclose(whole, without, atol=1e-3)
    assert_close(m(SOURCE, TARGET), whole, rtol=0, atol=0)


@pytest.mark.parametrize("site", ["encoder", "decoder", "cross"])
def test_gain_one_changes_nothing_and_gain_zero_does_at_every_site(site):
    m = model()
    whole = m(SOURCE, TARGET)
    with trace.head_gains(m, {(site, 1, 3): 1.0}):
        assert_close(m(SOURCE, TARGET), whole, rtol=0, atol=1e-6)
    with trace.head_gains(m, {(site, 1, 3): 0.0}):
        assert not torch.allclose(m(SOURCE, TARGET), whole, atol=1e-3)


@pytest.mark.parametrize(
    "head", [("middle", 0, 0), ("encoder", 3, 0), ("cross", 2, 0), ("decoder", 0, -1)]
)
def test_a_head_that_is_not_there_cannot_be_knocked_out(head):
    m = model()
    gains = trace.head_gains(m, {("cross", 0, 0): 0.0, head: 0.0})
    with pytest.raises(ValueError, match="4 heads in each layer"), gains:
        pass
    assert not any(module._forward_hooks for module in m.modules())


def test_one_weight_can_be_taken_out_of_a_row_s_sum_and_nothing_else_changes():
    m = model()
    name = "decoder.layers.1.cross_attention"
    with trace.watch(m, f"{name}.weights", f"{name}.heads") as before:
        m(SOURCE, TARGET)
    gains = torch.ones(1, 4, TARGET.size(1), SOURCE.size(1))
    gains[0, 2, 1, 0] = 0
    with (
        trace.weight_gains(m, ("cross", 1), gains),
        trace.watch(m, f"{name}.weights", f"{name}.heads") as after,
    ):
        m(SOURCE, TARGET)
    weights = before[f"{name}.weights"][0]
    assert_close(after[f"{name}.weights"][0], weights * gains)
    differs = (after[f"{name}.heads"][0] - before[f"{name}.heads"][0]).abs().amax(-1)
    places = differs > 1e-6  # (B, H, T)
    assert places[:, 2, 1].all() and places.sum() == len(SOURCE)
    assert not any(module._forward_hooks for module in m.modules())


def test_weights_of_a_layer_that_is_not_there_cannot_be_changed():
    gains = trace.weight_gains(model(), ("cross", 2), torch.ones(1))
    with pytest.raises(ValueError, match="these layers"), gains:
        pass


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("tied", [True, False])
def test_the_residual_stream_leads_from_the_words_to_the_logits(norm, tied):
    torch.manual_seed(1)
    options = {"norm": norm, "tie_embeddings": tied, "dropout": 0.5, "max_len": 16}
    m = Transformer(TransformerConfig(12, 16, 4, 32, **options)).train()
    encoder, decoder = trace.residual_stream(m, SOURCE, TARGET)
    assert m.training
    m.eval()
    for writes, table, ids in (
        (encoder, m.source_embedding, SOURCE),
        (decoder, m.target_embedding, TARGET),
    ):
        names = [write.name for write in writes[:3]]
        assert names == ["word", "position", "layers.0.self_attention"]
        assert_close(writes[0].after, table(ids))
        assert_close(writes[1].after, m.positions(table(ids)))
        for before, write in itertools.pairwise(writes):
            assert write.before is before.after
    logits = m.unembed(m.decoder.final_norm(decoder[-1].after))
    assert_close(logits, m(SOURCE, TARGET))
    assert_close(m.encoder.final_norm(encoder[-1].after), m.encode(SOURCE))


def test_a_pre_norm_stream_is_the_sum_of_what_is_added():
    for writes in trace.residual_stream(model(norm="pre"), SOURCE, TARGET):
        for write in writes:
            assert_close(write.after, write.before + write.added)
        assert_close(writes[-1].after, sum(write.added for write in writes))


def test_a_post_norm_stream_is_normalised_behind_every_sub_layer():
    m = model(norm="post")
    encoder, _ = trace.residual_stream(m, SOURCE, TARGET)
    norm = m.encoder.layers[0].self_attention_residual.norm
    write = encoder[2]
    assert_close(write.after, norm(write.before + write.added))


def test_the_cosine_is_that_of_the_stream_and_what_is_added_to_it():
    _, decoder = trace.residual_stream(model(), SOURCE, TARGET)
    for write in decoder[1:]:
        product = (write.before * write.added).sum(-1)
        lengths = write.before.norm(dim=-1) * write.added.norm(dim=-1)
        assert_close(write.cosine * lengths, product, rtol=1e-4, atol=1e-4)
    assert (decoder[0].cosine == 0).all()


def test_what_is_kept_for_the_backward_pass_is_counted_once_and_without_weights():
    x = torch.randn(6, 4, requires_grad=True)
    linear = nn.Linear(4, 8)
    with trace.kept_for_backward(linear) as kept:
        hidden = linear(x)  # keeps x
        (hidden.exp() * hidden.exp()).sum()  # keeps two exponentials, each used twice
    assert kept.n_bytes == 4 * (6 * 4 + 2 * 6 * 8)


def test_nothing_is_kept_without_gradients():
    linear = nn.Linear(4, 8)
    with trace.kept_for_backward(linear) as kept, torch.no_grad():
        linear(torch.randn(6, 4)).exp()
    assert kept.n_bytes == 0
