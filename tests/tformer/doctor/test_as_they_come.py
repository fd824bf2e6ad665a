"""Models as they come, what they are refused for, and the time that they may take."""

from __future__ import annotations

import time

import pytest
import torch
from cases import admitted, broken
from designs import PAD, USUAL, made
from torch import nn
from torch.nn import functional as F

from tformer import doctor

# --- Hugging Face's classes, and what looks like them --------------------------------

SIZE = {"vocab_size": 60}
SMALL = {**SIZE, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
         "num_attention_heads": 4}  # fmt: skip
PAIR = {**SIZE, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4,
        "encoder_ffn_dim": 32, "decoder_ffn_dim": 32}  # fmt: skip
THEIRS = {  # class, configuration, its arguments, the codes of remarks
    "GPT-2": ("GPT2LMHeadModel", "GPT2Config",
              {**SIZE, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 32}, ()),
    "Llama": ("LlamaForCausalLM", "LlamaConfig",
              {**SMALL, "num_key_value_heads": 2}, ()),
    "Marian": ("MarianMTModel", "MarianConfig",
               {**PAIR, "pad_token_id": 59, "decoder_start_token_id": 59,
                "eos_token_id": 0}, ("embeddings-without-scale",)),
    "BART": ("BartForConditionalGeneration", "BartConfig", PAIR, ()),
    "T5": ("T5ForConditionalGeneration", "T5Config",
           {**SIZE, "d_model": 16, "d_kv": 4, "d_ff": 32, "num_layers": 2,
            "num_heads": 4, "decoder_start_token_id": 0}, ("no-scale",)),
    "BERT": ("BertForMaskedLM", "BertConfig", SMALL, ()),
    "Gemma 2": ("Gemma2ForCausalLM", "Gemma2Config",
                {**SMALL, "num_key_value_heads": 2, "head_dim": 4}, ()),
    "Granite": ("GraniteForCausalLM", "GraniteConfig",
                {**SMALL, "attention_multiplier": 0.1}, ()),
    "OLMo 2": ("Olmo2ForCausalLM", "Olmo2Config", SMALL, ("norm-misplaced",)),
}  # fmt: skip


@pytest.mark.parametrize("name", THEIRS)
def test_nothing_is_found_in_a_hugging_face_model(name):
    import transformers  # which takes seconds

    model_class, config, sizes, remarks = THEIRS[name]
    torch.manual_seed(0)
    made_ = getattr(transformers, config)(**sizes)
    report = doctor.examine(getattr(transformers, model_class)(made_), seconds=None)
    assert report, str(report)
    assert report.to_confirm == remarks


class Config:
    def __init__(self, **ids):
        self.pad_token_id = self.bos_token_id = self.eos_token_id = None
        self.decoder_start_token_id, self.vocab_size = None, 31
        vars(self).update(ids)


class Output(dict):
    """Logits by name and as an attribute, with a loss before them."""

    @property
    def logits(self):
        return self["logits"]


class TheirStyle(nn.Module):
    """Arguments by name, all optional, a mask, an object that comes back."""

    def __init__(self, pad_id=PAD):
        super().__init__()
        self.config = Config(pad_token_id=pad_id, eos_token_id=2, bos_token_id=1)
        self.inner = made(kind="guesses")
        self.seen = []

    def forward(self, input_ids=None, attention_mask=None, labels=None, use_cache=None):
        assert use_cache is False and attention_mask.dtype == torch.long
        self.seen.append((input_ids, attention_mask))
        words = input_ids.masked_fill(attention_mask == 0, PAD)
        return Output(loss=None, logits=self.inner(words))


class TheirMaskedLM(TheirStyle):
    """Its name says that it guesses, as theirs do."""


