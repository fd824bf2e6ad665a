"""What explains another finding, what is merely remarked, what the texts say."""

from __future__ import annotations

import pytest
import torch
from cases import admitted, broken, examined
from torch import nn

from tformer import doctor


def remarked(report):
    return " ".join(each.text for each in report.remarks)


def found(report, code):
    return next(each for each in report.findings if each.code == code)


def test_a_loop_of_fixed_length_is_no_fault_of_a_language_model():
    report = examined("cached")
    assert report, str(report)
    assert [each.examination for each in report.remarks] == ["decoding"]
    assert "writes 7 words, whatever they are" in str(report)
    assert "Worth knowing" in report._repr_html_()


@pytest.mark.parametrize("switches", [True, False])
def test_a_loop_that_leaves_dropout_on_is_remarked_and_not_accused(switches):
    changes = [] if switches else [("    model.eval()\n", "")]
    report = examined("cached", *changes)
    assert report, str(report)
    assert ("doesn't call model.eval() itself" in remarked(report)) != switches


@pytest.mark.parametrize(
    ("change", "part", "said"),
    [
        (("kept[:] = [k, v]", "kept[:] = [k, k]"), "values", "values that were stored"),
        (("kept[:] = [k, v]", "kept[:] = [v, v]"), "keys", "keys that were stored"),
        (("tril(diagonal=old)", "tril()"), "mask", "mask over past keys"),
    ],
)
def test_a_loop_that_differs_from_its_second_step_on_has_a_cache(change, part, said):
    finding = found(examined("cached", change), f"decoding-cache-{part}")
    assert said in finding.seen
    assert "stored as k and as v" in finding.look


def test_a_cache_that_puts_new_keys_first_is_named():
    change = ("torch.cat([kept[0], k], dim=2)", "torch.cat([k, kept[0]], dim=2)")
    assert examined("cached", change).codes == ("decoding-cache-order",)


def test_rounding_that_the_model_amplifies_is_no_fault():
    model, given = admitted("annotated")
    with torch.no_grad():
        for each in model.parameters():
            if each.dim() > 1:
                each.mul_(10)  # sharp enough to tell a row of a batch from a lone one
    report = doctor.examine(model, **given)
    assert report.codes == ("weights-too-large",), str(report)


@pytest.mark.parametrize(
    ("new", "code", "is_sure"),
    [
        ("/ math.sqrt(self.d_model)", "embeddings-without-scale", True),
        ("* 1.0", "embeddings-without-scale", False),
    ],
)
def test_words_that_are_made_smaller_on_purpose_are_a_finding(new, code, is_sure):
    report = examined("annotated", ("* math.sqrt(self.d_model)", new))
    assert (code in report.codes) == is_sure, str(report)
    assert (code in report.to_confirm) != is_sure


def test_a_target_mask_over_queries_is_remarked_though_it_does_no_harm():
    report = examined(
        "annotated", ("tgt != PAD).unsqueeze(-2)", "tgt != PAD).unsqueeze(-1)")
    )
    assert report and report.to_confirm == ("mask-on-queries",), str(report)


@pytest.mark.parametrize(
    ("name", "old", "new", "code"),
    [
        ("annotated", "    p_attn = scores.softmax(dim=-1)\n",
         "    p_attn = torch.matmul(query, key.transpose(-2, -1)).div(math.sqrt(d_k))\n"
         "    p_attn = p_attn.softmax(dim=-1)\n"
         "    if mask is not None:\n"
         "        p_attn = p_attn.masked_fill(mask == 0, 0.0)\n",
         "mask-after-softmax"),
        ("annotated", "self.src_attn(x, m, m, src_mask)",
         "self.src_attn(x, x, x, None)", "keys-from-wrong-side"),
        ("gpt", "y = y.transpose(1, 2).contiguous().view", "y = y.contiguous().view",
         "heads-merged-wrongly"),
    ],
)  # fmt: skip
def test_what_explains_a_leak_has_it_as_its_consequence(name, old, new, code):
    report = examined(name, (old, new))
    assert report.codes == (code,)
    assert "future-leak" in {each.code for each in report.consequences}


@pytest.mark.parametrize(
    ("changes", "code", "consequence"),
    [
        ([("x.mean(-1, keepdim=True)", "x.mean(1, keepdim=True)"),
          ("x.std(-1, keepdim=True)", "x.std(1, keepdim=True)")],
         "norm-wrong-axis", "decoding-without-numbers"),
        ([("return self.decode(memory", "return self.decode(self.src_embed(src)")],
         "result-thrown-away", "decoding-disagrees"),
    ],
)  # fmt: skip
def test_what_a_loop_makes_of_a_broken_model_is_a_consequence(
    changes, code, consequence
):
    report = examined("annotated", *changes)
    assert report.codes == (code,), str(report)
    assert consequence in {each.code for each in report.consequences}


