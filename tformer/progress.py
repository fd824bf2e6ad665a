"""Progress of a training run: a bar in a terminal, a live plot in a notebook.

A display is a listener: called with the events of `tformer.train.fit`, it draws. It
has a ``close``, called however the run ends.

Chapter 12.
"""

import sys
from typing import Any

KINDS = ("auto", "bar", "plot", "none")


class Silent:
    """Draws nothing."""

    def __call__(self, event: dict[str, Any]) -> None:
        pass

    def close(self) -> None:
        pass


class Bar:
    """A tqdm bar on standard error, with a line and samples at each evaluation."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._by_minutes = False

    def __call__(self, event: dict[str, Any]) -> None:
        from tqdm import tqdm

        kind = event["kind"]
        if kind == "start":
            self._by_minutes = event["steps"] is None
            tqdm.write(
                f"{event['corpus']}\n{event['n_parameters']:,} parameters, "
                f"{event['device']}, {event['precision']} -> {event['folder']}",
                file=sys.stderr,
            )
            self._bar = tqdm(
                total=event["steps"],
                initial=event["step"],
                unit="step",
                dynamic_ncols=True,
            )
        elif kind == "step":
            self._bar.update(event["step"] - self._bar.n)
            self._bar.set_postfix_str(
                f"loss {event['loss']:.3f}, {event['tokens_per_second']:,.0f} tokens/s"
            )
        elif kind == "evaluate":
            sample = event["samples"][0] if event["samples"] else None
            shown = f" | {sample['translation']}" if sample else ""
            tqdm.write(
                f"step {event['step']:>6}  train {event['train_loss']:.3f}  "
                f"valid {event['valid_loss']:.3f}{shown}",
                file=sys.stderr,
            )

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def display(kind: str) -> Any:
    """The display of one kind.

    Args:
        kind: "auto", "bar", "plot" or "none".

    Raises:
        ValueError: none of these.
    """
    if kind not in KINDS:
        raise ValueError(f"progress={kind!r} is none of: {', '.join(KINDS)}")
    if kind == "none":
        return Silent()
    return Bar()
