"""A fault is named itself, and nothing that follows from it stands beside it."""

from __future__ import annotations

import math
from types import SimpleNamespace

import designs
import pytest
import torch
from cases import admitted
from cases import examined as patient
from designs import BOS, EOS, PAD, made
from test_designs import batches_of, broken, examined, loss
from torch import nn

from tformer import doctor

# --- initialisation ------------------------------------------------------------------

INITIAL = {
    "uniform": (nn.init.uniform_, "weights-one-sided"),
    "small, and above 0": (lambda w: w.uniform_(0, 0.02), "weights-one-sided"),
    "a mean": (lambda w: w.normal_(0.5, 0.1), "weights-one-sided"),
    "ones": (nn.init.ones_, "weights-all-equal"),
    "a constant": (lambda w: nn.init.constant_(w, 0.02), "weights-all-equal"),
    "equal rows": (lambda w: w.copy_(w[:1].clone()), "weights-all-equal"),
    "equal columns": (lambda w: w.copy_(w[:, :1].clone()), "weights-all-equal"),
    "tiny": (lambda w: w.normal_(0, 1e-4), "weights-too-small"),
    "next to nothing": (lambda w: w.normal_(0, 1e-6), "weights-too-small"),
    "far too large": (lambda w: w.normal_(0, 3), "weights-too-large"),
}


def started(fill, **options):
    model = made(**options)
    with torch.no_grad():
        for each in model.parameters():
            if each.dim() > 1:
                fill(each)
    return model


@pytest.mark.parametrize("kind", ["writes", "translates"])
@pytest.mark.parametrize("name", INITIAL)
def test_a_bad_start_is_named_and_not_what_follows_from_it(name, kind):
    fill, code = INITIAL[name]
    options = {"kind": kind, "post": kind == "translates"}
    report = examined(started(fill, **options), **options)
    assert report.codes == (code,), str(report)
    assert "no-positions" not in report.to_confirm


@pytest.mark.parametrize(
    "fill",
    [
        nn.init.xavier_uniform_,
        nn.init.orthogonal_,
        nn.init.kaiming_normal_,
        lambda w: nn.init.normal_(w, std=0.02),
        lambda w: nn.init.trunc_normal_(w, std=0.02),
        lambda w: nn.init.uniform_(w, -0.1, 0.1),
        lambda w: nn.init.sparse_(w, 0.5, std=0.1),
    ],
)
def test_a_usual_start_is_sound(fill):
    assert (report := examined(started(fill))), str(report)


# --- norms ---------------------------------------------------------------------------


def mean_square(x):
    return x.pow(2).mean(-1, keepdim=True) + 1e-6


def mean(x):
    return x.mean(-1, keepdim=True)


NORMS = {
    "the square of the mean": (
        lambda x, gain: x * torch.rsqrt(mean(x).pow(2) + 1e-6) * gain,
        "norm-not-normalising",
    ),
    "the mean itself": (
        lambda x, gain: x / (mean(x) + 1e-6) * gain,
        "norm-not-normalising",
    ),
    "the mean added": (
        lambda x, gain: (x + mean(x)) / x.std(-1, keepdim=True) * gain,
        "norm-not-normalising",
    ),
    "nothing subtracted": (
        lambda x, gain: x / x.std(-1, keepdim=True) * gain,
        "norm-not-normalising",
    ),
    "nothing of the input": (
        lambda x, gain: torch.rsqrt(mean_square(x)) * gain,
        "norm-drops-input",
    ),
    "only the mean": (
        lambda x, gain: mean(x) * torch.rsqrt(mean_square(x)) * gain,
        "norm-drops-input",
    ),
}


@pytest.mark.parametrize("name", NORMS)
def test_a_norm_of_another_kind_is_named(name, monkeypatch):
    forward, code = NORMS[name]
    monkeypatch.setattr(designs.RMSNorm, "forward", lambda s, x: forward(x, s.gain))
    report = examined(norm="rms", positions="rotary")
    assert report.codes == (code,), str(report)