class TheirPair(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = Config(pad_token_id=PAD, eos_token_id=2, decoder_start_token_id=4)
        self.inner = made(kind="translates")
        self.begins = set()

    def forward(self, input_ids=None, attention_mask=None, decoder_input_ids=None):
        assert bool((attention_mask == (input_ids != PAD)).all())
        self.begins.add(int(decoder_input_ids[0, 0]))
        return Output(logits=self.inner(input_ids, decoder_input_ids))


def test_a_model_with_arguments_by_name_is_called_by_name():
    assert doctor.examine(TheirMaskedLM(), seconds=None)
    assert doctor.examine(TheirStyle(), seconds=None).to_confirm == ("future-leak",)
    model = TheirPair()
    report = doctor.examine(model, seconds=None)
    assert report and not report.to_confirm, str(report)
    assert 4 in model.begins


def test_padding_is_what_the_configuration_says():
    model = TheirMaskedLM(pad_id=9)
    assert doctor.examine(model, seconds=None)
    for ids, mask in model.seen:
        assert bool((mask == (ids != 9)).all())


def test_a_place_to_start_from_is_zero():
    class Cached(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = made()

        def forward(self, tokens, start_pos):
            assert start_pos == 0
            return self.inner(tokens)

    report = doctor.examine(Cached(), seconds=None)
    assert report and "sides" not in report.sound, str(report)


# --- what cannot be examined ---------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: nn.Sequential(nn.Embedding(9, 8), nn.LazyLinear(9)), "run the lazy"),
        (lambda: made().to("meta"), "is on the meta device, so it has no numbers"),
    ],
)
def test_a_model_without_numbers_gets_one_clear_message(make, said):
    with pytest.raises(doctor.CannotExamine, match=said) as caught:
        doctor.examine(make())
    assert "\n" not in str(caught.value)


def test_a_model_without_attention_is_not_called_sound():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.state = nn.Embedding(20, 16), nn.LSTM(16, 16)
            self.head = nn.Linear(16, 20)

        def forward(self, ids):
            return self.head(self.state(self.words(ids).transpose(0, 1))[0]).transpose(
                0, 1
            )

    report = doctor.examine(Recurrent(), seconds=None)
    assert "no attention was seen" in str(report).splitlines()[0]


@pytest.mark.parametrize("training", [True, False])
def test_a_traced_model_is_examined_and_left_in_its_mode(training):
    model = made().train(training)
    traced = torch.jit.trace(model, torch.ones(1, 7, dtype=torch.long))
    modes = [each.training for each in traced.modules()]
    doctor.examine(traced, seconds=None, vocab_size=31)
    assert [each.training for each in traced.modules()] == modes


def test_a_tokenizer_of_letters_is_tried_with_the_text_that_it_knows():
    class Letters:
        letters = "abcdefghijklmnopqrst "

        def encode(self, text):
            return [self.letters.index(letter) + 5 for letter in text]

        def decode(self, ids):
            return "".join(self.letters[i - 5] for i in ids)

    class Losing(Letters):
        def decode(self, ids):
            return super().decode(ids).replace("a", "b")

    ids = torch.arange(5, 25).view(2, 10)
    given = {"batches": [(ids[:, :-1], ids[:, 1:])], "seconds": None}
    report = doctor.examine(made(), tokenizer=Letters(), **given)
    assert report and "tokenizer" in report.sound, str(report)
    report = doctor.examine(made(), tokenizer=Losing(), **given)
    assert report.codes == ("tokenizer-loses-text",)


# --- half precision, and the budget --------------------------------------------------


def test_a_model_in_half_precision_keeps_its_memory():
    model = made(dtype=torch.bfloat16, tied=True)
    model.head.weight.grad = torch.ones_like(model.head.weight)
    before = {n: (p.data_ptr(), p.clone()) for n, p in model.named_parameters()}
    assert doctor.examine(model, seconds=None)
    for name, parameter in model.named_parameters():
        at, value = before[name]
        assert parameter.data_ptr() == at and torch.equal(parameter, value)
    assert model.head.weight.grad.dtype == torch.bfloat16


