"""The engine writes every text in the pieces that sentencepiece writes it in."""

from __future__ import annotations

import base64
import io
import itertools
import random
import sys
import unicodedata

import pytest
import sentencepiece

from tformer import data
from tformer.pretrained import RELEASED
from tformer.tokenization import Tokenizer

SHORT, LONG = 1500, 5200  # strings: for a small tokenizer, for the released one
TRAINED = {
    f"{algorithm}{' with bytes' if byte_fallback else ''}": (algorithm, byte_fallback)
    for algorithm, byte_fallback in itertools.product(("bpe", "unigram"), (True, False))
}
HOSTILE = [
    "", " ", "\t\n\r ", "\x00", "a\x00b", "\ufeffBOM", "\u200b", "zero\u200bwidth",
    "e\u0301 \u00e9", "a\u0300\u0301\u0302\u0303 stacked", "ﬁ ﬂ ﬃ Ⅻ ½ ² ™ ㎏ ℡",
    "ＦＵＬＬ　ｗｉｄｔｈ", "한국어 각", "ｶﾞ が が", "שלום עולם",
    "مرحبا \u202eabc\u202c",
    "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 👍🏽", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "\U0010ffff\ue000", "\ufffd", "\ufffe\uffff",
    "▁", "▁▁a▁ ▁b▁", "a▁", "<s> </s> <pad> <unk> <0x41>", "⁇ ⁇", "\u2028\u2029\x85\xa0",
    "\u1680\u2000\u3000x\u3000", "\x01\x1f\x7f\x9f", "ß ẞ ſ İ ı", "Ω Ω Å Å", "a" * 300,
    "Donaudampfschifffahrtsgesellschaftskapitän", "\u0344\u0f73", "\u0958\u2adc",
    "  two  blanks  ", "x\u0338=\u0338", "ﷺ ﷽", "①②③ ⒈ ⑴", "‥ … ⋯", "'' `` „“ «»",
]  # fmt: skip


def hostile(chosen, length):
    """A string out of all of Unicode, of its awkward corners, and of words."""
    corners = [*range(0x0, 0x100), *range(0x300, 0x370), *range(0x2000, 0x2070)]
    corners += [*range(0x590, 0x600), *range(0xFB00, 0xFB50), *range(0xFF00, 0xFFF0)]
    corners += [*range(0x1F1E6, 0x1F200), *range(0x1F3FB, 0x1F400), 0x2581, 0xFE0F]
    corners += [
        *range(0xAC00, 0xD7A3, 97),
        *range(0x1100, 0x1200),
        *range(0x3300, 0x3400),
    ]

    def character():
        kind = chosen.random()
        if kind < 0.4:
            return chr(chosen.choice(corners))
        if kind < 0.7:
            return chosen.choice(["the ", "Haus", " ", "  ", "schaft", "ing", ".", "ü"])
        code = chosen.randrange(sys.maxunicode + 1 - 0x800)
        return chr(code if code < 0xD800 else code + 0x800)  # no lone surrogates

    return "".join(character() for _ in range(length))


@pytest.fixture(scope="module")
def sentences():
    """Real sentences of both languages where there are, and generated ones."""
    texts = [text for pair in data.load("grammar").train for text in pair]
    random.Random(0).shuffle(texts)
    for name in ("multi30k", "tatoeba"):
        try:
            pairs = data.load(name).train
        except data.DataUnavailable:
            continue  # not here: generated sentences fill its place
        texts = random.Random(1).sample([*itertools.chain(*pairs)], 1500) + texts
    return texts


