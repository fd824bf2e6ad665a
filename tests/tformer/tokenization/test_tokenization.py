"""The tokenizer writes any text and reads it back."""

from __future__ import annotations

import string
import subprocess
import sys
import unicodedata

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tformer import data
from tformer.tokenization import Tokenizer

TEXT = st.text(st.characters(exclude_categories=("Cs",)))  # all but surrogates
VOCAB_SIZE = 600


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    corpus = data.load("grammar")
    return [sentence for pair in corpus.train[:1500] for sentence in pair]


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request: pytest.FixtureRequest, sentences: list[str]) -> Tokenizer:
    return Tokenizer.train(sentences, VOCAB_SIZE, algorithm=request.param)


# Any text there and back


@given(text=TEXT)
@settings(max_examples=400)
@example("")
@example(" ")
@example("  two  blanks  ")
@example("\u2581")
@example("a\u2581b \u2581")
@example("<s>the</s>")
@example("<pad><unk><0x41>")
@example("a\0b")
@example("\0")
@example("\x01\x7f\x85\ufeff\u200b\u200d")
@example("line\nfeed\r\n\ttab\u2028\u00a0")
@example("e\u0301 \u0301 ﬁ ½ Ⅳ")
@example("\u2585 ⁇ \ufffd \ufffe \U0010ffff")
@example("日本 😀 👩‍👩‍👧 नमस्ते")
def test_decoding_gives_back_the_normalized_text(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == tokenizer.normalize(text)


@given(text=TEXT)
@settings(max_examples=200)
def test_text_never_becomes_a_special_id(tokenizer, text) -> None:
    assert not {0, 1, 2, 3} & set(tokenizer.encode(text + "<s></s><pad><unk>"))


@given(
    words=st.lists(st.text(string.ascii_letters + "äöüßÄÖÜ.,?!'0123456789", min_size=1))
)
def test_normalizing_leaves_ordinary_text_as_it_is(tokenizer, words):
    text = " ".join(words)
    assert tokenizer.normalize(text) == text
    assert tokenizer.normalize(f"  {text} \n") == text


@given(text=st.text(st.characters(categories=("L", "N", "P", "Zs"))))
@settings(max_examples=200)
def test_normalizing_is_unicode_s_compatible_composition_with_single_blanks(
    tokenizer, text
) -> None:
    # Python's and sentencepiece's tables are of different Unicode versions: compare
    # only what both know, that is, what the older one changes at all.
    ours = tokenizer.normalize(text)
    assert "  " not in ours
    assert ours == ours.strip(" ")
    if text.isascii():
        assert ours == " ".join(unicodedata.normalize("NFKC", text).split())


def test_known_forms_are_brought_to_one(tokenizer) -> None:
    assert tokenizer.normalize("e\u0301 ﬁ ² …") == "é fi 2 ..."
    assert tokenizer.normalize("a\t b\u00a0c\n") == "a b c"


def test_no_text_has_no_ids(tokenizer) -> None:
    assert tokenizer.encode("") == tokenizer.encode(" \n\t") == []
    assert tokenizer.decode([]) == ""


def test_ten_thousand_characters_are_only_a_long_text(tokenizer) -> None:
    for text in ("x" * 10_000, "the dog " * 1_250):
        assert tokenizer.decode(tokenizer.encode(text)) == text.strip()


def test_pieces_and_ids_are_two_spellings_of_one_thing(tokenizer) -> None:
    text = "The old dog Ω crosses the street."
    pieces = tokenizer.pieces(text)
    assert [tokenizer.id_to_piece(i) for i in tokenizer.encode(text)] == pieces
    assert pieces[0].startswith("▁")
    assert "<0xCE>" in pieces  # Ω is in no training sentence: it is written as bytes


def test_encoding_all_equals_encoding_each(tokenizer, sentences):
    texts = ["", *sentences[:50], "\u2581 😀"]
    assert tokenizer.encode_all(texts) == [tokenizer.encode(text) for text in texts]
    assert tokenizer.encode_all([]) == []


def test_frequent_words_are_one_piece_and_text_gets_shorter(tokenizer, sentences):
    assert tokenizer.pieces("the") == ["▁the"]
    n_pieces = sum(len(ids) for ids in tokenizer.encode_all(sentences))
    assert n_pieces < sum(map(len, sentences)) / 2


# Ids


def test_special_ids_are_0_to_3_and_decoding_skips_them(tokenizer) -> None:
    assert (tokenizer.pad_id, tokenizer.bos_id) == (0, 1)
    assert (tokenizer.eos_id, tokenizer.unk_id) == (2, 3)
    ids = tokenizer.encode("The dog sleeps.")
    assert tokenizer.decode([1, *ids, 2, 0]) == "The dog sleeps."
    assert tokenizer.decode(torch.tensor(ids)) == "The dog sleeps."


@given(ids=st.lists(st.integers(0, VOCAB_SIZE - 1)))
def test_any_ids_of_the_vocabulary_decode_to_valid_text(tokenizer, ids):
    tokenizer.decode(ids).encode("utf-8")  # lone bytes become U+FFFD, nothing raises


@pytest.mark.parametrize("bad", [-1, VOCAB_SIZE, 10**6, 2**40])
def test_an_id_outside_the_vocabulary_is_named(tokenizer, bad) -> None:
    with pytest.raises(ValueError, match=f"{bad} is outside the vocabulary of 600"):
        tokenizer.decode([5, bad])
    with pytest.raises(ValueError, match="outside the vocabulary"):
        tokenizer.id_to_piece(bad)


@pytest.mark.parametrize("bad", [[1.5], ["a"], [None], [[3]]])
def test_ids_that_are_no_integers_are_a_type_error(tokenizer, bad):
    with pytest.raises(TypeError, match="must be integers"):
        tokenizer.decode(bad)


def test_decoding_a_text_is_a_type_error_that_helps(tokenizer) -> None:
    with pytest.raises(TypeError, match="did you mean encode"):
        tokenizer.decode("Hund")


def test_a_lone_surrogate_is_named_with_its_position(tokenizer) -> None:
    for call in (tokenizer.encode, tokenizer.pieces, tokenizer.normalize):
        with pytest.raises(ValueError, match=r"U\+D83D at position 2"):
            call("ab\ud83d")
    with pytest.raises(ValueError, match="lone surrogate"):
        tokenizer.encode_all(["fine", "\udc00"])


@pytest.mark.parametrize("bad", [None, 3, b"bytes", ["list"]])
def test_what_is_no_text_is_a_type_error(tokenizer, bad) -> None:
    with pytest.raises(TypeError, match="expected a text"):
        tokenizer.encode(bad)


# Learning


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_equal_sentences_give_equal_bytes(sentences, algorithm) -> None:
    first = Tokenizer.train(sentences, 500, algorithm=algorithm)
    second = Tokenizer.train(iter(sentences), 500, algorithm=algorithm)
    assert first.model_bytes == second.model_bytes
    assert first.fingerprint == second.fingerprint
    assert first.algorithm == algorithm
    assert first.vocab_size == 500
    other = Tokenizer.train(sentences[:-100], 500, algorithm=algorithm)
    assert other.fingerprint != first.fingerprint


def test_a_sentence_that_the_trainer_would_drop_is_not_skipped() -> None:
    marked = ["zebra\tzebra \u2585 zebra\nzebra"] * 50
    for lines in (marked, ["zebra " * 2_000]):
        assert Tokenizer.train(lines, 271).pieces("zebra") == ["▁zebra"]


def test_without_byte_fallback_unknown_characters_are_unk(sentences) -> None:
    tokenizer = Tokenizer.train(sentences, 400, byte_fallback=False)
    assert tokenizer.unk_id not in tokenizer.encode("".join(set("".join(sentences))))
    ids = tokenizer.encode("the Ω")
    assert ids[-1] == tokenizer.unk_id
    assert "⁇" in tokenizer.decode(ids)


@pytest.mark.parametrize("nothing", [[], [""], ["", " \n", "\t"]])
def test_no_text_to_learn_from_is_said_so(nothing) -> None:
    with pytest.raises(ValueError, match="no text to learn a vocabulary from"):
        Tokenizer.train(nothing, 1000)


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_too_large_a_vocabulary_names_one_that_can_be_reached(sentences, algorithm):
    with pytest.raises(ValueError, match=r"vocab_size=50000 is too large") as caught:
        Tokenizer.train(sentences[:60], 50_000, algorithm=algorithm)
    reachable = int(str(caught.value).split("at most ")[1].split()[0])
    tokenizer = Tokenizer.train(sentences[:60], reachable, algorithm=algorithm)
    assert tokenizer.vocab_size == reachable


def test_too_small_a_vocabulary_names_one_that_suffices(sentences) -> None:
    with pytest.raises(ValueError, match=r"vocab_size=262 is too small") as caught:
        Tokenizer.train(sentences, 262)
    needed = int(str(caught.value).split("alone need ")[1].split(";")[0])
    assert Tokenizer.train(sentences, needed).vocab_size == needed
    with pytest.raises(ValueError, match="260 ids are taken"):
        Tokenizer.train(sentences, 260)


def test_bad_settings_are_named(sentences) -> None:
    with pytest.raises(ValueError, match="'bpe' or 'unigram', got 'word'"):
        Tokenizer.train(sentences, 500, algorithm="word")
    with pytest.raises(ValueError, match=r"character_coverage=2\.0"):
        Tokenizer.train(sentences, 500, character_coverage=2.0)
    with pytest.raises(TypeError, match="vocab_size must be an int, got float"):
        Tokenizer.train(sentences, 500.0)
    with pytest.raises(TypeError, match="got one text"):
        Tokenizer.train("one text", 500)


def test_a_sentence_that_is_no_text_is_named_by_its_number() -> None:
    with pytest.raises(TypeError, match="sentence 1: expected a text"):
        Tokenizer.train(["fine", None], 500)
    with pytest.raises(ValueError, match=r"sentence 2: .*lone surrogate"):
        Tokenizer.train(["fine", "fine", "\ud800"], 500)


def test_an_error_in_the_reader_s_generator_comes_through() -> None:
    def broken(n: int):
        yield from ["a sentence that is fine"] * n
        raise OSError("the disk is gone")

    for n in (1, 100):  # even if what came before the error would be enough
        with pytest.raises(OSError, match="the disk is gone"):
            Tokenizer.train(broken(n), 285)


def test_learning_writes_nothing_on_the_screen() -> None:
    code = (
        "from tformer.tokenization import Tokenizer\n"
        "text = ['the dog sees the cat', 'der Hund sieht die Katze'] * 9\n"
        "Tokenizer.train(text, 290)\n"
        "try: Tokenizer.train(text, 9000, algorithm='unigram')\n"
        "except ValueError: pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# Files


def test_saving_and_loading_change_nothing(tokenizer, tmp_path) -> None:
    tokenizer.save(tmp_path / "tokenizer.model")
    loaded = Tokenizer.load(tmp_path / "tokenizer.model")
    assert loaded.fingerprint == tokenizer.fingerprint
    assert loaded.algorithm == tokenizer.algorithm
    text = "Der Hund überquerte die Straße nicht."
    assert loaded.encode(text) == tokenizer.encode(text)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.model"]


def test_a_file_that_is_not_there_is_named(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no tokenizer at .*absent\.model"):
        Tokenizer.load(tmp_path / "absent.model")


def test_every_truncation_is_refused(tokenizer, tmp_path) -> None:
    whole = tokenizer.model_bytes
    lengths = {*range(0, len(whole), 1_999), *range(0, 400), len(whole) - 1}
    for length in lengths:
        with pytest.raises(ValueError, match=r"truncated or corrupt"):
            Tokenizer(whole[:length])
    (tmp_path / "t.model").write_bytes(whole[:5000])
    with pytest.raises(ValueError, match=r"t\.model: these 5000 bytes"):
        Tokenizer.load(tmp_path / "t.model")


def test_a_model_cut_off_between_two_pieces_is_refused(tokenizer) -> None:
    # sentencepiece itself loads this one: each piece is a whole record.
    whole, end = tokenizer.model_bytes, 0
    for _ in range(400):
        assert whole[end] == 0x0A
        end += 2 + whole[end + 1]
    with pytest.raises(ValueError, match="400 pieces, no number declared"):
        Tokenizer(whole[:end])


def records(message: bytes) -> list[bytes]:
    """The top-level records of a serialised model; all are length-delimited."""
    found, i = [], 0
    while i < len(message):
        start, size, shift = i, 0, 0
        i += 1
        while True:
            byte = message[i]
            size |= (byte & 0x7F) << shift
            shift, i = shift + 7, i + 1
            if byte < 0x80:
                break
        i += size
        found.append(message[start:i])
    return found


def test_a_model_that_lacks_a_piece_or_a_part_is_refused(tokenizer) -> None:
    parts = records(tokenizer.model_bytes)
    assert b"".join(parts) == tokenizer.model_bytes
    for i in (300, *range(VOCAB_SIZE, VOCAB_SIZE + 2)):  # piece, trainer, normalizer
        with pytest.raises(ValueError, match="not a whole sentencepiece model"):
            Tokenizer(b"".join(parts[:i] + parts[i + 1 :]))


@pytest.mark.parametrize(
    "junk", [b"", b"hello", b"\x00" * 99, b"\xff" * 999, b"\n\x00"]
)
def test_bytes_that_are_no_model_are_refused(junk) -> None:
    with pytest.raises(ValueError, match="not a whole sentencepiece model"):
        Tokenizer(junk)


def test_a_model_with_other_special_ids_is_refused() -> None:
    import io

    import sentencepiece

    model = io.BytesIO()
    texts, options = iter(["the dog sees the cat"] * 9), {"minloglevel": 3}
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=texts, model_writer=model, vocab_size=14, **options
    )
    with pytest.raises(ValueError, match=r"ids are \(-1, 1, 2, 0\), expected"):
        Tokenizer(model.getvalue())


def test_a_path_in_place_of_bytes_is_a_type_error_that_helps() -> None:
    with pytest.raises(TypeError, match=r"use Tokenizer\.load"):
        Tokenizer("tokenizer.model")


@pytest.mark.parametrize("text", ["\x01\x02", "\u200b", "\u2581"])
def test_text_of_control_characters_alone_is_no_text(text):
    with pytest.raises(ValueError, match="there is no text to learn a vocabulary from"):
        Tokenizer.train([text] * 50, 300)
