"""Designs that are sound, each of them, and what is told apart from them.

A model of `designs` gives no finding, whatever its design, type and training; what its
design shares with a fault is a remark. The same model with a fault gets its name.
"""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from designs import USUAL, batch, made
from torch.nn import functional as F

from tformer import doctor

HERE = Path(__file__).parent


def loss(logits, labels):
    flat = logits.flatten(0, 1).float()
    return F.cross_entropy(flat, labels.flatten(), ignore_index=-100)


def batches_of(**options):
    o = SimpleNamespace(**{**USUAL, **options})
    return [batch(o, step) for step in range(2)]


def examined(model=None, /, *, given=(), **options):
    """Without a limit of time, and with loss and batches unless they are refused."""
    model = made(**options) if model is None else model
    kept = {"loss": loss, "batches": batches_of(**options), **dict(given)}
    kept = {name: each for name, each in kept.items() if each is not None}
    if "pads" in options:
        kept["pad_id"] = options["pads"]
    return doctor.examine(model, seconds=None, **kept)


PAIR = {"kind": "translates"}
HALF, COARSE = torch.float16, torch.bfloat16
DESIGNS = {  # options, and the codes of remarks
    "learned positions": ({}, ()),
    "rotary": ({"positions": "rotary", "norm": "rms", "groups": 2}, ()),
    "ALiBi": ({"positions": "alibi"}, ()),
    "relative": ({"positions": "relative"}, ()),
    "positions from zero": ({"positions": "zeros"}, ()),
    "fixed positions": ({"positions": "frozen"}, ()),
    "NoPE": ({"positions": "none"}, ("no-positions",)),
    "NoPE, deep": ({"positions": "none", "layers": 4}, ("no-positions",)),
    "T5": (
        {**PAIR, "scale": "none", "positions": "relative", "norm": "rms"},
        ("no-scale",),
    ),
    "factor in alpha": ({"scale": "alpha"}, ()),
    "muP": ({"scale": "mup", "zero_head": True}, ("output-constant", "wrong-scale")),
    "ALBERT": ({"shared": True}, ("layers-shared",)),
    "an alias": ({"alias": True}, ()),
    "latent keys": ({"latent": True}, ()),
    "latent keys, rotary": ({"latent": True, "positions": "rotary"}, ()),
    "a pruned head": ({"pruned": True}, ()),
    "a pruned head, pair": ({**PAIR, "pruned": True}, ()),
    "a low-rank head": ({"low_rank_head": True}, ()),
    "sinks": ({"sinks": True}, ()),
    "sigmoid": ({"weights": "sigmoid"}, ("attention-without-softmax",)),
    "normalised queries": ({"qk_norm": True}, ()),
    "soft caps": ({"softcap": True}, ()),
    "token shift": ({"shift": True}, ()),
    "zero outputs": ({"zero_out": True}, ()),
    "zero outputs, pair": ({**PAIR, "zero_out": True}, ()),
    "zero gates": ({"gates": True}, ()),
    "experts": ({"experts": True}, ("unused-parameters",)),
    "a prefix": ({"prefix": 3}, ("mask-off-by-one",)),
    "DeepNorm": ({"more": "DeepNorm", "post": True}, ()),
    "DeepNorm, pair": ({**PAIR, "more": "DeepNorm", "post": True}, ()),
    "multi-query by einsum": ({"more": "einsum", "groups": 1}, ()),
    "groups by einsum": ({"more": "einsum", "groups": 2}, ()),
    "ReZero, pair": ({**PAIR, "norm": "none", "gates": True}, ()),
    "norms on both sides": ({"more": "sandwich"}, ()),
    "layer scale": ({"more": "layer scale"}, ()),
    "gated networks": ({"more": "gated"}, ()),
    "scaled words": ({"more": "scaled words", "positions": "rotary"}, ()),
    "scaled words, added": ({"more": "scaled words"}, ()),
    "zero queries": ({"more": "zero queries"}, ()),
    "gains around 1": ({"norm": "centred", "positions": "rotary"}, ()),
    "parallel": ({"parallel": True}, ()),
    "parallel, rotary": ({"parallel": True, "positions": "rotary"}, ()),
    "BERT": ({"kind": "guesses"}, ()),
    "BERT, post-norm": ({"kind": "guesses", "post": True}, ()),
    "BERT, trained": ({"kind": "guesses", "trained": 30}, ()),
    "two pad ids": ({**PAIR, "pads": (0, 3)}, ()),
    "a pair": (PAIR, ()),
    "a pair, post-norm": ({**PAIR, "post": True}, ()),
    "a pair, trained": ({**PAIR, "trained": 30}, ()),
    "trained": ({"trained": 30}, ()),
    "bfloat16": ({"dtype": COARSE}, ()),
    "bfloat16, pair": ({**PAIR, "positions": "rotary", "dtype": COARSE}, ()),
    "bfloat16, trained": ({"trained": 20, "dtype": COARSE}, ()),
    "float16": ({"dtype": HALF}, ()),
    "float64": ({"dtype": torch.float64}, ()),
    "a block of 8": ({"block": 8}, ()),
    "a block of 6": ({"block": 6}, ()),
    "wide": ({"width": 64, "heads": 2, "layers": 1}, ()),
    "one head": ({"heads": 1}, ()),
    "six layers": ({"layers": 6}, ()),
    "an object": ({"returns": "object"}, ()),
    "a tuple": ({"returns": "tuple"}, ()),
    "the last position": ({"returns": "last"}, ()),
}