def test_the_budget_is_kept_and_what_was_not_reached_is_told():
    class Slow(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = made()

        def forward(self, ids):
            until = time.process_time() + 0.05
            while time.process_time() < until:
                pass
            return self.inner(ids)

    began = time.process_time()
    report = doctor.examine(Slow(), seconds=1.0)
    assert time.process_time() - began < 5
    late = [e.examination for e in report.not_tried if "no time left" in e.reason]
    assert late and not set(late) & set(report.sound)
    assert "padding" in late
    assert "no time left (seconds=…)" in str(report)


def test_a_wide_vocabulary_takes_a_moment():
    model = made()
    assert USUAL["width"] == 16
    words = nn.Embedding(250_000, 16)
    model.stack.words, model.head = words, nn.Linear(16, 250_000)
    began = time.process_time()
    report = doctor.examine(model, seconds=None)
    assert report, str(report)
    assert time.process_time() - began < 30


# --- a step of training, accumulation, data ------------------------------------------


def step_of(order="zero backward clip step", *, mode=True, sign=1, cut=False, labels=0,
            asked=1, block=48):  # fmt: skip
    """A GPT whose step of training does these things in order."""
    size = ("IGNORE = 37, 48", f"IGNORE = 37, {block}")
    model, given = admitted("gpt", broken("gpt", *size))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def train_step(model, batch):
        if mode is not None:
            model.train(mode)
        logits = model(batch[labels])[0]
        logits = logits.detach().requires_grad_() if cut else logits
        loss = F.cross_entropy(logits.flatten(0, 1), batch[asked].flatten())
        doing = {
            "zero": optimizer.zero_grad,
            "backward": (sign * loss).backward,
            "clip": lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1),
            "step": optimizer.step, "eval": model.eval,
        }  # fmt: skip
        for each in order.split():
            doing[each]()

    return model, given | {"optimizer": optimizer, "train_step": train_step}


@pytest.mark.parametrize(
    ("how", "codes", "says"),
    [
        ({}, (), ""),
        ({"order": "backward clip step zero"}, (), ""),
        ({"order": "backward clip step"}, ("gradients-never-zeroed",), ""),
        ({"order": "zero backward"}, ("step-moves-nothing",), "no optimizer stepped"),
        (
            {"order": "zero step backward"},
            ("step-moves-nothing",),
            "before any gradient",
        ),
        ({"order": "backward zero step"}, ("step-moves-nothing",), "were gone when"),
        ({"cut": True}, ("step-moves-nothing",), "No gradient arrived"),
        ({"order": "zero backward step clip"}, ("clipped-after-step",), "cut to 0.1"),
        ({"order": "zero backward step step"}, ("steps-twice",), "stepped 2 times"),
        ({"order": "zero clip backward step"}, ("clipped-too-early",), "no gradient"),
        ({"mode": False}, ("trains-in-eval-mode",), "nothing was struck out"),
        (
            {"mode": None, "order": "zero backward step eval"},
            ("trains-in-eval-mode",),
            "in the second step nothing",
        ),
        ({"order": "zero backward step eval"}, (), ""),
        ({"asked": 0}, ("step-scores-its-input",), "what it reads as labels"),
        ({"sign": -1}, ("loss-goes-up",), "the loss rises"),
        ({"labels": 1}, ("step-reads-labels",), "the labels of the batch"),
        ({"block": 15}, ("train-step-stops",), "of length 16; it takes up to 15"),
    ],
)
def test_a_step_of_training_is_looked_into_and_undone(how, codes, says):
    model, given = step_of(**how)
    before = [each.clone() for each in model.parameters()]
    report = doctor.examine(model, seconds=None, **given)
    assert report.codes == codes and says in " ".join(f.seen for f in report.findings)
    assert all(map(torch.equal, before, model.parameters()))
    assert not given["optimizer"].state


def test_a_step_that_accumulates_over_several_calls_is_sound():
    model, given = step_of("backward")
    calls = iter(range(99))

    def train_step(model, batch):
        backward(model, batch)
        if next(calls) % 4 == 3:
            given["optimizer"].step()
            given["optimizer"].zero_grad()

    backward, given["train_step"] = given["train_step"], train_step
    assert doctor.examine(model, **given)


