"""The output depends on what goes in, and what goes in is left as it was."""

from __future__ import annotations

from collections.abc import Iterator

from tformer.doctor._patient import Patient
from tformer.doctor.report import INITIAL, Finding, listed

CHAPTER = "The whole Transformer"
READOUT = (
    "That is right before training if the output projection is meant to start at zero, "
    'as in muP (accept=["output-constant"]).'
)


def examine(patient: Patient) -> Iterator[Finding]:
    """Look at what two unlike inputs gave, and at the ids after a pass."""
    if patient.is_constant:
        zero = [name for name, each in patient.asleep.items()]
        widths = [each.shape for each in patient.asleep.values()]
        readout = len(widths) == 1 and patient.sizes[1] in widths[0]
        yield Finding(
            code="output-constant",
            title="the output does not depend on the input at all"
            + (
                ": whole matrices are zeros"
                if any(each.dim() > 1 for each in patient.asleep.values())
                else ": what multiplies it is all zeros"
                if zero
                else ""
            ),
            tried="ran two inputs that share no word.",
            seen="the logits are the same"
            + (f"; {listed(zero)} {'is' if len(zero) == 1 else 'are'} all zeros."
               if zero else "."),
            means="nothing of the words gets through. (For the other examinations, the "
            "zeros were replaced by small numbers.)"
            if zero
            else "nothing of the words gets through.",
            look="the initialisation: the gain of a norm starts at 1, a matrix "
            "at small random numbers."
            if zero
            else "what stands between embeddings and logits: a norm with a large eps, "
            "a result that is overwritten, a factor of 0.",
            because=INITIAL,
            design=READOUT if readout else "",
        )  # fmt: skip
    n, (source, target) = patient.plain.size(-1), patient.sizes
    if isinstance(patient.vocab_size, tuple) and n == source != target:
        yield Finding(
            code="logits-for-source",
            title="there is a logit for each word of the source, not of the target",
            tried="compared the number of logits with vocab_size.",
            seen=f"there are {n}; vocab_size is {patient.vocab_size}.",
            means="the model may write ids that are no words, and that the decoder "
            "can't look up."
            if n > target
            else "the model can't say the last words of its vocabulary.",
            look="the size of the output projection: that of the target's vocabulary.",
        )
    if patient.changes_ids:
        yield Finding(
            code="changes-its-input",
            title="a forward pass changes the ids that it was given",
            tried="compared the ids before and after a pass.",
            seen="they differ.",
            means="whoever reads them next (the loss, the next step of decoding) reads "
            "something else.",
            look="an assignment into the ids, such as ids[ids == x] = y, or a method "
            "that ends in an underscore: work on ids.clone().",
        )
