"""Training: from sentence pairs to a translator, in one readable loop.

Every run is a folder. It holds the tokenizer, a checkpoint from which a killed run
resumes bit for bit, snapshots of the weights to average, the history and, at the end,
the trained model.

`tformer.train.loop` is the loop itself. What it relies on has modules of its own: the
folder (`tformer.train.checkpoints`, `tformer.train.snapshots`), the hardware
(`tformer.train.devices`), processes that share the work (`tformer.train.ranks`), the
events it reports (`tformer.train.events`) and their display (`tformer.train.progress`).
`fit` puts all of this together (`tformer.train.fitting`).

Source: Vaswani et al. 2017, section 5. Chapter *Training*.
"""

from tformer.common.recipe import Recipe
from tformer.train.devices import choose_device, device_name
from tformer.train.events import Event, Listener
from tformer.train.fitting import Run, fit
from tformer.train.snapshots import average

__all__ = [
    "Event",
    "Listener",
    "Recipe",
    "Run",
    "average",
    "choose_device",
    "device_name",
    "fit",
]