@pytest.mark.parametrize("divisor", [1, 3])
@pytest.mark.parametrize("clips", [True, False])
def test_a_step_that_takes_its_batch_in_parts_averages_them(divisor, clips):
    model, given = step_of()
    del given["gradients"]

    def train_step(model, batch):
        given["optimizer"].zero_grad()
        for ids, labels in zip(*(each.chunk(3) for each in batch), strict=True):
            (given["loss"](model(ids)[0], labels) / divisor).backward()
        if clips:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        given["optimizer"].step()

    given |= {"train_step": train_step, "forward": lambda model, ids: model(ids)[0]}
    report = doctor.examine(model, seconds=None, **given)
    wanted = ("accumulation-not-averaged",) if divisor == 1 else ()
    assert report.codes == wanted, str(report)


def test_a_step_of_training_leaves_the_tables_to_be_compared():
    model, given = step_of()
    model.wte.weight = nn.Parameter(model.wte.weight.detach().clone())
    assert doctor.examine(model, **given).codes == ("not-in-optimizer", "untied-tables")


def test_a_backward_pass_after_the_loop_is_told_from_a_mean_of_means():
    def last_only(model, parts):
        for ids, labels in parts:
            loss = model(ids, labels)[1] / len(parts)
        loss.backward()

    model, given = admitted("gpt")
    given["gradients"] = last_only
    report = doctor.examine(model, seconds=None, **given)
    assert report.codes == ("accumulation-keeps-last",)


@pytest.mark.parametrize(
    ("zero", "codes"), [(False, ()), (True, ("accumulation-keeps-last",))]
)
def test_accumulation_in_training_mode_is_compared_without_dropout(zero, codes):
    def accumulate(model, parts):
        model.train()
        for ids, labels in parts:
            if zero:
                model.zero_grad()
            (model(ids, labels)[1] / len(parts)).backward()

    model, given = admitted("gpt")
    report = doctor.examine(model, seconds=None, **given | {"gradients": accumulate})
    assert report.codes == codes and "accumulation: " not in str(report)


def rows_of(lengths_t, *, n=24, seed=0):
    """Batches of sources of various lengths, beside targets of the lengths given."""
    g = torch.Generator().manual_seed(seed)
    lengths = torch.randint(3, 9, (n,), generator=g).tolist()
    rows = [[4 + (i * 7 + k) % 26 for k in range(w)] for i, w in enumerate(lengths)]
    others = [[4 + (i * 5 + k) % 26 for k in range(w)]
              for i, w in enumerate(lengths_t(lengths))]  # fmt: skip

    def batch(part):
        def table(rows):
            return torch.tensor([row + [0] * (9 - len(row)) for row in rows[part]])

        labels = table([[*row, 2] for row in others])
        read = torch.cat([torch.ones(len(labels), 1).long(), labels[:, :-1]], dim=1)
        return table(rows), read, labels

    return [batch(slice(i, i + 8)) for i in range(0, n, 8)]


@pytest.mark.parametrize(
    ("lengths_t", "codes", "confirm"),
    [
        (list, (), ()),
        (lambda sizes: [sizes[-1], *sizes[:-1]], ("pairs-torn-apart",), ()),
        (lambda sizes: sizes[::2] + sizes[1::2], (), ("pairs-torn-apart",)),
    ],
    ids=["together", "shifted", "shuffled"],
)
def test_lengths_that_do_not_go_together_are_told(lengths_t, codes, confirm):
    model, given = admitted("annotated")
    report = doctor.examine(model, **given | {"batches": rows_of(lengths_t)})
    assert (report.codes, report.to_confirm) == (codes, confirm), str(report)


