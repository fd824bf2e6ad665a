"""The table of symbols tells the truth about the released model."""

import re

from tformer.pretrained import load_pretrained
from tformer_book.press.chapters import ROOT

TEXT = (ROOT / "book/notation.md").read_text("utf-8")


def test_the_sizes_of_the_released_model_are_its_own():
    config = load_pretrained().model.config
    last_cells = {
        row.split("|")[1].strip(): row.split("|")[3].strip()
        for row in TEXT.splitlines()
        if row.count("|") == 4
    }
    assert last_cells["$D$"] == str(config.d_model)
    assert last_cells["$H$"] == str(config.n_heads)
    assert last_cells["$D_h$"] == str(config.d_model // config.n_heads)
    assert last_cells["$F$"] == str(config.d_ff)
    assert last_cells["$V$"] == f"{config.vocab_size:,}"
    depths = f"{config.n_encoder_layers} and {config.n_decoder_layers}"
    assert last_cells["$N$"] == depths
    assert last_cells["$S$"] == last_cells["$T$"] == f"up to {config.max_len}"


def test_the_special_ids_are_the_packages():
    config = load_pretrained().model.config
    ids = dict(re.findall(r"\| `(\w+_id)` \| (\d) \|", TEXT))
    assert len(ids) == 4
    assert all(getattr(config, name) == int(i) for name, i in ids.items())
