"""The recipe of a training run: how to train, as settings that are validated once.

What to train is the configuration. Chapter *Training*.
"""

from dataclasses import dataclass, field

from tformer.common.values import integer, number, require

PRECISIONS = ("auto", "fp32", "bf16", "fp16")
TOKENIZERS = ("bpe", "unigram")
RANGES = {  # beyond these, float32 overflows or rounds to 0
    "lr_scale": (1e-30, 1e6),
    "adam_epsilon": (1e-37, 1.0),
    "clip_norm": (1e-30, 1e30),
    "r_drop": (0.0, 1e6),
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
        r_drop: if above 0, every batch goes through the model twice, with other
            activations dropped, and this much of the two outputs' divergence is added
            to the loss (`tformer.train.r_drop`; Liang et al. 2021: 5).
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
    r_drop: float = 0.0
    precision: str = field(default="auto", metadata={"choices": PRECISIONS})
    seed: int = 0

    def __post_init__(self) -> None:
        counts = "max_tokens accumulate warmup_steps eval_every average_last"
        for name in counts.split():
            integer(name, getattr(self, name), least=1)
        rule = f"at most max_tokens={self.max_tokens}"
        require(self.accumulate <= self.max_tokens, "accumulate", self.accumulate, rule)
        integer("seed", self.seed, least=0)
        soonest = {"patience": 1, "last_step": self.warmup_steps + 1}
        for name, least in soonest.items():
            if getattr(self, name) is not None:
                integer(name, getattr(self, name), least=least, otherwise="None or ")
        for name, (low, high) in RANGES.items():
            value = number(name, getattr(self, name))
            require(low <= value <= high, name, value, f"in [{low:g}, {high:g}]")
        smoothing = number("label_smoothing", self.label_smoothing)
        require(0 <= smoothing < 1, "label_smoothing", smoothing, "in [0, 1)")
        if self.sample_pieces is not None:
            exponent = number("sample_pieces", self.sample_pieces)
            rule = "None or in [0, 1]"
            require(0 <= exponent <= 1, "sample_pieces", exponent, rule)
            if self.tokenizer != "unigram":
                raise ValueError(
                    f"sample_pieces={exponent} needs tokenizer='unigram', which alone "
                    "knows how probable each way to write a word is"
                )
        betas = self.adam_betas
        if not isinstance(betas, tuple | list) or len(betas) != 2:
            raise TypeError(f"adam_betas={betas!r} must be two numbers")
        inside = all([0 <= number("adam_betas", beta) < 1 for beta in betas])
        require(inside, "adam_betas", betas, "in [0, 1)")
        object.__setattr__(self, "adam_betas", tuple(map(float, betas)))
        for name, known in (("tokenizer", TOKENIZERS), ("precision", PRECISIONS)):
            if (value := getattr(self, name)) not in known:
                raise ValueError(f"{name}={value!r} is none of: {', '.join(known)}")
