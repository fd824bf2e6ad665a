"""The decoder reads the source, through keys and values that come from the encoder."""

from __future__ import annotations

from collections.abc import Iterator

from tformer.doctor._patient import Patient, Skip
from tformer.doctor.examinations.padding import KEYS, of_queries
from tformer.doctor.report import INITIAL, Finding

CHAPTER = "The decoder"


def examine(patient: Patient) -> Iterator[Finding]:
    """Exchange the source, and count the attentions to it."""
    if patient.decoder_only:
        raise Skip("a decoder-only model has one side")
    if patient.lengths_must_agree:
        yield _one_length(patient)
        return
    patient.has_numbers()
    other = patient.logits(patient.source(31), patient.target())
    moved = float(patient.moved(patient.plain, other).max())
    n_cross, n_self = len(patient.cross_attention()), len(patient.self_attention(1))
    n_source = len(patient.self_attention(0))
    if n_cross + n_self and n_cross < n_self / 2 + 0.5 and n_self > n_cross:
        yield Finding(
            code="keys-from-wrong-side",
            title="a cross-attention doesn't lead from the target to the source",
            tried="counted the attentions by the lengths of their two sides.",
            seen=f"{n_self} from target to target, {n_cross} from target to source, "
            f"{n_source} from source to source; a decoder layer has one of the first "
            "and one of the second.",
            means="queries or keys come from the wrong side, so no word of the decoder "
            "asks the source for what it needs.",
            look="the call of the cross-attention: (query=x, key=memory, "
            "value=memory).",
        )
    if moved <= min(patient.tolerance, 1e-4 * float(patient.plain.std())):
        yield Finding(
            code="ignores-source",
            title="the source makes no difference at all",
            tried="ran the same target with two sources that share nothing.",
            seen=f"no logit moved by more than {moved:.1g}.",
            means="the model is a language model of the target, however low its loss.",
            look="whether the decoder gets the encoder's output, and uses it.",
            because=("keys-from-wrong-side", "mask-inverted", *INITIAL),
        )
    layers = [e for e in patient.self_attention(0) if bool(e.weights.any())]
    if layers and not any(bool(each.weights.triu(1).any()) for each in layers):
        yield Finding(
            code="encoder-is-causal",
            title="the encoder sees only what is to the left",
            tried="looked at the weights of the source's self-attention.",
            seen=f"in {len(layers)} of {len(layers)} layers no word attends to a later "
            "one.",
            means="the first words of a sentence are understood without the rest. That "
            "makes sense only if you translate while somebody is speaking.",
            look="the mask that the encoder gets: padding only; the causal mask is the "
            "decoder's.",
            chapter="Masks",
        )
    across = [e.weights for e in patient.cross_attention() if bool(e.weights.any())]
    if across and not any(bool(each.triu(1).any()) for each in across):
        yield Finding(
            code="cross-attention-is-causal",
            title="the cross-attention has a causal mask",
            tried="looked at the weights from the target to the source.",
            seen=f"in {len(across)} of {len(across)} layers no target word attends to "
            "a source word that stands further to the right.",
            means="the first words are written without most of the source. That makes "
            "sense only if you translate while somebody is speaking.",
            look="the mask of the cross-attention: the source's padding, and nothing "
            "else.",
            chapter="Masks",
        )


def _one_length(patient: Patient) -> Finding:
    """Why does the model run only if source and target are equally long?"""
    tried = "ran a source of 9 words with a target of 7, then 7 with 7."
    seen = "the first stopped with an error, the second ran."
    if patient.pads[0] is not None:
        padded = patient.padded(
            patient.words(4, seed=21, side=0), patient.n_source, side=0
        )
        _, found = patient.watch(padded, patient.target())
        if of_queries(found, 4):
            return Finding(
                code="mask-on-queries",
                title="the padding mask hides padding as queries instead of keys",
                tried=tried,
                seen=f"{seen} With padding, words attend to it.",
                means="a sentence is translated differently beside a longer one, and "
                "the cross-attention's mask has the wrong length.",
                look=KEYS,
                chapter="Masks",
            )
    return Finding(
        code="keys-from-wrong-side",
        title="the model runs only if source and target are equally long",
        tried=tried,
        seen=seen,
        means="keys, values or a mask come from the wrong side: in cross-attention the "
        "queries are the target's, keys and values the source's.",
        look="the call of the cross-attention, (query=x, key=memory, value=memory), "
        "and which length its mask has.",
        because=("weights-mix-nothing",),
    )
