"""Parts of a model that were made wrongly, each beside a sound one that looks alike."""

from __future__ import annotations

import math

import pytest
import torch
from cases import examined as patient
from designs import BOS, EOS, PAD, made
from test_designs import batches_of, broken, examined

GUESSES = {"kind": "guesses"}
FAULTS = {  # changes, options, and the code
    "ALiBi that favours distance": (
        ("-slopes[:, None, None] * apart.abs()", "slopes[:, None, None] * apart.abs()"),
        {"positions": "alibi"}, "distance-favoured",
    ),
    "distances to one side only": (
        ("(apart + 32).clamp(0, 63)", "apart.clamp(0, 31) + 32"),
        {"positions": "relative", **GUESSES}, "positions-one-sided",
    ),
    "distances to the other side only": (
        ("(apart + 32).clamp(0, 63)", "apart.clamp(-31, 0) + 32"),
        {"positions": "relative", **GUESSES}, "positions-one-sided",
    ),
    "positions that are zero and frozen": (
        ("self.places.weight.requires_grad_(False)",
         "nn.init.zeros_(self.places.weight).requires_grad_(False)"),
        {"positions": "frozen"}, "no-positions",
    ),
    "one place for all": (
        ("self.places(torch.arange(ids.size(1)))",
         "self.places(torch.zeros_like(ids))"), {}, "no-positions",
    ),
    "words as places": (
        ("self.places(torch.arange(ids.size(1)))", "self.places(ids)"), {},
        "no-positions",
    ),
    "words times the width": (
        ("x = x * self.o.width**0.5", "x = x * self.o.width"),
        {"more": "scaled words", "width": 32}, "embeddings-drown-positions",
    ),
    "a narrow network": (
        ("nn.Linear(o.width, 40), nn.Linear(40, o.width)",
         "nn.Linear(o.width, 4), nn.Linear(4, o.width)"), {}, "feed-forward-narrow",
    ),
    "an eps of 1": (
        ("make(o.width) for", "make(o.width, eps=1.0) for"), {}, "norm-eps-too-large"
    ),
    "values from the keys' half": (
        ("self.to_key = nn.Linear(latent, groups * self.size)",
         "self.to_key = nn.Linear(latent, 2 * groups * self.size)",
         "k = self.split(self.to_query(x)), self.split(self.to_key(read))",
         "k = (self.split(e(r).chunk(h, -1)[0]) for e, r, h in "
         "((self.to_query, x, 1), (self.to_key, read, 2)))",
         "v = self.split(self.to_value(read))", "v = k",
         "        self.to_value = nn.Linear(latent, groups * self.size)\n", ""),
        {}, "values-are-keys",
    ),
    "a bias after the softmax": (
        ("scores = scores + self.places(q.size(2)).to(q)", "pass",
         "weights = scores.softmax(dim=-1)[..., : k.size(2)]",
         "weights = scores.softmax(dim=-1) + self.places(q.size(2))"),
        {"positions": "relative", **GUESSES}, "bias-after-softmax",
    ),
    "the norm is added, too": (
        ("return self.out(mixed)", "return x + self.out(mixed)"), {}, "norm-added-too",
    ),
    "a ReLU around the sum": (
        ("x + gate * self.drop(sublayer(self.norms[i](x)))",
         "F.relu(x + gate * self.drop(sublayer(self.norms[i](x))))"), {},
        "stream-bent",
    ),
    "dropout on the sums with the attention": (
        ("x + gate * self.drop(sublayer(self.norms[i](x)))",
         "(self.drop(x + sublayer(self.norms[i](x))) if not i else "
         "x + sublayer(self.norms[i](x)))"), {"layers": 3}, "dropout-on-stream",
    ),
    "a mask of 0 and 1 that is added": (
        ("masked_fill(~mask, -math.inf)", "add(mask.float())"), GUESSES,
        "mask-fills-weakly",
    ),
    "a mask of another id": (
        ("mask & (ids != PAD)", "mask & (ids != BOS)"), GUESSES, "mask-of-another-id",
    ),
    "the start sign hidden": (
        ("mask = mask.tril()", "mask = mask.tril() & (ids != BOS)[:, None, None]",
         "-math.inf", "-1e9"), {}, "mask-hides-signs",
    ),
    "a cache that single words meet": (
        ("        if o.qk_norm:",
         "        if k.size(2) == 1 and hasattr(self, 'old'):\n"
         "            k, v = (torch.cat([a, b], 2) for a, b in zip(self.old, (k, v)))\n"
         "            mask = mask.new_ones(1, k.size(2))\n"
         "        self.old = k, v\n        if o.qk_norm:"),
        {"positions": "none"}, "state-between-calls",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_part_that_was_made_wrongly_is_named(name):
    change, options, code = FAULTS[name]
    given = {"bos_id": BOS, "pad_id": PAD}
    report = examined(broken(*change, **options), given=given, **options)
    assert report.codes == (code,), str(report)


SOUND = {
    "keys that serve as values": (
        ("v = self.split(self.to_value(read))", "v = k",
         "        self.to_value = nn.Linear(latent, groups * self.size)\n", ""),
        {}, ["values-are-keys"],
    ),
    "a distance that is clamped on both sides": (
        ("(apart + 32).clamp(0, 63)", "apart.clamp(-2, 2) + 2"),
        {"positions": "relative", **GUESSES}, [],
    ),
    "dropout on the embeddings and at the end": (
        ("return self.last(x)", "return F.dropout(self.last(x), 0.1, self.training)",
         "        for layer in self.layers:",
         "        x = F.dropout(x, 0.1, self.training)\n"
         "        for layer in self.layers:"), {}, [],
    ),
    "a network half as wide again": (
        ("nn.Linear(o.width, 40), nn.Linear(40, o.width)",
         "nn.Linear(o.width, 24), nn.Linear(24, o.width)"), {}, [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_what_looks_like_such_a_part_is_sound(name):
    change, options, remarks = SOUND[name]
    report = examined(broken(*change, **options), **options)
    assert report and [*report.to_confirm] == remarks, str(report)


def test_a_table_of_waves_without_its_cosines_is_named():
    report = patient("d2l", ("self.P[:, :, 1::2]", "self.P[:, :, 0::2]"))
    assert report.codes == ("positions-missing",), str(report)


SCHEDULES = {
    "a short cosine": (lambda s: 1 + math.cos(math.pi * s / 100), "rate-rises-again"),
    "a warm-up and a short cosine": (
        lambda s: min(s / 20, 1) * (1 + math.cos(math.pi * s / 110)),
        "rate-rises-again",
    ),
    "a cosine": (lambda s: min(s / 20, 1) * (1 + math.cos(math.pi * s / 301)), ""),
    "warm restarts": (
        lambda s: min(s / 20, 1) * (1 + math.cos(math.pi * (s % 110) / 110)),
        "",
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_rate_that_rises_again_is_named(name):
    schedule, code = SCHEDULES[name]
    report = examined(given={"schedule": schedule, "steps": 300})
    assert report.codes == ((code,) if code else ()), str(report)


def test_a_rate_for_fine_tuning_is_to_be_confirmed():
    model = made()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-7)
    report = examined(model, given={"optimizer": optimizer})
    assert report and report.to_confirm == ("adam-hardly-moves",), str(report)


def summed(logits, labels):
    flat, wanted = logits.flatten(0, 1), labels.flatten()
    return torch.nn.functional.cross_entropy(
        flat, wanted, ignore_index=-100, reduction="sum"
    )


def mean(logits, labels):
    return summed(logits, labels) / (labels >= 0).sum()


@pytest.mark.parametrize(
    ("loss", "parts", "code"),
    [
        (summed, 2, "loss-not-averaged"),
        (mean, 1, "accumulation-not-averaged"),
        (mean, 2, "accumulation-not-weighted"),
    ],
)
def test_accumulating_is_told_from_the_loss_itself(loss, parts, code):
    def gradients(model, batches):
        for ids, labels in batches:
            n = len(batches) if parts > 1 else 1
            (loss(model(ids), labels) / n).backward()

    rows = [(ids, labels.clone()) for ids, labels in batches_of()]
    for _, labels in rows:
        labels[:3, 3:] = -100
    given = {"gradients": gradients, "loss": loss, "batches": rows}
    report = examined(given=given)
    assert report.codes == (code,), str(report)


@pytest.mark.parametrize("calls", [True, False])
def test_a_step_after_the_loop_in_eval_mode_is_remarked(calls):
    def decode(model, source):
        model.eval()
        ids = torch.full((len(source), 1), BOS)
        while not bool((ids == EOS).any(dim=1).all()) and ids.size(1) < 12:
            new = model(source, ids)[:, -1].argmax(-1, keepdim=True)
            done = (ids == EOS).any(dim=1, keepdim=True)
            ids = torch.cat([ids, new.masked_fill(done, PAD)], dim=1)
        return ids

    model = made(kind="translates")
    optimizer = torch.optim.AdamW(model.parameters())

    def step(model, batch):
        if calls:
            model.train()
        optimizer.zero_grad()
        *read, labels = batch
        mean(model(*read), labels).backward()
        optimizer.step()

    given = {"decode": decode, "train_step": step, "optimizer": optimizer}
    report = examined(model, given=given, kind="translates")
    told = () if calls else ("trains-in-eval-mode",)
    assert report and report.to_confirm == told, str(report)


class Closed:
    """Letters that have ids; others are unknown, or become a word's if not `own`."""

    def __init__(self, own):
        self.own = own

    def encode(self, text):
        return [ord(e) - 92 if "a" <= e <= "y" else 3 for e in text.lower()]

    def decode(self, ids):
        return "".join(chr(i + 92 + (not self.own)) for i in ids if i > 4)


@pytest.mark.parametrize("own", [True, False])
def test_a_closed_alphabet_is_to_be_confirmed_where_its_texts_come_back(own):
    report = examined(given={"tokenizer": Closed(own)})
    told = report.to_confirm if own else report.codes
    assert told == ("tokenizer-loses-text",) and bool(report) is own, str(report)


@pytest.mark.parametrize("both", [True, False])
def test_layers_that_one_side_alone_shares_are_a_finding(both):
    change = (
        "self.encoder, self.decoder = Stack(o), Stack(o, crosses=True)",
        "self.encoder, self.decoder = Stack(o), Stack(o, crosses=True)\n"
        "        for each in (self.encoder, self.decoder)[not o.shared :]:\n"
        "            each.layers = nn.ModuleList([each.layers[0]] * o.layers)",
    )
    options = {"kind": "translates", "shared": both}
    report = examined(broken(*change, **options), **options)
    told = report.to_confirm if both else report.codes
    assert told == ("layers-shared",) and bool(report) is both, str(report)