@pytest.mark.parametrize("torn", [True, False])
def test_sources_that_were_shuffled_without_their_targets_are_told(torn):
    model, given = admitted("torch_wrapper")
    [(source, read, labels), *_] = given["batches"]
    pairs = [(s.tolist(), t.tolist()) for s, t in zip(source, labels, strict=True)]
    given["batches"] = [(source.roll(1, 0) if torn else source, read, labels)]
    report = doctor.examine(model, seconds=None, **{**given, "pairs": pairs})
    assert report.codes == (("pairs-torn-apart",) if torn else ()), str(report)


@pytest.mark.parametrize("shared", [True, False])
def test_a_test_set_of_ids_is_looked_up_in_training(shared):
    model, given = admitted("torch_wrapper")
    first, *others = given["batches"]
    given["batches"] = [*others, first] if shared else others
    report = doctor.examine(model, seconds=None, **given, test_batches=[first])
    assert report.codes == (("train-test-overlap",) if shared else ()), str(report)


def test_rows_that_differ_in_a_sign_among_their_words_are_not_one():
    model, given = admitted("torch_wrapper")
    [(source, read, labels), *_] = given["batches"]
    known, test = source.clone(), source.clone()
    known[:, 1], test[:, 1] = 0, 1  # as where a word has the id of a sign
    given["batches"] = [(known, read, labels)]
    report = doctor.examine(model, **given, test_batches=[(test, read, labels)])
    assert "train-test-overlap" not in report.codes, str(report)


@pytest.mark.parametrize(("begin", "codes"), [(3, ("train-test-overlap",)), (70, ())])
def test_windows_of_one_text_are_laid_over_each_other(begin, codes):
    model, given = admitted("gpt")
    text = torch.cat([given["batches"][0][0].flatten(), torch.arange(30) % 37])
    test = text[begin : begin + 16][None]
    report = doctor.examine(model, **given, test_batches=[(test, test)])
    assert report.codes == codes, str(report)


@pytest.mark.parametrize("apart", [True, False])
def test_labels_from_another_place_of_the_text_are_told(apart):
    model, given = admitted("gpt")
    generator = torch.Generator().manual_seed(0)
    often = torch.multinomial(torch.arange(1.0, 9), 600, True, generator=generator)
    starts = torch.randint(0, 580, (2, 32), generator=generator).tolist()
    rows = [[often[i : i + 10] for i in each] for each in starts]
    read, other = (torch.stack(each) + 4 for each in rows)
    text = other if apart else read
    given["batches"] = [(read[:, :9], text[:, 1:])]
    report = doctor.examine(model, **given)
    assert ("labels-from-elsewhere" in report.codes) is apart, str(report)


class Words:
    """A vocabulary of whole words, as long as its language's."""

    def __init__(self, text, n):
        self.words = ["<pad>", "<s>", "</s>", "<unk>", *sorted(set(text.split()))]
        self.words += ["" for _ in range(n - len(self.words))]

    def encode(self, text):
        known = [word if word in self.words else "<unk>" for word in text.split()]
        return [self.words.index(word) for word in known]

    def decode(self, ids):
        return " ".join(self.words[i] for i in ids)


def test_each_of_two_vocabularies_has_its_tokenizer():
    model, given = admitted("d2l")
    n_source, n_target = given["vocab_size"]
    assert n_source != n_target
    pairs = [("a man runs", "ein mann rennt"), ("two dogs play", "zwei hunde spielen")]
    sides = [" ".join(side) for side in zip(*pairs, strict=True)]
    source, target = (
        Words(text, n) for text, n in zip(sides, (n_source, n_target), strict=True)
    )
    given.pop("batches", None)
    options = {**given, "pairs": pairs, "seconds": None}
    one = doctor.examine(model, tokenizer=target, **options)
    [told] = [each for each in one.not_tried if each.examination == "tokenizer"]
    assert "the tokenizer of one" in told.reason and not one.codes
    both = doctor.examine(model, tokenizer=(source, target), **options)
    assert "tokenizer" in both.sound, str(both)
    wrong = doctor.examine(model, tokenizer=(source, source), **options)
    assert not wrong.codes
    turned = doctor.examine(model, tokenizer=(target, source), **options)
    assert turned.codes == ("tokenizer-loses-text",)