def test_there_are_designs_enough():
    assert len(DESIGNS) >= 40


@pytest.mark.parametrize("name", DESIGNS)
def test_nothing_is_found_in_a_sound_design(name):
    options, remarks = DESIGNS[name]
    report = examined(**options)
    assert report and not report.consequences, str(report)
    assert report.to_confirm == remarks, str(report)
    assert report.saw_attention
    assert not [each for each in report.not_tried if "stopped with" in each.reason]


@pytest.mark.parametrize("name", ["learned positions", "a pair", "BERT", "two pad ids"])
def test_nothing_is_found_where_nothing_but_the_model_is_given(name):
    options, _ = DESIGNS[name]
    report = examined(given={"loss": None, "batches": None}, **options)
    assert report, str(report)
    assert report.to_confirm == (("future-leak",) if name == "BERT" else ())


# --- arguments that settle what a remark asks ---------------------------------------


@pytest.mark.parametrize(
    ("options", "given", "codes"),
    [
        ({"scale": "none"}, {"scale": 1.0}, ()),
        ({"scale": "none"}, {"scale": 0.5}, ("no-scale",)),
        ({}, {"scale": 1.0}, ("wrong-scale",)),
        ({"shared": True}, {"shared": True}, ()),
        ({"shared": True}, {"shared": False}, ("layers-shared",)),
        ({"positions": "none"}, {"accept": ["no-positions"]}, ()),
    ],
)
def test_an_argument_says_which_design_it_is(options, given, codes):
    report = examined(given=given, **options)
    assert report.codes == codes and not report.to_confirm, str(report)
    assert report.accepted == tuple(given.get("accept", ()))


@pytest.mark.parametrize("bidirectional", [True, False, None])
def test_a_model_that_sees_ahead_is_judged_by_what_it_is_for(bidirectional):
    given = {"loss": None, "batches": None, "bidirectional": bidirectional}
    report = examined(given=given, kind="guesses")
    assert report.codes == (("future-leak",) if bidirectional is False else ())
    assert report.to_confirm == (("future-leak",) if bidirectional is None else ())


def test_a_finding_that_is_meant_can_be_accepted_and_no_other():
    given = {"accept": ["heads-split-wrongly"], "shared": False}
    assert examined(given=given, shared=True).codes == ("layers-shared",)
    report = examined(given={**given, "accept": ["layers-shared"]}, shared=True)
    assert report and report.accepted == ("layers-shared",)
    assert "Accepted:\n   layers-shared" in str(report)


def test_a_loss_that_ignores_another_label_is_a_remark_until_batches_say_which():
    report = examined(given={"batches": None})
    assert report and report.to_confirm == ("loss-over-padding",)
    assert "ignore_index=-100" in str(report)
    assert not examined(given={"batches": None, "ignore_index": -100}).to_confirm
    padded = [(read, labels.clamp(min=0)) for read, labels in batches_of()]
    assert "loss-over-padding" in examined(given={"batches": padded}).codes