def strings(sentences, number):
    """As many different strings: half of them sentences, half of them hostile."""
    chosen = random.Random(2)
    made = list(HOSTILE)
    for text in sentences[: number // 5]:  # real text, roughly handled
        made.append(unicodedata.normalize(chosen.choice(["NFD", "NFKD"]), text))
        place = chosen.randrange(len(text))
        made.append(text[:place] + hostile(chosen, 2) + text[place:].upper())
    made = list(dict.fromkeys(made + sentences[: number // 2]))
    while len(made) < number:
        made.append(hostile(chosen, chosen.randrange(1, 30)))
    return list(dict.fromkeys(made))


@pytest.fixture(scope="module")
def agree(run, engine_folder):
    """``agree(tokenizer, texts)``: hold the engine to Python; how many texts it was."""

    def agree(tokenizer, texts):
        (engine_folder / "spm.model").write_bytes(tokenizer.model_bytes)
        chosen = random.Random(3)
        ids = [tokenizer.encode(text) for text in texts]
        any_id = [
            [
                chosen.randrange(tokenizer.vocab_size)
                for _ in range(chosen.randrange(12))
            ]
            for _ in range(1000)
        ]
        byte_ids = [[chosen.randrange(4, 260) for _ in range(6)] for _ in range(500)]
        lists = [*ids, *any_id, *byte_ids]
        mine = run("tokenize", {"file": "spm.model", "texts": texts, "idLists": lists})
        assert mine["algorithm"] == tokenizer.algorithm
        assert mine["vocabSize"] == tokenizer.vocab_size
        checks = {
            "ids": ids,
            "pieces": [tokenizer.pieces(text) for text in texts],
            "normal": [tokenizer.normalize(text) for text in texts],
            "decoded": [tokenizer.decode(each) for each in lists],
        }
        for name, wanted in checks.items():
            given = lists if name == "decoded" else texts
            wrong = [
                (what, ours, theirs)
                for what, ours, theirs in zip(given, mine[name], wanted, strict=True)
                if ours != theirs
            ]
            assert not wrong, f"{name}: {len(wrong)} of {len(given)}: {wrong[:3]}"
        return len(texts)

    return agree


def test_the_released_tokenizer_writes_thousands_of_strings_alike(agree, sentences):
    tokenizer = Tokenizer.load(RELEASED / "tokenizer.model")
    assert agree(tokenizer, strings(sentences, LONG)) >= 5000


@pytest.mark.parametrize("kind", TRAINED)
def test_fresh_tokenizers_of_each_kind_write_alike(agree, sentences, kind):
    algorithm, byte_fallback = TRAINED[kind]
    tokenizer = Tokenizer.train(
        sentences[:2500], 700, algorithm=algorithm, byte_fallback=byte_fallback
    )
    assert agree(tokenizer, strings(sentences, SHORT)) >= 1000


def test_a_piece_that_spans_words_is_found(agree, sentences):
    """A vocabulary of another making: pieces with blanks inside, no dummy blank."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(sentences[:2000]),
        model_writer=model,
        vocab_size=400,
        model_type="bpe",
        split_by_whitespace=False,
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        normalization_rule_name="identity",
        hard_vocab_limit=False,
        pad_id=0,
        bos_id=1,
        eos_id=2,
        unk_id=3,
        num_threads=1,
        minloglevel=3,
    )
    tokenizer = Tokenizer(model.getvalue())
    assert any("▁" in tokenizer.id_to_piece(i)[1:] for i in range(400))
    agree(tokenizer, strings(sentences, 300))


@pytest.fixture(scope="module")
def small(sentences):
    return Tokenizer.train(sentences[:800], 400)


def test_text_and_ids_that_are_none_are_refused(run, engine_folder, small):
    (engine_folder / "small.model").write_bytes(small.model_bytes)
    units = [[0x61, 0xD83D], [0xDE00, 0x61], [0xD83D, 0xDE00, 0x61, 0xD800, 0x62]]
    said = run("badText", {"file": "small.model", "units": units})
    for message, place in zip(said, (1, 0, 2), strict=False):
        assert "lone surrogate" in message
        assert f"at position {place})" in message
    assert "expected a text, got number" in said[3]
    assert "piece id 400 is outside the vocabulary of 400" in said[4]
    assert "piece id -1 is outside" in said[5]


def test_damaged_tokenizers_are_refused(run, small):
    whole = small.model_bytes
    step = len(whole) // 60
    damaged = [whole[:end] for end in range(0, len(whole), step)]
    damaged += [
        b"not a model",
        whole[len(whole) // 2 :],
        b"\xff" * 200,
        whole + b"\x0a",
    ]
    cases = [base64.b64encode(each).decode() for each in damaged]
    said = run("damagedTokenizers", {"cases": cases})
    for message in said:
        assert message is not None
        assert (
            "not a whole sentencepiece model" in message or "cannot be used" in message
        )
    (fine,) = run("damagedTokenizers", {"cases": [base64.b64encode(whole).decode()]})
    assert fine is None