def test_a_loop_that_reads_the_wrong_row_is_found_beside_another_fault():
    changes = ("tgt_mask=causal,", ""), ("[:, -1].argmax", "[:, 0].argmax")
    report = examined("torch_wrapper", *changes)
    assert set(report.codes) == {"future-leak", "decoding-disagrees"}
    assert "the wrong row" in found(report, "decoding-disagrees").means


@pytest.mark.parametrize("float_mask", [True, False])
def test_a_mask_of_zeros_and_ones_that_is_added_is_named(float_mask):
    right = "torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)"
    wrong = "torch.triu(torch.ones(n, n), diagonal=1)"
    change = (right, wrong) if float_mask else ("tgt_mask=causal,", "")
    finding = found(examined("torch_wrapper", change), "future-leak")
    assert ("0 and −inf" in finding.look) == float_mask


class SequenceFirst(nn.Module):
    """The patient as its author calls it: (length, batch) throughout."""

    def __init__(self, model, run):
        super().__init__()
        self.model, self.run = model, run

    def forward(self, source, target):
        return self.run(self.model, source.t(), target.t()).transpose(0, 1)


class Alone(nn.Module):
    """The same for a language model."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(ids.t()).transpose(0, 1)


def test_a_model_that_wants_the_length_first_is_told_so_and_not_accused():
    model, given = admitted("torch_wrapper")
    turned = SequenceFirst(model, given["forward"])
    with pytest.raises(doctor.CannotExamine, match=r"\(length, batch\).*m\(s\.t\(\)"):
        doctor.examine(turned)
    assert doctor.examine(
        turned, forward=lambda m, s, t: m(s.t(), t.t()).transpose(0, 1)
    )
    model, _ = admitted("cached")
    with pytest.raises(doctor.CannotExamine, match=r"m\(ids\.t\(\)\)"):
        doctor.examine(Alone(model))


def test_a_loss_that_runs_the_model_itself_is_refused_with_what_to_give():
    def with_three(model, source, target):
        return torch.zeros(())

    def with_two(model, ids):
        return torch.zeros(())

    for loss in (with_three, with_two):
        with pytest.raises(doctor.CannotExamine, match="shift of the labels"):
            examined("cached", loss=loss)


@pytest.mark.parametrize(
    ("spread", "codes", "remarks"),
    [
        (0.02, (), ()),
        (0.5, (), ("logits-too-large",)),
        (1.0, ("weights-too-large",), ()),
    ],
)
def test_first_weights_that_are_too_large_are_accused_if_they_are_by_far(
    spread, codes, remarks
):
    change = ("module.weight, std=0.02", f"module.weight, std={spread}")
    report = examined("gpt", change)
    assert report.codes == codes and report.to_confirm == remarks, str(report)
    assert ("a uniform guess costs ln 37 = 3.6" in str(report)) == bool(remarks)


def test_a_first_loss_is_not_blamed_on_a_table_that_has_the_usual_size():
    """Tied, scaled and normalised before each sublayer, it says what it has read."""
    old = "self.wte(idx) + self.wpe(pos)"
    scaled = (old, f"math.sqrt(32) * {old}")
    old = "self.wte.weight = self.lm_head.weight"
    usual = "self.wte.weight = nn.init.normal_(self.lm_head.weight, std=32**-0.5)"
    report = examined("gpt", scaled, (old, usual))
    assert report, str(report)
    assert "too large" not in remarked(report)
    assert "the likeliest next word is the one just read" in remarked(report)


def test_a_first_loss_without_a_known_cause_is_told_without_one():
    change = ("return self.head(self.last(x))", "return 9 * self.head(self.last(x))")
    report = examined("cached", change)
    assert "too large" not in remarked(report) and "just read" not in remarked(report)
    assert "first logits are larger" in remarked(report)


def test_a_target_without_a_start_is_not_taken_for_a_source():
    class Words:
        def encode(self, text):
            return [int(word) for word in text.split()]

        def decode(self, ids):
            return " ".join(map(str, ids))

    model, given = admitted("torch_wrapper")
    source, _, labels = given["batches"][0]
    start = torch.full((len(source), 1), given.get("bos_id", 1))
    batch = (torch.cat([start, source], dim=1), labels[:, :-1], labels[:, 1:])
    pairs = [
        tuple(" ".join(str(i) for i in row if i > 2) for row in side)
        for side in zip(source.tolist(), labels.tolist(), strict=True)
    ]
    given |= {"batches": [batch], "tokenizer": Words(), "pairs": pairs}
    codes = doctor.examine(model, **given).codes
    assert "target-without-start" in codes
    assert "source-and-target-swapped" not in codes


def test_two_different_tables_of_positions_are_told_from_one_added_twice():
    added = "        x = x + self.pe[:, : x.size(1)]\n"
    next_one = "        x = x + self.pe[:, 1 : x.size(1) + 1]\n"
    for more, said in ((added, "the same table"), (next_one, "two different tables")):
        report = examined("annotated", (added, added + more))
        assert said in found(report, "doubled-positions").seen


@pytest.mark.parametrize(
    "change",
    [
        ("waves.cos()], dim=-1).flatten(1)", "waves.cos()], dim=1).flatten(1)"),
        ("waves = at / 10000 **", "waves = at / 100 **"),
        ("[waves.sin(), waves.cos()]", "[waves.cos(), waves.sin()]"),
    ],
)
def test_waves_in_another_order_or_at_other_rates_are_no_fault(change):
    report = examined("annotated", change)
    assert report, str(report)


def test_an_end_sign_that_stands_there_twice_is_told():
    read = torch.tensor([[1, 5, 6, 7, 2], [1, 8, 9, 4, 2]])
    labels = torch.tensor([[5, 6, 7, 2, 2], [8, 9, 4, 2, 2]])
    report = examined("annotated", batches=[(labels, read, labels)])
    assert "the end sign" in found(report, "sign-twice").title


@pytest.mark.parametrize("tied", [True, None, False])
def test_a_target_that_is_read_with_the_sources_table_is_told_just_that(tied):
    wrong = ("self.decoder(self.tgt_embed(tgt)", "self.decoder(self.src_embed(tgt)")
    old = "    for p in model.parameters():"
    tie = f"    model.generator.proj.weight = model.tgt_embed[0].lut.weight\n{old}"
    report = examined("annotated", wrong, (old, tie), tied=tied)
    assert report.codes == (("target-in-source-table",) if tied else ())
    said = "both looked up in src_embed.0.lut.weight"
    if tied:
        assert said in report.findings[0].seen
        assert report.findings[0].look.endswith("it should be tgt_embed.0.lut.weight.")
    else:
        assert (said in remarked(report)) == (tied is None)


@pytest.mark.parametrize("mask", ["src > EOS", "src != PAD"])
@pytest.mark.parametrize("in_source", [True, False])
def test_a_mask_that_hides_the_end_is_told_if_the_sources_have_one(mask, in_source):
    text = broken("annotated", "src_mask = (src != PAD)", f"src_mask = ({mask})")
    model, given = admitted("annotated", text)
    if in_source:
        given["batches"] = [
            (source.index_fill(1, torch.tensor([4]), 2), read, labels)
            for source, read, labels in given["batches"]
        ]
    report = doctor.examine(model, **given)
    wrong = mask == "src > EOS" and in_source
    assert report.codes == (("mask-hides-signs",) if wrong else ()), str(report)


def test_a_residual_from_the_norm_is_placed():
    change = ("return x + self.drop(self.down(", "return h + self.drop(self.down(")
    finding = found(examined("cached", change), "residual-from-norm")
    assert finding.seen.endswith(": blocks.0.")


@pytest.mark.parametrize(
    ("name", "old", "new", "place"),
    [
        ("marian", "return far[:, None", "return far[:1, None", "encoder.layers.0"),
        ("d2l", "torch.repeat_interleave(valid_lens, self.num_heads, dim=0)",
         "valid_lens.repeat((self.num_heads,) + (1,) * (valid_lens.dim() - 1))",
         "encoder.blks.block0.attention"),
    ],
)  # fmt: skip
def test_a_mask_of_another_row_is_placed(name, old, new, place):
    finding = found(examined(name, (old, new)), "mask-of-another-row")
    assert f"hidden in {place}" in finding.seen


def test_the_advice_to_turn_a_model_keeps_the_adapter_and_names_loss_and_loop():
    run = admitted("torch_wrapper")[1]["forward"]

    def masked(model, source, target):  # written for (length, batch), masks and all
        return run(model, source.t(), target.t()).transpose(0, 1)

    with pytest.raises(doctor.CannotExamine) as caught:
        examined("torch_wrapper", forward=masked)
    for advice in (
        "forward=lambda m, s, t: masked(m, s.t(), t.t()).transpose(0, 1)",
        "loss=lambda logits, labels: loss(logits.transpose(0, 1), labels.t())",
        "decode=lambda m, s: decode(m, s.t()).t()",
    ):
        assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("name", "old", "new", "code", "said", "unsaid"),
    [
        ("d2l", "/ weights.sum()", "/ weights.numel()", "loss-over-padding",
         "is divided by a number that counts padding", "easy to predict"),
        ("d2l", "d = queries.shape[-1]", "d = 4 * queries.shape[-1]", "wrong-scale",
         "start out more even", "hardly choose"),
        ("d2l", "d = queries.shape[-1]", "d = 16 * queries.shape[-1]", "wrong-scale",
         "hardly choose", "Training can make up"),
        ("d2l", "/ math.sqrt(d)", "/ math.sqrt(d) * 2", "wrong-scale",
         "start out more peaked", "saturates"),
        ("cached", "nn.ModuleList([Block(width, heads) for _ in range(layers)])",
         "nn.ModuleList([Block(width, heads)] * layers)", "layers-shared",
         "blocks.0 and blocks.1 are one and the same Block.", "1 do"),
        ("annotated", "data[:, :-1], data[:, 1:])", "data[:, :-1], data[:, :-1])",
         "labels-not-shifted", "100% of the labels equal the input at the same place",
         "places later"),
        ("gpt", "flat = logits.view(-1, logits.size(-1))\n"
         "    return F.cross_entropy(flat, targets.reshape(-1),",
         "flat = logits[:, :-1].reshape(-1, logits.size(-1))\n"
         "    return F.cross_entropy(flat, targets[:, 1:].reshape(-1),",
         "labels-shifted-wrongly", "and the loss shifts them by one more place",
         "100% the"),
    ],
)  # fmt: skip
def test_a_finding_says_what_is_so_in_this_case(name, old, new, code, said, unsaid):
    settled = {"scale": 8**-0.5, "shared": False}
    text = str(found(examined(name, (old, new), **settled), code))
    text = " ".join(text.split())
    assert said in text and unsaid not in text


def test_attention_behind_a_clamp_is_seen():
    least = "torch.tensor(torch.finfo(scores.dtype).min)"
    change = ("scores = scores + mask", f"scores = torch.max(scores + mask, {least})")
    report = examined("marian", change)
    assert report and report.saw_attention and "attention" in report.sound


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("0.5 * (1 + math.cos", "0.5 * (1 - math.cos"), "rises to the end"),
        (("top * (it + 1) / (warmup + 1)", "top * warmup / (it + 1)"), "upside down"),
        (("/ len(parts)", "/ len(parts) ** 2"), "what is divided twice"),
    ],
)
def test_which_way_a_schedule_or_a_mean_is_wrong_is_said(change, says):
    assert says in str(examined("gpt", change))


def test_a_schedule_with_a_valley_in_place_of_its_peak_is_one_finding():
    def rate(step):
        return 0.01 * max(step**-0.5, step * 100**-1.5)

    report = examined("gpt", schedule=rate, steps=1000)
    assert "min of the two branches" in found(report, "never-warms").look
    assert "never-falls" not in report.codes


def warm(step):
    return min(1.0, step / 50)


@pytest.mark.parametrize(
    ("schedule", "codes", "confirm"),
    [
        (lambda step: 0.95 ** (step // 50), (), ("never-warms",)),
        (lambda step: 1.0, (), ("never-warms",)),
        (warm, (), ("never-falls",)),
        (lambda step: step / 50000, ("never-falls",), ()),
        (lambda step: warm(step) * max(0, 1 - step / 1000), (), ()),
        (lambda step: warm(step) * max(0, 1 - step / 200), ("rate-is-zero",), ()),
        (lambda step: 0.01 * warm(step) * 0.95**step, ("rate-is-zero",), ()),
    ],
)
def test_a_schedule_is_accused_of_what_no_sound_one_does(schedule, codes, confirm):
    report = examined("gpt", schedule=schedule, steps=1000)
    assert (report.codes, report.to_confirm) == (codes, confirm), str(report)


@pytest.mark.parametrize(
    ("kind", "settings", "codes", "confirm"),
    [
        ("Adam", {"weight_decay": 0.1}, ("decay-in-gradient",), ()),
        ("NAdam", {"weight_decay": 1e-3}, (), ("decay-in-gradient",)),
        ("Adam", {"weight_decay": 1e-4}, (), ()),
        ("Adam", {"weight_decay": 0.1, "decoupled_weight_decay": True}, (), ()),
        ("AdamW", {"weight_decay": 0.1}, (), ()),
        ("AdamW", {"lr": 0.16}, ("rate-too-high",), ()),
        ("AdamW", {"lr": 0.001}, (), ("rate-too-high",)),
    ],
)
def test_an_optimizer_is_judged_with_its_schedule(kind, settings, codes, confirm):
    model, given = admitted("gpt")
    optimizer = getattr(torch.optim, kind)(
        model.parameters(), **{"lr": 6e-4, **settings}
    )
    if "lr" in settings:  # with a schedule whose peak is too high for a rate
        given["schedule"] = lambda step: 0.2 * warm(step) * (1 - step / 1001)

    def train_step(model, batch):
        optimizer.zero_grad()
        given["loss"](given["forward"](model, batch[0]), batch[1]).backward()
        optimizer.step()

    given |= {"optimizer": optimizer, "train_step": train_step, "steps": 1000}
    report = doctor.examine(model, **given)
    assert (report.codes, report.to_confirm) == (codes, confirm), str(report)