@pytest.mark.parametrize(
    "forward",
    [
        lambda x, gain: x / mean_square(x).sqrt() * gain,
        lambda x, gain: (x - mean(x)) / (x.std(-1, keepdim=True) + 1e-6) * gain,
        lambda x, gain: (
            (x - mean(x)) / (x.var(-1, keepdim=True) + 1e-5).sqrt() * gain + gain
        ),
        lambda x, gain: x * x.norm(dim=-1, keepdim=True).reciprocal() * 16**0.5 * gain,
    ],
)
def test_a_norm_by_hand_is_sound_whatever_its_gain(forward, monkeypatch):
    monkeypatch.setattr(designs.RMSNorm, "forward", lambda s, x: forward(x, s.gain))
    model = made(norm="rms")
    with torch.no_grad():
        for each in model.modules():
            if isinstance(each, designs.RMSNorm):
                each.gain.uniform_(0.3, 1.7)
    assert (report := examined(model)), str(report)


# --- masks ---------------------------------------------------------------------------


class Masked(designs.Model):
    """A language model with a mask of its own."""

    joined = None

    def forward(self, ids):
        causal = torch.ones(ids.size(1), ids.size(1), dtype=torch.bool).tril()
        return self.head(self.stack(ids, self.joined(causal, (ids != PAD)[:, None])))


@pytest.mark.parametrize("fill", [math.inf, 1e9])
@pytest.mark.parametrize(
    ("joined", "codes"),
    [
        (lambda causal, words: causal & ~words, ("mask-inverted",)),
        (lambda causal, words: ~causal & words, ("mask-inverted",)),
        (lambda causal, words: causal & words, ()),
    ],
)
def test_a_mask_that_is_turned_round_is_named(joined, codes, fill, monkeypatch):
    monkeypatch.setattr(designs, "math", SimpleNamespace(inf=fill))
    monkeypatch.setattr(
        Masked, "joined", staticmethod(lambda c, w: joined(c, w)[:, None])
    )
    monkeypatch.setattr(designs, "Model", Masked)
    report = examined(made())
    assert report.codes == codes, str(report)


def test_the_padding_mask_of_a_target_that_is_turned_round_is_named():
    right, wrong = "source == PAD, target == PAD", "source == PAD, target != PAD"
    report = patient("torch_wrapper", (right, wrong))
    assert report.codes == ("mask-inverted",), str(report)


# --- rotary positions ----------------------------------------------------------------


def by_rates(rates):
    def turned(x):
        half = x.size(-1) // 2
        angles = torch.arange(x.size(-2))[:, None] * rates(torch.arange(half), half)
        cos, sin = angles.cos().to(x), angles.sin().to(x)
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    return turned


@pytest.mark.parametrize(
    ("rates", "code"),
    [
        (lambda i, half: 1e4 ** (i / half), "positions-too-fast"),
        (lambda i, half: 1e4 ** (-i.float() * half), "positions-too-slow"),
        (lambda i, half: 1.0 ** (-i / half), "positions-repeat"),
        (lambda i, half: 1e4 ** (-i / half), ""),
        (lambda i, half: 5e5 ** (-i / half), ""),
        (lambda i, half: 1e4 ** (-i / half) / 4, ""),
        (lambda i, half: 1e4 ** (-i / half) * (i < half / 2), ""),
    ],
)
@pytest.mark.parametrize("trained", [0, 20])
def test_rotary_rates_are_read_from_a_model_as_it_was_made(
    rates, code, trained, monkeypatch
):
    monkeypatch.setattr(designs, "turned", by_rates(rates))
    options = {"positions": "rotary", "width": 32, "trained": trained}
    report = examined(**options)
    assert report.codes == ((code,) if code else ()), str(report)


# --- what is said --------------------------------------------------------------------


def said(report):
    return " ".join(str(report).split())