def test_a_model_without_padding_is_not_accused_of_reading_it():
    model = broken("ids != PAD", "ids >= 0", kind="guesses")
    report = examined(model, given={"batches": None, "loss": None}, kind="guesses")
    assert report and "padding-counts-in-target" in report.to_confirm
    given = {"batches": None, "loss": None, "pad_id": 0}
    report = examined(model, given=given, kind="guesses")
    assert report.codes == ("padding-counts-in-target",)


# --- faults --------------------------------------------------------------------------


def broken(*change, **options):
    """A model of the text of `designs` with changes, each (old, new)."""
    text = (HERE / "designs.py").read_text("utf-8")
    for old, new in zip(change[::2], change[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new)
    names = {"__name__": "broken_designs"}
    exec(compile(text, "designs.py", "exec"), names)
    return names["made"](**options)


FILL = "masked_fill(~mask, -math.inf)"
FAULTS = {  # changes, options, and the code
    "gains of zero": (
        ("torch.ones(width)", "torch.zeros(width)"), {"norm": "rms"}, "output-constant"
    ),
    "a large eps": (
        ("+ 1e-6)", "+ 1e5)"), {"norm": "rms"}, "norm-eps-too-large"
    ),
    "a large eps, LayerNorm": (
        ("make(o.width) for", "make(o.width, eps=1e5) for"), {}, "norm-eps-too-large"
    ),
    "no square": (
        ("x.pow(2).mean", "x.mean"), {"norm": "rms"}, "root-of-negative"
    ),
    "a counter": (
        ("x = self.words(ids)",
         "self.n = getattr(self, 'n', 0) + 1\n        x = self.words(ids) * self.n"),
        {}, "state-between-calls",
    ),
    "softmax over time": (
        ("logits = self.head(x)", "logits = self.head(x).softmax(1)"), {},
        "softmax-over-time",
    ),
    "filled with 1e-20": (
        (FILL, "masked_fill(~mask, 1e-20)"), {}, "mask-fills-weakly"
    ),
    "filled with 0, pair": (
        (FILL, "masked_fill(~mask, 0.0)"), PAIR, "mask-fills-weakly"
    ),
    "keys viewed": (
        ("q @ k.transpose(-2, -1)",
         "q @ k.reshape(*k.shape[:2], k.size(-1), k.size(-2))"),
        {}, "heads-split-wrongly",
    ),
    "causal in training": (
        ("mask = mask.tril()", "mask = mask.tril() if self.training else mask"), {},
        "mask-only-in-training",
    ),
    "layers overwritten": (
        ("x = layer(x, mask, memory, memory_mask)",
         "y = layer(x, mask, memory, memory_mask)", "self.last(x)", "self.last(y)"),
        {}, "result-thrown-away",
    ),
    "embeddings as memory": (
        ("memory = self.encoder(source, seen)",
         "memory = (self.encoder(source, seen), self.encoder.words(source))[1]"),
        PAIR, "result-thrown-away",
    ),
    "the second residual from x": (
        ("x = self.add(x, 0, attend)", "old, x = x, self.add(x, 0, attend)",
         "return self.add(x, len(self.norms) - 1, self.feed_forward)",
         "return old + self.feed_forward(self.norms[-1](x))"),
        {}, "residual-forgets-sublayer",
    ),
    "causal cross-attention": (
        ("memory, seen))",
         "memory, seen & torch.ones(n, source.size(1)).tril().bool()))"),
        PAIR, "cross-attention-is-causal",
    ),
    "a causal encoder of hidden words": (
        ('self.o.kind == "writes"', "True"), {"kind": "guesses"}, "encoder-is-causal"
    ),
    "ids changed": (
        ("x = self.words(ids)", "ids[:, 0] = 7\n        x = self.words(ids)"), {},
        "changes-its-input",
    ),
    "padding of the other side": (
        ("target != pad[1]", "target != pad[0]"), {**PAIR, "pads": (0, 3)},
        "padding-of-the-other-side",
    ),
    "one scale differs": (
        ("self.to_value(read))\n", "self.to_value(read))\n        q = q * 3 "
         "if memory is not x else q\n"), PAIR, "wrong-scale",
    ),
    "positions thrown away": (
        ("x = x + self.places(", "x + self.places("), {}, "no-positions"
    ),
    "padding seen, words hidden": (
        ("ids != PAD", "ids == PAD", "-math.inf)", "-1e9)"), {"kind": "guesses"},
        "mask-inverted",
    ),
    "padding hidden as queries": (
        ("(ids != PAD)[:, None, None]", "(ids != PAD)[:, None, :, None]",
         "-math.inf)", "-1e9)"), {"kind": "guesses"}, "mask-on-queries",
    ),
    "weights transposed": (
        ("weights @ v\n", "weights.mT @ v\n"), {"kind": "guesses"},
        "weights-transposed",
    ),
    "keys of other groups": (
        ("self.split(self.to_key(read))",
         "self.to_key(read).unflatten(-1, (2, -1)).mT.mT.transpose(1, 2)"
         ".repeat(1, 2, 1, 1)"), {"groups": 2}, "groups-differ",
    ),
    "a norm that sums": (
        ("x.pow(2).mean(-1", "x.pow(2).sum(-1"), {"norm": "rms"}, "norm-sums"
    ),
    "a norm that multiplies": (
        ("torch.rsqrt(x.pow", "torch.sqrt(x.pow"), {"norm": "rms"},
        "norm-not-normalising",
    ),
    "a norm that divides by the variance": (
        ("x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)",
         "(x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-6)"),
        {"norm": "rms"}, "norm-not-normalising",
    ),
    "a norm moved into one of the branches": (
        ("return self.norms[i](x + gate * self.drop(sublayer(x)))",
         "return self.norms[i](x + sublayer(x)) if i == 0 else "
         "x + self.norms[i](sublayer(x))"),
        {"kind": "guesses", "post": True}, "norm-misplaced",
    ),
    "a product bent": (
        ("F.silu(self.gate(x)) * self.up(x)", "F.silu(self.gate(x) * self.up(x))"),
        {"more": "gated"}, "gate-bent-too-late",
    ),
    "a mask turned round": (
        ("masked_fill(~mask", "masked_fill(mask"), {}, "mask-inverted"
    ),
    "a padding mask turned round": (
        ("mask & (ids != PAD)", "mask & (ids == PAD)"), {"kind": "guesses"},
        "mask-inverted",
    ),
    "numbers without end": (
        ("return self.last(x)", "return self.last(x * 1e30 * 1e30)"), {}, "overflow"
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_gets_its_name(fault):
    change, options, code = FAULTS[fault]
    report = examined(broken(*change, **options), **options)
    assert code in report.codes + report.to_confirm, str(report)


ADD = "return x + gate * self.drop(sublayer(self.norms[i](x)))"
ATTEND = "x = self.add(x, 0, attend)"
FEED = "return self.add(x, len(self.norms) - 1, self.feed_forward)"
ROTARY = {"positions": "rotary", "norm": "rms"}
SURE = {  # the same, where no sound design does so
    "x twice": ((ADD, ADD.replace("x + ", "x + x + ")), {}, "stream-multiplied"),
    "two times x": ((ADD, ADD.replace("x + ", "2 * x + ")), {}, "stream-multiplied"),
    "a block that adds to twice its input": (
        ("x = layer(x, mask, memory, memory_mask)",
         "x = layer(x * 1.5, mask, memory, memory_mask)"), {}, "stream-multiplied",
    ),
    "gains of both signs": (
        ("torch.ones(width)", "torch.randn(width) * 0.05"), ROTARY, "gains-near-zero"
    ),
    "small gains": (
        ("torch.ones(width)", "torch.full((width,), 0.05)"), ROTARY, "gains-near-zero"
    ),
    "a network that starts at zero": (
        ("nn.Linear(40, o.width)\n",
         "nn.Linear(40, o.width)\n        nn.init.zeros_(self.up.weight)\n"), {},
        "weights-start-at-zero",
    ),
    "values that start at zero": (
        ("self.to_value = nn.Linear(latent, groups * self.size)\n",
         "self.to_value = nn.Linear(latent, groups * self.size)\n"
         "        nn.init.zeros_(self.to_value.weight)\n"), {}, "weights-start-at-zero",
    ),
    "a mean for a standard deviation": (
        ("    train(model, o)\n",
         "    [nn.init.normal_(p, 0.02) for p in model.parameters() if p.dim() > 1]\n"),
        {"width": 64}, "weights-too-large",
    ),
    "turned values": (
        ("q, k = turned(q), turned(k)", "q, k, v = turned(q), turned(k), turned(v)"),
        ROTARY, "rotary-on-values",
    ),
    "words detached, table shared": (
        ("x = self.words(ids)\n", "x = self.words(ids).detach()\n"), {"tied": True},
        "gradient-cut",
    ),
    "ids that are clamped": (
        ("x = self.words(ids)\n", "x = self.words(ids.clamp(max=25))\n"), {},
        "words-share-rows",
    ),
    "places looked up among words": (
        ("self.places(torch", "self.words(torch"), {}, "positions-are-words"
    ),
    "divided by the width's root": (
        ('"root": self.size', '"root": o.width'), {"width": 32, "heads": 8},
        "wrong-scale",
    ),
    "no factor, and sharp": (
        ("        if o.latent:\n            self.down",
         "        nn.init.normal_(self.to_query.weight)\n"
         "        if o.latent:\n            self.down"), {"scale": "none"}, "no-scale",
    ),
    "no factor, and nothing in its place": ((), {"scale": "none"}, "no-scale"),
    "no positions on one side": (
        ("x = x + self.places(", "x = x if memory is not None else x + self.places("),
        PAIR, "no-positions",
    ),
    "a norm that sums": (
        ("x.pow(2).mean(-1", "x.pow(2).sum(-1"), ROTARY, "norm-sums"
    ),
    "heads that are one": (
        ("self.out = nn.Linear(o.heads * self.size, o.width)\n",
         "self.out = nn.Linear(o.heads * self.size, o.width)\n"
         "        one = nn.Linear(o.width, self.size)\n"
         "        self.queries = nn.ModuleList([one] * o.heads)\n",
         "self.to_query(x)), ",
         "torch.cat([e(x) for e in self.queries], -1)), "), {}, "layers-shared",
    ),
    "the attention's output as residual": (
        (ATTEND, "a = attend(self.norms[0](x))\n        x = x + a",
         FEED, "return a + self.feed_forward(self.norms[-1](x))"),
        {}, "residual-forgets-sublayer",
    ),
    "the attention's output as residual, post-norm": (
        (ATTEND, "a = attend(x)\n        x = self.norms[0](x + a)",
         FEED, "return self.norms[-1](a + self.feed_forward(x))"),
        {"post": True}, "residual-forgets-sublayer",
    ),
    "the first norm's output as residual": (
        (ATTEND, "h = self.norms[0](x)\n        x = x + attend(h)",
         FEED, "return h + self.feed_forward(self.norms[-1](x))"),
        {}, "residual-forgets-sublayer",
    ),
    "keys and values of the stream": (
        ("attention(h, h, mask)", "attention(h, x, mask)"), {}, "half-normalised"
    ),
    "queries of the stream": (
        ("attention(h, h, mask)", "attention(x, h, mask)"), ROTARY, "half-normalised"
    ),
    "one word too many, in a deep stack": (
        ("mask.tril()", "mask.tril(1)"), {"layers": 7}, "mask-off-by-one"
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", SURE)
def test_a_fault_that_no_design_has_is_a_finding(fault):
    change, options, code = SURE[fault]
    report = examined(broken(*change, **options), **options)
    assert code in report.codes, str(report)


def test_words_that_are_told_apart_by_two_rows_are_sound():
    change = (
        "x = self.words(ids)\n",
        "x = self.words(ids // 6) + self.words(ids % 6)\n",
    )
    assert "words-share-rows" not in examined(broken(*change)).codes


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        ((ADD, "return sublayer(self.norms[i](x)) + self.norms[i](x)"),
         {"norm": "rms"}, "made afterwards, and is not x"),
        ((), {"shared": True}, "Write [Layer(…) for _ in range(2)]"),
        (("F.gelu(self.up(x))", "F.gelu(self.up(x)[..., :20]).repeat(1, 1, 2)"),
         {}, "a gated network"),
        (("self.head = nn.Linear(o.width, VOCAB)\n",
          "self.head = nn.Linear(o.width, VOCAB)\n"
          "        self.head.weight = self.encoder.words.weight\n"),
         PAIR, "the source's table, not the target's"),
    ],
)  # fmt: skip
def test_what_is_said_fits_the_fault(change, options, says):
    report = examined(broken(*change, **options), given={"tied": True}, **options)
    assert says in " ".join(str(report).split()), str(report)


def test_one_batch_over_and_over_is_remarked():
    one = batches_of()[:1]
    assert examined(given={"batches": 2 * one}).to_confirm == ("batches-all-equal",)
    assert not examined(given={"batches": one}).to_confirm


def test_a_gradient_that_is_cut_in_part_is_a_remark():
    report = examined(broken(ADD, ADD.replace("x + ", "x.detach() + ")))
    assert report and report.to_confirm == ("gradient-cut",), str(report)
    assert "only a part of their gradient" in str(report)


def test_masks_that_are_joined_by_or_are_told_from_one_that_is_missing():
    told = {}
    for change in ("mask | (target", "(target"):
        report = examined(broken("mask & (target", change, **PAIR), **PAIR)
        assert report.codes == ("future-leak",), str(report)
        told[change] = report.findings[0]
    assert "causal & padding, not |" in told["mask | (target"].look
    assert "hides, as in torch.nn: causal | padding" in told["mask | (target"].look
    assert "Padding is hidden, and no word is" in told["(target"].seen


def test_norms_of_what_each_sublayer_adds_are_a_remark():
    change = ("self.drop(sublayer(self.norms[i](x)))", "self.norms[i](sublayer(x))")
    report = examined(broken(*change))
    assert report and report.to_confirm == ("norm-misplaced",), str(report)


@pytest.mark.parametrize(
    "change",
    [
        ("weights @ v\n", "F.dropout(weights, 0.5) @ v\n"),
        ("weights @ v\n", "weights.sum(-1, keepdim=True) * v\n"),
    ],
)
def test_attention_is_seen_that_drops_weights_or_adds_them_up(change):
    report = examined(broken(*change))
    assert not report and report.saw_attention, str(report)


def test_a_word_that_is_hidden_from_itself_reaches_its_logits_by_the_residual():
    change = ("mask.tril()", "mask.tril(-1) | torch.eye(n)[0].bool()[:, None]")
    report = examined(broken(*change))
    assert report.codes == ("mask-off-by-one",), str(report)
    assert "no word attends to itself" in report.findings[0].seen


def test_weights_that_are_no_numbers_are_said_first_and_after_what_made_them_so():
    for change, codes in (
        ((), ("weights-not-finite",)),
        (("masked_fill(~mask", "masked_fill(mask"), ("mask-inverted",)),
        (("mask.tril()", "mask.tril(-1)"), ("nan-rows",)),
    ):
        model = broken(*change)
        with torch.no_grad():
            for each in model.parameters():
                each.fill_(math.nan)
        report = examined(model)
        assert report.codes == codes, str(report)


@pytest.mark.parametrize("is_decoder", [True, False])
def test_a_side_with_norms_around_its_sublayers_may_stand_beside_post_norm(is_decoder):
    change = (
        'if self.o.more == "sandwich":',
        f"if (self.cross is not None) == {is_decoder}:",
        'if o.more == "sandwich":',
        f"if crosses == {is_decoder}:",
        "nn.Identity() if o.post",
        f"nn.Identity() if crosses != {is_decoder}",
    )
    options = {**PAIR, "more": "sandwich", "post": True}
    report = examined(broken(*change, **options), **options)
    assert report and not report.to_confirm, str(report)


def relabelled(kind, turned):
    """Batches whose last two parts, what is read and the labels, have been turned."""
    return [(*rest, *turned(i, labels)) for *rest, i, labels in batches_of(kind=kind)]


@pytest.mark.parametrize(
    ("kind", "turned", "given", "codes"),
    [
        ("guesses", lambda i, y: (y.where(y >= 0, i), y), {}, ["labels-not-hidden"]),
        ("guesses", lambda i, y: (i, y.where(y >= 0, i)), {"pad_id": 0},
         ["loss-over-padding", "labels-not-hidden"]),
        ("writes", lambda i, y: (i, y.masked_fill(y == 2, -100)), {"eos_id": 2},
         ["labels-without-end"]),
        ("writes", lambda i, y: (i, y.masked_fill(y == 2, -100)), {}, []),
        ("writes", lambda i, y: (i, y.masked_fill(y == -100, 0)),
         {"pad_id": 0, "ignore_index": -100}, ["loss-over-padding"]),
        ("translates", lambda i, y: (torch.cat([i[:, :1], y[:, 1:].clamp(0)], 1), y),
         {}, ["labels-not-shifted"]),
        ("translates", lambda i, y: (i.masked_fill(i == 0, -100), y), {},
         ["ids-out-of-range"]),
        ("writes", lambda i, y: (i.flip(1), y), {}, ["labels-in-reverse"]),
        ("writes", lambda i, y: (i, y), {"pad_id": 4, "eos_id": 2},
         ["filled-without-padding"]),
        ("writes", lambda i, y: (i, y), {"pad_id": 0, "eos_id": 2}, []),
    ],
    ids=["read", "everywhere", "endless", "unknown", "padded", "copied", "outside",
         "reversed", "filled with 0", "filled"],
)  # fmt: skip
def test_what_is_wrong_with_the_labels_is_named(kind, turned, given, codes):
    batches = relabelled(kind, turned)
    given = {"batches": batches, **given, "bidirectional": kind == "guesses"}
    report = examined(given=given, kind=kind)
    assert [*report.codes, *report.to_confirm] == codes, str(report)


def test_rows_that_end_and_do_not_begin_are_remarked():
    bare = relabelled("writes", lambda i, y: (i[:, 1:], y[:, 1:]))
    given = {"batches": bare, "bos_id": 1, "eos_id": 2}
    assert "no row of your batches begins with bos_id" in str(examined(given=given))


def test_labels_that_are_shifted_once_more_are_named_where_rows_are_padded():
    def shifting(logits, labels):
        return loss(logits[:, :-1], labels[:, 1:])

    short = relabelled("writes", lambda i, y: (
        i.masked_fill(torch.arange(9) > 4, 0).masked_fill(y == 2, 0),
        y.masked_fill(torch.arange(9) > 4, -100),
    ))  # fmt: skip
    for each, codes in ((shifting, ("labels-shifted-wrongly",)), (loss, ())):
        report = examined(given={"loss": each, "batches": short})
        assert report.codes == codes, str(report)


@pytest.mark.parametrize("given", [{}, {"ignore_index": -100}])
def test_a_loss_that_leaves_out_a_word_is_named(given):
    def one_word(logits, labels):
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=7)

    whole = [(i.clamp(min=5), y.clamp(min=5)) for i, y in batches_of()]
    given = {"loss": one_word, "batches": whole, "pad_id": None, **given}
    code = "loss-stops" if "ignore_index" in given else "loss-leaves-out-words"
    assert code in examined(given=given).codes


def test_a_loss_that_divides_by_all_labels_is_named_with_labels_of_minus_100():
    def divided(logits, labels):
        each = F.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum"
        )
        return each / labels.numel()

    assert examined(given={"loss": divided}).codes == ("loss-over-padding",)


def test_a_loss_that_maps_padding_itself_is_sound():
    def mapped(logits, labels):
        labels[labels == 0] = -100  # in place
        return loss(logits, labels)

    padded = [(read, labels.clamp(min=0)) for read, labels in batches_of()]
    assert examined(given={"loss": mapped, "batches": padded})


def test_labels_that_the_loss_shifts_itself_are_sound():
    def shifting(logits, labels):
        return loss(logits[:, :-1], labels[:, 1:])

    same = [(i, i.masked_fill(i == 0, -100)) for i, _ in batches_of()]
    assert examined(given={"loss": shifting, "batches": same})
    report = examined(given={"loss": None, "batches": same})
    assert report and report.to_confirm == ("labels-not-shifted",)
