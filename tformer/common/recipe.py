"""The recipe of a training run: how to train, as settings that are validated once.

What to train is the configuration. Chapter *Training*.
"""

from dataclasses import dataclass, field

PRECISIONS = ("auto", "fp32", "bf16", "fp16")
TOKENIZERS = ("bpe", "unigram")
LARGEST = 2**63 - 1  # the largest integer that PyTorch can hold
RANGES = {  # beyond these, float32 overflows or rounds to 0
    "lr_scale": (1e-30, 1e6),
    "adam_epsilon": (1e-37, 1.0),
    "clip_norm": (1e-30, 1e30),
}


@dataclass(frozen=True)
class Recipe:
    """How to train; what to train is the configuration.

    Args:
        max_tokens: source and target tokens of one step together, padding included.
        accumulate: number of parts in which a step is computed, one after the other;
            their gradients add up to those of the whole; memory is needed for one.
        warmup_steps: steps until the learning rate peaks (paper: 4,000).
        last_step: if given, the learning rate falls linearly from its peak to zero just
            after this step, and training ends there; None for the paper's inverse
            square root, which never ends.
        lr_scale: a factor on the paper's learning-rate curve.
        adam_betas: decay of Adam's two averages (paper: 0.9, 0.98).
        adam_epsilon: keeps Adam from dividing by zero (paper: 1e-9).
        label_smoothing: probability mass spread over the vocabulary (paper: 0.1).
        clip_norm: largest gradient norm; larger gradients are scaled down to it.
        eval_every: steps between evaluations; each also writes a checkpoint and a
            snapshot of the weights.
        average_last: snapshots averaged into the final model (paper: 5).
        patience: evaluations without a new best validation loss before training stops;
            None to train to the end.
        tokenizer: "bpe" as in the paper, or "unigram".
        sample_pieces: if given, write each training sentence in other pieces every
            epoch, drawn with this exponent (`tformer.data.PieceSampler`; 0.2 is usual);
            needs a unigram tokenizer.
        precision: "fp32", "bf16", "fp16" (with loss scaling), or "auto": bf16 if
            the GPU supports it, else fp16 on a GPU, else fp32.
        seed: of weights, dropout and the order of the data.

    Raises:
        TypeError: a value of the wrong type.
        ValueError: a value that breaks a rule; the message names both.
    """

    max_tokens: int = 4096
    accumulate: int = 1
    warmup_steps: int = 1000
    last_step: int | None = None
    lr_scale: float = 1.0
    adam_betas: tuple[float, float] = (0.9, 0.98)
    adam_epsilon: float = 1e-9
    label_smoothing: float = 0.1
    clip_norm: float = 1.0
    eval_every: int = 250
    average_last: int = 5
    patience: int | None = None
    tokenizer: str = field(default="bpe", metadata={"choices": TOKENIZERS})
    sample_pieces: float | None = None
    precision: str = field(default="auto", metadata={"choices": PRECISIONS})
    seed: int = 0

    def __post_init__(self) -> None:
        counts = "max_tokens accumulate warmup_steps eval_every average_last"
        for name in counts.split():
            _check_whole(name, getattr(self, name), least=1)
        if self.patience is not None:
            _check_whole("patience", self.patience, least=1, otherwise="None or ")
        if self.last_step is not None:
            soonest = self.warmup_steps + 1
            _check_whole(
                "last_step", self.last_step, least=soonest, otherwise="None or "
            )
        _check_whole("seed", self.seed, least=0)
        for name, (least, most) in RANGES.items():
            value = _check_number(name, getattr(self, name))
            if not least <= value <= most:
                raise ValueError(f"{name}={value} must be in [{least:g}, {most:g}]")
        if self.sample_pieces is not None:
            exponent = _check_number("sample_pieces", self.sample_pieces)
            if not 0 <= exponent <= 1:
                raise ValueError(f"sample_pieces={exponent} must be None or in [0, 1]")
            if self.tokenizer != "unigram":
                raise ValueError(
                    f"sample_pieces={exponent} needs tokenizer='unigram', which alone "
                    "knows how probable each way to write a word is"
                )
        if not 0 <= _check_number("label_smoothing", self.label_smoothing) < 1:
            raise ValueError(
                f"label_smoothing={self.label_smoothing} must be in [0, 1)"
            )
        if not isinstance(self.adam_betas, tuple | list) or len(self.adam_betas) != 2:
            raise TypeError(f"adam_betas={self.adam_betas!r} must be two numbers")
        for beta in self.adam_betas:
            if not 0 <= _check_number("adam_betas", beta) < 1:
                raise ValueError(f"adam_betas={self.adam_betas} must be in [0, 1)")
        object.__setattr__(self, "adam_betas", tuple(map(float, self.adam_betas)))
        for name, known in (("tokenizer", TOKENIZERS), ("precision", PRECISIONS)):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is none of: {', '.join(known)}"
                )


def _check_whole(name: str, value: object, *, least: int, otherwise: str = "") -> None:
    if type(value) is not int:
        raise TypeError(f"{name}={value!r} must be {otherwise}an int")
    if not least <= value <= LARGEST:
        rule = f"at least {least}" if value < least else "less than 2**63"
        raise ValueError(f"{name}={value} must be {otherwise}{rule}")


def _check_number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name}={value!r} must be a number")
    return value