@pytest.mark.parametrize("collapsed", ["to_query", "to_key", "words, places", "all"])
def test_weights_that_have_collapsed_are_not_taken_for_a_rotation(collapsed):
    model = made(norm="none", seed=1)
    with torch.no_grad():
        for name, each in model.named_parameters():
            within = collapsed == "all" or any(e in name for e in collapsed.split(", "))
            if within and each.dim() > 1:
                each.mul_(1e-9)
    report = examined(model)
    said = {each.code for each in (*report.findings, *report.consequences)}
    assert not any(each.startswith("rotary") for each in said), str(report)


def test_what_is_used_in_place_of_an_unused_part_is_named():
    change = ("self.split(self.to_value(read))", "self.split(self.to_key(read))")
    report = examined(broken(*change))
    assert report.codes == ("unused-parameters",), str(report)
    assert "Used more than once: stack.layers.0.attention.to_key.weight" in said(report)


def test_a_sum_that_is_missing_before_a_norm_is_not_one_with_something_else():
    change = (
        "return self.norms[i](x + gate * self.drop(sublayer(x)))",
        "h = self.drop(sublayer(x))\n"
        "            return self.norms[i](x + h if i else h)",
    )
    options = {"kind": "translates", "post": True}
    report = examined(broken(*change, **options), **options)
    assert "no-residual" in report.codes and "made afterwards" not in said(report)


def test_both_sides_are_named_where_both_have_small_words():
    report = patient("annotated", ("lut(x) * math.sqrt(", "lut(x) / math.sqrt("))
    assert "the source's and the target's words are small" in said(report)


@pytest.mark.parametrize(("n", "confirms"), [(1, True), (8, False)])
def test_windows_of_a_text_that_repeats_itself_are_to_be_confirmed(n, confirms):
    model, given = admitted("gpt")
    text = given["batches"][0][0].flatten()
    rows = torch.randint(0, 37, (8, 16), generator=torch.Generator().manual_seed(1))
    rows[:n] = text[3:19]
    report = doctor.examine(model, **given, test_batches=[(rows, rows)])
    told = report.to_confirm if confirms else report.codes
    assert told == ("train-test-overlap",) and bool(report) is confirms, str(report)
    assert "sentence" not in said(report) and "among 12 rows" in said(report)


# --- further faults, each beside what it was taken for -------------------------------

FURTHER = {  # changes, options, and the code
    "softmax twice": (
        ("scores.softmax(dim=-1)", "scores.softmax(-1).softmax(-1)"),
        {}, "softmax-twice",
    ),
    "softmax over heads": (
        ("weights = scores.softmax(dim=-1)", "weights = scores.softmax(dim=1)"),
        {}, "softmax-wrong-axis",
    ),
    "a network that ends in a ReLU": (
        ("return self.back(F.gelu(self.up(x)))",
         "return F.relu(self.back(F.gelu(self.up(x))))"), {}, "sublayer-ends-bent",
    ),
    "a network of experts beside an older stream": (
        ("x = self.add(x, 0, attend)", "y = x\n        x = self.add(x, 0, attend)",
         "return self.add(x, len(self.norms) - 1, self.feed_forward)",
         "return y + sum(self.feed_forward(self.norms[-1](x)) for _ in range(3))"),
        {}, "residual-forgets-sublayer",
    ),
    "rotation along the heads": (
        ("q, k = turned(q), turned(k)",
         "q, k = (turned(e.transpose(1, 2)).transpose(1, 2) for e in (q, k))"),
        {"positions": "rotary"}, "no-positions",
    ),
    "one norm in two places": (
        ("[make(o.width) for _ in range(3)][:n_norms]", "[make(o.width)] * n_norms"),
        {}, "layers-shared",
    ),
    "a tied table that is detached": (
        ("logits = self.head(x)", "logits = x @ self.stack.words.weight.detach().T",
         "        if o.positions == \"zeros\"",
         "        nn.init.normal_(self.words.weight, std=0.1)\n"
         "        if o.positions == \"zeros\""),
        {"tied": True}, "gradient-cut",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FURTHER)
def test_a_further_fault_is_named_itself(name):
    change, options, code = FURTHER[name]
    report = examined(broken(*change, **options), **options)
    told = report.to_confirm if code == "layers-shared" else report.codes
    assert told == (code,), str(report)


GATE = "            return self.back(F.silu(self.gate(x)) * self.up(x))"
SOUND = {
    "a sublayer that a sigmoid of its input gates": (
        (GATE, "            y, g = self.back(F.silu(self.up(x))), self.gate(x)\n"
         "            return y * torch.sigmoid(g[..., :16] + g[..., 16:32])"),
        {"more": "gated"},
    ),
    "norms written out in the layer": (
        ("x + gate * self.drop(sublayer(self.norms[i](x)))",
         "x + self.drop(sublayer(self.norms[i].gain * x / x.pow(2).mean("
         "-1, keepdim=True).add(1e-6).sqrt()))"),
        {"norm": "rms"},
    ),
    "a factor for each position, and learned positions": (
        ("x = self.words(ids)\n",
         "x = self.words(ids) * (1 + torch.ones(ids.size(1), 1))\n"), {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_what_looks_like_such_a_fault_is_sound(name):
    change, options = SOUND[name]
    report = examined(broken(*change, **options), **options)
    assert report and not report.to_confirm, str(report)


LOSSES = {
    "exp": (lambda logits, labels: loss(logits, labels).exp(), "loss-is-perplexity"),
    "minus": (lambda logits, labels: -loss(logits, labels), "loss-below-zero"),
    "over time": (
        lambda logits, labels: loss(logits.mT.reshape(logits.shape), labels),
        "loss-wrong-axis",
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_of_another_kind_is_named_and_not_what_follows(name):
    function, code = LOSSES[name]
    report = examined(given={"loss": function})
    assert report.codes == (code,), str(report)


def test_labels_that_ask_for_nothing_are_no_sign_of_a_masked_model():
    nothing = [(ids, torch.full_like(labels, -100)) for ids, labels in batches_of()]
    report = examined(given={"batches": nothing})
    assert report.codes == ("labels-ask-nothing",), str(report)


@pytest.mark.parametrize(
    ("settings", "codes"),
    [
        ({"lr": 1e-9}, ("adam-hardly-moves",)),
        ({"eps": 1.0}, ("adam-hardly-moves",)),
        ({"betas": (0.98, 0.09)}, ("adam-betas-swapped",)),
        ({"lr": 1e-5, "betas": (0.9, 0.98), "eps": 1e-9}, ()),
        ({"betas": (0.95, 0.95)}, ()),
    ],
)
def test_the_settings_of_adam_are_looked_at(settings, codes):
    model = made()
    optimizer = torch.optim.AdamW(model.parameters(), **settings)
    assert examined(model, given={"optimizer": optimizer}).codes == codes


@pytest.mark.parametrize("anew", [True, False])
def test_an_optimizer_that_is_made_in_each_step_is_named(anew):
    model = made()
    optimizer = torch.optim.AdamW(model.parameters())

    def step(model, batch):
        steps = torch.optim.AdamW(model.parameters()) if anew else optimizer
        steps.zero_grad()
        loss(model(batch[0]), batch[1]).backward()
        steps.step()

    report = examined(model, given={"optimizer": optimizer, "train_step": step})
    codes = ("step-uses-another-optimizer",) if anew else ()
    assert report.codes == codes, str(report)


def test_a_rate_that_falls_and_then_rises_is_upside_down():
    report = examined(
        given={"schedule": lambda s: max(s**-0.5, s * 60**-1.5), "steps": 400}
    )
    assert report.codes == ("never-warms",) and "a valley" in said(report)


@pytest.mark.parametrize(("most", "codes"), [(4, ("decoding-too-short",)), (12, ())])
def test_a_loop_that_stops_before_the_sentences_end_is_named(most, codes):
    def decode(model, source):
        ids = torch.full((len(source), 1), BOS)
        for _ in range(most):
            if bool((ids == EOS).any(dim=1).all()):
                break
            new = model(source, ids)[:, -1].argmax(-1, keepdim=True)
            done = (ids == EOS).any(dim=1, keepdim=True)
            ids = torch.cat([ids, new.masked_fill(done, PAD)], dim=1)
        return ids

    options = {"kind": "translates"}
    assert examined(given={"decode": decode}, **options).codes == codes


class Letters:
    def encode(self, text):
        return [ord(each) - 92 for each in text]  # a is 5

    def decode(self, ids):
        return "".join(chr(i + 92) for i in ids)


@pytest.mark.parametrize(
    ("rows", "codes"),
    [
        (lambda s, t: (s, t), ()),
        (lambda s, t: (s, s), ("target-is-source",)),
        (lambda s, t: (s[:3], t), ("rows-cut-short",)),
        (lambda s, t: (s, t[:3]), ("rows-cut-short",)),
    ],
)
def test_rows_are_looked_up_among_the_pairs(rows, codes):
    words = ["dog", "horse", "tiger", "mouse", "zebra", "eagle", "shark", "whale"]
    pairs = [(a + b, b[::-1] + a) for a in words for b in words[:1]]
    pad = torch.nn.utils.rnn.pad_sequence
    both = [rows(*pair) for pair in pairs]
    source, target = (
        [torch.tensor(Letters().encode(each)) for each in side]
        for side in zip(*both, strict=True)
    )
    target = [torch.cat([torch.tensor([BOS]), e, torch.tensor([EOS])]) for e in target]
    whole = pad(target, batch_first=True)
    batch = (pad(source, batch_first=True), whole[:, :-1], whole[:, 1:])
    given = {"batches": [batch], "pairs": pairs, "tokenizer": Letters(), "loss": None}
    report = examined(made(kind="translates"), given=given, kind="translates")
    assert report.codes == codes, str(report)


# --- what one cause makes of several -------------------------------------------------

TURNED = (
    "a, b = x.chunk(2, dim=-1)\n    return torch.cat([a * cos - b * sin, "
    "a * sin + b * cos], dim=-1)"
)
OTHERS = {  # changes, options, the code, a consequence, and what is said
    "a norm that multiplies": (
        ("x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain",
         "x * torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain",
         "nn.Linear(", "(lambda *a, **_: nn.Linear(*a, bias=False))(",
         "x = self.words(ids)\n", "x = self.words(ids) * 0.001\n"),
        {"positions": "rotary", "norm": "rms"}, "norm-not-normalising",
        "scores-all-equal", "",
    ),
    "one filling for three masks": (
        ("masked_fill(~mask, -math.inf)", "masked_fill(~mask, 1e-9)"),
        {"kind": "translates"}, "mask-fills-weakly", "mask-fills-weakly", "1e-09",
    ),
    "matrices of zeros": (
        ("self.back = nn.Linear(o.width, 40), nn.Linear(40, o.width)",
         "self.back = nn.Linear(o.width, 40), nn.Linear(40, o.width)\n"
         "        nn.init.zeros_(self.up.weight)",
         "self.last(x)", "self.last(x) * self.zero",
         "self.words = nn.Embedding",
         "self.zero = nn.Parameter(torch.zeros(o.width, o.width)[0])\n"
         "        self.words = nn.Embedding"),
        {}, "output-constant", "", "on the input at all: whole matrices are zeros",
    ),
    "tables of neighbours, and halves that turn": (
        (TURNED, "cos, sin = (e.repeat_interleave(2, dim=-1) for e in (cos, sin))\n"
         "    a, b = x.chunk(2, dim=-1)\n"
         "    return x * cos + torch.cat([-b, a], dim=-1) * sin"),
        {"positions": "rotary"}, "rotary-not-relative", "",
        "cat([angles, angles]) where halves are turned",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_one_cause_is_one_finding(name):
    changes, options, code, consequence, says = OTHERS[name]
    report = examined(broken(*changes, **options), **options)
    assert report.codes == (code,), str(report)
    assert not consequence or consequence in {e.code for e in report.consequences}
    assert says in said(report)
